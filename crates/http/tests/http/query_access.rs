//! Every query, sent by every kind of caller. A query without a row fails the test.

mod types;

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use docent_catalog::Caller;
use docent_catalog::service_accounts::NewServiceAccount;
use serde_json::{Value, json};

use crate::access::{
    APPLICATION, ASSERTION, FINANCE, GROUP, NODE, POLICY, PRODUCT, TAG, TERM, app, ended_tokens,
    fields_of, tokens,
};
use crate::support::{App, DATASET, new_webhook, token_of};

pub(crate) use types::OTHER_TYPES;

const RITA: &str = "urn:li:corpuser:rita";
const CHART: &str = "urn:li:chart:(looker,c)";
const DASHBOARD: &str = "urn:li:dashboard:(looker,d)";
const FLOW: &str = "urn:li:dataFlow:(airflow,f,PROD)";
const JOB: &str = "urn:li:dataJob:(urn:li:dataFlow:(airflow,f,PROD),j)";
const PLATFORM: &str = "urn:li:dataPlatform:hive";
const SOURCE: &str = "urn:li:dataHubIngestionSource:nightly";
const CONNECTION: &str = "urn:li:dataHubConnection:chat";
const SECRET: &str = "urn:li:dataHubSecret:prod";

/// All callers of `access.rs`.
const EVERYONE: &str = "REASHODPV";
/// The administrator, also with a token that only reads; not with one for a domain.
const ADMINISTRATORS: &str = "AV";
/// Those with the privilege for figures.
const ANALYSTS: &str = "REASHOPV";
/// Administrators and Rita.
const RITA_AND_ADMINISTRATORS: &str = "RAV";

