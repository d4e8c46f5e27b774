//! Patches of aspects over both REST APIs.

use std::sync::Arc;

use crate::support::{App, DATASET, MISSING, NOW_MS, USER, proposal};
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

fn message(body: &Value) -> &str {
    body["message"].as_str().unwrap_or_default()
}

async fn patch(app: &App, urn: &str, aspect: &str, patch: Value) -> (StatusCode, Value) {
    app.propose("PATCH", urn, aspect, &patch).await
}

async fn patch_v3(app: &App, kind: &str, body: &Value) -> (StatusCode, Value) {
    let path = format!("/openapi/v3/entity/{kind}?async=false");
    app.send(app.request(Method::PATCH, &path, body.to_string()))
        .await
}

#[tokio::test]
async fn a_patch_changes_only_its_path_over_both_apis() {
    let app = App::with_dataset().await;
    let operations = json!([{"op": "add", "path": "/customProperties/k~11", "value": "v"}]);
    let (status, body) = patch(&app, DATASET, "datasetProperties", operations).await;
    assert_eq!(
        (status, body),
        (StatusCode::OK, json!({"value": "success"}))
    );
    let expected = json!({
        "description": "table containing all the users deleted on a single day",
        "customProperties": {"k/1": "v"},
    });
    assert_eq!(
        app.aspect(DATASET, "datasetProperties").await,
        Some(expected)
    );
    let body = json!([{"urn": DATASET, "globalTags": {
        "value": {
            "patch": [{"op": "add", "path": "/tags//urn:li:tag:t1", "value": {"tag": "urn:li:tag:t1"}}],
            "arrayPrimaryKeys": {"tags": ["attribution␟source", "tag"]},
        },
        "systemMetadata": {"lastObserved": NOW_MS, "runId": "r1"},
        "headers": {},
    }}]);
    let (status, reply) = patch_v3(&app, "dataset", &body).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let tags = json!({"tags": [{"tag": "urn:li:tag:t1"}]});
    assert_eq!(
        reply,
        json!([{"urn": DATASET, "globalTags": {"value": tags}}])
    );
    assert_eq!(app.aspect(DATASET, "globalTags").await, Some(tags));
}

#[tokio::test]
async fn a_patch_creates_an_entity_unless_it_only_removes() {
    let app = App::empty().await;
    let removal = json!([{"op": "remove", "path": "/tags/urn:li:tag:a", "value": {}}]);
    let (status, _) = patch(&app, MISSING, "globalTags", removal).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(app.aspect(MISSING, "datasetKey").await, None);
    let term = json!([{"op": "add", "path": "/terms/urn:li:glossaryTerm:t", "value": {}}]);
    let (status, body) = patch(&app, MISSING, "glossaryTerms", term).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(
        app.aspect(MISSING, "glossaryTerms").await,
        Some(json!({
            "terms": [{"urn": "urn:li:glossaryTerm:t"}],
            "auditStamp": {"time": NOW_MS, "actor": USER},
        }))
    );
    assert!(app.aspect(MISSING, "datasetKey").await.is_some());
}

#[tokio::test]
async fn a_patch_that_removes_a_required_list_empties_it() {
    let app = App::with_dataset().await;
    let source = |name: &str| json!({"time": 1, "actor": USER, "source": format!("urn:li:dataHubAction:{name}")});
    let documentations = json!({"documentations": [
        {"documentation": "by hand"},
        {"documentation": "by a", "attribution": source("a")},
        {"documentation": "by b", "attribution": source("b")},
    ]});
    // Once with the keys of the client, once without any.
    for keys in [json!({"documentations": ["attribution␟source"]}), json!({})] {
        app.ingest(DATASET, "documentation", &documentations).await;
        let remove = json!([{"op": "remove", "path": "/documentations", "value": {}}]);
        let all = json!({"arrayPrimaryKeys": keys, "patch": remove});
        let (status, body) = patch(&app, DATASET, "documentation", all).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        let stored = app.aspect(DATASET, "documentation").await.unwrap();
        assert_eq!(stored, json!({"documentations": []}));
    }
    // A member without which the aspect is incomplete stays required.
    let remove = json!([{"op": "remove", "path": "/documentations/0/documentation"}]);
    app.ingest(DATASET, "documentation", &documentations).await;
    let generic = json!({"forceGenericPatch": true, "patch": remove});
    let (status, body) = patch(&app, DATASET, "documentation", generic).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
}

