//! What the caller may do, for pages that hide what is not allowed.

use docent_catalog::Error;
use docent_catalog::access::{is_managed_aspect, is_own_profile, type_managers};
use docent_catalog::action_requests::is_proposable_type;
use docent_catalog::audit::AUDIT_PRIVILEGES;
use docent_catalog::privilege::{self as p, Privilege};
use docent_model::{Registry, Urn};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::entity_types;
use crate::{Args, BatchResult, Context, EntityView};

/// The fields of `PlatformPrivileges`, and the privileges of which one suffices.
const PLATFORM: [(&str, &[Privilege]); 32] = [
    ("viewAnalytics", &[p::VIEW_ANALYTICS]),
    ("managePolicies", &[p::MANAGE_POLICIES]),
    ("manageIdentities", &[p::MANAGE_USERS_AND_GROUPS]),
    (
        "generatePersonalAccessTokens",
        &[p::GENERATE_PERSONAL_ACCESS_TOKENS, p::MANAGE_ACCESS_TOKENS],
    ),
    ("createDomains", &[p::CREATE_DOMAINS, p::MANAGE_DOMAINS]),
    ("createLogicalModels", &[p::CREATE_LOGICAL_MODELS]),
    ("manageDomains", &[p::MANAGE_DOMAINS]),
    ("manageIngestion", &[p::MANAGE_INGESTION]),
    ("manageSecrets", &[p::MANAGE_SECRETS]),
    ("manageTokens", &[p::MANAGE_ACCESS_TOKENS]),
    ("viewTests", &[p::VIEW_TESTS, p::MANAGE_TESTS]),
    ("manageTests", &[p::MANAGE_TESTS]),
    ("manageGlossaries", &[p::MANAGE_GLOSSARIES]),
    ("manageDocuments", &[p::MANAGE_DOCUMENTS]),
    ("manageUserCredentials", &[p::MANAGE_USER_CREDENTIALS]),
    ("createTags", &[p::CREATE_TAGS, p::MANAGE_TAGS]),
    ("manageTags", &[p::MANAGE_TAGS]),
    ("viewManageTags", &[p::VIEW_MANAGE_TAGS, p::MANAGE_TAGS]),
    ("manageGlobalViews", &[p::MANAGE_GLOBAL_VIEWS]),
    ("manageGlobalSettings", &[p::MANAGE_GLOBAL_SETTINGS]),
    ("manageOwnershipTypes", &[p::MANAGE_GLOBAL_OWNERSHIP_TYPES]),
    (
        "manageGlobalAnnouncements",
        &[p::MANAGE_GLOBAL_ANNOUNCEMENTS],
    ),
    (
        "createBusinessAttributes",
        &[p::CREATE_BUSINESS_ATTRIBUTE, p::MANAGE_BUSINESS_ATTRIBUTE],
    ),
    ("manageBusinessAttributes", &[p::MANAGE_BUSINESS_ATTRIBUTE]),
    (
        "manageStructuredProperties",
        &[p::MANAGE_STRUCTURED_PROPERTIES],
    ),
    (
        "viewStructuredPropertiesPage",
        &[
            p::VIEW_STRUCTURED_PROPERTIES_PAGE,
            p::MANAGE_STRUCTURED_PROPERTIES,
        ],
    ),
    ("manageApplications", &[p::MANAGE_FEATURES]),
    ("manageFeatures", &[p::MANAGE_FEATURES]),
    ("viewAuditLog", AUDIT_PRIVILEGES),
    ("manageHomePageTemplates", &[p::MANAGE_HOME_PAGE_TEMPLATES]),
    ("manageServiceAccounts", &[p::MANAGE_SERVICE_ACCOUNTS]),
    ("manageWebhooks", &[p::MANAGE_WEBHOOKS]),
];

/// A field of `EntityPrivileges`.
struct EntityPrivilege {
    name: &'static str,
    /// The privileges of which one suffices, besides the one for the whole entity.
    privileges: &'static [Privilege],
    /// The aspect without which the field does not apply to a type.
    aspect: Option<&'static str>,
}

const fn field(
    name: &'static str,
    aspect: Option<&'static str>,
    privileges: &'static [Privilege],
) -> EntityPrivilege {
    EntityPrivilege {
        name,
        privileges,
        aspect,
    }
}

