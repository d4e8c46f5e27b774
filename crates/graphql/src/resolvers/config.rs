//! The features and settings of the server, for pages that hide what it does not have.
//!
//! A flag is true only if what it shows works. Flags for features that come with operations are
//! true when the schema has these operations, so that none is forgotten.

use docent_catalog::Error;
use docent_catalog::privilege::{self as p, PolicyKind, Privilege};
use docent_model::{EntitySpec, Registry, in_words};
use serde_json::{Map, Value, json};

use crate::operations::is_root_field;
use crate::{Args, Context, entity_types};

/// When a page may show a feature.
enum Shown {
    Always,
    Never,
    /// If the schema has these root fields.
    With(&'static [&'static str]),
}

use Shown::{Always, Never, With};

/// The fields of `FeatureFlagsConfig`.
const FLAGS: &[(&str, Shown)] = &[
    ("readOnlyModeEnabled", Never),
    ("showSearchFiltersV2", With(&["aggregateAcrossEntities"])),
    ("showBrowseV2", With(&["browseV2"])),
    ("platformBrowseV2", With(&["browseV2"])),
    // Advertises a product of others.
    ("showAcrylInfo", Never),
    (
        "erModelRelationshipFeatureEnabled",
        With(&["createERModelRelationship", "updateERModelRelationship"]),
    ),
    ("showAccessManagement", With(&["listRoles"])),
    ("nestedDomainsEnabled", With(&["moveDomain"])),
    (
        "businessAttributeEntityEnabled",
        With(&["createBusinessAttribute", "addBusinessAttribute"]),
    ),
    ("dataContractsEnabled", With(&["upsertDataContract"])),
    ("editableDatasetNameEnabled", With(&["updateName"])),
    ("themeV2Enabled", Always),
    ("themeV2Default", Always),
    // The first theme is not tested with this server.
    ("themeV2Toggleable", Never),
    ("schemaFieldCLLEnabled", With(&["searchAcrossLineage"])),
    ("showSeparateSiblings", Never),
    (
        "showManageStructuredProperties",
        With(&["createStructuredProperty", "deleteStructuredProperty"]),
    ),
    ("hideDbtSourceInLineage", Never),
    ("schemaFieldLineageIgnoreStatus", Always),
    ("showNavBarRedesign", Always),
    (
        "showAutoCompleteResults",
        With(&["autoCompleteForMultiple"]),
    ),
    (
        "entityVersioningEnabled",
        With(&["linkAssetVersion", "unlinkAssetVersion"]),
    ),
    ("showHasSiblingsFilter", Never),
    (
        "showSearchBarAutocompleteRedesign",
        With(&["searchAcrossEntities"]),
    ),
    ("showManageTags", With(&["createTag", "deleteTag"])),
    // It asks for platforms to ingest from, which needs an executor beside the server.
    ("showIntroducePage", Never),
    (
        "showIngestionPageRedesign",
        With(&["createIngestionSource", "createIngestionExecutionRequest"]),
    ),
    ("showLineageExpandMore", With(&["searchAcrossLineage"])),
    ("showLineageFilterNodes", Never),
    ("showStatsTabRedesign", Always),
    (
        "showHomePageRedesign",
        With(&[
            "globalHomePageSettings",
            "upsertPageTemplate",
            "upsertPageModule",
        ]),
    ),
    // Announcements come from a server of DataHub's makers, which Docent does not contact.
    ("showProductUpdates", Never),
    (
        "logicalModelsEnabled",
        With(&["setLogicalParent", "createLogicalModel"]),
    ),
    ("showHomepageUserRole", Never),
    ("showDefaultExternalLinks", Always),
    (
        "assetSummaryPageV1",
        With(&["updateAssetSettings", "upsertPageTemplate"]),
    ),
    ("datasetSummaryPageV1", Never),
    ("metricsEnabled", With(&["metric", "semanticModel"])),
    ("ingestionOnboardingRedesignV1", Never),
    // There is no object store.
    ("documentationFileUploadV1", Never),
    (
        "multipleDataProductsPerAsset",
        With(&["batchSetDataProduct"]),
    ),
    ("glossaryBasedPoliciesEnabled", With(&["createPolicy"])),
    ("contextDocumentsEnabled", With(&["searchDocuments"])),
    ("hideLineageInSearchCards", Never),
    (
        "dataProductLineageEnabled",
        With(&["listDataProductAssets"]),
    ),
    ("showTestsInHealthIcon", Never),
    ("i18nEnabled", With(&["updateCorpUserLocaleSettings"])),
    // There is no collector of traces.
    ("browserTracingEnabled", Never),
    ("browserWebVitalsEnabled", Never),
];

