//! Metrics, semantic models and incidents of machine learning.

use serde_json::json;

use crate::support::{App, DATASET};

const MODEL: &str = "urn:li:semanticModel:(urn:li:dataPlatform:dbt,shop,sales)";

fn metric(name: &str) -> String {
    format!("urn:li:metric:(urn:li:dataPlatform:dbt,shop,{name})")
}

async fn shop() -> App {
    let app = App::with_dataset().await;
    for name in ["revenue", "cost"] {
        let info = json!({"name": name, "description": "", "semanticModel": MODEL});
        app.ingest(&metric(name), "metricInfo", &info).await;
    }
    let below = json!({"parentMetric": metric("revenue")});
    let info = json!({"name": "daily", "description": ""});
    app.ingest(&metric("daily"), "metricInfo", &info).await;
    app.ingest(&metric("daily"), "metricRelationships", &below)
        .await;
    app.ingest(MODEL, "semanticModelInfo", &json!({"name": "Sales"}))
        .await;
    let part = json!({"semanticModel": MODEL, "alias": "users"});
    app.ingest(DATASET, "semanticModelProperties", &part).await;
    app
}

#[tokio::test]
async fn root_metrics_and_semantic_models_are_listed_by_name() {
    let app = shop().await;
    let query = r#"{
        getRootMetrics(input: { count: 1 }) { start count total metrics { urn } }
        found: getRootMetrics(input: { query: "revenue" }) { total metrics { urn } }
        getSemanticModels(input: {}) { start count total semanticModels { urn } }
    }"#;
    assert_eq!(
        app.graphql(query).await["data"],
        json!({
            "getRootMetrics": {"start": 0, "count": 1, "total": 2, "metrics": [{"urn": metric("cost")}]},
            "found": {"total": 1, "metrics": [{"urn": metric("revenue")}]},
            "getSemanticModels": {"start": 0, "count": 25, "total": 1, "semanticModels": [{"urn": MODEL}]},
        })
    );
}

#[tokio::test]
async fn a_semantic_model_has_metrics_and_datasets() {
    let app = shop().await;
    let query = format!(
        r#"{{ semanticModel(urn: "{MODEL}") {{
            entities(input: {{ query: "*" }}) {{ total }}
            datasets: entities(input: {{ types: [DATASET], query: "*" }}) {{ searchResults {{ entity {{ urn }} }} }}
        }} }}"#
    );
    assert_eq!(
        app.graphql(&query).await["data"]["semanticModel"],
        json!({
            "entities": {"total": 3},
            "datasets": {"searchResults": [{"entity": {"urn": DATASET}}]},
        })
    );
}

#[tokio::test]
async fn machine_learning_models_features_and_columns_have_incidents() {
    let app = App::with_dataset().await;
    let rows = [
        (
            "MLModel",
            "urn:li:mlModel:(urn:li:dataPlatform:mlflow,churn,PROD)".to_owned(),
        ),
        ("MLFeature", "urn:li:mlFeature:(users,age)".to_owned()),
        (
            "MLFeatureTable",
            "urn:li:mlFeatureTable:(urn:li:dataPlatform:feast,users)".to_owned(),
        ),
        (
            "SchemaFieldEntity",
            format!("urn:li:schemaField:({DATASET},user_name)"),
        ),
    ];
    for (kind, urn) in rows {
        app.ingest(&urn, "status", &json!({"removed": false})).await;
        let stamp = json!({"time": 1, "actor": "urn:li:corpuser:datahub"});
        let incident = format!("urn:li:incident:of-{kind}");
        let info = json!({"type": "SQL", "title": kind, "entities": [urn], "created": stamp,
            "status": {"state": "ACTIVE", "lastUpdated": stamp}});
        app.ingest(&incident, "incidentInfo", &info).await;
        let query = format!(
            r#"{{ entity(urn: "{urn}") {{ ... on {kind} {{ incidents(state: ACTIVE) {{ total incidents {{ title }} }} }} }} }}"#
        );
        let reply = app.graphql(&query).await;
        assert_eq!(
            reply["data"]["entity"]["incidents"],
            json!({"total": 1, "incidents": [{"title": kind}]}),
            "{reply}"
        );
    }
}
