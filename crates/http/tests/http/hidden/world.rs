//! A catalog of which a caller sees a part.

use docent_catalog::Caller;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::query_access::OTHER_TYPES;
use crate::support::{App, DATASET, role, token_of};

pub(super) const FINANCE: &str = "urn:li:domain:finance";
pub(super) const TAG: &str = "urn:li:tag:shared";
pub(super) const SEEN_TERM: &str = "urn:li:glossaryTerm:seen";
/// Downstream of what is hidden.
pub(super) const BEHIND: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,behind,PROD)";

/// A Proposer.
pub(super) const PAULA: &str = "urn:li:corpuser:paula";

/// What the caller must not see. Every name and text of it has this word; labels have it only in
/// their names, because what is seen refers to their ids.
pub(crate) const WORD: &str = "hush";
pub(crate) const TABLE: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,hush.table,PROD)";
pub(crate) const DOMAIN: &str = "urn:li:domain:d-1";
pub(super) const SUBDOMAIN: &str = "urn:li:domain:d-2";
pub(crate) const CONTAINER: &str = "urn:li:container:c-1";
pub(crate) const TERM: &str = "urn:li:glossaryTerm:t-1";
pub(super) const NODE: &str = "urn:li:glossaryNode:n-1";
pub(super) const DASHBOARD: &str = "urn:li:dashboard:(looker,hush)";
pub(super) const CHART: &str = "urn:li:chart:(looker,hush)";
pub(super) const FLOW: &str = "urn:li:dataFlow:(airflow,hush,PROD)";
pub(super) const JOB: &str = "urn:li:dataJob:(urn:li:dataFlow:(airflow,hush,PROD),hush)";
pub(super) const PRODUCT: &str = "urn:li:dataProduct:hush";
/// Contains what is hidden.
pub(super) const SEEN_PRODUCT: &str = "urn:li:dataProduct:seen";
pub(super) const APPLICATION: &str = "urn:li:application:a-1";
pub(super) const ASSERTION: &str = "urn:li:assertion:hush";
pub(super) const COLUMN: &str =
    "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,hush.table,PROD),user_name)";

/// Everybody sees the stages, but not what is in them.
pub(super) const STAGE: &str = "urn:li:lifecycleStageType:review";
/// Those of [`OTHER_TYPES`] that everybody sees.
const SEEN_TYPES: [&str; 8] = [
    "businessAttribute",
    "dataPlatformInstance",
    "form",
    "role",
    "structuredProperty",
    "test",
    "versionSet",
    "view",
];

