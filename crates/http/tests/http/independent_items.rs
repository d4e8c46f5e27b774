//! Lists of which only the invalid items are rejected.

use crate::support::{App, DATASET, proposal};
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

const BATCH: &str = "/aspects?action=ingestProposalBatch";

fn dataset(name: &str) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")
}

fn described(name: &str) -> Value {
    let value = json!({"description": name});
    proposal("UPSERT", &dataset(name), "datasetProperties", &value)
}

/// Two domains are too many for a dataset, which only the transaction finds out.
fn unequal_domains(name: &str) -> Value {
    let value = json!({"domains": ["urn:li:domain:a"], "domainAssociations": [{"domain": "urn:li:domain:b"}]});
    proposal("UPSERT", &dataset(name), "domains", &value)
}

async fn send(app: &App, path: &str, proposals: &[Value], is_async: bool) -> (StatusCode, Value) {
    let body = json!({"proposals": proposals, "async": is_async.to_string()});
    app.post(path, &body).await
}

async fn are_written(app: &App, names: &[&str]) -> Vec<bool> {
    let mut written = Vec::new();
    for name in names {
        let aspect = app.aspect(&dataset(name), "datasetProperties").await;
        written.push(aspect.is_some());
    }
    written
}

fn failures(reply: &Value) -> Vec<(u64, u64)> {
    let failures = reply["failures"].as_array().unwrap().iter();
    let number = |failure: &Value, member: &str| failure[member].as_u64().unwrap();
    failures
        .map(|it| (number(it, "position"), number(it, "status")))
        .collect()
}

