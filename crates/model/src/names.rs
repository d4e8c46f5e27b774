//! Aspect names.

use std::fmt;

/// The name of an aspect. Points to static text (a constant below or a name in the registry), so
/// that it is `Copy` and never allocated on a request path. Convert external text with
/// [`crate::Registry::aspect`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AspectName(&'static str);

impl AspectName {
    pub const ACTION_REQUEST_INFO: Self = Self("actionRequestInfo");
    pub const ACTION_REQUEST_PENDING: Self = Self("actionRequestPending");
    pub const ACTION_REQUEST_RESULT: Self = Self("actionRequestResult");
    pub const ACCESS_TOKEN_INFO: Self = Self("dataHubAccessTokenInfo");
    pub const ACTORS: Self = Self("actors");
    pub const ALIASES: Self = Self("aliases");
    pub const APPLICATION_PROPERTIES: Self = Self("applicationProperties");
    pub const APPLICATIONS: Self = Self("applications");
    pub const ASSERTION_INFO: Self = Self("assertionInfo");
    pub const ASSERTION_RUN_EVENT: Self = Self("assertionRunEvent");
    pub const ASSET_SETTINGS: Self = Self("assetSettings");
    pub const BROWSE_PATHS_V2: Self = Self("browsePathsV2");
    pub const BUSINESS_ATTRIBUTE_INFO: Self = Self("businessAttributeInfo");
    pub const BUSINESS_ATTRIBUTES: Self = Self("businessAttributes");
    pub const CONNECTION_DETAILS: Self = Self("dataHubConnectionDetails");
    pub const CONTAINER: Self = Self("container");
    pub const CHART_USAGE_STATISTICS: Self = Self("chartUsageStatistics");
    pub const CORP_GROUP_EDITABLE_INFO: Self = Self("corpGroupEditableInfo");
    pub const CORP_GROUP_INFO: Self = Self("corpGroupInfo");
    pub const CORP_USER_CREDENTIALS: Self = Self("corpUserCredentials");
    pub const CORP_USER_EDITABLE_INFO: Self = Self("corpUserEditableInfo");
    pub const CORP_USER_INFO: Self = Self("corpUserInfo");
    pub const CORP_USER_SETTINGS: Self = Self("corpUserSettings");
    pub const CORP_USER_STATUS: Self = Self("corpUserStatus");
    pub const DASHBOARD_USAGE_STATISTICS: Self = Self("dashboardUsageStatistics");
    pub const DATA_PLATFORM_INFO: Self = Self("dataPlatformInfo");
    pub const DATA_PLATFORM_INSTANCE: Self = Self("dataPlatformInstance");
    pub const DATA_CONTRACT_PROPERTIES: Self = Self("dataContractProperties");
    pub const DATA_CONTRACT_STATUS: Self = Self("dataContractStatus");
    pub const DATA_PROCESS_INSTANCE_RUN_EVENT: Self = Self("dataProcessInstanceRunEvent");
    pub const DATA_PRODUCT_PROPERTIES: Self = Self("dataProductProperties");
    pub const PAGE_MODULE_PROPERTIES: Self = Self("dataHubPageModuleProperties");
    pub const PAGE_TEMPLATE_PROPERTIES: Self = Self("dataHubPageTemplateProperties");
    pub const STEP_STATE_PROPERTIES: Self = Self("dataHubStepStateProperties");
    pub const DATASET_DEPRECATION: Self = Self("datasetDeprecation");
    pub const DATASET_PROFILE: Self = Self("datasetProfile");
    pub const DATASET_PROPERTIES: Self = Self("datasetProperties");
    pub const DATASET_USAGE_STATISTICS: Self = Self("datasetUsageStatistics");
    pub const DEPRECATION: Self = Self("deprecation");
    pub const DISPLAY_PROPERTIES: Self = Self("displayProperties");
    pub const DOCUMENT_INFO: Self = Self("documentInfo");
    pub const DOCUMENT_SETTINGS: Self = Self("documentSettings");
    pub const DOMAIN_PROPERTIES: Self = Self("domainProperties");
    pub const DOMAINS: Self = Self("domains");
    pub const DYNAMIC_FORM_ASSIGNMENT: Self = Self("dynamicFormAssignment");
    pub const EDITABLE_CONTAINER_PROPERTIES: Self = Self("editableContainerProperties");
    pub const EDITABLE_DATASET_PROPERTIES: Self = Self("editableDatasetProperties");
    pub const EDITABLE_ER_MODEL_RELATIONSHIP_PROPERTIES: Self =
        Self("editableERModelRelationshipProperties");
    pub const EDITABLE_SCHEMA_METADATA: Self = Self("editableSchemaMetadata");
    pub const EMBED: Self = Self("embed");
    pub const ER_MODEL_RELATIONSHIP_PROPERTIES: Self = Self("erModelRelationshipProperties");
    pub const EXECUTION_REQUEST_INPUT: Self = Self("dataHubExecutionRequestInput");
    pub const EXECUTION_REQUEST_RESULT: Self = Self("dataHubExecutionRequestResult");
    pub const EXECUTION_REQUEST_SIGNAL: Self = Self("dataHubExecutionRequestSignal");
    pub const WEBHOOK_DEAD_LETTER: Self = Self("docentWebhookDeadLetter");
    pub const WEBHOOK_INFO: Self = Self("docentWebhookInfo");
    pub const WEBHOOK_STATE: Self = Self("docentWebhookState");
    pub const EXTERNAL_USER_INFO: Self = Self("docentExternalUserInfo");
    pub const FILE_INFO: Self = Self("dataHubFileInfo");
    pub const FORM_INFO: Self = Self("formInfo");
    pub const FORMS: Self = Self("forms");
    pub const GLOBAL_SETTINGS_INFO: Self = Self("globalSettingsInfo");
    pub const GLOBAL_TAGS: Self = Self("globalTags");
    pub const GLOSSARY_NODE_INFO: Self = Self("glossaryNodeInfo");
    pub const GLOSSARY_RELATED_TERMS: Self = Self("glossaryRelatedTerms");
    pub const GLOSSARY_TERM_INFO: Self = Self("glossaryTermInfo");
    pub const GLOSSARY_TERMS: Self = Self("glossaryTerms");
    pub const GROUP_MEMBERSHIP: Self = Self("groupMembership");
    pub const INCIDENT_INFO: Self = Self("incidentInfo");
    pub const INGESTION_SOURCE_INFO: Self = Self("dataHubIngestionSourceInfo");
    pub const INSTITUTIONAL_MEMORY: Self = Self("institutionalMemory");
    pub const INVITE_TOKEN: Self = Self("inviteToken");
    pub const LIFECYCLE_STAGE_TYPE_INFO: Self = Self("lifecycleStageTypeInfo");
    pub const LOGICAL_PARENT: Self = Self("logicalParent");
    pub const METRIC_RELATIONSHIPS: Self = Self("metricRelationships");
    pub const NATIVE_GROUP_MEMBERSHIP: Self = Self("nativeGroupMembership");
    pub const OPERATION: Self = Self("operation");
    pub const ORIGIN: Self = Self("origin");
    pub const OWNERSHIP: Self = Self("ownership");
    pub const OWNERSHIP_TYPE_INFO: Self = Self("ownershipTypeInfo");
    pub const POLICY_INFO: Self = Self("dataHubPolicyInfo");
    pub const POST_INFO: Self = Self("postInfo");
    pub const PROPERTY_DEFINITION: Self = Self("propertyDefinition");
    pub const QUERY_PROPERTIES: Self = Self("queryProperties");
    pub const QUERY_SUBJECTS: Self = Self("querySubjects");
    pub const ROLE_INFO: Self = Self("dataHubRoleInfo");
    pub const ROLE_MEMBERSHIP: Self = Self("roleMembership");
    pub const SCHEMA_METADATA: Self = Self("schemaMetadata");
    pub const SECRET_VALUE: Self = Self("dataHubSecretValue");
    pub const SESSION_INFO: Self = Self("docentSessionInfo");
    pub const SIBLINGS: Self = Self("siblings");
    pub const STATUS: Self = Self("status");
    pub const STRUCTURED_PROPERTY_SETTINGS: Self = Self("structuredPropertySettings");
    pub const STRUCTURED_PROPERTIES: Self = Self("structuredProperties");
    pub const SUB_TYPES: Self = Self("subTypes");
    pub const TAG_PROPERTIES: Self = Self("tagProperties");
    pub const TEST_INFO: Self = Self("testInfo");
    pub const TEST_RESULTS: Self = Self("testResults");
    pub const UPSTREAM_LINEAGE: Self = Self("upstreamLineage");
    pub const VERSION_PROPERTIES: Self = Self("versionProperties");
    pub const VERSION_SET_PROPERTIES: Self = Self("versionSetProperties");
    pub const VIEW_INFO: Self = Self("dataHubViewInfo");

    pub(crate) const fn from_static(name: &'static str) -> Self {
        Self(name)
    }

    /// The schema version that is stored with values of the aspect, where it is not the first.
    pub fn schema_version(self) -> Option<i64> {
        // The second has associations next to the plain list of URNs.
        (self == Self::DOMAINS).then_some(2)
    }

    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for AspectName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl fmt::Debug for AspectName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}