/// A catalog whose caller vera sees what is in the domain of finance, and edits it.
pub(crate) async fn app(has_hidden: bool) -> (App, String) {
    let app = App::empty().await;
    app.catalog.enforce_view_policies();
    let audit = json!({"time": 0, "actor": "urn:li:corpuser:datahub"});
    let finance = json!({"name": "Finance", "description": "money"});
    app.ingest(FINANCE, "domainProperties", &finance).await;
    app.ingest(TAG, "tagProperties", &json!({"name": "shared"}))
        .await;
    let term = json!({"definition": "seen", "termSource": "INTERNAL", "customProperties": {}});
    app.ingest(SEEN_TERM, "glossaryTermInfo", &term).await;
    app.ingest(SEEN_TERM, "domains", &json!({"domains": [FINANCE]}))
        .await;
    let assets = json!([{"destinationUrn": TABLE}, {"destinationUrn": DATASET}]);
    let product = json!({"name": "seen", "assets": assets});
    app.ingest(SEEN_PRODUCT, "dataProductProperties", &product)
        .await;
    app.ingest(SEEN_PRODUCT, "domains", &json!({"domains": [FINANCE]}))
        .await;
    let stage = json!({"name": "review", "settings": {"hideInSearch": false}, "created": audit,
        "lastModified": audit});
    app.ingest(STAGE, "lifecycleStageTypeInfo", &stage).await;
    let paula = token_of(&app.catalog, PAULA, None).await;
    assign(&app, PAULA, "Proposer").await;
    if has_hidden {
        add_hidden(&app, &audit).await;
        propose_hidden(&app, &paula).await;
    }
    for urn in [DATASET, BEHIND] {
        app.add_dataset(urn).await;
        app.ingest(urn, "domains", &json!({"domains": [FINANCE]}))
            .await;
        // What is seen refers to what is hidden.
        app.ingest(urn, "container", &json!({"container": CONTAINER}))
            .await;
        let path = json!({"path": [{"id": CONTAINER, "urn": CONTAINER}, {"id": "part"}]});
        app.ingest(urn, "browsePathsV2", &path).await;
        let terms = json!({"terms": [{"urn": TERM}, {"urn": SEEN_TERM}], "auditStamp": audit});
        app.ingest(urn, "glossaryTerms", &terms).await;
        app.ingest(urn, "globalTags", &json!({"tags": [{"tag": TAG}]}))
            .await;
    }
    let upstream = |urn: &str| json!({"upstreams": [{"dataset": urn, "type": "TRANSFORMED", "auditStamp": audit}]});
    app.ingest(BEHIND, "upstreamLineage", &upstream(TABLE))
        .await;
    if has_hidden {
        app.ingest(TABLE, "upstreamLineage", &upstream(DATASET))
            .await;
    }
    hide_by_default(&app).await;
    let vera = "urn:li:corpuser:vera";
    let in_finance = json!({"filter": {"criteria": [{"field": "DOMAIN", "values": [FINANCE]}]}});
    grant(&app, "vera", vera, &["EDIT_ENTITY"], &in_finance).await;
    let token = token_of(&app.catalog, vera, None).await;
    assign(&app, vera, "Reader").await;
    (app, token)
}

pub(crate) async fn assign(app: &App, user: &str, role_name: &str) {
    let user = Urn::parse(user).unwrap();
    let assigned = app
        .catalog
        .assign_role(&Caller::system(), &[user], Some(&role(role_name)))
        .await;
    assigned.unwrap();
}

/// Writes a policy for one user.
pub(crate) async fn grant(
    app: &App,
    name: &str,
    user: &str,
    privileges: &[&str],
    resources: &Value,
) {
    let policy = json!({
        "displayName": name, "description": "", "type": "METADATA", "state": "ACTIVE",
        "privileges": privileges, "actors": {"users": [user]}, "resources": resources,
    });
    app.write_policy(&format!("urn:li:dataHubPolicy:{name}"), &policy)
        .await;
}

/// Proposes two changes of [`TABLE`], of which one is decided.
async fn propose_hidden(app: &App, paula: &str) {
    for text in ["hush three", "hush four"] {
        let mutation = format!(
            r#"mutation {{ updateDescription(input: {{ resourceUrn: "{TABLE}", description: "{text}" }}) }}"#
        );
        let reply = app.graphql_as(paula, &mutation).await;
        let proposal = &reply["extensions"]["proposals"][0];
        assert!(proposal.is_string(), "{reply}");
        if text == "hush four" {
            let mutation = format!("mutation {{ rejectProposals(proposalUrns: [{proposal}]) }}");
            let reply = app.graphql(&mutation).await;
            assert_eq!(reply["data"]["rejectProposals"], true, "{reply}");
        }
    }
}

