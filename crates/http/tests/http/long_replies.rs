//! Replies with long values are built beside the threads that serve connections.

use std::sync::mpsc;
use std::time::Duration;

use axum::http::StatusCode;
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use serde_json::json;
use tokio::time::timeout;

use crate::support::{App, encoded};

const URN: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,long,PROD)";
const PATIENCE: Duration = Duration::from_mins(1);

/// Replies that are built in place do not wait for other long computations.
#[tokio::test(flavor = "multi_thread")]
async fn replies_with_long_values_wait_for_other_long_computations() {
    let app = App::empty().await;
    let properties = json!({"description": "x".repeat(LONG_TEXT_BYTES)});
    app.ingest(URN, "datasetProperties", &properties).await;
    app.ingest(URN, "status", &json!({"removed": false})).await;
    let (started, starts) = mpsc::channel();
    let mut ends = Vec::new();
    for _ in 0..long_work::max_at_once() {
        let (end, ended) = mpsc::channel::<()>();
        ends.push(end);
        let started = started.clone();
        tokio::spawn(long_work::run(true, move || {
            started.send(()).unwrap();
            ended.recv_timeout(PATIENCE)
        }));
    }
    for _ in &ends {
        starts.recv_timeout(PATIENCE).unwrap();
    }
    let urn = encoded(URN);
    let paths = [
        format!("/entitiesV2/{urn}"),
        format!("/entities/{urn}"),
        format!("/aspects/{urn}?aspect=datasetProperties&version=0"),
        format!("/openapi/v3/entity/dataset/{urn}"),
        format!("/openapi/v3/entity/dataset/{urn}/datasetProperties"),
        "/openapi/v3/entity/dataset?aspects=datasetProperties".to_owned(),
    ];
    for path in &paths {
        let waiting = timeout(Duration::from_millis(500), app.get(path)).await;
        assert!(waiting.is_err(), "{path} is built in place");
    }
    let path = format!("/openapi/v3/entity/dataset/{urn}/status");
    let short = app.get(&path);
    let (status, reply) = timeout(PATIENCE, short).await.unwrap();
    assert_eq!(status, StatusCode::OK, "{reply}");
    drop(ends);
    for path in &paths {
        let (status, reply) = app.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        assert!(reply.to_string().len() > LONG_TEXT_BYTES, "{path}");
    }
}
