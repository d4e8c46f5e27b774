//! The privileges, by DataHub's names.
//!
//! Policies may contain other names; they grant nothing that Docent checks.

use std::fmt;

/// Something that policies allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Privilege {
    name: &'static str,
    policies: PolicyTypes,
}

/// The types of policies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum PolicyKind {
    /// Privileges that do not depend on a resource.
    Platform,
    #[default]
    Metadata,
}

impl PolicyKind {
    /// DataHub's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Platform => "PLATFORM",
            Self::Metadata => "METADATA",
        }
    }
}

/// The types of policies that may grant a privilege.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum PolicyTypes {
    Platform,
    Metadata,
    /// DataHub grants it in policies of both types.
    Either,
}

impl Privilege {
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The privilege with this name.
    pub fn parse(name: &str) -> Option<Self> {
        ALL.iter().copied().find(|it| it.name == name)
    }

    /// Whether policies of this type grant it.
    pub fn is_of(self, kind: PolicyKind) -> bool {
        match self.policies {
            PolicyTypes::Platform => kind == PolicyKind::Platform,
            PolicyTypes::Metadata => kind == PolicyKind::Metadata,
            PolicyTypes::Either => true,
        }
    }

    /// Whether it allows reading only.
    pub(crate) fn is_for_reading(self) -> bool {
        ["VIEW_", "GET_", "EXISTS_", "SEARCH_"]
            .iter()
            .any(|prefix| self.name.starts_with(prefix))
    }

    /// Whether it allows reading metadata, which scopes of tokens do not narrow. What concerns the
    /// platform, such as the audit log, is not metadata.
    pub(crate) fn is_for_reading_metadata(self) -> bool {
        self.policies == PolicyTypes::Metadata && self.is_for_reading()
    }
}

