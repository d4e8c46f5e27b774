//! `/openapi/v2/entity`: the same as version 3 in an older format.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{App, DATASET, encoded};

const DOMAIN: &str = "urn:li:domain:finance";

async fn send(app: &App, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
    let path = format!("/openapi/v2/entity/{path}");
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    app.send(app.request(method, &path, body)).await
}

#[tokio::test]
async fn entities_have_their_aspects_in_a_member() {
    let app = App::empty().await;
    let entity =
        json!([{"urn": DOMAIN, "aspects": {"domainProperties": {"value": {"name": "Finance"}}}}]);
    let (status, reply) = send(&app, Method::POST, "domain?async=false", &entity).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(reply[0]["urn"], DOMAIN, "{reply}");
    let name = &reply[0]["aspects"]["domainProperties"]["value"]["name"];
    assert_eq!(name, "Finance", "{reply}");
    let path = format!("domain/{}", encoded(DOMAIN));
    let (status, reply) = send(&app, Method::GET, &path, &Value::Null).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(reply["urn"], DOMAIN, "{reply}");
    let aspects = &reply["aspects"];
    assert_eq!(aspects["domainProperties"]["value"]["name"], "Finance");
    assert_eq!(aspects["domainKey"]["value"]["id"], "finance", "{reply}");
    let list = "domain?query=*&aspects=domainProperties";
    let (status, reply) = send(&app, Method::GET, list, &Value::Null).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(reply["results"][0]["urn"], DOMAIN, "{reply}");
    let name = &reply["results"][0]["aspects"]["domainProperties"]["value"]["name"];
    assert_eq!(name, "Finance", "{reply}");
}

#[tokio::test]
async fn the_body_of_an_aspect_is_its_value() {
    let app = App::with_dataset().await;
    let path = format!("dataset/{}/status", encoded(DATASET));
    let (status, reply) = send(&app, Method::POST, &path, &json!({"removed": true})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let written = &reply["aspects"]["status"]["value"];
    assert_eq!(*written, json!({"removed": true}), "{reply}");
    let (status, reply) = send(&app, Method::GET, &path, &Value::Null).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(reply["value"], json!({"removed": true}), "{reply}");
    let (status, reply) = send(&app, Method::POST, &path, &json!({"removed": 7})).await;
    assert!(status.is_client_error(), "{reply}");
    let (status, _) = send(&app, Method::HEAD, &path, &Value::Null).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let (status, reply) = send(&app, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let (status, _) = send(&app, Method::HEAD, &path, &Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn invalid_requests_fail_and_change_nothing() {
    let app = App::empty().await;
    for body in [
        json!([{"urn": DOMAIN, "domainProperties": {"value": {"name": "x"}}}]),
        json!([{"aspects": {}}]),
        json!({"urn": DOMAIN}),
        json!([{"urn": DATASET, "aspects": {"status": {"value": {"removed": false}}}}]),
    ] {
        let (status, reply) = send(&app, Method::POST, "domain?async=false", &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}: {reply}");
    }
    let path = format!("domain/{}", encoded(DOMAIN));
    let (status, reply) = send(&app, Method::GET, &path, &Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{reply}");
    assert!(reply["message"].is_string(), "{reply}");
}
