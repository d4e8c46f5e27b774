// What each privilege allows, in words: a verb and what it applies to. A privilege without the
// latter applies to the whole asset: "edit datasets in Finance".

/** The verb, its object, and the label of the checkbox where the two alone are not clear. */
type Words = readonly [verb: string, object: string, label?: string];

interface PrivilegeGroup {
  readonly title: string;
  readonly privileges: Readonly<Record<string, Words>>;
}

/** The privileges on assets. */
export const metadataPrivileges: readonly PrivilegeGroup[] = [
  {
    title: "Whole assets",
    privileges: {
      VIEW_ENTITY_PAGE: ["view", "", "View the page"],
      CREATE_ENTITY: ["create", "", "Create"],
      EDIT_ENTITY: ["edit", "", "Edit everything"],
      DELETE_ENTITY: ["delete", "", "Delete"],
      PROPOSE_CHANGES: ["propose changes of", "", "Propose changes, which others accept or reject"],
      EXISTS_ENTITY: ["check the existence of", "", "Check the existence"],
      EXECUTE_ENTITY: ["run", "", "Run"],
    },
  },
  {
    title: "Parts of assets",
    privileges: {
      EDIT_ENTITY_DOCS: ["edit", "descriptions"],
      EDIT_ENTITY_DOC_LINKS: ["edit", "links"],
      EDIT_ENTITY_OWNERS: ["edit", "owners"],
      EDIT_ENTITY_TAGS: ["edit", "tags"],
      EDIT_ENTITY_GLOSSARY_TERMS: ["edit", "glossary terms"],
      EDIT_DOMAINS_PRIVILEGE: ["edit", "domains", "Edit the domain of assets"],
      EDIT_ENTITY_DATA_PRODUCTS: ["edit", "data products", "Edit the data products of assets"],
      EDIT_ENTITY_APPLICATIONS_PRIVILEGE: ["edit", "applications"],
      EDIT_ENTITY_PROPERTIES: ["edit", "structured properties"],
      EDIT_DEPRECATION_PRIVILEGE: ["edit", "deprecation"],
      EDIT_ENTITY_STATUS: ["edit", "status", "Hide and restore (soft deletion)"],
      EDIT_LINEAGE: ["edit", "lineage"],
      EDIT_ENTITY_EMBED: ["edit", "embedded content"],
      MANAGE_ASSET_SUMMARY: ["edit", "summary pages"],
    },
  },
  {
    title: "Columns",
    privileges: {
      EDIT_DATASET_COL_DESCRIPTION: ["edit", "column descriptions"],
      EDIT_DATASET_COL_TAGS: ["edit", "column tags"],
      EDIT_DATASET_COL_GLOSSARY_TERMS: ["edit", "column glossary terms"],
      EDIT_DATASET_COL_BUSINESS_ATTRIBUTE_PRIVILEGE: ["edit", "column business attributes"],
    },
  },
  {
    title: "Quality and usage",
    privileges: {
      VIEW_DATASET_USAGE: ["view", "usage"],
      VIEW_DATASET_PROFILE: ["view", "profiles"],
      VIEW_DATASET_OPERATIONS: ["view", "operations"],
      EDIT_ENTITY_ASSERTIONS: ["edit", "assertions"],
      EDIT_ENTITY_INCIDENTS: ["edit", "incidents"],
      EDIT_ENTITY_DATA_CONTRACT: ["edit", "data contracts"],
      EDIT_ENTITY_QUERIES: ["edit", "queries"],
      EDIT_ENTITY_OPERATIONS: ["edit", "operations"],
    },
  },
  {
    title: "Vocabulary and people",
    privileges: {
      EDIT_TAG_COLOR: ["edit", "tag colors"],
      EDIT_GROUP_MEMBERS: ["edit", "group members"],
      EDIT_USER_PROFILE: ["edit", "user profiles"],
      EDIT_CONTACT_INFO: ["edit", "contact details"],
      MANAGE_DATA_PRODUCTS: ["manage", "data products"],
      MANAGE_DOCUMENTS: ["manage", "documents"],
      CREATE_ENTITY_ER_MODEL_RELATIONSHIP: ["create", "dataset relationships"],
      MANAGE_GLOSSARY_CHILDREN: ["manage", "glossary children"],
      MANAGE_ALL_GLOSSARY_CHILDREN: ["manage", "all glossary descendants"],
      VIEW_STRUCTURED_PROPERTIES_PAGE: ["view", "the structured properties page"],
    },
  },
  {
    title: "API",
    privileges: {
      GET_ENTITY_PRIVILEGE: ["read", "aspects"],
      GET_TIMELINE_PRIVILEGE: ["read", "the history"],
      GET_TIMESERIES_ASPECT_PRIVILEGE: ["read", "time series"],
      GET_COUNTS_PRIVILEGE: ["read", "counts"],
      SEARCH_PRIVILEGE: ["use", "the search API"],
      ES_EXPLAIN_QUERY_PRIVILEGE: ["use", "search explanations"],
    },
  },
  {
    title: "Data at the source",
    privileges: {
      DATA_READ_ONLY: ["use", "data for reading"],
      DATA_READ_WRITE: ["use", "data for reading and writing"],
      DATA_MANAGE_TABLES: ["manage", "tables at the source"],
      DATA_MANAGE_VIEWS: ["manage", "views at the source"],
      DATA_MANAGE_NAMESPACES: ["manage", "namespaces at the source"],
      DATA_LIST_ENTITIES: ["list", "tables at the source"],
    },
  },
];