/// The lifetimes of tokens that pages offer.
const TOKEN_DURATIONS: [&str; 7] = ["PT1H", "P1D", "P7D", "P30D", "P90D", "P180D", "P365D"];
/// The queries on a page of the tab with queries.
const QUERIES_PER_PAGE: usize = 10;

/// The features that clients check for.
pub(super) async fn app_config(context: &Context, _: Args<'_>) -> Result<Value, Error> {
    let settings = context.catalog.global_settings().await?;
    let has_applications = settings["applications"]["enabled"] == json!(true);
    Ok(json!({
        "appVersion": env!("CARGO_PKG_VERSION"),
        "authConfig": {
            "tokenAuthEnabled": true,
            "allowNoExpiry": false,
            "allowedAccessTokenDurations": TOKEN_DURATIONS,
        },
        "analyticsConfig": {"enabled": is_root_field("getAnalyticsCharts")},
        "policiesConfig": {
            "enabled": true,
            "platformPrivileges": offered(PolicyKind::Platform, |_| true),
            "resourcePrivileges": resource_privileges(),
        },
        "identityManagementConfig": {"enabled": true},
        "managedIngestionConfig": {"enabled": is_root_field("createIngestionSource")},
        "lineageConfig": {"supportsImpactAnalysis": true},
        "visualConfig": {
            "hideGlossary": false,
            "queriesTab": {"queriesTabResultSize": QUERIES_PER_PAGE},
            "entityProfiles": {},
            "searchResult": {"enableNameHighlight": true},
            "showFullTitleInLineage": false,
            "application": {
                "showSidebarSectionWhenEmpty": has_applications,
                "showApplicationInNavigation": has_applications,
            },
        },
        "telemetryConfig": {"enableThirdPartyLogging": false},
        "testsConfig": {"enabled": is_root_field("createTest")},
        "viewsConfig": {"enabled": is_root_field("createView")},
        "searchBarConfig": {"apiVariant": "SEARCH_ACROSS_ENTITIES"},
        "searchCardConfig": {"showDescription": true},
        "searchFlagsConfig": {"defaultSkipHighlighting": false},
        "semanticSearchConfig": {"enabled": false, "enabledEntities": []},
        "featureFlags": feature_flags(),
        "chromeExtensionConfig": {"enabled": false, "lineageEnabled": false},
        "homePageConfig": {"firstInPersonalSidebar": "YOUR_ASSETS"},
    }))
}

fn feature_flags() -> Value {
    let flag = |(name, shown): &(&str, Shown)| {
        let is_shown = match shown {
            Always => true,
            Never => false,
            With(fields) => fields.iter().all(|field| is_root_field(field)),
        };
        ((*name).to_owned(), Value::Bool(is_shown))
    };
    Value::Object(FLAGS.iter().map(flag).collect::<Map<_, _>>())
}

/// The types that policies are usually about.
const RESOURCE_TYPES: &[&str] = &[
    "dataset",
    "dashboard",
    "chart",
    "dataFlow",
    "dataJob",
    "dataProcessInstance",
    "tag",
    "container",
    "domain",
    "glossaryTerm",
    "glossaryNode",
    "corpGroup",
    "corpuser",
    "notebook",
    "dataProduct",
    "application",
    "document",
    "erModelRelationship",
    "businessAttribute",
    "structuredProperty",
    "dataHubIngestionSource",
    "versionSet",
    "dataPlatformInstance",
    "dataHubView",
    "mlModel",
    "mlFeature",
    "mlFeatureTable",
];

/// Which types a privilege on resources is about: those with one of the aspects, or those listed.
/// All others are about every type.
enum About {
    Aspects(&'static [&'static str]),
    Types(&'static [&'static str]),
}

use About::{Aspects, Types};

