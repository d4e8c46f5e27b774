//! What is checked about a dataset.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{App, DATASET, MISSING};

const COLUMN: &str = "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_deleted,PROD),user_name)";

/// Three assertions: two about [`DATASET`], one of them removed, and one about [`MISSING`].
async fn app() -> App {
    let app = App::with_dataset().await;
    for (name, dataset) in [("a", DATASET), ("b", DATASET), ("c", MISSING)] {
        let info = json!({
            "type": "DATASET",
            "entityUrn": dataset,
            "datasetAssertion": {"dataset": dataset, "scope": "DATASET_COLUMN", "operator": "NOT_NULL", "fields": [COLUMN]},
        });
        app.ingest(&format!("urn:li:assertion:{name}"), "assertionInfo", &info)
            .await;
    }
    app.ingest("urn:li:assertion:b", "status", &json!({"removed": true}))
        .await;
    app
}

async fn assertions(app: &App, arguments: &str) -> Value {
    let query = format!(
        r#"{{ dataset(urn: "{DATASET}") {{ assertions{arguments} {{
            start count total assertions {{ urn info {{ type datasetAssertion {{ scope operator }} }} }}
        }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    assert!(reply.get("errors").is_none(), "{reply}");
    reply["data"]["dataset"]["assertions"].clone()
}

#[tokio::test]
async fn the_assertions_of_a_dataset_are_listed_with_it() {
    let app = app().await;
    assert_eq!(
        assertions(&app, "").await,
        json!({"start": 0, "count": 1, "total": 1, "assertions": [{
            "urn": "urn:li:assertion:a",
            "info": {"type": "DATASET", "datasetAssertion": {"scope": "DATASET_COLUMN", "operator": "NOT_NULL"}},
        }]})
    );
    let all = assertions(&app, "(includeSoftDeleted: true)").await;
    assert_eq!(all["total"], 2, "{all}");
    let second = assertions(&app, "(includeSoftDeleted: true, start: 1, count: 5)").await;
    assert_eq!(second["count"], 1, "{second}");
    assert_eq!(second["start"], 1);
    assert_eq!(second["assertions"][0]["urn"], "urn:li:assertion:b");
}

#[tokio::test]
async fn assertions_are_found_by_what_they_are_about() {
    let app = app().await;
    let search = |field: &str, value: &str| {
        format!(
            r#"{{ searchAcrossEntities(input: {{ types: [ASSERTION, DATASET], query: "*", count: 10,
                orFilters: [{{ and: [{{ field: "{field}", values: ["{value}"] }}] }}]
            }}) {{ searchResults {{ entity {{ urn }} }} }} }}"#
        )
    };
    let found = async |field: &str, value: &str| {
        let reply = app.graphql(&search(field, value)).await;
        let results = &reply["data"]["searchAcrossEntities"]["searchResults"];
        let results = results.as_array().unwrap_or_else(|| panic!("{reply}"));
        let urns = results.iter().map(|it| it["entity"]["urn"].to_string());
        urns.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found("entity", DATASET).await, "\"urn:li:assertion:a\"");
    assert_eq!(found("entity", MISSING).await, "\"urn:li:assertion:c\"");
    assert_eq!(
        found("_entityType", "DATASET").await,
        format!("\"{DATASET}\"")
    );
    let body = json!({
        "input": "*", "entity": "assertion", "start": 0, "count": 10,
        "filter": {"or": [{"and": [{"field": "entity", "values": [MISSING], "condition": "EQUAL"}]}]},
    });
    let (status, reply) = app.post("/entities?action=search", &body).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(reply["value"]["numEntities"], 1, "{reply}");
}
