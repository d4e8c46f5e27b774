//! The state of the server, for administrators.

use serde_json::{Value, json};

use crate::support::App;

const QUERY: &str = "{ serverStatus { version startedAt store { engine sizeBytes isWritable }
    searchIndex { pendingChanges built sizeBytes } } }";

impl App {
    async fn server_status(&self) -> Value {
        let reply = self.graphql(QUERY).await;
        let status = reply["data"]["serverStatus"].clone();
        assert!(status.is_object(), "{reply}");
        status
    }
}

#[tokio::test]
async fn the_details_of_the_health_have_two_paths() {
    let app = App::empty().await;
    let detail = app.get("/health/detail").await;
    assert_eq!(detail.1["ready"], true, "{detail:?}");
    assert_eq!(detail, app.get("/health/detailed").await);
}

#[tokio::test]
async fn the_status_has_the_engine_the_sizes_and_the_changes_that_are_not_indexed() {
    let app = App::empty().await;
    // A search indexes everything.
    let search = r#"{ searchAcrossEntities(input: { query: "*" }) { total } }"#;
    app.graphql(search).await;
    let status = app.server_status().await;
    let version = app.get("/health/detailed").await.1["version"].clone();
    assert_eq!(status["version"], version);
    let store = &status["store"];
    let engine = store["engine"].as_str().unwrap();
    assert!(["SQLite", "PostgreSQL"].contains(&engine), "{status}");
    assert_eq!(store["isWritable"], true);
    assert!(store["sizeBytes"].as_u64() > Some(10_000), "{status}");
    assert!(status["startedAt"].as_i64() > Some(0), "{status}");
    let index = &status["searchIndex"];
    assert_eq!(index["pendingChanges"], 0, "{status}");
    assert_eq!(index["built"], Value::Null, "{status}");

    app.ingest("urn:li:tag:pii", "tagProperties", &json!({"name": "PII"}))
        .await;
    let status = app.server_status().await;
    let pending = &status["searchIndex"]["pendingChanges"];
    assert!(pending.as_u64() > Some(0), "{status}");
    app.graphql(search).await;
    let status = app.server_status().await;
    assert_eq!(status["searchIndex"]["pendingChanges"], 0, "{status}");
}