#[tokio::test]
async fn an_asynchronous_batch_loses_only_its_invalid_items_and_reports_each() {
    let app = App::empty().await;
    let credentials = json!({"salt": "s", "hashedPassword": "h"});
    let list = [
        described("a"),
        proposal("UPSERT", &dataset("b"), "noSuchAspect", &json!({})),
        described("c"),
        proposal("UPSERT", &dataset("d"), "status", &json!({"removed": 1})),
        unequal_domains("e"),
        described("f"),
        proposal(
            "UPSERT",
            "urn:li:corpuser:eve",
            "corpUserCredentials",
            &credentials,
        ),
        proposal("UPSERT", "urn:li:nonsense:x", "status", &json!({})),
        described("g"),
    ];
    let (status, reply) = send(&app, BATCH, &list, true).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    let expected = [(1, 400), (3, 422), (4, 422), (6, 403), (7, 400)];
    assert_eq!(failures(&reply), expected, "{reply}");
    assert_eq!(reply["failures"][2]["urn"], json!(dataset("e")));
    assert_eq!(reply["failures"][2]["aspect"], "domains");
    let message = reply["message"].as_str().unwrap();
    for part in [
        "5 of 9 items were rejected",
        "item 1 ",
        "noSuchAspect",
        "item 3 ",
        "/removed",
        "item 4 ",
        "Cannot update both",
        "item 6 ",
        "item 7",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(are_written(&app, &["a", "c", "f", "g"]).await, [true; 4]);
    // What was rejected left no trace.
    for name in ["b", "d", "e"] {
        assert_eq!(app.aspect(&dataset(name), "datasetKey").await, None);
    }
    let (status, reply) = send(&app, BATCH, &list[2..3], true).await;
    assert_eq!(
        (status, reply),
        (StatusCode::OK, json!({"value": "success"}))
    );
}

#[tokio::test]
async fn clients_choose_all_or_none_with_a_parameter() {
    let app = App::empty().await;
    let atomic = format!("{BATCH}&atomic=true");
    let list = [described("a"), unequal_domains("b"), described("c")];
    for (path, is_async) in [(BATCH, false), (atomic.as_str(), true)] {
        let (status, reply) = send(&app, path, &list, is_async).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{reply}");
        let message = reply["message"].as_str().unwrap();
        assert!(message.starts_with("item 1 "), "{message}");
        assert_eq!(are_written(&app, &["a", "c"]).await, [false; 2]);
    }
    let apart = format!("{BATCH}&atomic=false");
    let (status, reply) = send(&app, &apart, &list, false).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{reply}");
    assert_eq!(failures(&reply), [(1, 422)]);
    assert_eq!(are_written(&app, &["a", "c"]).await, [true; 2]);
    let (status, reply) = send(&app, &format!("{BATCH}&atomic=perhaps"), &list, true).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
}

#[tokio::test]
async fn a_list_in_which_most_items_fail_keeps_its_order() {
    let app = App::empty().await;
    let mut list = Vec::new();
    for at in 0..40 {
        list.push(if at % 5 == 4 {
            described(&format!("d{at}"))
        } else {
            unequal_domains(&format!("d{at}"))
        });
    }
    // A later item wins, also if items between the two fail.
    let replacement = json!({"description": "last"});
    list.push(proposal(
        "UPSERT",
        &dataset("d4"),
        "datasetProperties",
        &replacement,
    ));
    let (_, reply) = send(&app, BATCH, &list, true).await;
    let rejected: Vec<u64> = failures(&reply).into_iter().map(|(at, _)| at).collect();
    let expected: Vec<u64> = (0..40).filter(|at| at % 5 != 4).collect();
    assert_eq!(rejected, expected);
    assert_eq!(are_written(&app, &["d4", "d9", "d39"]).await, [true; 3]);
    let stored = app.aspect(&dataset("d4"), "datasetProperties").await;
    assert_eq!(stored.unwrap()["description"], "last");
}

#[tokio::test]
async fn an_item_sees_the_items_before_it() {
    let app = App::with_dataset().await;
    let domain = |urn: &str, parent: Option<&str>| {
        let mut value = json!({"name": urn});
        if let Some(parent) = parent {
            value["parentDomain"] = json!(parent);
        }
        proposal("UPSERT", urn, "domainProperties", &value)
    };
    let [parent, child] = ["urn:li:domain:p", "urn:li:domain:c"];
    let list = [
        domain(parent, None),
        unequal_domains("x"),
        domain(child, Some(parent)),
        // It has a child by now.
        proposal("DELETE", parent, "domainKey", &json!({})),
    ];
    let (status, reply) = send(&app, BATCH, &list, true).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    assert_eq!(failures(&reply), [(1, 422), (3, 409)]);
    assert!(app.aspect(parent, "domainKey").await.is_some());
    assert!(app.aspect(child, "domainKey").await.is_some());
}

#[tokio::test]
async fn openapi_lists_lose_only_their_invalid_items_unless_they_are_synchronous() {
    let app = App::empty().await;
    let entity = |name: &str, aspect: &str, value: Value| {
        let mut entity = json!({"urn": dataset(name)});
        entity[aspect] = json!({"value": value});
        entity
    };
    let list = json!([
        entity("a", "datasetProperties", json!({"description": "a"})),
        entity("b", "noSuchAspect", json!({})),
        entity(
            "c",
            "domains",
            json!({"domains": ["urn:li:domain:a"], "domainAssociations": [{"domain": "urn:li:domain:b"}]}),
        ),
        {
            "urn": dataset("d"),
            "datasetProperties": {"value": {"description": "d"}},
            "status": {"value": {"removed": "yes"}},
        },
        {"urn": "urn:li:dataset:broken", "status": {"value": {"removed": false}}},
    ]);
    let path = "/openapi/v3/entity/dataset";
    let (status, reply) = app.post(&format!("{path}?async=false"), &list).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    assert_eq!(are_written(&app, &["a", "d"]).await, [false; 2]);
    let (status, reply) = app.post(path, &list).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    let rejected: Vec<u64> = failures(&reply).into_iter().map(|(at, _)| at).collect();
    assert_eq!(rejected, [1, 2, 3, 4], "{reply}");
    assert_eq!(reply["failures"][2]["aspect"], "status");
    assert_eq!(are_written(&app, &["a", "d"]).await, [true; 2]);
    assert_eq!(app.aspect(&dataset("d"), "status").await, None);
    // The same for patches, and in lists by type.
    let tag = json!({"patch": [{"op": "add", "path": "/tags/urn:li:tag:x", "value": {}}]});
    let owner = json!({"patch": [{"op": "add", "path": "/owners/x", "value": {"owner": 1}}]});
    let patches = json!([
        {"urn": DATASET, "globalTags": {"value": tag}, "ownership": {"value": owner}},
    ]);
    let request = app.request(Method::PATCH, path, patches.to_string());
    let (status, reply) = app.send(request).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    assert_eq!(reply["failures"][0]["aspect"], "ownership", "{reply}");
    assert!(app.aspect(DATASET, "globalTags").await.is_some());
    let groups = json!({"dataset": [entity("e", "status", json!({"removed": false}))],
        "tag": [{"urn": "urn:li:tag:t", "noSuchAspect": {"value": {}}}]});
    let (_, reply) = app.post("/openapi/v3/entity/generic", &groups).await;
    let message = reply["failures"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("tag: item 0 "), "{message}");
    assert!(app.aspect(&dataset("e"), "status").await.is_some());
}