const ABOUT: &[(Privilege, About)] = &[
    (p::EDIT_ENTITY_TAGS, Aspects(&["globalTags"])),
    (p::EDIT_ENTITY_GLOSSARY_TERMS, Aspects(&["glossaryTerms"])),
    (p::EDIT_ENTITY_OWNERS, Aspects(&["ownership"])),
    (p::EDIT_ENTITY_DOC_LINKS, Aspects(&["institutionalMemory"])),
    (p::EDIT_ENTITY_STATUS, Aspects(&["status"])),
    (p::EDIT_DOMAINS_PRIVILEGE, Aspects(&["domains"])),
    (
        p::EDIT_ENTITY_APPLICATIONS_PRIVILEGE,
        Aspects(&["applications"]),
    ),
    (p::EDIT_DEPRECATION_PRIVILEGE, Aspects(&["deprecation"])),
    (
        p::EDIT_LINEAGE,
        Aspects(&[
            "upstreamLineage",
            "dataJobInputOutput",
            "chartInfo",
            "dashboardInfo",
        ]),
    ),
    (p::EDIT_ENTITY_EMBED, Aspects(&["embed"])),
    (
        p::EDIT_ENTITY_PROPERTIES,
        Aspects(&["structuredProperties"]),
    ),
    (p::EDIT_ENTITY_ASSERTIONS, Types(&["dataset"])),
    (p::EDIT_ENTITY_OPERATIONS, Aspects(&["operation"])),
    (p::EDIT_ENTITY_QUERIES, Types(&["dataset"])),
    (p::EDIT_ENTITY_DATA_CONTRACT, Types(&["dataset"])),
    (p::CREATE_ENTITY_ER_MODEL_RELATIONSHIP, Types(&["dataset"])),
    (p::EDIT_DATASET_COL_TAGS, Types(&["dataset"])),
    (p::EDIT_DATASET_COL_GLOSSARY_TERMS, Types(&["dataset"])),
    (p::EDIT_DATASET_COL_DESCRIPTION, Types(&["dataset"])),
    (
        p::EDIT_DATASET_COL_BUSINESS_ATTRIBUTE_PRIVILEGE,
        Types(&["dataset"]),
    ),
    (
        p::VIEW_DATASET_USAGE,
        Types(&["dataset", "chart", "dashboard"]),
    ),
    (p::VIEW_DATASET_PROFILE, Types(&["dataset"])),
    (p::VIEW_DATASET_OPERATIONS, Types(&["dataset"])),
    (p::EDIT_TAG_COLOR, Types(&["tag"])),
    (p::EDIT_GROUP_MEMBERS, Types(&["corpGroup"])),
    (p::EDIT_USER_PROFILE, Types(&["corpuser"])),
    (p::EDIT_CONTACT_INFO, Types(&["corpuser", "corpGroup"])),
    (p::MANAGE_GLOSSARY_CHILDREN, Types(&["glossaryNode"])),
    (p::MANAGE_ALL_GLOSSARY_CHILDREN, Types(&["glossaryNode"])),
    (p::MANAGE_DATA_PRODUCTS, Types(&["domain"])),
    (p::MANAGE_DOCUMENTS, Types(&["document"])),
];

fn resource_privileges() -> Vec<Value> {
    let registry = Registry::get();
    let all = json!({
        "resourceType": "all",
        "resourceTypeDisplayName": "All",
        "privileges": offered(PolicyKind::Metadata, |_| true),
    });
    let types = RESOURCE_TYPES
        .iter()
        .filter_map(|name| registry.entity(name));
    let of_type = types.map(|spec| {
        json!({
            "resourceType": spec.name,
            "resourceTypeDisplayName": in_words(spec.name),
            "entityType": entity_types::schema_name(spec.name),
            "privileges": offered(PolicyKind::Metadata, |privilege| is_about(privilege, spec)),
        })
    });
    std::iter::once(all).chain(of_type).collect()
}

fn offered(kind: PolicyKind, accept: impl Fn(Privilege) -> bool) -> Vec<Value> {
    let privileges = p::ALL.iter().copied();
    privileges
        .filter(|privilege| privilege.is_of(kind) && accept(*privilege))
        .map(|privilege| json!({"type": privilege.name(), "displayName": display_name(privilege)}))
        .collect()
}

fn is_about(privilege: Privilege, spec: &EntitySpec) -> bool {
    let mut known = ABOUT.iter();
    match known.find(|(known, _)| *known == privilege) {
        None => true,
        Some((_, Types(types))) => types.contains(&spec.name),
        Some((_, Aspects(aspects))) => {
            let mut of_type = spec.aspects.iter();
            of_type.any(|aspect| aspects.contains(&aspect.as_str()))
        }
    }
}

/// `EDIT_ENTITY_TAGS` as "Edit Entity Tags".
fn display_name(privilege: Privilege) -> String {
    let name = privilege.name();
    let name = name.strip_suffix("_PRIVILEGE").unwrap_or(name);
    let capitalized = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        format!("{first}{}", rest.to_lowercase())
    };
    let words: Vec<String> = name.split('_').map(capitalized).collect();
    words.join(" ")
}
