//! Everything that reads, with the names of what is hidden.

use serde_json::{Value, json};

use super::world::*;
use crate::query_access::OTHER_TYPES;
use crate::support::{DATASET, encoded};

/// The queries, each with its field.
pub(super) fn queries() -> Vec<(&'static str, String)> {
    let by_urn = [
        (
            "dataset",
            TABLE,
            "name properties { description } tags { tags { tag { urn } } }",
        ),
        (
            "domain",
            DOMAIN,
            "properties { name } entities(input: {}) { total }",
        ),
        ("container", CONTAINER, "properties { name }"),
        ("tag", TAG, "properties { name }"),
        ("glossaryTerm", TERM, "properties { name }"),
        ("glossaryNode", NODE, "properties { name }"),
        ("corpUser", "urn:li:corpuser:vera", "username"),
        ("corpGroup", "urn:li:corpGroup:none", "name"),
        ("chart", CHART, "properties { name }"),
        ("dashboard", DASHBOARD, "properties { name }"),
        ("dataFlow", FLOW, "properties { name }"),
        ("dataJob", JOB, "properties { name }"),
        ("dataProduct", PRODUCT, "properties { name }"),
        ("application", APPLICATION, "properties { name numAssets }"),
        ("assertion", ASSERTION, "info { type }"),
        ("dataPlatform", "urn:li:dataPlatform:hive", "name"),
        ("entity", COLUMN, "type"),
        ("entity", TABLE, "type"),
    ];
    let others = OTHER_TYPES.map(|(field, urn, ..)| (field, urn, ""));
    let edges = "relationships(input: { types: [], direction: INCOMING, start: 0, count: 100 }) {
        total relationships { type entity { urn } } }";
    let charts = "{ title charts { ... on BarChart { title bars { name segments { value } } }
        ... on TimeSeriesChart { lines { data { y } } } } }";
    let mut queries: Vec<(&'static str, String)> = by_urn
        .iter()
        .chain(&others)
        .map(|(field, urn, selection)| {
            (
                *field,
                format!(r#"{field}(urn: "{urn}") {{ urn {selection} {edges} }}"#),
            )
        })
        .collect();
    let hits = "start count total searchResults { entity { urn type } matchedFields { name value } } \
        facets { field aggregations { value count entity { urn } } }";
    let facets = "facets { field aggregations { value count entity { urn } } }";
    let all =
        "types: [DATASET, DOMAIN, CONTAINER, DASHBOARD, CHART, DATA_FLOW, DATA_JOB, DATA_PRODUCT,
        GLOSSARY_TERM, GLOSSARY_NODE, ASSERTION, TAG]";
    let requests = "{ total actionRequests { changes { urn before after } } }";
    let more = |field: &'static str, text: String| (field, text);
    queries.extend([
        more("dataset", format!(
            r#"dataset(urn: "{DATASET}") {{ urn container {{ urn properties {{ name }} }}
                parentContainers {{ count containers {{ urn }} }}
                domain {{ domain {{ urn properties {{ name }} }} }}
                glossaryTerms {{ terms {{ term {{ urn properties {{ name }} }} }} }} {edges} }}"#
        )),
        more("domain", format!(
            r#"domain(urn: "{FINANCE}") {{ urn parentDomains {{ count }} stewards {{ ... on CorpUser {{ urn }} }}
                entities(input: {{ start: 0, count: 10 }}) {{ total searchResults {{ entity {{ urn }} }} }} {edges} }}"#
        )),
        more("tag", format!(r#"tag(urn: "{TAG}") {{ urn {edges} }}"#)),
        more("glossaryTerm", format!(r#"glossaryTerm(urn: "{SEEN_TERM}") {{ urn {edges} }}"#)),
        more("entities", format!(
            r#"entities(urns: ["{TABLE}", "{DOMAIN}", "{DATASET}", "{COLUMN}", "{ASSERTION}"]) {{ urn type }}"#
        )),
        more("entities", format!(
            r#"entities(urns: ["{TABLE}", "{DATASET}"], checkForExistence: true) {{ urn type }}"#
        )),
        more("entityExists", format!(r#"entityExists(urn: "{TABLE}")"#)),
        more("listDomains", "listDomains(input: { start: 0, count: 10 }) { total domains { urn } }".to_owned()),
        more("listDomains", format!(
            r#"listDomains(input: {{ start: 0, count: 10, parentDomain: "{DOMAIN}" }}) {{ total domains {{ urn }} }}"#
        )),
        more("listDomains", r#"listDomains(input: { query: "hush" }) { total domains { urn } }"#.to_owned()),
        more("getRootGlossaryTerms", "getRootGlossaryTerms(input: { start: 0, count: 10 }) { total terms { urn } }".to_owned()),
        more("getRootGlossaryNodes", "getRootGlossaryNodes(input: { start: 0, count: 10 }) { total nodes { urn } }".to_owned()),
        more("glossaryNode", format!(
            r#"glossaryNode(urn: "{NODE}") {{ childrenCount {{ termsCount }} glossaryChildrenSearch(input: {{ query: "*" }}) {{ total }} }}"#
        )),
        more("getRootDataProducts", "getRootDataProducts(input: {}) { total dataProducts { urn } }".to_owned()),
        more("getRootMetrics", "getRootMetrics(input: {}) { total metrics { urn } }".to_owned()),
        more("getSemanticModels", "getSemanticModels(input: {}) { total semanticModels { urn } }".to_owned()),
        more("bulkEntityDataProducts", format!(
            r#"bulkEntityDataProducts(input: {{ urns: ["{TABLE}", "{DATASET}"] }}) {{ entities {{ urn dataProductAssociations {{ dataProduct {{ urn }} }} }} }}"#
        )),
        more("listDataProductAssets", format!(
            r#"listDataProductAssets(urn: "{PRODUCT}", input: {{ query: "*" }}) {{ total }}"#
        )),
        more("listDataProductAssets", format!(
            r#"listDataProductAssets(urn: "{SEEN_PRODUCT}", input: {{ query: "*" }}) {{ total searchResults {{ entity {{ urn }} }} }}"#
        )),
        more("dataProduct", format!(
            r#"dataProduct(urn: "{SEEN_PRODUCT}") {{ properties {{ numAssets }} parentDataProducts {{ urn }}
                entities(input: {{ query: "*" }}) {{ total }} childDataProducts(input: {{ query: "*" }}) {{ total }} }}"#
        )),
        more("listApplicationAssets", format!(
            r#"listApplicationAssets(urn: "{APPLICATION}", input: {{ query: "*" }}) {{ total }}"#
        )),
        more("listQueries", "listQueries(input: { start: 0, count: 10 }) { total }".to_owned()),
        more("listQueries", format!(r#"listQueries(input: {{ datasetUrn: "{TABLE}" }}) {{ total }}"#)),
        more("listBusinessAttributes", "listBusinessAttributes(input: {}) { total }".to_owned()),
        more("listTests", "listTests(input: {}) { total }".to_owned()),
        more("listOwnershipTypes", "listOwnershipTypes(input: {}) { total }".to_owned()),
        more("listIngestionSources", "listIngestionSources(input: {}) { total }".to_owned()),
        more("listPolicies", "listPolicies(input: {}) { total }".to_owned()),
        more("listExecutionRequests", "listExecutionRequests(input: {}) { total }".to_owned()),
        more("connection", r#"connection(urn: "urn:li:dataHubConnection:hush") { urn details { name } }"#.to_owned()),
        more("debugAccess", r#"debugAccess(userUrn: "urn:li:corpuser:vera") { policies }"#.to_owned()),
        more("listLifecycleStages", "listLifecycleStages { urn name }".to_owned()),
        more("searchAcrossEntities", format!(
            r#"searchAcrossEntities(input: {{ {all}, query: "*", orFilters: [{{ and: [{{ field: "lifecycleStage", values: ["{STAGE}"] }}] }}] }}) {{ {hits} }}"#
        )),
        more("aggregateAcrossEntities", format!(
            r#"aggregateAcrossEntities(input: {{ {all}, query: "*", facets: ["lifecycleStage"] }}) {{ {facets} }}"#
        )),
        more("searchAcrossEntities", r#"searchAcrossEntities(input: { types: [METRIC, SEMANTIC_MODEL, DOCUMENT, MLMODEL, NOTEBOOK], query: "*" }) { total }"#.to_owned()),
        more("getPresignedUploadUrl", format!(
            r#"getPresignedUploadUrl(input: {{ fileName: "f", scenario: ASSET_DOCUMENTATION, assetUrn: "{TABLE}" }}) {{ url }}"#
        )),
        more("listSecrets", "listSecrets(input: {}) { total }".to_owned()),
        more("getSecretValues", r#"getSecretValues(input: { secrets: ["hush"] }) { name value }"#.to_owned()),
        more("listActionRequests", format!("listActionRequests(input: {{}}) {requests}")),
        more("listActionRequests", format!("listActionRequests(input: {{ status: COMPLETED }}) {requests}")),
        more("listActionRequests", format!(
            r#"listActionRequests(input: {{ resourceUrn: "{TABLE}", count: 0 }}) {requests}"#
        )),
        more("ingestionSource", r#"ingestionSource(urn: "urn:li:dataHubIngestionSource:none") { name }"#.to_owned()),
        more("listPosts", "listPosts(input: {}) { total posts { urn } }".to_owned()),
        more("listMyViews", "listMyViews(input: {}) { total views { urn } }".to_owned()),
        more("listGlobalViews", "listGlobalViews(input: {}) { total views { urn } }".to_owned()),
        more("searchDocuments", "searchDocuments(input: {}) { total documents { urn } }".to_owned()),
        more("searchDocuments", format!(
            r#"searchDocuments(input: {{ relatedAssets: ["{TABLE}"] }}) {{ total documents {{ urn }} }}"#
        )),
        more("listRoles", "listRoles(input: {}) { total }".to_owned()),
        more("listGroups", "listGroups(input: {}) { total }".to_owned()),
        more("listUsers", "listUsers(input: {}) { total }".to_owned()),
        more("getGrantedPrivileges", format!(
            r#"getGrantedPrivileges(input: {{ actorUrn: "urn:li:corpuser:vera",
                resourceSpec: {{ resourceType: DATASET, resourceUrn: "{TABLE}" }} }}) {{ privileges }}"#
        )),
        more("auditLog", format!(r#"auditLog(input: {{ entity: "{TABLE}" }}) {{ events {{ id }} }}"#)),
        more("appConfig", "appConfig { appVersion }".to_owned()),
        more("searchUsers", r#"searchUsers(input: { query: "*" }) { total searchResults { entity { urn } } }"#.to_owned()),
        more("getEntityCounts", "getEntityCounts { counts { entityType count } }".to_owned()),
        more("getEntityCounts", "getEntityCounts(input: { types: [DATASET, CHART, NOTEBOOK] }) { counts { entityType count } }".to_owned()),
        more("globalViewsSettings", "globalViewsSettings { defaultView }".to_owned()),
        more("docPropagationSettings", "docPropagationSettings { docColumnPropagation }".to_owned()),
        more("getAccessToken", r#"getAccessToken(input: { type: PERSONAL, actorUrn: "urn:li:corpuser:none", duration: ONE_HOUR }) { accessToken }"#.to_owned()),
        more("globalHomePageSettings", "globalHomePageSettings { defaultTemplate { urn } }".to_owned()),
        more("batchGetStepStates", r#"batchGetStepStates(input: { ids: ["tour"] }) { results { id } }"#.to_owned()),
        more("me", "me { corpUser { urn } platformPrivileges { managePolicies } }".to_owned()),
        more("listAccessTokens", "listAccessTokens(input: { start: 0, count: 10 }) { total }".to_owned()),
        more("getAccessTokenMetadata", r#"getAccessTokenMetadata(token: "x") { ownerUrn }"#.to_owned()),
        more("getInviteToken", "getInviteToken(input: {}) { inviteToken }".to_owned()),
        more("listInviteTokens", "listInviteTokens { urn role { urn } }".to_owned()),
        more("serverStatus", "serverStatus { version store { engine } }".to_owned()),
        more("listWebhooks", "listWebhooks { urn }".to_owned()),
        more("webhook", r#"webhook(urn: "urn:li:docentWebhook:none") { urn }"#.to_owned()),
        more("webhookDeadLetters", r#"webhookDeadLetters(input: { urn: "urn:li:docentWebhook:none" }) { total }"#.to_owned()),
        more("listServiceAccounts", "listServiceAccounts(input: {}) { total }".to_owned()),
        more("getServiceAccount", r#"getServiceAccount(urn: "urn:li:corpuser:none") { urn }"#.to_owned()),
        more("searchAcrossLineage", format!(
            r#"searchAcrossLineage(input: {{ urn: "{TABLE}", direction: UPSTREAM }}) {{ total {facets} }}"#
        )),
        more("scrollAcrossLineage", format!(
            r#"scrollAcrossLineage(input: {{ urn: "{TABLE}", direction: UPSTREAM }}) {{ total }}"#
        )),
        more("searchAcrossLineageCounts", format!(
            r#"searchAcrossLineageCounts(input: {{ urn: "{TABLE}", direction: UPSTREAM }}) {{ total }}"#
        )),
        more("searchAcrossLineageCounts", format!(
            r#"searchAcrossLineageCounts(input: {{ urn: "{BEHIND}", direction: UPSTREAM, includeGhostEntities: true,
                orFilters: [{{ and: [{{ field: "degree", values: ["1"] }}] }}] }}) {{ total }}"#
        )),
        more("aggregateAcrossEntities", format!(
            r#"aggregateAcrossEntities(input: {{ {all}, query: "*",
                facets: ["domains", "container", "glossaryTerms", "browsePathV2", "_entityType", "_entityType␞domains"] }}) {{ {facets} }}"#
        )),
        more("browseV2", "browseV2(input: { path: [], start: 0, count: 10, query: \"*\" }) { total groups { name count entity { urn } } }".to_owned()),
        more("browseV2", r#"browseV2(input: { path: ["hush"], start: 0, count: 10, query: "*" }) { total groups { name } }"#.to_owned()),
        more("browse", "browse(input: { type: DATASET, path: [] }) { total groups { name count } entities { urn } }".to_owned()),
        more("browse", r#"browse(input: { type: DATASET, path: ["hush"] }) { total groups { name count } entities { urn } }"#.to_owned()),
        more("browsePaths", format!(r#"browsePaths(input: {{ type: DATASET, urn: "{TABLE}" }}) {{ path }}"#)),
        more("listRecommendations", r#"listRecommendations(input: { userUrn: "urn:li:corpuser:vera" }) { modules { moduleId
            content { value entity { urn } params { contentParams { count } } } } }"#.to_owned()),
        more("getAnalyticsCharts", format!("getAnalyticsCharts {charts}")),
        more("getMetadataAnalyticsCharts", format!("getMetadataAnalyticsCharts(input: {{}}) {charts}")),
        more("getHighlights", "getHighlights { value title body }".to_owned()),
        more("latestProductUpdate", "latestProductUpdate { id }".to_owned()),
        more("semanticSearch", r#"semanticSearch(input: { type: DATASET, query: "hush" }) { total }"#.to_owned()),
        more("semanticSearchAcrossEntities", r#"semanticSearchAcrossEntities(input: { query: "hush" }) { total }"#.to_owned()),
        more("getQuickFilters", "getQuickFilters(input: {}) { quickFilters { field value } }".to_owned()),
        more("history", format!(
            r#"history(input: {{ urn: "{TABLE}", subject: DESCRIPTION }}) {{ changes {{ text }} }}"#
        )),
        more("getTimeline", format!(
            r#"getTimeline(input: {{ urn: "{TABLE}", includeVersionSet: true }}) {{ skippedVersionCount changeTransactions {{ changes {{ urn modifier }} }} }}"#
        )),
        more("getTimeline", format!(
            r#"getTimeline(input: {{ urn: "{DATASET}" }}) {{ changeTransactions {{ changes {{ urn modifier description parameters {{ key value }} }} }} }}"#
        )),
        more("getSchemaBlame", format!(
            r#"getSchemaBlame(input: {{ datasetUrn: "{TABLE}" }}) {{ version {{ versionStamp }} schemaFieldBlameList {{ fieldPath }} }}"#
        )),
        more("getSchemaVersionList", format!(
            r#"getSchemaVersionList(input: {{ datasetUrn: "{TABLE}" }}) {{ latestVersion {{ versionStamp }} }}"#
        )),
        more("versionedDataset", format!(
            r#"versionedDataset(urn: "{TABLE}") {{ name schema {{ name }} tags {{ tags {{ tag {{ urn }} }} }} }}"#
        )),
        more("versionedDataset", format!(
            r#"versionedDataset(urn: "{DATASET}") {{ name container {{ urn }} tags {{ tags {{ tag {{ urn }} }} }} domain {{ domain {{ urn }} }} }}"#
        )),
        more("recentChanges", "recentChanges(input: { types: [DATASET, DOMAIN], count: 20 }) { entity { urn } }".to_owned()),
        more("changes", "changes(input: { count: 20 }) { changes { changeCount entities { urn entity { urn } } } }".to_owned()),
        more("changesByWeek", "changesByWeek(weeks: 2) { changes }".to_owned()),
        more("documentationCoverage", "documentationCoverage { all { datasets columns } domains { domain { urn } counts { datasets } } }".to_owned()),
    ]);
    for text in [
        "*",
        WORD,
        "users",
        "urn:li:domain:d-1",
        "tags:shared",
        "domains:\\\"urn:li:domain:d-1\\\"",
    ] {
        queries.extend([
            more("search", format!(r#"search(input: {{ type: DATASET, query: "{text}" }}) {{ {hits} }}"#)),
            more("searchAcrossEntities", format!(
                r#"searchAcrossEntities(input: {{ {all}, query: "{text}", count: 50 }}) {{ {hits} }}"#
            )),
            more("searchAcrossEntities", format!(
                r#"searchAcrossEntities(input: {{ query: "{text}", orFilters: [{{ and: [{{ field: "urn", values: ["{TABLE}"] }}] }}] }}) {{ {hits} }}"#
            )),
            more("scrollAcrossEntities", format!(
                r#"scrollAcrossEntities(input: {{ {all}, query: "{text}", count: 50 }}) {{ total count searchResults {{ entity {{ urn }} }} {facets} }}"#
            )),
        ]);
    }
    for text in ["hu", "hush", "fct"] {
        queries.extend([
            more("autoComplete", format!(
                r#"autoComplete(input: {{ type: DATASET, query: "{text}" }}) {{ suggestions entities {{ urn }} }}"#
            )),
            more("autoCompleteForMultiple", format!(
                r#"autoCompleteForMultiple(input: {{ {all}, query: "{text}" }}) {{ suggestions {{ type suggestions entities {{ urn }} }} }}"#
            )),
        ]);
    }
    queries
}

/// What reads over REST, and what comes behind the route.
pub(super) fn requests() -> Vec<(&'static str, &'static str, String, Value)> {
    let table = encoded(TABLE);
    let query = |text: &str| text.to_owned();
    let plain = |route| ("GET", route, String::new(), Value::Null);
    let filter = |urn: &str| json!({"or": [{"and": [{"field": "urn", "value": urn, "condition": "EQUAL"}]}]});
    let mut requests = vec![
        (
            "GET",
            "/aspects/",
            format!("{table}?aspect=datasetProperties&version=0"),
            Value::Null,
        ),
        (
            "GET",
            "/entitiesV2",
            format!("?ids=List({table})"),
            Value::Null,
        ),
        ("GET", "/entitiesV2/", table.clone(), Value::Null),
        ("GET", "/entities/", table.clone(), Value::Null),
        (
            "GET",
            "/openapi/v2/timeline/v1/",
            format!("{table}?categories=DOCUMENTATION"),
            Value::Null,
        ),
        (
            "GET",
            "/openapi/timeline/v1/",
            format!("{table}?categories=DOCUMENTATION"),
            Value::Null,
        ),
        plain("/openapi/operations/throttle/requests"),
        plain("/openapi/operations/identity/user/urn"),
        (
            "GET",
            "/openapi/v2/timeseries/",
            query("dataset/datasetProfile?count=1&systemMetadata=true"),
            Value::Null,
        ),
        (
            "POST",
            "/openapi/v1/events/audit/search",
            query(""),
            json!({}),
        ),
        (
            "GET",
            "/openapi/v1/events/poll",
            query("?topic=PlatformEvent_v1&pollTimeoutSeconds=0&lookbackWindowDays=1"),
            Value::Null,
        ),
        // Denied: positions tell how much there is. `events_of_hidden_entities_are_left_out` has a
        // caller that may read the feed.
        ("GET", "/events", query("?since=0"), Value::Null),
        plain("/openapi/v1/system-info"),
        plain("/openapi/v1/system-info/spring-components"),
        plain("/openapi/v1/system-info/properties"),
        plain("/openapi/v1/system-info/properties/simple"),
        (
            "POST",
            "/openapi/v1/trace/write/",
            query("0123456789abcdef0123456789abcdef"),
            json!({TABLE: ["datasetProperties"]}),
        ),
        (
            "POST",
            "/openapi/v2/entity/batch/",
            query("dataset"),
            json!({"urns": [TABLE, DATASET], "aspectNames": ["domains"]}),
        ),
        (
            "POST",
            "/openapi/v3/entity/scroll",
            query("?query=*&count=100"),
            json!({"entities": ["dataset", "domain", "container", "assertion"]}),
        ),
        (
            "GET",
            "/openapi/v2/entity/",
            query("dataset?query=*&count=100&aspects=datasetKey"),
            Value::Null,
        ),
        (
            "GET",
            "/openapi/v2/entity/",
            format!("dataset/{table}"),
            Value::Null,
        ),
        (
            "GET",
            "/openapi/v3/entity/",
            query("dataset?query=*&count=100&aspects=datasetKey"),
            Value::Null,
        ),
        (
            "GET",
            "/openapi/v3/entity/",
            query("domain?query=*&count=100&aspects=domainKey"),
            Value::Null,
        ),
        (
            "GET",
            "/openapi/v3/entity/",
            query("assertion?query=*&count=100&aspects=assertionKey"),
            Value::Null,
        ),
        (
            "POST",
            "/openapi/v3/entity/",
            query("dataset/batchGet"),
            json!([{"urn": TABLE, "datasetProperties": {}}, {"urn": DATASET, "domains": {}}]),
        ),
        (
            "GET",
            "/openapi/v3/entity/",
            format!("dataset/{table}"),
            Value::Null,
        ),
        (
            "GET",
            "/openapi/v3/entity/",
            format!("dataset/{table}/datasetProperties"),
            Value::Null,
        ),
        (
            "GET",
            "/openapi/v3/entity/",
            format!("dataset/{table}/datasetProfile"),
            Value::Null,
        ),
        (
            "POST",
            "/openapi/v3/relationship/scroll",
            query("?count=1000"),
            json!({}),
        ),
        (
            "POST",
            "/openapi/v3/relationship/scroll",
            query("?count=1000"),
            json!({"destinationFilter": filter(TABLE)}),
        ),
        (
            "GET",
            "/openapi/v1/entities/counts",
            query("?types=dataset,domain,tag&includeTotal=true"),
            Value::Null,
        ),
        (
            "GET",
            "/openapi/v1/entities/",
            query("dataset/count"),
            Value::Null,
        ),
        (
            "GET",
            "/openapi/entities/v1/latest",
            format!("?urns={table}"),
            Value::Null,
        ),
        (
            "POST",
            "/openapi/v3/lineage/scroll",
            query("?count=1000"),
            json!({"urns": [DATASET, BEHIND, TABLE]}),
        ),
        (
            "GET",
            "/openapi/operations/messaging/",
            query("mcp/consumer/lag"),
            Value::Null,
        ),
        (
            "GET",
            "/openapi/operations/kafka/",
            query("mcp/consumer/offsets"),
            Value::Null,
        ),
        (
            "GET",
            "/openapi/v1/registry/models/entity/specifications",
            query("?count=1"),
            Value::Null,
        ),
        (
            "POST",
            "/entities",
            query("?action=search"),
            json!({"entity": "dataset", "input": "hush", "start": 0, "count": 10}),
        ),
        (
            "POST",
            "/entities",
            query("?action=search"),
            json!({"entity": "domain", "input": "*", "start": 0, "count": 10}),
        ),
        (
            "POST",
            "/entities",
            query("?action=searchAcrossEntities"),
            json!({"input": "hush", "start": 0, "count": 10}),
        ),
        (
            "POST",
            "/entities",
            query("?action=autocomplete"),
            json!({"entity": "dataset", "query": "hu", "limit": 10}),
        ),
        (
            "POST",
            "/entities",
            query("?action=browse"),
            json!({"entity": "dataset", "path": "", "start": 0, "limit": 10}),
        ),
        (
            "POST",
            "/entities",
            query("?action=listUrns"),
            json!({"entity": "dataset", "start": 0, "count": 10}),
        ),
        (
            "POST",
            "/entities",
            query("?action=deleteReferences"),
            json!({"urn": TAG, "dryRun": true}),
        ),
        (
            "POST",
            "/entities",
            query("?action=deleteAll"),
            json!({"registryId": "models:0.0.1", "dryRun": true}),
        ),
        (
            "POST",
            "/aspects",
            query("?action=getTimeseriesAspectValues"),
            json!({"urn": TABLE, "entity": "dataset", "aspect": "datasetProfile", "limit": 10}),
        ),
        (
            "POST",
            "/aspects",
            query("?action=getCount"),
            json!({"aspect": "datasetKey"}),
        ),
        (
            "POST",
            "/runs",
            query("?action=list"),
            json!({"pageOffset": 0, "pageSize": 10, "includeSoft": true}),
        ),
        (
            "POST",
            "/runs",
            query("?action=describe"),
            json!({"runId": "no-run-id-provided", "start": 0, "count": 10, "includeSoft": true}),
        ),
        (
            "POST",
            "/runs",
            query("?action=rollback"),
            json!({"runId": "no-run-id-provided", "dryRun": true}),
        ),
        (
            "POST",
            "/usageStats",
            query("?action=queryRange"),
            json!({"resource": TABLE, "duration": "DAY", "rangeFromEnd": "WEEK"}),
        ),
        (
            "POST",
            "/analytics",
            query("?action=getTimeseriesStats"),
            json!({
                "entityName": "dataset", "aspectName": "operation", "metrics": [],
                "buckets": [{"key": "urn", "type": "STRING_GROUPING_BUCKET"}],
            }),
        ),
        (
            "POST",
            "/operations",
            query("?action=restoreIndices"),
            json!({}),
        ),
    ];
    for base in ["/openapi/v2/relationship/", "/openapi/v3/relationship/"] {
        for rest in ["OwnedBy", "IsPartOf", &format!("dataset/{table}")] {
            requests.push(("GET", base, format!("{rest}?count=1000"), Value::Null));
        }
    }
    requests.push((
        "POST",
        "/openapi/v2/relationship/scroll",
        query("?count=1000"),
        json!({}),
    ));
    for urn in [TABLE, DOMAIN, CONTAINER, TAG, TERM, SEEN_TERM, DATASET] {
        for direction in ["INCOMING", "OUTGOING"] {
            let urn = encoded(urn);
            requests.push((
                "GET",
                "/relationships",
                format!("?urn={urn}&direction={direction}&types=List(TaggedWith,TermedWith,AssociatedWith,IsPartOf,DownstreamOf)"),
                Value::Null,
            ));
            requests.push((
                "GET",
                "/openapi/relationships/v1",
                format!("?urn={urn}&direction={direction}&relationshipTypes=TaggedWith,TermedWith,AssociatedWith,IsPartOf"),
                Value::Null,
            ));
        }
    }
    requests
}
