//! The privileges that a change needs, by its entity and aspect.
//!
//! One of them suffices. Use cases that mean less than the aspect they write (the description of a
//! column is one of many things in `editableSchemaMetadata`) name their own.

use docent_model::{AspectName, Urn};

use crate::privilege::{self as p, Privilege};
use crate::proposal::Change;

/// The keys of ingestion sources that pipelines report about themselves start like this; the others
/// have recipes that an executor runs.
const REPORTED_SOURCE: &str = "cli-";

/// The privileges that allow a change of an entity.
pub(crate) fn of_change(urn: &Urn, change: &Change) -> Vec<Privilege> {
    let mut privileges = Vec::new();
    if !is_managed_change(urn, change) {
        privileges.extend(of_kind(urn, change));
    }
    privileges.extend(managers(urn.entity_type()));
    if is_profile(change.aspect()) {
        privileges.push(p::EDIT_USER_PROFILE);
    }
    privileges
}

/// Whether a change may give its entity another place.
pub(crate) fn is_move(change: &Change) -> bool {
    match change {
        Change::Clear | Change::RollbackRun { .. } => true,
        change => change.aspect().is_some_and(may_move),
    }
}

/// Whether a change of the aspect may give its entity another place, which policies refer to.
pub(crate) fn may_move(aspect: AspectName) -> bool {
    [
        AspectName::CONTAINER,
        AspectName::DOMAIN_PROPERTIES,
        AspectName::DOMAINS,
        AspectName::GLOSSARY_NODE_INFO,
        AspectName::GLOSSARY_TERM_INFO,
    ]
    .contains(&aspect)
}

/// Whether rights depend on the aspect, or it belongs to one person. That somebody may edit the
/// entity says nothing about those. The status of an account has its own rule
/// ([`crate::proposal::Requirement::AccountStatusUnchanged`]).
pub fn is_managed(entity_type: &str, aspect: Option<AspectName>) -> bool {
    match entity_type {
        "dataHubConnection" | "dataHubPolicy" | "dataHubRole" | "dataHubSecret"
        | "globalSettings" | "lifecycleStageType" => true,
        // Owners of a group choose its members, and a removed group is not listed.
        "corpGroup" => matches!(
            aspect.map(AspectName::as_str),
            Some("ownership" | "roleMembership" | "status")
        ),
        "corpuser" => {
            is_profile(aspect)
                || matches!(
                    aspect.map(AspectName::as_str),
                    Some("roleMembership" | "groupMembership" | "nativeGroupMembership")
                )
        }
        _ => false,
    }
}

/// The use case that alone writes an aspect that rights depend on, if there is one: it checks more
/// than the aspect's shape. The operator at the server may write them directly.
pub(crate) fn use_case_of(urn: &Urn, aspect: Option<AspectName>) -> Option<&'static str> {
    match (urn.entity_type(), aspect.map(AspectName::as_str)) {
        ("dataHubPolicy", _) => Some("createPolicy, updatePolicy or deletePolicy"),
        ("globalSettings", _) => Some("the settings of the server"),
        (_, Some("dataHubConnectionDetails")) => Some("upsertConnection"),
        (_, Some("dataHubSecretValue")) => Some("createSecret or updateSecret"),
        (_, Some("roleMembership")) => Some("batchAssignRole"),
        (_, Some("nativeGroupMembership")) => Some("addGroupMembers or removeGroupMembers"),
        _ => None,
    }
}

/// Whether rights depend on the change, or it is one of what its managers alone see, or it takes
/// rights from the members of a group. Editors report the ingestion of their own command lines, but
/// delete nobody's.
pub(crate) fn is_managed_change(urn: &Urn, change: &Change) -> bool {
    let has_recipe =
        urn.entity_type() == "dataHubIngestionSource" && !urn.key().starts_with(REPORTED_SOURCE);
    if has_recipe || is_managed(urn.entity_type(), change.aspect()) {
        return true;
    }
    let types = [
        "corpGroup",
        "dataHubExecutionRequest",
        "dataHubIngestionSource",
    ];
    let deletes =
        matches!(change, Change::Clear | Change::RollbackRun { .. }) || change.deletes_entity(urn);
    deletes && types.contains(&urn.entity_type())
}

/// Whether people write the aspect about themselves.
pub(crate) fn is_profile(aspect: Option<AspectName>) -> bool {
    matches!(
        aspect.map(AspectName::as_str),
        Some("corpUserEditableInfo" | "corpUserSettings")
    )
}

