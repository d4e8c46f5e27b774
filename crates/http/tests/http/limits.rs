//! Limits of one request, whatever is stored: on the work of the writer and on the size of replies.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{App, proposal};

const MIB: usize = 1024 * 1024;

fn urn(number: usize) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,large{number},PROD)")
}

fn message(body: &Value) -> &str {
    body["message"].as_str().unwrap_or_default()
}

fn count(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

/// Datasets with properties of ten mebibytes, from the run `r`.
async fn with_large(count: usize) -> App {
    let app = App::empty().await;
    let properties = json!({"description": "x".repeat(10 * MIB)});
    for number in 0..count {
        let mut wire = proposal("UPSERT", &urn(number), "datasetProperties", &properties);
        wire["systemMetadata"] = json!({"runId": "r", "lastObserved": 1});
        let (status, reply) = app
            .post("/aspects?action=ingestProposal", &json!({"proposal": wire}))
            .await;
        assert_eq!(status, StatusCode::OK, "{reply}");
    }
    app
}

/// This many patches without effect.
async fn patch(app: &App, count: usize) -> (StatusCode, Value) {
    let operations = json!([{"op": "remove", "path": "/customProperties/none"}]);
    let item = json!({"urn": urn(0), "datasetProperties": {"value": {"patch": operations}}});
    let body = Value::from(vec![item; count]).to_string();
    let path = "/openapi/v3/entity/dataset?async=false";
    app.send(app.request(Method::PATCH, path, body)).await
}

#[tokio::test]
async fn repeated_patches_of_a_large_aspect_use_the_budget_and_are_returned_once() {
    let app = with_large(1).await;
    let (status, reply) = patch(&app, 3).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(count(&reply), 1);
    let (status, reply) = patch(&app, 13).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    let expected =
        "item 12 (urn:li:dataset:(urn:li:dataPlatform:hive,large0,PROD) datasetProperties)";
    assert!(message(&reply).starts_with(expected), "{}", message(&reply));
    assert!(message(&reply).contains("in parts"), "{}", message(&reply));
}

#[tokio::test]
async fn replies_omit_duplicates_and_have_a_maximum_size() {
    let app = with_large(7).await;
    let input = |number: usize| json!({"urn": urn(number), "datasetProperties": {}});
    let urns = |numbers: &[usize]| numbers.iter().map(|it| urn(*it)).collect::<Vec<_>>();
    let get = "/openapi/v3/entity/dataset/batchGet";
    let batch = "/openapi/v2/entity/batch/dataset";
    let (status, reply) = app.post(get, &vec![input(0); 50].into()).await;
    assert_eq!((status, count(&reply)), (StatusCode::OK, 1));
    let (status, reply) = app.post(batch, &json!({"urns": urns(&[0; 50])})).await;
    assert_eq!((status, count(&reply["entities"])), (StatusCode::OK, 1));
    // Aspects that are read but not returned do not count.
    let keys = json!({"urns": urns(&[0, 1, 2, 3, 4, 5, 6]), "aspectNames": ["datasetKey"]});
    let (status, reply) = app.post(batch, &keys).await;
    assert_eq!((status, count(&reply["entities"])), (StatusCode::OK, 7));
    let describe = |include: bool| json!({"runId": "r", "count": 100, "includeAspect": include});
    let (status, reply) = app.post("/runs?action=describe", &describe(false)).await;
    assert_eq!(status, StatusCode::OK);
    assert!(count(&reply["value"]) >= 7, "{reply}");

    let different = (0..7).map(|number| {
        let mut input = input(0);
        for name in ["status", "ownership", "globalTags"]
            .iter()
            .take(number % 4)
        {
            input[*name] = json!({});
        }
        input["domains"] = if number < 4 {
            Value::Null
        } else {
            json!({"headers": {"If-Version-Match": "1"}})
        };
        input
    });
    for (path, body) in [
        (get, (0..7).map(input).collect::<Value>()),
        (get, different.collect()),
        (batch, json!({"urns": urns(&[0, 1, 2, 3, 4, 5, 6])})),
        ("/runs?action=describe", describe(true)),
    ] {
        let (status, reply) = app.post(path, &body).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{path}");
        assert!(
            message(&reply).contains("fewer"),
            "{path}: {}",
            message(&reply)
        );
    }
}
