//! The embedded schema files.

macro_rules! sources {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../schema/", $name)))),+]
    };
}

/// The name and text of every file in `schema/`.
pub const SDL: &[(&str, &str)] = sources![
    "access_explanation.graphql",
    "accounts.graphql",
    "app_config.graphql",
    "assertion_kinds.graphql",
    "asset_updates.graphql",
    "audit.graphql",
    "changes.graphql",
    "common.graphql",
    "connections.graphql",
    "container.graphql",
    "dashboards.graphql",
    "dataset.graphql",
    "dataset_statistics.graphql",
    "directives.graphql",
    "documents.graphql",
    "domain.graphql",
    "enums.graphql",
    "er_models.graphql",
    "files.graphql",
    "forms.graphql",
    "history.graphql",
    "incidents.graphql",
    "ingestion.graphql",
    "lifecycle_stages.graphql",
    "lineage_and_relationships.graphql",
    "links.graphql",
    "logical_models.graphql",
    "machine_learning.graphql",
    "machine_learning_cards.graphql",
    "metrics.graphql",
    "mutation.graphql",
    "ownership.graphql",
    "page_inputs.graphql",
    "pages.graphql",
    "patches.graphql",
    "people.graphql",
    "pipelines.graphql",
    "platform.graphql",
    "policies.graphql",
    "posts.graphql",
    "products.graphql",
    "proposals.graphql",
    "quality.graphql",
    "query.graphql",
    "recommendations.graphql",
    "report_statistics.graphql",
    "schema_metadata.graphql",
    "search.graphql",
    "secrets.graphql",
    "server_status.graphql",
    "service_accounts.graphql",
    "settings.graphql",
    "structured_properties.graphql",
    "tags_and_glossary.graphql",
    "timeline.graphql",
    "tokens.graphql",
    "webhooks.graphql",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use apollo_compiler::ast::{Definition, Document};

    use super::*;

    /// URNs that are shown as they are stored, and why.
    const SHOWN: [(&str, &str); 20] = [
        ("AccessTokenMetadata.actorUrn", "everyone sees users"),
        ("AccessTokenMetadata.ownerUrn", "everyone sees users"),
        ("ActionRequest.urn", "the request itself"),
        (
            "ActionRequestChange.urn",
            "changes of hidden entities are not listed",
        ),
        ("AssertionRunEvent.assertionUrn", "read from this assertion"),
        ("AuditLogEntity.urn", "the audit log names every entity"),
        ("AuditLogEvent.actorUrn", "everyone sees users"),
        (
            "CorpUserHomePageSettings.dismissedAnnouncementUrns",
            "everyone sees posts",
        ),
        ("Entity.urn", "the entity itself"),
        ("CreateWebhookResult.urn", "the caller has created it"),
        ("EntityDataProducts.urn", "the caller named it"),
        ("EntityWithRelationships.urn", "the entity itself"),
        ("ExecutionRequestInput.actorUrn", "everyone sees users"),
        (
            "ImportDocumentsResult.documentUrns",
            "the caller has written them",
        ),
        ("PatchEntityResult.urn", "the caller named it"),
        ("Schema.platformUrn", "everyone sees platforms"),
        ("SchemaMetadata.platformUrn", "everyone sees platforms"),
        ("Secret.urn", "those who manage secrets list them"),
        ("Webhook.urn", "those who manage webhooks list them"),
        (
            "WebhookDeadLetter.entityUrn",
            "for callers who see what the owner sees",
        ),
    ];

    /// View policies hide what a text names only where the schema says that it is a URN.
    #[test]
    fn every_urn_is_a_reference_or_has_a_reason_to_be_shown() {
        let mut shown = BTreeSet::new();
        for (file, text) in SDL {
            let document = Document::parse(*text, *file).unwrap();
            for definition in &document.definitions {
                let (name, fields) = match definition {
                    Definition::ObjectTypeDefinition(it) => (&it.name, &it.fields),
                    Definition::ObjectTypeExtension(it) => (&it.name, &it.fields),
                    Definition::InterfaceTypeDefinition(it) => (&it.name, &it.fields),
                    _ => continue,
                };
                for field in fields {
                    let is_urn = field.name.to_lowercase().contains("urn")
                        && field.ty.inner_named_type() == "String";
                    let is_covered = ["urn", "reference"]
                        .iter()
                        .any(|directive| field.directives.has(directive));
                    if is_urn && !is_covered {
                        shown.insert(format!("{name}.{}", field.name));
                    }
                }
            }
        }
        let expected = SHOWN.map(|(name, _)| name.to_owned()).into();
        assert_eq!(
            shown, expected,
            "add @reference to the field, or the reason why callers may see it to SHOWN"
        );
    }

    #[test]
    fn every_file_in_the_schema_directory_is_listed() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/schema");
        let mut files: Vec<_> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".graphql"))
            .collect();
        files.sort();
        let listed: Vec<_> = SDL.iter().map(|(name, _)| *name).collect();
        assert_eq!(files, listed);
    }
}