/// What users write about themselves.
const PROFILE: &str = "corpUserEditableInfo";

/// What the catalog demands for each. A privilege of DataHub that no change here needs is not
/// among them: a page must not offer what is denied.
const ENTITY: [EntityPrivilege; 24] = [
    field("canManageChildren", None, &[p::MANAGE_GLOSSARIES]),
    field("canManageEntity", None, &[]),
    field("canEditProperties", None, &[p::EDIT_ENTITY_PROPERTIES]),
    field("canEditDescription", None, &[p::EDIT_ENTITY_DOCS]),
    field("canManageAssetSummary", None, &[]),
    field(
        "canEditLineage",
        Some("upstreamLineage"),
        &[p::EDIT_LINEAGE],
    ),
    field("canEditEmbed", Some("embed"), &[p::EDIT_ENTITY_EMBED]),
    field("canEditQueries", Some("schemaMetadata"), &[]),
    field("canEditTags", Some("globalTags"), &[p::EDIT_ENTITY_TAGS]),
    field(
        "canEditGlossaryTerms",
        Some("glossaryTerms"),
        &[p::EDIT_ENTITY_GLOSSARY_TERMS],
    ),
    field(
        "canEditLinks",
        Some("institutionalMemory"),
        &[p::EDIT_ENTITY_DOC_LINKS],
    ),
    field(
        "canEditDomains",
        Some("domains"),
        &[p::EDIT_DOMAINS_PRIVILEGE],
    ),
    field("canEditDataProducts", Some("dataProducts"), &[]),
    field("canEditOwners", Some("ownership"), &[p::EDIT_ENTITY_OWNERS]),
    field("canEditIncidents", Some("incidentsSummary"), &[]),
    field(
        "canEditAssertions",
        Some("schemaMetadata"),
        &[p::EDIT_ENTITY_ASSERTIONS],
    ),
    field(
        "canEditAssertionOwners",
        Some("schemaMetadata"),
        &[p::EDIT_ENTITY_ASSERTIONS],
    ),
    field(
        "canEditDeprecation",
        Some("deprecation"),
        &[p::EDIT_DEPRECATION_PRIVILEGE],
    ),
    field(
        "canEditSchemaFieldTags",
        Some("editableSchemaMetadata"),
        &[p::EDIT_DATASET_COL_TAGS],
    ),
    field(
        "canEditSchemaFieldGlossaryTerms",
        Some("editableSchemaMetadata"),
        &[p::EDIT_DATASET_COL_GLOSSARY_TERMS],
    ),
    field(
        "canEditSchemaFieldDescription",
        Some("editableSchemaMetadata"),
        &[p::EDIT_DATASET_COL_DESCRIPTION],
    ),
    field(
        "canViewDatasetUsage",
        Some("datasetUsageStatistics"),
        &[p::VIEW_DATASET_USAGE],
    ),
    field(
        "canViewDatasetProfile",
        Some("datasetProfile"),
        &[p::VIEW_DATASET_PROFILE],
    ),
    field(
        "canViewDatasetOperations",
        Some("operation"),
        &[p::VIEW_DATASET_OPERATIONS],
    ),
];

impl EntityPrivilege {
    fn applies_to(&self, urn: &Urn) -> bool {
        let registry = Registry::get();
        let spec = registry.entity(urn.entity_type());
        self.aspect.is_none_or(|aspect| {
            spec.zip(registry.aspect(aspect))
                .is_some_and(|(spec, aspect)| spec.has_aspect(aspect))
        })
    }

    /// Whether the field is about the profile of a user.
    fn is_about_profile(&self, urn: &Urn) -> bool {
        urn.entity_type() == "corpuser" && self.name == "canEditDescription"
    }

    /// Whether rights depend on what the field is about, or it belongs to one person: editing the
    /// entity does not include it.
    fn is_managed(&self, urn: &Urn) -> bool {
        let aspect = if self.is_about_profile(urn) {
            Some(PROFILE)
        } else {
            self.aspect
        };
        let aspect = aspect.and_then(|name| Registry::get().aspect(name));
        is_managed_aspect(urn.entity_type(), aspect)
    }
}

