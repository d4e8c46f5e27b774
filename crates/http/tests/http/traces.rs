//! Trace ids of writes, and the status of what they wrote.

use axum::http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::support::{App, DATASET, NOW_MS, proposal};

/// Writes a status over Rest.li, and returns the `traceparent` header of the response.
async fn write(app: &App, removed: bool, given: Option<&str>) -> String {
    let value = json!({"removed": removed});
    let body = json!({"proposal": proposal("UPSERT", DATASET, "status", &value)});
    let path = "/aspects?action=ingestProposal";
    let mut request = app.request(Method::POST, path, body.to_string());
    if let Some(given) = given {
        let headers = request.headers_mut();
        headers.insert("traceparent", given.parse().unwrap());
    }
    let headers = app.headers_of(request).await;
    headers["traceparent"].to_str().unwrap().to_owned()
}

fn id(header: &str) -> &str {
    header.split('-').nth(1).unwrap()
}

/// The status of an aspect: whether it succeeded, in the store, and in the index.
async fn status_of(app: &App, trace: &str, aspect: &str) -> Value {
    let path = format!("/openapi/v1/trace/write/{trace}?onlyIncludeErrors=false&detailed=true");
    let (status, reply) = app.post(&path, &json!({DATASET: [aspect]})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let found = &reply[DATASET][aspect];
    json!([
        found["success"],
        found["primaryStorage"]["writeStatus"],
        found["searchStorage"]["writeStatus"],
    ])
}

#[tokio::test]
async fn responses_to_writes_have_a_trace_id_with_their_time() {
    let app = App::with_dataset().await;
    let trace = write(&app, true, None).await;
    let parts: Vec<usize> = trace.split('-').map(str::len).collect();
    assert_eq!(parts, [2, 32, 16, 2], "{trace}");
    let micros = i64::from_str_radix(&id(&trace)[..16], 16).unwrap();
    assert_eq!(micros, NOW_MS * 1000);
    assert_ne!(write(&app, true, None).await, trace);
    let given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    assert_eq!(id(&write(&app, true, Some(given)).await), id(given));
    let zero = "00-00000000000000000000000000000000-00f067aa0ba902b7-01";
    assert_ne!(id(&write(&app, true, Some(zero)).await), id(zero));
}

#[tokio::test]
async fn a_trace_is_stored_with_what_it_wrote() {
    let app = App::with_dataset().await;
    let path = "/openapi/v3/entity/dataset?systemMetadata=true&async=false";
    let client = json!({"properties": {"telemetryTraceId": "forged", "other": "kept"}});
    let profile = json!({"timestampMillis": NOW_MS, "rowCount": 1});
    let body = json!([{
        "urn": DATASET,
        "status": {"value": {"removed": true}, "systemMetadata": client},
        "datasetProfile": {"value": profile},
    }]);
    let request = app.request(Method::POST, path, body.to_string());
    let response = app.respond(request).await;
    let header = response.headers()["traceparent"]
        .to_str()
        .unwrap()
        .to_owned();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let reply: Value = serde_json::from_slice(&bytes).unwrap();
    let properties = |aspect: &str| reply[0][aspect]["systemMetadata"]["properties"].clone();
    assert_eq!(
        properties("status"),
        json!({"telemetryTraceId": id(&header), "other": "kept"}),
        "{reply}"
    );
    assert_eq!(
        properties("datasetProfile"),
        json!({"telemetryTraceId": id(&header)})
    );
    let series = status_of(&app, id(&header), "datasetProfile").await;
    assert_eq!(series, json!([true, "NO_OP", "TRACE_NOT_IMPLEMENTED"]));
}

#[tokio::test]
async fn a_trace_tells_what_has_become_of_a_write() {
    let app = App::with_dataset().await;
    let first = write(&app, true, None).await;
    let latest = json!([true, "ACTIVE_STATE", "ACTIVE_STATE"]);
    assert_eq!(status_of(&app, id(&first), "status").await, latest);
    // A whole header in place of the id.
    assert_eq!(status_of(&app, &first, "status").await, latest);
    let missing = json!([false, "ERROR", "ERROR"]);
    assert_eq!(status_of(&app, id(&first), "globalTags").await, missing);

    let again = write(&app, true, None).await;
    let unchanged = json!([true, "NO_OP", "NO_OP"]);
    assert_eq!(status_of(&app, id(&again), "status").await, unchanged);
    let replaced = json!([true, "HISTORIC_STATE", "HISTORIC_STATE"]);
    assert_eq!(status_of(&app, id(&first), "status").await, replaced);

    let other = write(&app, false, None).await;
    assert_eq!(status_of(&app, id(&other), "status").await, latest);
    assert_eq!(status_of(&app, id(&again), "status").await, replaced);

    // An id at a later time, of a request that wrote nothing here.
    let later = format!("{:016x}{:016x}", (NOW_MS + 1000) * 1000, 7);
    assert_eq!(status_of(&app, &later, "status").await, missing);
    let random = "4bf92f3577b34da6a3ce929d0e0e4736";
    let unknown = json!([true, "UNKNOWN", "UNKNOWN"]);
    assert_eq!(status_of(&app, random, "status").await, unknown);
}

#[tokio::test]
async fn only_errors_are_listed_unless_requested_otherwise() {
    let app = App::with_dataset().await;
    let trace = write(&app, true, None).await;
    let path = format!("/openapi/v1/trace/write/{}", id(&trace));
    let request = json!({DATASET: ["status", "globalTags"]});
    let (_, reply) = app.post(&path, &request).await;
    let names: Vec<&String> = reply[DATASET].as_object().unwrap().keys().collect();
    assert_eq!(names, ["globalTags"], "{reply}");
    let (_, reply) = app.post(&path, &json!({DATASET: ["status"]})).await;
    assert_eq!(reply, json!({}));
    let all = format!("{path}?onlyIncludeErrors=false");
    let repeated = json!({DATASET: vec!["status"; 10_000]});
    let (status, reply) = app.post(&all, &repeated).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(reply[DATASET]["status"]["success"], true);
    let (status, _) = app.post(&path, &json!({"x": ["status"]})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    for id in ["xyz", "0123", &"0".repeat(32), &"g".repeat(32)] {
        let path = format!("/openapi/v1/trace/write/{id}");
        let (status, reply) = app.post(&path, &request).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
        assert!(reply["message"].as_str().unwrap().contains("traceparent"));
    }
}