fn of_kind(urn: &Urn, change: &Change) -> Vec<Privilege> {
    match change {
        // A rollback deletes what its run created.
        Change::RollbackRun { .. } => vec![p::DELETE_ENTITY],
        change if change.deletes_entity(urn) => vec![p::DELETE_ENTITY],
        Change::Clear | Change::DeletePoints { .. } => vec![p::EDIT_ENTITY, p::DELETE_ENTITY],
        change => {
            let own = change.aspect().and_then(of_aspect);
            own.into_iter().chain([p::EDIT_ENTITY]).collect()
        }
    }
}

/// The privilege for one aspect alone.
fn of_aspect(aspect: AspectName) -> Option<Privilege> {
    Some(match aspect.as_str() {
        "editableDatasetProperties"
        | "editableContainerProperties"
        | "editableChartProperties"
        | "editableDashboardProperties"
        | "editableDataFlowProperties"
        | "editableDataJobProperties"
        | "editableERModelRelationshipProperties"
        | "editableNotebookProperties"
        | "editableMlModelProperties"
        | "editableMlModelGroupProperties"
        | "editableMlFeatureProperties"
        | "editableMlFeatureTableProperties"
        | "editableMlPrimaryKeyProperties" => p::EDIT_ENTITY_DOCS,
        "institutionalMemory" => p::EDIT_ENTITY_DOC_LINKS,
        "globalTags" => p::EDIT_ENTITY_TAGS,
        "glossaryTerms" => p::EDIT_ENTITY_GLOSSARY_TERMS,
        "ownership" => p::EDIT_ENTITY_OWNERS,
        "domains" => p::EDIT_DOMAINS_PRIVILEGE,
        "status" => p::EDIT_ENTITY_STATUS,
        "deprecation" | "datasetDeprecation" => p::EDIT_DEPRECATION_PRIVILEGE,
        "structuredProperties" => p::EDIT_ENTITY_PROPERTIES,
        "applications" => p::EDIT_ENTITY_APPLICATIONS_PRIVILEGE,
        "embed" => p::EDIT_ENTITY_EMBED,
        "assetSettings" => p::MANAGE_ASSET_SUMMARY,
        "operation" => p::EDIT_ENTITY_OPERATIONS,
        "upstreamLineage" | "dataJobInputOutput" | "inputFields" => p::EDIT_LINEAGE,
        _ => return None,
    })
}

/// The privileges to manage all entities of a type.
pub fn managers(entity_type: &str) -> &'static [Privilege] {
    match entity_type {
        "domain" => &[p::MANAGE_DOMAINS],
        "tag" => &[p::MANAGE_TAGS],
        "glossaryTerm" | "glossaryNode" => &[p::MANAGE_GLOSSARIES],
        "dataProduct" => &[p::MANAGE_DATA_PRODUCTS],
        "document" => &[p::MANAGE_DOCUMENTS],
        "businessAttribute" => &[p::MANAGE_BUSINESS_ATTRIBUTE],
        "structuredProperty" => &[p::MANAGE_STRUCTURED_PROPERTIES],
        "ownershipType" => &[p::MANAGE_GLOBAL_OWNERSHIP_TYPES],
        "form" => &[p::MANAGE_DOCUMENTATION_FORMS],
        "post" => &[p::MANAGE_GLOBAL_ANNOUNCEMENTS],
        "test" => &[p::MANAGE_TESTS],
        "dataHubIngestionSource" | "dataHubExecutionRequest" => &[p::MANAGE_INGESTION],
        "dataHubSecret" => &[p::MANAGE_SECRETS],
        // DataHub's default policies grant the first to nobody.
        "dataHubConnection" => &[p::MANAGE_CONNECTIONS, p::MANAGE_INGESTION],
        "dataHubView" => &[p::MANAGE_GLOBAL_VIEWS],
        "dataHubPageModule" | "dataHubPageTemplate" => &[p::MANAGE_HOME_PAGE_TEMPLATES],
        // What searches leave out is a setting of the whole catalog.
        "globalSettings" | "lifecycleStageType" => &[p::MANAGE_GLOBAL_SETTINGS],
        "corpuser" => &[
            p::MANAGE_USERS_AND_GROUPS,
            p::UPDATE_USERS_AND_GROUPS,
            p::UPDATE_USERS,
        ],
        "corpGroup" => &[
            p::MANAGE_USERS_AND_GROUPS,
            p::UPDATE_USERS_AND_GROUPS,
            p::UPDATE_GROUPS,
        ],
        "dataHubPolicy" | "dataHubRole" => &[p::MANAGE_POLICIES],
        _ => &[],
    }
}
