//! What connectors send and DataHub accepts, although it is not quite right.

use crate::support::{App, DATASET, encoded, proposal};
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

const DASHBOARD: &str = "urn:li:dashboard:(powerbi,reports.42)";

fn batch(proposals: &[Value], is_async: &str) -> Value {
    json!({"proposals": proposals, "async": is_async})
}

#[tokio::test]
async fn a_key_that_differs_from_the_urn_is_stored_as_the_urn_says_with_a_warning() {
    let app = App::empty().await;
    let sent =
        json!({"dashboardTool": "powerbi", "dashboardId": "powerbi.linkedin.com/reports/42"});
    let stored = json!({"dashboardTool": "powerbi", "dashboardId": "reports.42"});
    let key = proposal("UPSERT", DASHBOARD, "dashboardKey", &sent);
    for action in ["ingestProposal", "ingestProposalBatch"] {
        let path = format!("/aspects?action={action}");
        let mut body = batch(std::slice::from_ref(&key), "true");
        body["proposal"] = key.clone();
        let (status, reply) = app.post(&path, &body).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        assert_eq!(reply["value"], "success");
        let warning = reply["warnings"][0].as_str().unwrap();
        for part in [
            DASHBOARD,
            "dashboardKey",
            "differs from the URN",
            "reports.42",
        ] {
            assert!(warning.contains(part), "{warning}");
        }
        assert_eq!(app.aspect(DASHBOARD, "dashboardKey").await.unwrap(), stored);
    }
    // A key that fits is no reason for a warning.
    let fits = proposal("UPSERT", DASHBOARD, "dashboardKey", &stored);
    let body = json!({"proposal": fits});
    let (_, reply) = app.post("/aspects?action=ingestProposal", &body).await;
    assert_eq!(reply, json!({"value": "success"}));
}

#[tokio::test]
async fn openapi_responses_have_warnings_in_a_header() {
    let app = App::empty().await;
    let sent = json!({"dashboardTool": "powerbi", "dashboardId": "another"});
    let one = json!({"value": sent});
    let list = json!([{"urn": DASHBOARD, "dashboardKey": one}]);
    let path = format!(
        "/openapi/v3/entity/dashboard/{}/dashboardKey",
        encoded(DASHBOARD)
    );
    for (path, body) in [
        ("/openapi/v3/entity/dashboard?async=false".to_owned(), list),
        (format!("{path}?createIfNotExists=false"), one),
    ] {
        let request = app.request(Method::POST, &path, body.to_string());
        let headers = app.headers_of(request).await;
        let warning = headers["x-docent-warning"].to_str().unwrap();
        assert!(warning.contains("differs from the URN"), "{warning}");
        let stored = app.aspect(DASHBOARD, "dashboardKey").await.unwrap();
        assert_eq!(stored["dashboardId"], "reports.42");
    }
}

/// A connector for machine learning runs puts them in the container of their experiment.
#[tokio::test]
async fn a_run_may_be_inside_a_job_or_a_container() {
    let app = App::empty().await;
    let run = "urn:li:dataProcessInstance:r1";
    for parent in [
        "urn:li:dataProcessInstance:r0",
        "urn:li:dataJob:(urn:li:dataFlow:(airflow,daily,prod),load)",
        "urn:li:container:experiment",
    ] {
        let value = json!({"parentInstance": parent, "upstreamInstances": []});
        app.ingest(run, "dataProcessInstanceRelationships", &value)
            .await;
    }
    let value = json!({"parentInstance": DATASET, "upstreamInstances": []});
    let aspect = "dataProcessInstanceRelationships";
    let (status, body) = app.propose("UPSERT", run, aspect, &value).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
}

#[tokio::test]
async fn an_asynchronous_creation_of_something_that_exists_keeps_it_with_a_warning() {
    let app = App::empty().await;
    let platform = "urn:li:dataPlatform:lake";
    let info =
        |name: &str| json!({"name": name, "type": "FILE_SYSTEM", "datasetNameDelimiter": "/"});
    let create = |change: &str, name: &str| {
        let aspect = "dataPlatformInfo";
        proposal(change, platform, aspect, &info(name))
    };
    let path = "/aspects?action=ingestProposalBatch";
    let (status, reply) = app
        .post(path, &batch(&[create("CREATE", "first")], "true"))
        .await;
    assert_eq!(
        (status, reply),
        (StatusCode::OK, json!({"value": "success"}))
    );
    for change in ["CREATE", "CREATE_ENTITY"] {
        let again = [create(change, "second")];
        let (status, reply) = app.post(path, &batch(&again, "true")).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        let warning = reply["warnings"][0].as_str().unwrap();
        assert!(warning.starts_with("item 0 "), "{warning}");
        assert!(warning.contains("already exists"), "{warning}");
        let (status, reply) = app.post(path, &batch(&again, "false")).await;
        assert_eq!(status, StatusCode::CONFLICT, "{reply}");
    }
    let stored = app.aspect(platform, "dataPlatformInfo").await.unwrap();
    assert_eq!(stored["name"], "first");
}

#[tokio::test]
async fn the_key_of_an_entity_stands_for_its_urn() {
    let app = App::empty().await;
    let send = async |entity_type: &str, key: &Value| {
        let value =
            |value: &Value| json!({"contentType": "application/json", "value": value.to_string()});
        let proposal = json!({
            "entityType": entity_type, "changeType": "UPSERT", "aspectName": "domainProperties",
            "entityKeyAspect": value(key), "aspect": value(&json!({"name": "Marketing"})),
        });
        let body = json!({ "proposal": proposal });
        app.post("/aspects?action=ingestProposal", &body).await
    };
    let (status, reply) = send("domain", &json!({"id": "marketing"})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let stored = app
        .aspect("urn:li:domain:marketing", "domainProperties")
        .await;
    assert_eq!(stored.unwrap()["name"], "Marketing");
    for (entity_type, key) in [
        ("domain", json!({"name": "marketing"})),
        ("area", json!({"id": "a"})),
    ] {
        let (status, reply) = send(entity_type, &key).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
        assert!(reply.to_string().contains("entityKeyAspect"), "{reply}");
    }
}
