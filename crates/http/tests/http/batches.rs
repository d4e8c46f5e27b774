//! Lists of proposals: each item sees the changes of earlier items.

use crate::support::{App, DATASET, proposal};
use axum::http::StatusCode;
use serde_json::{Value, json};

const PARENT: &str = "urn:li:domain:r1";
const CHILD: &str = "urn:li:domain:r2";

fn delete(urn: &str, key_aspect: &str) -> Value {
    proposal("DELETE", urn, key_aspect, &json!({}))
}

fn domain(urn: &str, name: &str, parent: Option<&str>) -> Value {
    let mut value = json!({"name": name});
    if let Some(parent) = parent {
        value["parentDomain"] = json!(parent);
    }
    proposal("UPSERT", urn, "domainProperties", &value)
}

async fn sent(app: &App, proposals: Vec<Value>) {
    let (status, body) = app.propose_all(proposals).await;
    assert_eq!(status, StatusCode::OK, "{body}");
}

#[tokio::test]
async fn deleting_a_domain_after_adding_a_member_clears_the_members_domain() {
    let app = App::with_dataset().await;
    sent(&app, vec![domain("urn:li:domain:q1", "Q", None)]).await;
    let membership = json!({"domains": ["urn:li:domain:q1"]});
    sent(
        &app,
        vec![
            proposal("UPSERT", DATASET, "domains", &membership),
            delete("urn:li:domain:q1", "domainKey"),
        ],
    )
    .await;
    assert_eq!(app.aspect("urn:li:domain:q1", "domainKey").await, None);
    let domains = app.aspect(DATASET, "domains").await.unwrap();
    assert_eq!(domains["domains"], json!([]), "{domains}");
}