/** The privileges that do not depend on an asset. */
export const platformPrivileges: readonly PrivilegeGroup[] = [
  {
    title: "People and access",
    privileges: {
      MANAGE_POLICIES: ["manage", "policies and roles"],
      MANAGE_USERS_AND_GROUPS: ["manage", "users and groups"],
      CREATE_USERS_AND_GROUPS: ["create", "users and groups"],
      UPDATE_USERS_AND_GROUPS: ["update", "users and groups"],
      CREATE_USERS: ["create", "users"],
      UPDATE_USERS: ["update", "users"],
      CREATE_GROUPS: ["create", "groups"],
      UPDATE_GROUPS: ["update", "groups"],
      MANAGE_USER_CREDENTIALS: ["manage", "passwords of users"],
      MANAGE_SERVICE_ACCOUNTS: ["manage", "service accounts"],
      MANAGE_ACCESS_TOKENS: ["manage", "access tokens of everyone"],
      GENERATE_PERSONAL_ACCESS_TOKENS: ["create", "personal access tokens"],
    },
  },
  {
    title: "Vocabulary",
    privileges: {
      MANAGE_DOMAINS: ["manage", "domains"],
      CREATE_DOMAINS: ["create", "domains"],
      MANAGE_TAGS: ["manage", "tags"],
      CREATE_TAGS: ["create", "tags"],
      VIEW_MANAGE_TAGS: ["view", "the page of tags"],
      MANAGE_GLOSSARIES: ["manage", "the glossary"],
      MANAGE_GLOBAL_OWNERSHIP_TYPES: ["manage", "ownership types"],
      MANAGE_STRUCTURED_PROPERTIES: ["manage", "structured properties"],
      VIEW_STRUCTURED_PROPERTIES_PAGE: ["view", "the structured properties page"],
      MANAGE_BUSINESS_ATTRIBUTE: ["manage", "business attributes"],
      CREATE_BUSINESS_ATTRIBUTE: ["create", "business attributes"],
      MANAGE_DOCUMENTATION_FORMS: ["manage", "documentation forms"],
      CREATE_LOGICAL_MODELS: ["create", "logical models"],
      MANAGE_DOCUMENTS: ["manage", "documents"],
      MANAGE_FEATURES: ["manage", "applications"],
    },
  },
  {
    title: "Pages and announcements",
    privileges: {
      MANAGE_GLOBAL_ANNOUNCEMENTS: ["manage", "announcements"],
      CREATE_GLOBAL_ANNOUNCEMENTS: ["create", "announcements"],
      MANAGE_GLOBAL_VIEWS: ["manage", "shared views"],
      MANAGE_HOME_PAGE_TEMPLATES: ["manage", "everybody’s home page"],
      MANAGE_GLOBAL_SETTINGS: ["manage", "settings of the catalog"],
      VIEW_ANALYTICS: ["view", "analytics"],
      GET_ANALYTICS_PRIVILEGE: ["read", "analytics and the audit log"],
    },
  },
  {
    title: "Ingestion and tests",
    privileges: {
      MANAGE_INGESTION: ["manage", "ingestion"],
      MANAGE_SECRETS: ["manage", "secrets of ingestion"],
      MANAGE_CONNECTIONS: ["manage", "connections"],
      MANAGE_TESTS: ["manage", "metadata tests"],
      VIEW_TESTS: ["view", "metadata tests"],
    },
  },
  {
    title: "Server",
    privileges: {
      MANAGE_SYSTEM_OPERATIONS: ["manage", "the server and its audit log"],
      VIEW_SYSTEM_STATUS: ["view", "the state of the server"],
      GET_PLATFORM_EVENTS: ["read", "platform events"],
      GET_METADATA_CHANGE_LOG_EVENTS: ["read", "change events"],
      GET_TOPIC_EVENTS: ["read", "events of topics"],
      MANAGE_WEBHOOKS: ["manage", "webhooks"],
    },
  },
];

/** The privileges of both kinds that only operators need. */
export const operatorPrivileges: PrivilegeGroup = {
  title: "Operation",
  privileges: {
    RESTORE_INDICES_PRIVILEGE: ["restore", "indices"],
    GET_TIMESERIES_INDEX_SIZES_PRIVILEGE: ["read", "sizes of time series"],
    TRUNCATE_TIMESERIES_INDEX_PRIVILEGE: ["truncate", "time series"],
    GET_ES_TASK_STATUS_PRIVILEGE: ["read", "the status of tasks"],
    SET_WRITEABLE_PRIVILEGE: ["switch", "the catalog to read-only"],
    APPLY_RETENTION_PRIVILEGE: ["apply", "retention"],
    PRODUCE_PLATFORM_EVENT_PRIVILEGE: ["send", "platform events"],
  },
};
