//! Lists of proposals: each item sees what the items before it did.

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
async fn a_domain_that_is_deleted_behind_a_new_member_leaves_the_member_without_a_domain() {
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
async fn an_item_that_cannot_be_read_is_named_with_its_urn() {
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
async fn a_domain_is_not_deleted_behind_a_new_child() {
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
async fn a_domain_is_deleted_behind_its_last_child() {
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
async fn what_says_where_a_domain_stands_is_not_deleted_while_it_has_children() {
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
async fn a_list_has_a_limit_that_it_is_told() {
    let app = App::empty().await;
    let one = domain(PARENT, "R1", None);
    let (status, body) = app.propose_all(vec![one; 10_001]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("10000 changes at most"), "{message}");
    assert!(message.contains("10001"), "{message}");
    assert_eq!(app.aspect(PARENT, "domainKey").await, None);
}

#[tokio::test]
async fn a_list_that_would_write_more_than_a_transaction_should_is_refused_whole() {
    const MIB: usize = 1024 * 1024;
    let app = App::with_dataset().await;
    let large = json!({"description": "x".repeat(7 * MIB)});
    app.ingest(DATASET, "datasetProperties", &large).await;
    let patches = |count: usize| -> Vec<Value> {
        let patch = |number| json!([{"op": "add", "path": "/name", "value": format!("n{number}")}]);
        let patch = |number| proposal("PATCH", DATASET, "datasetProperties", &patch(number));
        (0..count).map(patch).collect()
    };
    let (status, body) = app.propose_all(patches(19)).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{body}");
    let message = body["message"].as_str().unwrap();
    assert!(message.starts_with("item 18 ("), "{message}");
    assert!(message.contains("send it in parts"), "{message}");
    let version = |number| app.aspect_version(DATASET, "datasetProperties", number);
    assert_eq!(version(0).await.unwrap()["name"], Value::Null);
    // What is carried out before the end is seen by the rest, and is there with its history.
    sent(&app, patches(4)).await;
    assert_eq!(version(0).await.unwrap()["name"], "n3");
    for (number, name) in [(3, "n0"), (4, "n1"), (5, "n2")] {
        assert_eq!(version(number).await.unwrap()["name"], name);
    }
}