#[tokio::test]
async fn a_patched_domain_is_in_both_lists() {
    let app = App::with_dataset().await;
    let keys = json!({"domainAssociations": ["attribution␟source", "domain"]});
    let change = |op: &str| {
        json!({"arrayPrimaryKeys": keys, "patch": [
            {"op": op, "path": "/domainAssociations//urn:li:domain:d", "value": {"domain": "urn:li:domain:d"}},
        ]})
    };
    let (status, body) = patch(&app, DATASET, "domains", change("add")).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(
        app.aspect(DATASET, "domains").await,
        Some(json!({
            "domains": ["urn:li:domain:d"],
            "domainAssociations": [{"domain": "urn:li:domain:d"}],
        }))
    );
    let (status, _) = patch(&app, DATASET, "domains", change("remove")).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        app.aspect(DATASET, "domains").await,
        Some(json!({"domains": [], "domainAssociations": []}))
    );
}

#[tokio::test]
async fn a_patch_without_effect_creates_no_version() {
    let app = App::with_dataset().await;
    for _ in 0..2 {
        let tag =
            json!([{"op": "add", "path": "/tags/urn:li:tag:a", "value": {"tag": "urn:li:tag:a"}}]);
        let (status, _) = patch(&app, DATASET, "globalTags", tag).await;
        assert_eq!(status, StatusCode::OK);
    }
    assert!(app.aspect_version(DATASET, "globalTags", 1).await.is_some());
    assert_eq!(app.aspect_version(DATASET, "globalTags", 2).await, None);
}

#[tokio::test]
async fn a_failed_patch_names_the_operation_and_changes_nothing() {
    let app = App::with_dataset().await;
    let before = app.aspect(DATASET, "datasetProperties").await;
    for (aspect, operations, status, part) in [
        (
            "datasetProperties",
            json!([{"op": "add", "path": "/name", "value": "n"}, {"op": "test", "path": "/name", "value": "m"}]),
            422,
            "operation 1 of the patch (test '/name')",
        ),
        (
            "datasetProperties",
            json!([{"op": "add", "path": "/description", "value": 7}]),
            422,
            "/description",
        ),
        (
            "globalTags",
            json!([{"op": "add", "path": "/tags/nonsense", "value": {}}]),
            422,
            "/tags/0/tag",
        ),
        (
            "datasetKey",
            json!([{"op": "add", "path": "/name", "value": "x"}]),
            422,
            "follows from the URN",
        ),
        (
            "datasetProfile",
            json!([{"op": "add", "path": "/rowCount", "value": 1}]),
            422,
            "time series",
        ),
        ("globalTags", json!("x"), 400, "invalid patch"),
        (
            "globalTags",
            json!([{"op": "set", "path": "/tags"}]),
            400,
            "operation 0 has the unknown op 'set'",
        ),
    ] {
        let (found, body) = patch(&app, DATASET, aspect, operations.clone()).await;
        assert_eq!(found.as_u16(), status, "{operations}: {body}");
        assert!(message(&body).contains(part), "{operations}: {body}");
        let list = json!([{"urn": DATASET, aspect: {"value": {"patch": operations}}}]);
        let (found, body) = patch_v3(&app, "dataset", &list).await;
        assert_eq!(found, StatusCode::BAD_REQUEST, "{operations}: {body}");
        assert!(message(&body).contains("item 0"), "{body}");
        assert!(message(&body).contains(DATASET), "{body}");
    }
    let secret = json!([{"op": "test", "path": "/value", "value": "x"}]);
    let (status, body) = patch(
        &app,
        "urn:li:dataHubConnection:s",
        "dataHubConnectionDetails",
        secret,
    )
    .await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
    assert!(message(&body).contains("upsertConnection"), "{body}");
    let password = json!([{"op": "test", "path": "/salt", "value": "x"}]);
    let (status, body) = patch(&app, USER, "corpUserCredentials", password).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
    assert_eq!(app.aspect(DATASET, "datasetProperties").await, before);
    assert_eq!(app.aspect(DATASET, "globalTags").await, None);
}