async fn add_hidden(app: &App, audit: &Value) {
    app.add_dataset(TABLE).await;
    let stamps = json!({"created": audit, "lastModified": audit});
    let rows: Vec<(&str, &str, Value)> = vec![
        (
            DOMAIN,
            "domainProperties",
            json!({"name": "hush", "description": "hush"}),
        ),
        (
            SUBDOMAIN,
            "domainProperties",
            json!({"name": "hush below", "parentDomain": DOMAIN}),
        ),
        (
            CONTAINER,
            "containerProperties",
            json!({"name": "hush", "customProperties": {}}),
        ),
        (
            NODE,
            "glossaryNodeInfo",
            json!({"name": "hush", "definition": "hush"}),
        ),
        (
            TERM,
            "glossaryTermInfo",
            json!({"name": "hush", "definition": "hush", "termSource": "INTERNAL", "parentNode": NODE, "customProperties": {}}),
        ),
        (
            DASHBOARD,
            "dashboardInfo",
            json!({"title": "hush", "description": "hush", "lastModified": stamps, "charts": [CHART], "customProperties": {}}),
        ),
        (
            CHART,
            "chartInfo",
            json!({"title": "hush", "description": "hush", "lastModified": stamps, "customProperties": {}}),
        ),
        (
            FLOW,
            "dataFlowInfo",
            json!({"name": "hush", "customProperties": {}}),
        ),
        (
            JOB,
            "dataJobInfo",
            json!({"name": "hush", "type": {"string": "SQL"}, "customProperties": {}}),
        ),
        (
            PRODUCT,
            "dataProductProperties",
            json!({"name": "hush", "customProperties": {}}),
        ),
        (
            APPLICATION,
            "applicationProperties",
            json!({"name": "hush"}),
        ),
        (
            TABLE,
            "applications",
            json!({"applications": [APPLICATION]}),
        ),
        (
            ASSERTION,
            "assertionInfo",
            json!({"type": "CUSTOM", "customAssertion": {"type": "hush", "entity": TABLE}, "customProperties": {}}),
        ),
        (TABLE, "domains", json!({"domains": [DOMAIN]})),
        (TABLE, "container", json!({"container": CONTAINER})),
        (
            TABLE,
            "editableDatasetProperties",
            json!({"description": "hush one", "created": audit, "lastModified": audit}),
        ),
        (
            TABLE,
            "editableDatasetProperties",
            json!({"description": "hush two", "created": audit, "lastModified": audit}),
        ),
        (
            TABLE,
            "institutionalMemory",
            json!({"elements": [{"url": "https://hush.example", "description": "hush", "createStamp": audit}]}),
        ),
        (TABLE, "globalTags", json!({"tags": [{"tag": TAG}]})),
        (
            TABLE,
            "glossaryTerms",
            json!({"terms": [{"urn": SEEN_TERM}], "auditStamp": audit}),
        ),
        (
            TABLE,
            "datasetProfile",
            json!({"timestampMillis": 1, "rowCount": 7}),
        ),
        (TABLE, "browsePathsV2", json!({"path": [{"id": "hush"}]})),
        (
            TABLE,
            "status",
            json!({"removed": false, "lifecycleStage": STAGE}),
        ),
    ];
    for (urn, aspect, value) in rows {
        app.ingest(urn, aspect, &value).await;
    }
    let others = OTHER_TYPES.iter();
    for (field, urn, aspect, value) in others.filter(|it| !SEEN_TYPES.contains(&it.0)) {
        let value = serde_json::from_str(value).unwrap_or_else(|error| panic!("{field}: {error}"));
        app.ingest(urn, aspect, &value).await;
    }
    app.add_connection(WORD).await;
}

/// Switches off the policies that let everyone view everything.
pub(crate) async fn hide_by_default(app: &App) {
    let policies = app
        .catalog
        .list_urns("dataHubPolicy", 0, 100)
        .await
        .unwrap();
    for urn in policies.items {
        let policy = app.aspect(urn.as_str(), "dataHubPolicyInfo").await;
        let mut policy = policy.unwrap();
        let actors = &policy["actors"];
        let is_general = actors["allUsers"] == true || actors["roles"] == json!([role("Reader")]);
        if is_general && policy["type"] == "METADATA" {
            policy["state"] = json!("INACTIVE");
            app.write_policy(urn.as_str(), &policy).await;
        }
    }
}