/// What others get.
#[derive(Clone, Copy)]
enum Denial {
    /// An error with the code 403.
    Forbidden,
    /// A reply without this text, as if there were nothing.
    Without(&'static str),
    /// An error with the code 400, like everyone.
    Unsupported,
}

/// A field, its arguments and selection, who may send it, and what others get.
type Row = (&'static str, String, &'static str, Denial);

/// What the rows name and the writes of `access.rs` do not need. Returns a secret of a token of
/// Rita, the URN of this token, and those of a service account and a webhook.
async fn extend(app: &App) -> [String; 4] {
    for (urn, aspect, value) in [
        (CHART, "status", json!({"removed": false})),
        (DASHBOARD, "status", json!({"removed": false})),
        (FLOW, "status", json!({"removed": false})),
        (JOB, "status", json!({"removed": false})),
        (
            PLATFORM,
            "dataPlatformInfo",
            json!({"name": "hive", "type": "OTHERS", "datasetNameDelimiter": "."}),
        ),
        (
            SOURCE,
            "dataHubIngestionSourceInfo",
            json!({"name": "nightly", "type": "hive", "config": {"recipe": "{}", "executorId": "default"}}),
        ),
    ] {
        app.ingest(urn, aspect, &value).await;
    }
    app.add_secret("prod", "x").await;
    app.add_connection("chat").await;
    for (_, urn, aspect, value) in OTHER_TYPES {
        let value = serde_json::from_str(value).unwrap();
        app.ingest(urn, aspect, &value).await;
    }
    let secret = token_of(&app.catalog, RITA, None).await;
    let token = app.catalog.find_token(&secret).await.unwrap().unwrap();
    let new = NewServiceAccount {
        display_name: Some("Loader".to_owned()),
        description: None,
    };
    let system = Caller::system();
    let account = app.catalog.create_service_account(&system, new).await;
    let account = account.unwrap();
    let webhook = app.catalog.create_webhook(&system, new_webhook("w")).await;
    [
        secret,
        token.urn().unwrap().to_string(),
        account.to_string(),
        webhook.unwrap().urn.to_string(),
    ]
}

/// Queries that everyone who is let in may send.
fn reads() -> Vec<(&'static str, String)> {
    let by_urn = [
        ("dataset", DATASET),
        ("domain", FINANCE),
        ("container", "urn:li:container:c"),
        ("tag", TAG),
        ("glossaryTerm", TERM),
        ("glossaryNode", NODE),
        ("corpUser", RITA),
        ("corpGroup", GROUP),
        ("chart", CHART),
        ("dashboard", DASHBOARD),
        ("dataFlow", FLOW),
        ("dataJob", JOB),
        ("dataProduct", PRODUCT),
        ("application", APPLICATION),
        ("assertion", ASSERTION),
        ("dataPlatform", PLATFORM),
        ("entity", DATASET),
    ];
    let more = OTHER_TYPES.map(|(field, urn, ..)| (field, urn));
    let more = more
        .into_iter()
        .filter(|(field, _)| *field != "executionRequest");
    let by_urn = by_urn.into_iter().chain(more);
    let by_urn = by_urn.map(|(field, urn)| (field, format!(r#"(urn: "{urn}") {{ urn }}"#)));
    let lists = [
        ("listDomains", "domains"),
        ("getRootGlossaryTerms", "terms"),
        ("getRootGlossaryNodes", "nodes"),
        ("getRootDataProducts", "dataProducts"),
        ("getRootMetrics", "metrics"),
        ("getSemanticModels", "semanticModels"),
        ("listQueries", "queries"),
        ("listBusinessAttributes", "businessAttributes"),
        ("listOwnershipTypes", "ownershipTypes"),
        ("listIngestionSources", "ingestionSources"),
        ("listExecutionRequests", "executionRequests"),
        ("listActionRequests", "actionRequests"),
        ("listRoles", "roles"),
        ("listGroups", "groups"),
        ("listUsers", "users"),
        ("listPosts", "posts"),
        ("listMyViews", "views"),
        ("listGlobalViews", "views"),
        ("searchDocuments", "documents"),
    ];
    let lists = lists.map(|(field, items)| {
        let text = format!("(input: {{ start: 0, count: 10 }}) {{ total {items} {{ urn }} }}");
        (field, text)
    });
    let others = [
        ("entities", format!(r#"(urns: ["{DATASET}"]) {{ urn }}"#)),
        ("entityExists", format!(r#"(urn: "{DATASET}")"#)),
        (
            "bulkEntityDataProducts",
            format!(r#"(input: {{ urns: ["{DATASET}"] }}) {{ entities {{ urn }} }}"#),
        ),
        (
            "listDataProductAssets",
            format!(r#"(urn: "{PRODUCT}", input: {{ query: "*" }}) {{ total }}"#),
        ),
        (
            "listApplicationAssets",
            format!(r#"(urn: "{APPLICATION}", input: {{ query: "*" }}) {{ total }}"#),
        ),
        ("appConfig", "{ appVersion }".to_owned()),
        (
            "getEntityCounts",
            "(input: { types: [DATASET] }) { counts { entityType count } }".to_owned(),
        ),
        ("globalViewsSettings", "{ defaultView }".to_owned()),
        ("listLifecycleStages", "{ urn }".to_owned()),
        (
            "docPropagationSettings",
            "{ docColumnPropagation }".to_owned(),
        ),
        (
            "globalHomePageSettings",
            "{ defaultTemplate { urn } }".to_owned(),
        ),
        (
            "batchGetStepStates",
            r#"(input: { ids: ["tour"] }) { results { id } }"#.to_owned(),
        ),
        ("me", "{ corpUser { urn } }".to_owned()),
        (
            "listAccessTokens",
            "(input: { start: 0, count: 10 }) { tokens { id } }".to_owned(),
        ),
        (
            "searchAcrossLineage",
            format!(r#"(input: {{ urn: "{DATASET}", direction: UPSTREAM }}) {{ total }}"#),
        ),
        (
            "scrollAcrossLineage",
            format!(r#"(input: {{ urn: "{DATASET}", direction: UPSTREAM }}) {{ total }}"#),
        ),
        (
            "search",
            r#"(input: { type: DATASET, query: "*" }) { total }"#.to_owned(),
        ),
        (
            "searchAcrossEntities",
            r#"(input: { query: "*" }) { total }"#.to_owned(),
        ),
        (
            "scrollAcrossEntities",
            r#"(input: { query: "*" }) { total }"#.to_owned(),
        ),
        (
            "aggregateAcrossEntities",
            r#"(input: { query: "*", facets: ["domains"] }) { facets { field } }"#.to_owned(),
        ),
        (
            "autoComplete",
            r#"(input: { type: DATASET, query: "fct" }) { suggestions }"#.to_owned(),
        ),
        (
            "autoCompleteForMultiple",
            r#"(input: { types: [DATASET], query: "fct" }) { suggestions { type } }"#.to_owned(),
        ),
        (
            "browseV2",
            r#"(input: { path: [], start: 0, count: 10, query: "*" }) { total }"#.to_owned(),
        ),
        (
            "getQuickFilters",
            "(input: {}) { quickFilters { field } }".to_owned(),
        ),
        (
            "browse",
            r#"(input: { type: DATASET, path: ["prod"] }) { total }"#.to_owned(),
        ),
        (
            "browsePaths",
            format!(r#"(input: {{ type: DATASET, urn: "{DATASET}" }}) {{ path }}"#),
        ),
        (
            "listRecommendations",
            format!(r#"(input: {{ userUrn: "{RITA}" }}) {{ modules {{ title }} }}"#),
        ),
        (
            "history",
            format!(
                r#"(input: {{ urn: "{DATASET}", subject: DESCRIPTION }}) {{ changes {{ text }} }}"#
            ),
        ),
        (
            "getTimeline",
            format!(
                r#"(input: {{ urn: "{DATASET}" }}) {{ changeTransactions {{ versionStamp }} }}"#
            ),
        ),
        (
            "getSchemaBlame",
            format!(
                r#"(input: {{ datasetUrn: "{DATASET}" }}) {{ schemaFieldBlameList {{ fieldPath }} }}"#
            ),
        ),
        (
            "getSchemaVersionList",
            format!(
                r#"(input: {{ datasetUrn: "{DATASET}" }}) {{ latestVersion {{ versionStamp }} }}"#
            ),
        ),
        (
            "versionedDataset",
            format!(r#"(urn: "{DATASET}") {{ schema {{ fields {{ fieldPath }} }} }}"#),
        ),
        (
            "searchAcrossLineageCounts",
            format!(r#"(input: {{ urn: "{DATASET}", direction: UPSTREAM }}) {{ total }}"#),
        ),
        (
            "recentChanges",
            "(input: { types: [DATASET], count: 20 }) { entity { urn } }".to_owned(),
        ),
        (
            "changes",
            "(input: { count: 20 }) { changes { id } }".to_owned(),
        ),
        ("changesByWeek", "(weeks: 2) { changes }".to_owned()),
        ("documentationCoverage", "{ all { datasets } }".to_owned()),
    ];
    by_urn.chain(lists).chain(others).collect()
}

fn rows([secret, token, account, webhook]: &[String; 4]) -> Vec<Row> {
    use Denial::{Forbidden, Unsupported, Without};
    let of_rita = |field: &str| {
        format!(
            r#"(input: {{ filters: [{{ field: "{field}", values: ["{RITA}"] }}] }}) {{ tokens {{ id }} }}"#
        )
    };
    let search = |kind: &str| {
        format!(
            r#"(input: {{ types: [{kind}], query: "*", count: 50 }}) {{ searchResults {{ entity {{ urn }} }} }}"#
        )
    };
    let urns = |urn: &str| format!(r#"(urns: ["{urn}"], checkForExistence: true) {{ urn }}"#);
    let urn = |urn: &str| format!(r#"(urn: "{urn}") {{ urn }}"#);
    let mut rows: Vec<Row> = vec![
        (
            "listPolicies",
            "(input: {}) { policies { urn } }".to_owned(),
            ADMINISTRATORS,
            Forbidden,
        ),
        (
            "listTests",
            "(input: {}) { tests { urn } }".to_owned(),
            ADMINISTRATORS,
            Forbidden,
        ),
        (
            "listSecrets",
            "(input: {}) { secrets { urn } }".to_owned(),
            ADMINISTRATORS,
            Forbidden,
        ),
        (
            "getSecretValues",
            r#"(input: { secrets: ["prod"] }) { name value }"#.to_owned(),
            ADMINISTRATORS,
            Forbidden,
        ),
        (
            "getGrantedPrivileges",
            format!(r#"(input: {{ actorUrn: "{RITA}" }}) {{ privileges }}"#),
            RITA_AND_ADMINISTRATORS,
            Forbidden,
        ),
        (
            "auditLog",
            "(input: {}) { events { id } }".to_owned(),
            ADMINISTRATORS,
            Forbidden,
        ),
        (
            "searchUsers",
            r#"(input: { query: "*" }) { total }"#.to_owned(),
            ADMINISTRATORS,
            Forbidden,
        ),
        (
            "listAccessTokens",
            of_rita("ownerUrn"),
            RITA_AND_ADMINISTRATORS,
            Forbidden,
        ),
        (
            "listAccessTokens",
            of_rita("actorUrn"),
            RITA_AND_ADMINISTRATORS,
            Forbidden,
        ),
        (
            "getAccessTokenMetadata",
            format!(r#"(token: "{secret}") {{ ownerUrn }}"#),
            RITA_AND_ADMINISTRATORS,
            Without(RITA),
        ),
        // It creates a token.
        (
            "getAccessToken",
            format!(
                r#"(input: {{ type: PERSONAL, actorUrn: "{RITA}", duration: ONE_HOUR }}) {{ accessToken }}"#
            ),
            "RA",
            Forbidden,
        ),
        (
            "getAnalyticsCharts",
            "{ groupId }".to_owned(),
            ANALYSTS,
            Forbidden,
        ),
        (
            "getMetadataAnalyticsCharts",
            "(input: { entityType: DATASET }) { groupId }".to_owned(),
            ANALYSTS,
            Forbidden,
        ),
        ("getHighlights", "{ title }".to_owned(), ANALYSTS, Forbidden),
        (
            "latestProductUpdate",
            "{ id }".to_owned(),
            "",
            Without("id"),
        ),
        (
            "semanticSearch",
            r#"(input: { type: DATASET, query: "a" }) { total }"#.to_owned(),
            "",
            Unsupported,
        ),
        (
            "semanticSearchAcrossEntities",
            r#"(input: { query: "a" }) { total }"#.to_owned(),
            "",
            Unsupported,
        ),
        (
            "getPresignedUploadUrl",
            format!(
                r#"(input: {{ fileName: "f", scenario: ASSET_DOCUMENTATION, assetUrn: "{DATASET}" }}) {{ url }}"#
            ),
            "",
            Unsupported,
        ),
        (
            "debugAccess",
            format!(r#"(userUrn: "{RITA}") {{ roles }}"#),
            ADMINISTRATORS,
            Forbidden,
        ),
        (
            "connection",
            format!(r#"(urn: "{CONNECTION}") {{ details {{ name }} }}"#),
            ADMINISTRATORS,
            Without("chat"),
        ),
        // It creates a link, because none can be read.
        (
            "getInviteToken",
            "(input: {}) { inviteToken }".to_owned(),
            "A",
            Forbidden,
        ),
        (
            "getInviteToken",
            r#"(input: { roleUrn: "urn:li:dataHubRole:Reader" }) { inviteToken }"#.to_owned(),
            "A",
            Forbidden,
        ),
        (
            "listInviteTokens",
            "{ urn }".to_owned(),
            ADMINISTRATORS,
            Forbidden,
        ),
        (
            "serverStatus",
            "{ version }".to_owned(),
            ADMINISTRATORS,
            Forbidden,
        ),
        (
            "listWebhooks",
            "{ urn }".to_owned(),
            ADMINISTRATORS,
            Forbidden,
        ),
        (
            "webhook",
            format!(r#"(urn: "{webhook}") {{ urn }}"#),
            ADMINISTRATORS,
            Forbidden,
        ),
        (
            "webhookDeadLetters",
            format!(r#"(input: {{ urn: "{webhook}" }}) {{ total }}"#),
            ADMINISTRATORS,
            Forbidden,
        ),
        (
            "listServiceAccounts",
            "(input: {}) { serviceAccounts { urn } }".to_owned(),
            ADMINISTRATORS,
            Forbidden,
        ),
        ("getServiceAccount", urn(account), ADMINISTRATORS, Forbidden),
        (
            "listIngestionSources",
            "(input: {}) { ingestionSources { urn } }".to_owned(),
            ADMINISTRATORS,
            Without(SOURCE),
        ),
        (
            "listExecutionRequests",
            "(input: {}) { executionRequests { urn } }".to_owned(),
            ADMINISTRATORS,
            Without("urn:li:dataHubExecutionRequest:warehouse"),
        ),
        (
            "ingestionSource",
            format!(r#"(urn: "{SOURCE}") {{ type }}"#),
            ADMINISTRATORS,
            Without("hive"),
        ),
        (
            "executionRequest",
            r#"(urn: "urn:li:dataHubExecutionRequest:hush") { input { task } }"#.to_owned(),
            ADMINISTRATORS,
            Without("RUN_INGEST"),
        ),
        (
            "searchAcrossEntities",
            search("DATAHUB_POLICY"),
            ADMINISTRATORS,
            Without(POLICY),
        ),
        (
            "recentChanges",
            "(input: { types: [DATAHUB_POLICY], count: 100 }) { entity { urn } }".to_owned(),
            ADMINISTRATORS,
            Without(POLICY),
        ),
        ("entity", urn(POLICY), ADMINISTRATORS, Without(POLICY)),
        ("entities", urns(POLICY), ADMINISTRATORS, Without(POLICY)),
        (
            "entity",
            urn(token),
            RITA_AND_ADMINISTRATORS,
            Without("dataHubAccessToken"),
        ),
    ];
    // They exist for those who manage them alone.
    for managed in [POLICY, SOURCE, SECRET, CONNECTION] {
        let exists = format!(r#"(urn: "{managed}")"#);
        rows.push(("entityExists", exists, ADMINISTRATORS, Without("true")));
    }
    let plain = reads().into_iter();
    rows.extend(plain.map(|(field, text)| (field, text, EVERYONE, Forbidden)));
    rows
}

#[tokio::test]
async fn every_query_is_answered_to_exactly_those_who_may_send_it() {
    let app = app().await;
    let names = extend(&app).await;
    let tokens = tokens(&app).await;
    let rows = rows(&names);
    let listed: BTreeSet<String> = rows.iter().map(|row| row.0.to_owned()).collect();
    let declared = fields_of(&app, "queryType").await;
    assert_eq!(declared, listed, "every query has a row");
    let mut wrong = Vec::new();
    for (field, text, allowed, denial) in &rows {
        for (letter, token) in &tokens {
            let reply = app.graphql_as(token, &format!("{{ {field}{text} }}")).await;
            let (error, data) = (&reply["errors"][0], reply["data"].to_string());
            let code = &error["extensions"]["code"];
            let is_expected = match (allowed.contains(*letter), denial) {
                (false, Denial::Unsupported) => *code == 400,
                (true, _) if reply["data"][field].is_null() => false,
                (true, Denial::Forbidden) => error.is_null(),
                (true, Denial::Without(shown)) => error.is_null() && data.contains(shown),
                (true, Denial::Unsupported) => false,
                (false, Denial::Forbidden) => *code == 403,
                (false, Denial::Without(hidden)) => *code != 400 && !data.contains(hidden),
            };
            if !is_expected {
                wrong.push(format!("{field}{text} by {letter}: {reply}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn no_query_is_answered_without_a_valid_token() {
    let app = app().await;
    let names = extend(&app).await;
    let ended = ended_tokens(&app).await;
    for (field, text, ..) in rows(&names) {
        let body = json!({"query": format!("{{ {field}{text} }}")});
        for (kind, token) in &ended {
            let (status, reply) = app.send_as(token, "POST", "/api/graphql", &body).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{field} {kind}: {reply}");
        }
        let anonymous = Request::post("/api/graphql")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()))
            .unwrap();
        let (status, reply) = app.send(anonymous).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{field}: {reply}");
        assert_eq!(reply.get("data"), None::<&Value>, "{field}: {reply}");
    }
}