#[tokio::test]
async fn one_invalid_patch_rejects_the_whole_batch() {
    let app = App::with_dataset().await;
    let good = json!([{"op": "add", "path": "/tags/urn:li:tag:a", "value": {}}]);
    let bad = json!([{"op": "replace", "path": "/tags/urn:li:tag:b", "value": {}}]);
    let batch = vec![
        proposal("PATCH", DATASET, "globalTags", &good),
        proposal("PATCH", DATASET, "globalTags", &bad),
    ];
    let (status, body) = app.propose_all(batch).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let expected = format!("item 1 ({DATASET} globalTags): operation 0");
    assert!(message(&body).starts_with(&expected), "{body}");
    assert_eq!(app.aspect(DATASET, "globalTags").await, None);
}

/// Eight concurrent clients, each adding a hundred items to the same list.
const CLIENTS: usize = 8;
const EACH: usize = 25;

async fn at_once(
    app: &Arc<App>,
    aspect: &'static str,
    operation: fn(&str) -> Value,
    list: &str,
    name: fn(&Value) -> String,
) {
    let clients = (0..CLIENTS).map(|client| {
        let app = Arc::clone(app);
        tokio::spawn(async move {
            for at in 0..EACH {
                let name = format!("c{client}n{at}");
                let patch = operation(&name);
                let (status, body) = if at % 2 == 0 {
                    app.propose("PATCH", DATASET, aspect, &patch).await
                } else {
                    let list = json!([{"urn": DATASET, aspect: {"value": patch}}]);
                    patch_v3(&app, "dataset", &list).await
                };
                assert_eq!(status, StatusCode::OK, "{body}");
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
    let stored = app.aspect(DATASET, aspect).await.unwrap();
    let mut found: Vec<String> = stored[list].as_array().unwrap().iter().map(name).collect();
    found.sort_unstable();
    let mut expected: Vec<String> = (0..CLIENTS)
        .flat_map(|client| (0..EACH).map(move |at| format!("c{client}n{at}")))
        .collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_added_concurrently_by_eight_clients_are_all_stored() {
    let app = Arc::new(App::with_dataset().await);
    let link = |name: &str| {
        json!({"arrayPrimaryKeys": {"elements": ["url"]}, "patch": [{
            "op": "add",
            "path": format!("/elements/https:~1~1e~1{name}"),
            "value": {"description": name, "createStamp": {"time": 1, "actor": USER}},
        }]})
    };
    let name = |link: &Value| link["url"].as_str().unwrap().replace("https://e/", "");
    at_once(&app, "institutionalMemory", link, "elements", name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tags_added_concurrently_by_eight_clients_are_all_stored() {
    let app = Arc::new(App::with_dataset().await);
    let tag = |name: &str| json!({"patch": [{"op": "add", "path": format!("/tags/urn:li:tag:{name}"), "value": {}}]});
    let name = |tag: &Value| tag["tag"].as_str().unwrap().replace("urn:li:tag:", "");
    at_once(&app, "globalTags", tag, "tags", name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn columns_described_concurrently_by_eight_clients_are_all_stored() {
    let app = Arc::new(App::with_dataset().await);
    let column = |name: &str| {
        let path = format!("/editableSchemaFieldInfo/{name}/description");
        json!({"patch": [{"op": "add", "path": path, "value": name}]})
    };
    let name = |column: &Value| {
        assert_eq!(column["fieldPath"], column["description"]);
        column["fieldPath"].as_str().unwrap().to_owned()
    };
    at_once(
        &app,
        "editableSchemaMetadata",
        column,
        "editableSchemaFieldInfo",
        name,
    )
    .await;
}

#[tokio::test]
async fn a_patch_of_missing_properties_starts_with_the_empty_lists_of_datahub() {
    let app = App::empty().await;
    let operations = json!([{"op": "add", "path": "/description", "value": "d"}]);
    patch(&app, MISSING, "datasetProperties", operations).await;
    let expected = json!({"description": "d", "customProperties": {}, "tags": []});
    assert_eq!(
        app.aspect(MISSING, "datasetProperties").await,
        Some(expected)
    );
}