impl fmt::Display for Privilege {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Declares constants, and [`ALL`] with all of them.
macro_rules! privileges {
    ($($policies:ident { $($constant:ident = $name:literal,)* })*) => {
        $($(pub const $constant: Privilege = Privilege { name: $name, policies: PolicyTypes::$policies };)*)*

        /// Every privilege.
        pub const ALL: &[Privilege] = &[$($($constant),*),*];
    };
}

privileges! {
    Platform {
        MANAGE_POLICIES = "MANAGE_POLICIES",
        MANAGE_INGESTION = "MANAGE_INGESTION",
        MANAGE_SECRETS = "MANAGE_SECRETS",
        MANAGE_USERS_AND_GROUPS = "MANAGE_USERS_AND_GROUPS",
        CREATE_USERS_AND_GROUPS = "CREATE_USERS_AND_GROUPS",
        UPDATE_USERS_AND_GROUPS = "UPDATE_USERS_AND_GROUPS",
        CREATE_USERS = "CREATE_USERS",
        UPDATE_USERS = "UPDATE_USERS",
        CREATE_GROUPS = "CREATE_GROUPS",
        UPDATE_GROUPS = "UPDATE_GROUPS",
        VIEW_ANALYTICS = "VIEW_ANALYTICS",
        GET_ANALYTICS_PRIVILEGE = "GET_ANALYTICS_PRIVILEGE",
        GENERATE_PERSONAL_ACCESS_TOKENS = "GENERATE_PERSONAL_ACCESS_TOKENS",
        MANAGE_ACCESS_TOKENS = "MANAGE_ACCESS_TOKENS",
        MANAGE_DOMAINS = "MANAGE_DOMAINS",
        MANAGE_GLOBAL_ANNOUNCEMENTS = "MANAGE_GLOBAL_ANNOUNCEMENTS",
        VIEW_TESTS = "VIEW_TESTS",
        MANAGE_TESTS = "MANAGE_TESTS",
        MANAGE_GLOSSARIES = "MANAGE_GLOSSARIES",
        MANAGE_USER_CREDENTIALS = "MANAGE_USER_CREDENTIALS",
        MANAGE_TAGS = "MANAGE_TAGS",
        VIEW_MANAGE_TAGS = "VIEW_MANAGE_TAGS",
        CREATE_TAGS = "CREATE_TAGS",
        CREATE_DOMAINS = "CREATE_DOMAINS",
        CREATE_LOGICAL_MODELS = "CREATE_LOGICAL_MODELS",
        CREATE_GLOBAL_ANNOUNCEMENTS = "CREATE_GLOBAL_ANNOUNCEMENTS",
        MANAGE_GLOBAL_VIEWS = "MANAGE_GLOBAL_VIEWS",
        MANAGE_GLOBAL_OWNERSHIP_TYPES = "MANAGE_GLOBAL_OWNERSHIP_TYPES",
        MANAGE_GLOBAL_SETTINGS = "MANAGE_GLOBAL_SETTINGS",
        MANAGE_SERVICE_ACCOUNTS = "MANAGE_SERVICE_ACCOUNTS",
        CREATE_BUSINESS_ATTRIBUTE = "CREATE_BUSINESS_ATTRIBUTE",
        MANAGE_BUSINESS_ATTRIBUTE = "MANAGE_BUSINESS_ATTRIBUTE",
        MANAGE_CONNECTIONS = "MANAGE_CONNECTIONS",
        MANAGE_WEBHOOKS = "MANAGE_WEBHOOKS",
        MANAGE_STRUCTURED_PROPERTIES = "MANAGE_STRUCTURED_PROPERTIES",
        MANAGE_DOCUMENTATION_FORMS = "MANAGE_DOCUMENTATION_FORMS",
        MANAGE_FEATURES = "MANAGE_FEATURES",
        MANAGE_SYSTEM_OPERATIONS = "MANAGE_SYSTEM_OPERATIONS",
        VIEW_SYSTEM_STATUS = "VIEW_SYSTEM_STATUS",
        GET_PLATFORM_EVENTS = "GET_PLATFORM_EVENTS",
        GET_METADATA_CHANGE_LOG_EVENTS = "GET_METADATA_CHANGE_LOG_EVENTS",
        MANAGE_HOME_PAGE_TEMPLATES = "MANAGE_HOME_PAGE_TEMPLATES",
        GET_TOPIC_EVENTS = "GET_TOPIC_EVENTS",
    }
    Metadata {
        VIEW_ENTITY_PAGE = "VIEW_ENTITY_PAGE",
        EXISTS_ENTITY = "EXISTS_ENTITY",
        EXECUTE_ENTITY = "EXECUTE_ENTITY",
        CREATE_ENTITY = "CREATE_ENTITY",
        EDIT_ENTITY_TAGS = "EDIT_ENTITY_TAGS",
        EDIT_ENTITY_GLOSSARY_TERMS = "EDIT_ENTITY_GLOSSARY_TERMS",
        EDIT_ENTITY_OWNERS = "EDIT_ENTITY_OWNERS",
        EDIT_ENTITY_DOCS = "EDIT_ENTITY_DOCS",
        EDIT_ENTITY_DOC_LINKS = "EDIT_ENTITY_DOC_LINKS",
        EDIT_ENTITY_STATUS = "EDIT_ENTITY_STATUS",
        EDIT_DOMAINS_PRIVILEGE = "EDIT_DOMAINS_PRIVILEGE",
        EDIT_ENTITY_APPLICATIONS_PRIVILEGE = "EDIT_ENTITY_APPLICATIONS_PRIVILEGE",
        EDIT_ENTITY_DATA_PRODUCTS = "EDIT_ENTITY_DATA_PRODUCTS",
        EDIT_DEPRECATION_PRIVILEGE = "EDIT_DEPRECATION_PRIVILEGE",
        EDIT_ENTITY_ASSERTIONS = "EDIT_ENTITY_ASSERTIONS",
        EDIT_ENTITY_OPERATIONS = "EDIT_ENTITY_OPERATIONS",
        EDIT_ENTITY_INCIDENTS = "EDIT_ENTITY_INCIDENTS",
        EDIT_ENTITY = "EDIT_ENTITY",
        DELETE_ENTITY = "DELETE_ENTITY",
        EDIT_LINEAGE = "EDIT_LINEAGE",
        EDIT_ENTITY_EMBED = "EDIT_ENTITY_EMBED",
        EDIT_ENTITY_PROPERTIES = "EDIT_ENTITY_PROPERTIES",
        CREATE_ENTITY_ER_MODEL_RELATIONSHIP = "CREATE_ENTITY_ER_MODEL_RELATIONSHIP",
        MANAGE_ASSET_SUMMARY = "MANAGE_ASSET_SUMMARY",
        EDIT_DATASET_COL_TAGS = "EDIT_DATASET_COL_TAGS",
        EDIT_DATASET_COL_GLOSSARY_TERMS = "EDIT_DATASET_COL_GLOSSARY_TERMS",
        EDIT_DATASET_COL_DESCRIPTION = "EDIT_DATASET_COL_DESCRIPTION",
        VIEW_DATASET_USAGE = "VIEW_DATASET_USAGE",
        VIEW_DATASET_PROFILE = "VIEW_DATASET_PROFILE",
        VIEW_DATASET_OPERATIONS = "VIEW_DATASET_OPERATIONS",
        EDIT_ENTITY_QUERIES = "EDIT_ENTITY_QUERIES",
        EDIT_ENTITY_DATA_CONTRACT = "EDIT_ENTITY_DATA_CONTRACT",
        DATA_READ_ONLY = "DATA_READ_ONLY",
        DATA_READ_WRITE = "DATA_READ_WRITE",
        DATA_MANAGE_TABLES = "DATA_MANAGE_TABLES",
        DATA_MANAGE_VIEWS = "DATA_MANAGE_VIEWS",
        DATA_MANAGE_NAMESPACES = "DATA_MANAGE_NAMESPACES",
        DATA_LIST_ENTITIES = "DATA_LIST_ENTITIES",
        EDIT_TAG_COLOR = "EDIT_TAG_COLOR",
        EDIT_GROUP_MEMBERS = "EDIT_GROUP_MEMBERS",
        EDIT_USER_PROFILE = "EDIT_USER_PROFILE",
        EDIT_CONTACT_INFO = "EDIT_CONTACT_INFO",
        MANAGE_GLOSSARY_CHILDREN = "MANAGE_GLOSSARY_CHILDREN",
        MANAGE_ALL_GLOSSARY_CHILDREN = "MANAGE_ALL_GLOSSARY_CHILDREN",
        GET_TIMELINE_PRIVILEGE = "GET_TIMELINE_PRIVILEGE",
        GET_ENTITY_PRIVILEGE = "GET_ENTITY_PRIVILEGE",
        GET_TIMESERIES_ASPECT_PRIVILEGE = "GET_TIMESERIES_ASPECT_PRIVILEGE",
        GET_COUNTS_PRIVILEGE = "GET_COUNTS_PRIVILEGE",
        ES_EXPLAIN_QUERY_PRIVILEGE = "ES_EXPLAIN_QUERY_PRIVILEGE",
        SEARCH_PRIVILEGE = "SEARCH_PRIVILEGE",
        EDIT_DATASET_COL_BUSINESS_ATTRIBUTE_PRIVILEGE = "EDIT_DATASET_COL_BUSINESS_ATTRIBUTE_PRIVILEGE",
        MANAGE_DATA_PRODUCTS = "MANAGE_DATA_PRODUCTS",
        // Docent's own.
        PROPOSE_CHANGES = "PROPOSE_CHANGES",
    }
    Either {
        MANAGE_DOCUMENTS = "MANAGE_DOCUMENTS",
        VIEW_STRUCTURED_PROPERTIES_PAGE = "VIEW_STRUCTURED_PROPERTIES_PAGE",
        RESTORE_INDICES_PRIVILEGE = "RESTORE_INDICES_PRIVILEGE",
        GET_TIMESERIES_INDEX_SIZES_PRIVILEGE = "GET_TIMESERIES_INDEX_SIZES_PRIVILEGE",
        TRUNCATE_TIMESERIES_INDEX_PRIVILEGE = "TRUNCATE_TIMESERIES_INDEX_PRIVILEGE",
        GET_ES_TASK_STATUS_PRIVILEGE = "GET_ES_TASK_STATUS_PRIVILEGE",
        SET_WRITEABLE_PRIVILEGE = "SET_WRITEABLE_PRIVILEGE",
        APPLY_RETENTION_PRIVILEGE = "APPLY_RETENTION_PRIVILEGE",
        PRODUCE_PLATFORM_EVENT_PRIVILEGE = "PRODUCE_PLATFORM_EVENT_PRIVILEGE",
    }
}
