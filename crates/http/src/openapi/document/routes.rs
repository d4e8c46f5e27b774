//! Every route, as the OpenAPI document describes it.

/// The body of a request.
pub(super) enum Body {
    None,
    /// Entities of the type in the path, with aspects.
    Entities,
    /// Entities with patches of aspects.
    Patches,
    /// Lists of this schema by entity type.
    Groups(&'static str),
    /// A schema in the document.
    Schema(&'static str),
    /// An object like this example.
    Example(&'static str),
}

/// One method of one route.
pub(super) struct Operation {
    pub(super) method: &'static str,
    /// `{type}` stands for every entity type.
    pub(super) path: &'static str,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    /// Names and types, or `one of` the listed values.
    pub(super) query: &'static [(&'static str, &'static str)],
    pub(super) body: Body,
    /// Whether it needs no authentication.
    pub(super) is_open: bool,
}

impl Operation {
    /// Whether it accepts preconditions.
    pub(super) fn is_write(&self) -> bool {
        let writes = self.path.starts_with("/openapi/v3/entity/")
            && !self.path.ends_with("/batchGet")
            && !self.path.ends_with("/scroll")
            && !self.path.contains("/versioning/")
            && matches!(self.method, "post" | "patch" | "delete");
        let posts = matches!(
            self.path,
            "/aspects" | "/openapi/entities/v1" | "/openapi/v2/platform/entities/v1"
        );
        writes || (posts && self.method == "post")
    }
}

type Query = &'static [(&'static str, &'static str)];

const FEED: Query = &[
    ("since", "string"),
    ("wait", "integer"),
    ("limit", "integer"),
    (
        "topic",
        "one of MetadataChangeLog_Versioned_v1, PlatformEvent_v1",
    ),
    ("format", "one of cloudevents, datahub"),
    ("entityType", "string"),
    ("aspect", "string"),
    ("domain", "string"),
    ("tag", "string"),
    ("actor", "string"),
];
const PAGE: Query = &[
    ("count", "integer"),
    ("query", "string"),
    ("scrollId", "string"),
    ("systemMetadata", "boolean"),
    ("includeSoftDelete", "boolean"),
];
const LIST: Query = &[
    ("count", "integer"),
    ("query", "string"),
    ("scrollId", "string"),
    ("aspects", "string"),
    ("systemMetadata", "boolean"),
    ("includeSoftDelete", "boolean"),
];
const WRITE: Query = &[
    ("async", "boolean"),
    ("systemMetadata", "boolean"),
    ("createIfNotExists", "boolean"),
    ("createEntityIfNotExists", "boolean"),
];
const PATCH: Query = &[("async", "boolean"), ("systemMetadata", "boolean")];
const BATCH_GET: Query = &[("systemMetadata", "boolean")];
const READ: Query = &[("aspects", "string"), ("systemMetadata", "boolean")];
const READ_ASPECT: Query = &[("version", "integer"), ("systemMetadata", "boolean")];
const DELETE: Query = &[
    ("aspects", "string"),
    ("clear", "boolean"),
    ("async", "boolean"),
];

const EDGES: Query = &[
    ("relationshipTypes", "string"),
    ("sourceTypes", "string"),
    ("destinationTypes", "string"),
    ("direction", "one of OUTGOING, INCOMING"),
    ("count", "integer"),
    ("scrollId", "string"),
    ("includeSoftDelete", "boolean"),
];
const EDGE_PAGE: Query = &[
    ("count", "integer"),
    ("scrollId", "string"),
    ("includeSoftDelete", "boolean"),
];
const EDGES_OF: Query = &[
    ("relationshipType", "string"),
    ("direction", "one of OUTGOING, INCOMING"),
    ("count", "integer"),
    ("scrollId", "string"),
    ("includeSoftDelete", "boolean"),
];
const LINEAGE: Query = &[
    ("relationshipTypes", "string"),
    ("direction", "one of UPSTREAM, DOWNSTREAM"),
    ("count", "integer"),
    ("scrollId", "string"),
    ("includeSoftDelete", "boolean"),
];

const RELATED: Query = &[
    ("urn", "string"),
    ("direction", "one of OUTGOING, INCOMING"),
    ("relationshipTypes", "string"),
    ("start", "integer"),
    ("count", "integer"),
];

const REST: &str = "Rest.li";
const ALL_TYPES: &str = "all types";
const STATUS: &str = "status";
const GRAPHQL: &str = r#"{"query": "{ me { corpUser { urn } } }", "variables": {}}"#;
const MCP: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#;
const PROPOSAL: &str = r#"{"proposal": {"entityType": "domain", "entityUrn": "urn:li:domain:d", "changeType": "UPSERT",
    "aspectName": "domainProperties", "aspect": {"value": "{\"name\": \"D\"}", "contentType": "application/json"}}}"#;

const fn call(
    method: &'static str,
    path: &'static str,
    tag: &'static str,
    summary: &'static str,
    query: Query,
    body: Body,
) -> Operation {
    Operation {
        method,
        path,
        tag,
        summary,
        query,
        body,
        is_open: false,
    }
}

const fn open(path: &'static str, summary: &'static str) -> Operation {
    Operation {
        is_open: true,
        ..call("get", path, STATUS, summary, &[], Body::None)
    }
}

const fn sign_in(
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    body: Body,
) -> Operation {
    Operation {
        is_open: true,
        ..call(method, path, "sign in", summary, &[], body)
    }
}

#[rustfmt::skip]
pub(super) const OPERATIONS: &[Operation] = &[
    call("get", "/openapi/v3/entity/{type}", "", "Scroll through entities", LIST, Body::None),
    call("post", "/openapi/v3/entity/{type}", "", "Write aspects of entities", WRITE, Body::Entities),
    call("patch", "/openapi/v3/entity/{type}", "", "Patch aspects of entities", PATCH, Body::Patches),
    call("post", "/openapi/v3/entity/{type}/batchGet", "", "Read several entities", BATCH_GET, Body::Schema("EntityRequests")),
    call("get", "/openapi/v3/entity/{type}/{urn}", "", "Read an entity", READ, Body::None),
    call("head", "/openapi/v3/entity/{type}/{urn}", "", "Check that an entity exists", &[], Body::None),
    call("delete", "/openapi/v3/entity/{type}/{urn}", "", "Delete an entity, or aspects of it", DELETE, Body::None),
    call("get", "/openapi/v3/entity/{type}/{urn}/{aspect}", "", "Read an aspect", READ_ASPECT, Body::None),
    call("head", "/openapi/v3/entity/{type}/{urn}/{aspect}", "", "Check that an aspect exists", &[], Body::None),
    call("post", "/openapi/v3/entity/{type}/{urn}/{aspect}", "", "Create an aspect; with createIfNotExists=false, write it", WRITE, Body::Schema("Aspect")),
    call("patch", "/openapi/v3/entity/{type}/{urn}/{aspect}", "", "Patch an aspect", PATCH, Body::Schema("Patch")),
    call("delete", "/openapi/v3/entity/{type}/{urn}/{aspect}", "", "Delete an aspect", &[], Body::None),
    call("post", "/openapi/v3/entity/generic", ALL_TYPES, "Write aspects of entities of several types", WRITE, Body::Groups("Entity")),
    call("patch", "/openapi/v3/entity/generic", ALL_TYPES, "Patch aspects of entities of several types", PATCH, Body::Groups("EntityPatch")),
    call("post", "/openapi/v3/entity/generic/batchGet", ALL_TYPES, "Read several entities", BATCH_GET, Body::Schema("EntityRequests")),
    call("post", "/openapi/v3/entity/scroll", ALL_TYPES, "Scroll through entities", PAGE, Body::Example(r#"{"entities": ["dataset"], "aspects": ["status"]}"#)),
    call("post", "/openapi/v3/relationship/scroll", ALL_TYPES, "Scroll through relationships", EDGES, Body::Example("{}")),
    call("post", "/openapi/v3/lineage/scroll", ALL_TYPES, "Scroll through lineage", LINEAGE, Body::Example(r#"{"urns": ["urn:li:dataset:(urn:li:dataPlatform:hive,d,PROD)"]}"#)),
    call("post", "/openapi/v1/events/audit/search", ALL_TYPES, "Search the audit log", &[("startTime", "integer"), ("endTime", "integer"), ("size", "integer"), ("scrollId", "string"), ("includeRaw", "boolean")], Body::Example(r#"{"eventTypes": ["LogInEvent"], "actorUrns": []}"#)),
    call("get", "/events", ALL_TYPES, "Follow what changes, as CloudEvents or as a stream of server-sent events", FEED, Body::None),
    call("get", "/openapi/v1/events/poll", ALL_TYPES, "Follow what changes", &[("topic", "one of PlatformEvent_v1, MetadataChangeLog_Versioned_v1"), ("offsetId", "string"), ("limit", "integer"), ("pollTimeoutSeconds", "integer"), ("lookbackWindowDays", "integer")], Body::None),
    call("post", "/openapi/v1/trace/write/{trace}", ALL_TYPES, "The status of a write", &[("onlyIncludeErrors", "boolean"), ("detailed", "boolean")], Body::Example(r#"{"urn:li:domain:d": ["domainProperties"]}"#)),
    call("post", "/openapi/v1/tracking/track", ALL_TYPES, "An event of DataHub's web page, which is not recorded", &[], Body::Example(r#"{"type": "PageViewEvent"}"#)),
    call("get", "/openapi/v2/timeline/v1/{urn}", ALL_TYPES, "The change history of an entity", &[("categories", "string"), ("start", "integer"), ("end", "integer")], Body::None),
    call("get", "/metrics", STATUS, "What the server measures, for Prometheus", &[], Body::None),
    call("get", "/openapi/v1/system-info", STATUS, "The server and its settings", &[], Body::None),
    call("get", "/openapi/v1/system-info/spring-components", STATUS, "The parts of the server", &[], Body::None),
    call("get", "/openapi/v1/system-info/properties", STATUS, "The settings of the server, with their sources", &[], Body::None),
    call("get", "/openapi/v1/system-info/properties/simple", STATUS, "The settings of the server", &[], Body::None),
    call("get", "/openapi/timeline/v1/{urn}", ALL_TYPES, "The change history of an entity (older path)", &[("categories", "string"), ("start", "integer"), ("end", "integer")], Body::None),
    call("get", "/openapi/v2/timeseries/{entity}/{aspect}", ALL_TYPES, "Scroll through the points of time series, newest first", &[("count", "integer"), ("scrollId", "string"), ("startTimeMillis", "integer"), ("endTimeMillis", "integer"), ("systemMetadata", "boolean")], Body::None),
    call("get", "/openapi/v1/registry/models/entity/specifications", ALL_TYPES, "The aspects of each entity type", &[("start", "integer"), ("count", "integer")], Body::None),
    call("post", "/openapi/v2/relationship/scroll", ALL_TYPES, "Scroll through relationships (older path)", EDGES, Body::Example("{}")),
    call("get", "/openapi/v2/relationship/{name}", ALL_TYPES, "Scroll through the relationships of a type", EDGE_PAGE, Body::None),
    call("get", "/openapi/v2/relationship/{name}/{urn}", ALL_TYPES, "Scroll through the relationships of an entity; name is its type", EDGES_OF, Body::None),
    call("get", "/openapi/v3/relationship/{name}", ALL_TYPES, "Scroll through the relationships of a type", EDGE_PAGE, Body::None),
    call("get", "/openapi/v3/relationship/{name}/{urn}", ALL_TYPES, "Scroll through the relationships of an entity; name is its type", EDGES_OF, Body::None),
    call("post", "/openapi/v3/entity/versioning/{set}/relationship/versionOf/{urn}", ALL_TYPES, "Make an entity the latest version of a set", &[], Body::Example(r#"{"version": "v1", "comment": "…"}"#)),
    call("delete", "/openapi/v3/entity/versioning/{set}/relationship/versionOf/{urn}", ALL_TYPES, "Remove an entity from a version set", &[], Body::None),
    call("post", "/openapi/v3/logical/{urn}/relationship/physicalInstanceOf/{parent}", ALL_TYPES, "Link a physical dataset with a logical one, and columns of the logical one with its own", &[], Body::Example(r#"{"column": "column"}"#)),
    call("delete", "/openapi/v3/logical/{urn}/relationship/physicalInstanceOf", ALL_TYPES, "Remove the link of a physical dataset, and those of its columns", &[], Body::None),
    call("get", "/openapi/v1/entities/counts", ALL_TYPES, "Count the entities of each type", &[("types", "string"), ("includeTotal", "boolean")], Body::None),
    call("get", "/openapi/v1/entities/{entity}/count", ALL_TYPES, "Count the entities of a type", &[("includeTotal", "boolean")], Body::None),
    call("get", "/openapi/v1/registry/models/entity/specifications/{entity}", ALL_TYPES, "An entity type with its aspects", &[], Body::None),
    call("get", "/openapi/v1/registry/models/entity/specifications/{entity}/aspects", ALL_TYPES, "The aspects of an entity type, by name", &[], Body::None),
    call("get", "/openapi/v1/registry/models/aspect/specifications", ALL_TYPES, "All aspects", &[("start", "integer"), ("count", "integer")], Body::None),
    call("get", "/openapi/v1/registry/models/aspect/specifications/{name}", ALL_TYPES, "An aspect", &[], Body::None),
    call("get", "/openapi/entities/v1/latest", ALL_TYPES, "Read entities (first format)", &[("urns", "string"), ("aspectNames", "string")], Body::None),
    call("post", "/openapi/entities/v1", ALL_TYPES, "Write aspects of entities (first format)", &[("async", "boolean"), ("createIfNotExists", "boolean"), ("createEntityIfNotExists", "boolean")], Body::Example(r#"[{"entityType": "domain", "entityUrn": "urn:li:domain:d", "aspect": {"__type": "DomainProperties", "name": "D"}}]"#)),
    call("post", "/openapi/v2/platform/entities/v1", ALL_TYPES, "Write aspects by change proposals (first format)", &[("async", "boolean")], Body::Example(r#"[{"entityType": "domain", "entityUrn": "urn:li:domain:d", "changeType": "UPSERT", "aspectName": "domainProperties", "aspect": {"value": {"__type": "DomainProperties", "name": "D"}, "contentType": "application/json"}}]"#)),
    call("post", "/openapi/openlineage/api/v1/lineage", ALL_TYPES, "Write a run event of OpenLineage", &[], Body::Example(r#"{"eventType": "COMPLETE", "eventTime": "2026-01-31T12:00:00Z", "run": {"runId": "d46e465b-d358-4d32-83d4-df660ff614dd"}, "job": {"namespace": "etl", "name": "nightly.load"}, "inputs": [{"namespace": "postgres://db:5432", "name": "shop.public.orders"}], "outputs": [{"namespace": "bigquery", "name": "shop.dwh.orders"}], "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.0.0/integration/airflow"}"#)),
    call("delete", "/openapi/entities/v1", ALL_TYPES, "Soft-delete entities; with soft=false, delete them (first format)", &[("urns", "string"), ("soft", "boolean"), ("async", "boolean")], Body::None),
    call("get", "/openapi/v2/entity/{type}", "", "Scroll through entities (older format)", LIST, Body::None),
    call("post", "/openapi/v2/entity/{type}", "", "Write aspects of entities (older format)", WRITE, Body::Example(r#"[{"urn": "urn:li:domain:d", "aspects": {"domainProperties": {"value": {"name": "d"}}}}]"#)),
    call("get", "/openapi/v2/entity/{type}/{urn}", "", "Read an entity (older format)", READ, Body::None),
    call("head", "/openapi/v2/entity/{type}/{urn}", "", "Check that an entity exists", &[], Body::None),
    call("delete", "/openapi/v2/entity/{type}/{urn}", "", "Delete an entity, or aspects of it", DELETE, Body::None),
    call("get", "/openapi/v2/entity/{type}/{urn}/{aspect}", "", "Read an aspect", READ_ASPECT, Body::None),
    call("head", "/openapi/v2/entity/{type}/{urn}/{aspect}", "", "Check that an aspect exists", &[], Body::None),
    call("post", "/openapi/v2/entity/{type}/{urn}/{aspect}", "", "Create an aspect; with createIfNotExists=false, write it (older format)", WRITE, Body::Example(r#"{"name": "d"}"#)),
    call("patch", "/openapi/v2/entity/{type}/{urn}/{aspect}", "", "Patch an aspect", PATCH, Body::Schema("Patch")),
    call("delete", "/openapi/v2/entity/{type}/{urn}/{aspect}", "", "Delete an aspect", &[], Body::None),
    call("post", "/openapi/v2/entity/batch/{type}", "", "Read several entities (older format)", &[], Body::Example(r#"{"urns": ["urn:li:domain:d"]}"#)),
    call("get", "/openapi/relationships/v1", ALL_TYPES, "Relationships of an entity", RELATED, Body::None),
    call("get", "/openapi/operations/messaging/{queue}/consumer/lag", STATUS, "The lag of asynchronous writes, which is always zero", &[], Body::None),
    call("get", "/openapi/operations/kafka/{queue}/consumer/offsets", STATUS, "The older form of consumer/lag", &[], Body::None),
    call("get", "/openapi/operations/throttle/requests", STATUS, "The throttles of writes, of which there are none", &[], Body::None),
    call("get", "/openapi/operations/identity/user/urn", STATUS, "The user of the token", &[], Body::None),
    call("post", "/aspects", REST, "Write aspects by change proposals, read time series, count", &[("action", "one of ingestProposal, ingestProposalBatch, getTimeseriesAspectValues, getCount")], Body::Example(PROPOSAL)),
    call("get", "/aspects/{urn}", REST, "Read an aspect by its record", &[("aspect", "string"), ("version", "integer")], Body::None),
    call("get", "/entitiesV2", REST, "Read several entities", &[("ids", "string"), ("aspects", "string")], Body::None),
    call("get", "/entitiesV2/{urn}", REST, "Read an entity", &[("aspects", "string")], Body::None),
    call("post", "/entities", REST, "Search, autocomplete, browse, list, ingest or delete entities", &[("action", "one of search, searchAcrossEntities, scrollAcrossEntities, autocomplete, browse, listUrns, ingest, batchIngest, delete, deleteAll, deleteReferences")], Body::Example(r#"{"entity": "dataset", "input": "*", "start": 0, "count": 10}"#)),
    call("get", "/entities/{urn}", REST, "Read an entity as a snapshot", &[("aspects", "string")], Body::None),
    call("get", "/relationships", REST, "Relationships of an entity", RELATED, Body::None),
    call("post", "/runs", REST, "List, describe or roll back ingestion runs", &[("action", "one of list, describe, rollback")], Body::Example(r#"{"pageOffset": 0, "pageSize": 10}"#)),
    call("post", "/usageStats", REST, "Write or read usage statistics of datasets", &[("action", "one of batchIngest, query, queryRange")], Body::Example(r#"{"resource": "urn:li:dataset:(urn:li:dataPlatform:hive,d,PROD)", "duration": "DAY"}"#)),
    call("post", "/analytics", REST, "Aggregate points of a time series", &[("action", "one of getTimeseriesStats")], Body::Example(r#"{"entityName": "dataset", "aspectName": "operation", "metrics": [{"fieldPath": "numAffectedRows", "aggregationType": "SUM"}], "buckets": [{"key": "operationType", "type": "STRING_GROUPING_BUCKET"}]}"#)),
    call("post", "/operations", REST, "Restore indices (has no effect)", &[("action", "one of restoreIndices")], Body::Example("{}")),
    call("post", "/api/graphql", "GraphQL", "Execute a GraphQL operation", &[], Body::Example(GRAPHQL)),
    call("post", "/mcp", "Agents", "A message of the Model Context Protocol", &[], Body::Example(MCP)),
    call("post", "/api/v2/graphql", "GraphQL", "Execute a GraphQL operation", &[], Body::Example(GRAPHQL)),
    sign_in("post", "/logIn", "Sign in", Body::Example(r#"{"username": "datahub", "password": "…"}"#)),
    sign_in("post", "/signUp", "Create an account with an invite link", Body::Example(r#"{"fullName": "…", "email": "…", "password": "…", "inviteToken": "…"}"#)),
    sign_in("post", "/signUp/check", "Check that an invite link is valid", Body::Example(r#"{"inviteToken": "…"}"#)),
    sign_in("post", "/resetNativeUserCredentials", "Set a password with a reset link", Body::Example(r#"{"email": "…", "password": "…", "resetToken": "…"}"#)),
    call("post", "/changePassword", REST, "Set the caller's password", &[], Body::Example(r#"{"currentPassword": "…", "newPassword": "…"}"#)),
    open("/sso", "The identity providers to sign in with"),
    sign_in("get", "/sso/{provider}", "Sign in at an identity provider", Body::None),
    sign_in("get", "/callback/{provider}", "Where an identity provider returns", Body::None),
    sign_in("post", "/logOut", "Sign out", Body::None),
    sign_in("get", "/logOut", "Sign out and redirect to the start page", Body::None),
    open("/", "The web page"),
    open("/admin", "Whether the server is ready, as DataHub's web server says it"),
    open("/config", "The server configuration"),
    open("/health", "Whether the server is ready"),
    open("/health/live", "Whether the process is running"),
    open("/health/ready", "Whether the server is ready"),
    open("/check/ready", "Whether the server is ready"),
    open("/health/detailed", "Readiness and version"),
    open("/health/detail", "Readiness and version"),
    open("/openapi/v3/api-docs", "This document"),
    open("/openapi/swagger-ui", "Redirects to the page"),
    open("/openapi/swagger-ui/index.html", "This document as a page"),
    open("/openapi/swagger-ui/page.js", "The script of the page"),
    open("/openapi/swagger-ui/page.css", "The style of the page"),
];