#[tokio::test]
async fn an_unparseable_item_is_reported_with_its_urn() {
    let app = App::empty().await;
    let bad = proposal("UPSERT", DATASET, "noSuchAspect", &json!({}));
    let (status, body) = app.propose_all(vec![domain(PARENT, "R1", None), bad]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    let message = body["message"].as_str().unwrap();
    for part in ["item 1", DATASET, "noSuchAspect"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(app.aspect(PARENT, "domainKey").await, None);
}

#[tokio::test]
async fn a_domain_with_a_new_child_in_the_same_list_is_not_deleted() {
    let app = App::empty().await;
    sent(&app, vec![domain(PARENT, "R1", None)]).await;
    let (status, body) = app
        .propose_all(vec![
            domain(CHILD, "R2", Some(PARENT)),
            delete(PARENT, "domainKey"),
        ])
        .await;
    assert_eq!(status, StatusCode::CONFLICT, "{body}");
    let message = body["message"].as_str().unwrap();
    assert!(message.starts_with("item 1 "), "{message}");
    assert!(message.contains(CHILD), "{message}");
    assert!(app.aspect(PARENT, "domainKey").await.is_some());
    assert_eq!(app.aspect(CHILD, "domainKey").await, None);
}

#[tokio::test]
async fn a_domain_is_deleted_after_its_last_child_in_the_same_list() {
    let app = App::empty().await;
    sent(
        &app,
        vec![
            domain(PARENT, "R1", None),
            domain(CHILD, "R2", Some(PARENT)),
        ],
    )
    .await;
    sent(
        &app,
        vec![delete(CHILD, "domainKey"), delete(PARENT, "domainKey")],
    )
    .await;
    assert_eq!(app.aspect(PARENT, "domainKey").await, None);
    assert_eq!(app.aspect(CHILD, "domainKey").await, None);
}

#[tokio::test]
async fn an_entity_is_deleted_with_a_point_that_the_same_list_wrote() {
    let app = App::with_dataset().await;
    let point = json!({"timestampMillis": 5, "rowCount": 7});
    sent(
        &app,
        vec![
            proposal("UPSERT", DATASET, "datasetProfile", &point),
            delete(DATASET, "datasetKey"),
        ],
    )
    .await;
    let (status, body) = app
        .post(
            "/entities?action=delete",
            &json!({"urn": DATASET, "aspectName": "datasetProfile"}),
        )
        .await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(body["value"]["timeseriesRows"], 0, "{body}");
    assert_eq!(app.aspect(DATASET, "datasetKey").await, None);
}

#[tokio::test]
async fn domain_properties_are_not_deleted_while_the_domain_has_children() {
    let app = App::empty().await;
    sent(
        &app,
        vec![
            domain(PARENT, "R1", None),
            domain(CHILD, "R2", Some(PARENT)),
        ],
    )
    .await;
    let (status, body) = app
        .propose("DELETE", PARENT, "domainProperties", &json!({}))
        .await;
    assert_eq!(status, StatusCode::CONFLICT, "{body}");
    assert!(app.aspect(PARENT, "domainProperties").await.is_some());
    sent(&app, vec![delete(CHILD, "domainProperties")]).await;
    assert_eq!(app.aspect(CHILD, "domainProperties").await, None);
    sent(&app, vec![delete(PARENT, "domainProperties")]).await;
    assert_eq!(app.aspect(PARENT, "domainProperties").await, None);
}

#[tokio::test]
async fn a_list_over_the_limit_is_rejected_with_the_limit() {
    let app = App::empty().await;
    let one = domain(PARENT, "R1", None);
    let (status, body) = app.propose_all(vec![one; 10_001]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("at most 10000 items"), "{message}");
    assert_eq!(app.aspect(PARENT, "domainKey").await, None);
}

#[tokio::test]
async fn a_list_over_the_write_budget_is_rejected_as_a_whole() {
    const MIB: usize = 1024 * 1024;
    let app = App::with_dataset().await;
    let large = json!({"description": "x".repeat(7 * MIB)});
    app.ingest(DATASET, "datasetProperties", &large).await;
    let patches = |count: usize| -> Vec<Value> {
        let patch = |number| json!([{"op": "add", "path": "/name", "value": format!("n{number}")}]);
        let patch = |number| proposal("PATCH", DATASET, "datasetProperties", &patch(number));
        (0..count).map(patch).collect()
    };
    // The first one is applied outside the transaction.
    let (status, body) = app.propose_all(patches(4)).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{body}");
    let message = body["message"].as_str().unwrap();
    assert!(message.starts_with("item 3 ("), "{message}");
    assert!(message.contains("send it in parts"), "{message}");
    let version = |number| app.aspect_version(DATASET, "datasetProperties", number);
    assert_eq!(version(0).await.unwrap()["name"], Value::Null);
    // Later items see the earlier writes, which are stored with their history.
    sent(&app, patches(3)).await;
    assert_eq!(version(0).await.unwrap()["name"], "n2");
    for (number, name) in [(3, "n0"), (4, "n1")] {
        assert_eq!(version(number).await.unwrap()["name"], name);
    }
}

fn message(body: &Value) -> &str {
    body["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn an_invalid_item_is_reported_with_position_urn_and_field_by_every_api() {
    let app = App::with_dataset().await;
    let good = proposal("UPSERT", DATASET, "status", &json!({"removed": true}));
    let changed = |name: &str, value: Value| {
        let mut bad = good.clone();
        bad[name] = value;
        json!({"proposals": [good, bad]})
    };
    let token = "urn:li:dataHubAccessToken:x";
    let stolen = proposal("UPSERT", token, "dataHubAccessTokenInfo", &json!({}));
    let bucket = |resource: &str, users: Value| json!({"bucket": 0, "duration": "DAY", "resource": resource, "metrics": {"users": users}});
    let buckets = |bad: Value| json!({"buckets": [bucket(DATASET, Value::Null), bad]});
    let snapshot = |name: &str| {
        let status = json!({"com.linkedin.common.Status": {"removed": true}});
        json!({"value": {format!("com.linkedin.metadata.snapshot.{name}"): {"urn": DATASET, "aspects": [status]}}})
    };
    let snapshots = |bad: Value| json!({"entities": [snapshot("DatasetSnapshot"), bad]});
    let entity = json!({"urn": DATASET, "status": {"value": {"removed": true}}});
    let mut spelled_twice = entity.clone();
    spelled_twice["Status"] = json!({"value": {"removed": false}});
    let batch = "/aspects?action=ingestProposalBatch";
    let usage = "/usageStats?action=batchIngest";
    let ingest = "/entities?action=batchIngest";
    let v3 = "/openapi/v3/entity/dataset?async=false";
    for (path, body, status, urn, field) in [
        (batch, changed("aspect", json!(5)), 400, DATASET, "aspect: "),
        (
            batch,
            changed("headers", json!("x")),
            400,
            DATASET,
            "headers: ",
        ),
        (
            batch,
            changed("changeType", json!("X")),
            400,
            DATASET,
            "changeType",
        ),
        (
            batch,
            json!({"proposals": [good, 7]}),
            400,
            "",
            "a change proposal",
        ),
        (
            batch,
            json!({"proposals": [good, stolen]}),
            403,
            token,
            "dataHubAccessTokenInfo",
        ),
        (
            usage,
            buckets(bucket("nobody", Value::Null)),
            400,
            "nobody",
            "resource: ",
        ),
        (
            usage,
            buckets(bucket(DATASET, json!([{"count": 1}]))),
            400,
            DATASET,
            "users",
        ),
        (
            usage,
            buckets(bucket(DATASET, json!([{"user": "x", "count": 1}]))),
            422,
            DATASET,
            "user",
        ),
        (
            usage,
            buckets(bucket(DATASET, json!([{"count": "x"}]))),
            400,
            DATASET,
            "metrics.users.count: ",
        ),
        (
            ingest,
            snapshots(snapshot("TagSnapshot")),
            400,
            DATASET,
            "TagSnapshot",
        ),
        (ingest, snapshots(json!({"value": {}})), 400, "", "value"),
        (v3, json!([entity, spelled_twice]), 400, DATASET, "'Status'"),
        (v3, json!([entity, 7]), 400, "", "a map"),
    ] {
        let (found, reply) = app.post(path, &body).await;
        assert_eq!(found.as_u16(), status, "{path}: {reply}");
        for part in ["item 1", urn, field] {
            assert!(message(&reply).contains(part), "{path} {part}: {reply}");
        }
    }
    let patch = |urn: &str, aspect: &str| json!({"urn": urn, "aspectName": aspect, "patch": []});
    let query = "mutation ($input: [PatchEntityInput!]!) { patchEntities(input: $input) { urn } }";
    for (bad, part) in [
        (patch("nobody", "status"), "(nobody status)"),
        (patch(DATASET, "nothing"), "nothing"),
    ] {
        let input = json!({"input": [patch(DATASET, "status"), bad]});
        let reply = app.graphql_with(query, input).await;
        let message = reply["errors"][0]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("item 1 ("), "{reply}");
        assert!(message.contains(part), "{reply}");
    }
    assert_eq!(app.aspect(DATASET, "status").await, None);
}

#[tokio::test]
async fn empty_and_mismatched_snapshots_are_rejected() {
    let app = App::with_dataset().await;
    let snapshot = |name: &str| {
        let name = format!("com.linkedin.metadata.snapshot.{name}");
        let status = json!({"com.linkedin.common.Status": {"removed": true}});
        (name, json!({"urn": DATASET, "aspects": [status]}))
    };
    let value = |names: &[&str]| -> Value {
        let snapshots = names.iter().map(|name| snapshot(name));
        json!({"entity": {"value": snapshots.collect::<serde_json::Map<_, _>>()}})
    };
    for names in [
        &[][..],
        &["TagSnapshot"],
        &["TagSnapshot", "DatasetSnapshot"],
    ] {
        let (status, reply) = app.post("/entities?action=ingest", &value(names)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{names:?}: {reply}");
    }
    assert_eq!(app.aspect(DATASET, "status").await, None);
    let (status, reply) = app
        .post("/entities?action=ingest", &value(&["DatasetSnapshot"]))
        .await;
    assert_eq!(status, StatusCode::OK, "{reply}");
}