/// The caller's privileges that do not depend on an entity.
pub(super) async fn platform(context: &Context) -> Result<Value, Error> {
    let caller = &context.caller;
    let catalog = &context.catalog;
    let granted = catalog.privileges_of(caller, caller.actor(), None).await?;
    let fields = PLATFORM.iter().map(|(name, privileges)| {
        let has = privileges.iter().any(|it| granted.contains(it));
        ((*name).to_owned(), Value::Bool(has))
    });
    Ok(Value::Object(fields.collect()))
}

/// The caller's privileges on each entity, those that apply to its type.
pub(super) async fn of_entities(
    context: &Context,
    entities: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let urns = EntityView::urns(entities);
    let mut privileges: Vec<Privilege> =
        vec![p::EDIT_ENTITY, p::EDIT_USER_PROFILE, p::PROPOSE_CHANGES];
    privileges.extend(ENTITY.iter().flat_map(|field| field.privileges));
    for urn in &urns {
        privileges.extend(type_managers(urn.entity_type()));
    }
    privileges.sort_unstable_by_key(|privilege| privilege.name());
    privileges.dedup();
    let granted = context
        .catalog
        .granted(&context.caller, &privileges, &urns)
        .await?;
    let of_entity = |(urn, granted): (&Urn, &Vec<Privilege>)| {
        let has_any = |privileges: &[Privilege]| privileges.iter().any(|it| granted.contains(it));
        let manages = has_any(type_managers(urn.entity_type()));
        let edits_profile =
            has_any(&[p::EDIT_USER_PROFILE]) || is_own_profile(&context.caller, urn);
        let fields = ENTITY.iter().filter(|field| field.applies_to(urn));
        let fields = fields.map(|field| {
            let edits = if field.is_managed(urn) {
                field.is_about_profile(urn) && edits_profile
            } else {
                has_any(&[p::EDIT_ENTITY]) || has_any(field.privileges)
            };
            let has = manages || edits;
            (field.name.to_owned(), Value::Bool(has))
        });
        let mut fields: Map<String, Value> = fields.collect();
        if is_proposable_type(urn.entity_type()) {
            // Not part of editing the whole entity: those who may do that propose nothing.
            let has = granted.contains(&p::PROPOSE_CHANGES);
            fields.insert("canProposeChanges".to_owned(), Value::Bool(has));
        }
        Ok(Value::Object(fields))
    };
    Ok(urns.iter().zip(&granted).map(of_entity).collect())
}

/// The names of a user's privileges.
pub(super) async fn granted(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        actor_urn: String,
        resource_spec: Option<Resource>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Resource {
        resource_type: String,
        resource_urn: String,
    }
    let input: Input = arguments.input()?;
    let actor = Registry::get().parse_urn(&input.actor_urn)?;
    let resource = match &input.resource_spec {
        Some(spec) => Some(resource(&spec.resource_type, &spec.resource_urn)?),
        None => None,
    };
    let names = context
        .catalog
        .privileges_of(&context.caller, &actor, resource.as_ref())
        .await?;
    let names: Vec<&str> = names.into_iter().map(Privilege::name).collect();
    Ok(json!({ "privileges": names }))
}

/// The URN of a resource, which must have the type that the caller names.
fn resource(resource_type: &str, urn: &str) -> Result<Urn, Error> {
    let urn = Registry::get().parse_urn(urn)?;
    match entity_types::from_any_name(resource_type) {
        Some(entity_type) if entity_type != urn.entity_type() => Err(Error::invalid(format!(
            "`resourceType` is {resource_type}, and {urn} has the type {}: send the type of the resource",
            urn.entity_type()
        ))
        .naming(&urn)),
        _ => Ok(urn),
    }
}

/// The values of a criterion, each with its entity if it is a URN.
pub(super) fn criterion_values(criterion: &EntityView<'_>) -> Value {
    let values = criterion.value()["values"].as_array().into_iter().flatten();
    let value = |text: &str| {
        let entity = Urn::parse(text).is_ok().then_some(text);
        json!({"value": text, "entity": entity})
    };
    values.filter_map(Value::as_str).map(value).collect()
}

/// The stewards of domains.
pub(super) async fn domain_stewards(
    context: &Context,
    domains: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let urns: Vec<Urn> = domains.iter().map(|domain| domain.urn().clone()).collect();
    let stewards = context.catalog.stewards_of(&urns).await?;
    Ok(stewards.into_iter().map(|urns| Ok(json!(urns))).collect())
}
