//! Error responses.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};

use crate::sign_in::{log_in, with_ada, with_header};
use crate::support::{App, DATASET, encoded, proposal};

const DOMAIN: &str = "urn:li:domain:a";

fn message(reply: &Value) -> &str {
    reply["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_wrong_method_gets_405_and_before_that_401_where_a_token_is_needed() {
    let app = App::empty().await;
    for (method, path, allowed, needs_token) in [
        ("GET", "/logIn", "POST", false),
        ("PUT", "/logOut", "POST,GET,HEAD", false),
        ("POST", "/health", "GET,HEAD", false),
        ("POST", "/admin", "GET,HEAD", false),
        ("PUT", "/api/gms/logIn", "POST", false),
        ("GET", "/aspects", "POST", true),
        ("DELETE", "/gms/aspects", "POST", true),
        ("GET", "/api/graphql", "POST", true),
        ("PUT", "/api/v2/graphql", "POST", true),
        ("OPTIONS", "/api/gms/api/graphql", "POST", true),
    ] {
        let mut request = Request::builder().method(method).uri(path);
        if needs_token {
            let anonymous = Request::builder().method(method).uri(path);
            let anonymous = anonymous.body(Body::empty()).unwrap();
            let status = app.respond(anonymous).await.status();
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{method} {path}");
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", app.token));
        }
        let response = app.respond(request.body(Body::empty()).unwrap()).await;
        assert_eq!(
            response.status(),
            StatusCode::METHOD_NOT_ALLOWED,
            "{method} {path}"
        );
        let allow = response.headers()[header::ALLOW].to_str().unwrap();
        assert_eq!(allow, allowed, "{method} {path}");
    }
}

#[tokio::test]
async fn paths_that_are_not_utf_8_get_an_error_in_the_usual_format() {
    let app = App::empty().await;
    for path in [
        "/openapi/v3/entity/%FF",
        "/assets/%FF",
        "/sso/%FF",
        "/callback/%FF",
        "/openapi/operations/kafka/%FF/consumer/offsets",
    ] {
        let (status, reply) = app.get(path).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {reply}");
        assert!(message(&reply).contains("%FF"), "{path}: {reply}");
    }
}

#[tokio::test]
async fn compressed_bodies_are_rejected() {
    let app = App::empty().await;
    for (encoding, expected) in [
        ("gzip", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("identity, zstd", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("Identity", StatusCode::OK),
    ] {
        let request = app.request(
            Method::POST,
            "/api/graphql",
            r#"{"query": "{ __typename }"}"#,
        );
        let request = with_header(request, "content-encoding", encoding);
        let (status, reply) = app.send(request).await;
        assert_eq!(status, expected, "{reply}");
        if expected != StatusCode::OK {
            assert!(message(&reply).contains(encoding), "{reply}");
            assert!(message(&reply).contains("without"), "{reply}");
        }
    }
}

#[tokio::test]
async fn a_form_at_sign_in_is_rejected_with_the_expected_body() {
    let app = with_ada().await;
    for kind in [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
    ] {
        for origin in [None, Some("http://docent.example")] {
            let mut request = with_header(log_in("ada", "x"), "content-type", kind);
            if let Some(origin) = origin {
                request = with_header(request, "origin", origin);
            }
            *request.body_mut() = Body::from("username=ada&password=needle");
            let (status, reply) = app.send(request).await;
            assert_eq!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{reply}");
            let message = message(&reply);
            assert!(message.contains("application/json"), "{message}");
            assert!(message.contains(r#"{"username": "…""#), "{message}");
            assert!(!message.contains("needle"), "{message}");
        }
    }
}

#[tokio::test]
async fn the_api_page_redirects_from_its_short_path() {
    let app = App::empty().await;
    for (path, relative) in [
        ("/openapi/swagger-ui", "swagger-ui/index.html"),
        ("/openapi/swagger-ui/", "index.html"),
        ("/api/gms/openapi/swagger-ui", "swagger-ui/index.html"),
        ("/gms/openapi/swagger-ui/", "index.html"),
    ] {
        let request = app.request(Method::GET, path, "");
        let response = app.respond(request).await;
        assert_eq!(response.status(), StatusCode::TEMPORARY_REDIRECT, "{path}");
        assert_eq!(response.headers()[header::LOCATION], relative, "{path}");
        let folder = path.rsplit_once('/').unwrap().0;
        let (status, _) = app.get(&format!("{folder}/{relative}")).await;
        assert_eq!(status, StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn a_missing_version_gets_404_with_a_message() {
    let app = App::with_dataset().await;
    let urn = encoded(DATASET);
    for (path, says) in [
        (
            "datasetProperties?version=7",
            "in version 7: 0 is the latest",
        ),
        ("datasetProperties?version=-3", "in version -3"),
        ("globalTags", "has no globalTags"),
        ("globalTags?version=1", "globalTags in version 1"),
    ] {
        let (status, reply) = app
            .get(&format!("/openapi/v3/entity/dataset/{urn}/{path}"))
            .await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{reply}");
        assert!(message(&reply).starts_with(DATASET), "{reply}");
        assert!(message(&reply).contains(says), "{reply}");
    }
    let path = format!("/openapi/v3/entity/dataset/{urn}/datasetProperties?version=1");
    assert_eq!(app.get(&path).await.0, StatusCode::OK);
    let path = format!("/aspects/{urn}?aspect=datasetProperties&version=7");
    let (status, reply) = app.get(&path).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(message(&reply).contains("in version 7"), "{reply}");
}

#[tokio::test]
async fn invalid_json_is_reported_with_its_position_and_without_internals() {
    let app = App::empty().await;
    let one = format!("/openapi/v3/entity/dataset/{}/status", encoded(DATASET));
    for (method, path) in [
        (Method::POST, "/openapi/v3/entity/dataset"),
        (Method::PATCH, "/openapi/v3/entity/dataset"),
        (Method::POST, "/openapi/v3/entity/generic"),
        (Method::POST, "/openapi/v3/entity/dataset/batchGet"),
        (Method::POST, "/openapi/v3/entity/scroll"),
        (Method::POST, "/openapi/v3/relationship/scroll"),
        (Method::POST, "/openapi/v3/lineage/scroll"),
        (Method::POST, "/openapi/v2/entity/batch/dataset"),
        (Method::POST, "/openapi/v1/trace/write/0123"),
        (Method::POST, one.as_str()),
        (Method::PATCH, one.as_str()),
        (Method::POST, "/aspects?action=ingestProposal"),
    ] {
        for (body, place) in [
            ("[\n  {\"urn\": }\n]", "line 2 column 11"),
            ("{\"value\": tru}", "line 1 column 14"),
            ("{\"urn\"", "line 1 column 6"),
            ("[{\"urn\": \"urn:li:tag:x\"", "line 1 column 23"),
            ("nonsense", "line 1 column 2"),
        ] {
            let request = app.request(method.clone(), path, body);
            let (status, reply) = app.send(request).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{path} {body}: {reply}");
            let message = message(&reply);
            assert!(
                message.contains("not JSON") && message.contains(place),
                "{method} {path} {body:?}: {message}"
            );
        }
        // Valid JSON that does not fit the endpoint: the message has no names of Rust types.
        for body in [
            json!(7),
            json!([7]),
            json!({"value": 7, "urns": 7, "dataset": 7}),
        ] {
            let request = app.request(method.clone(), path, body.to_string());
            let (status, reply) = app.send(request).await;
            // Scrolling through entities ignores unknown members.
            if path == "/openapi/v3/entity/scroll" && body.is_object() {
                assert_eq!(status, StatusCode::OK, "{body}: {reply}");
                continue;
            }
            assert_eq!(status, StatusCode::BAD_REQUEST, "{path} {body}: {reply}");
            for word in ["struct", "enum", "RawValue", "Wire", "newtype", "variant"] {
                assert!(!message(&reply).contains(word), "{path} {body}: {reply}");
            }
        }
    }
}

#[tokio::test]
async fn errors_of_a_single_proposal_name_the_aspect_once() {
    let app = App::empty().await;
    for (urn, value) in [
        (DOMAIN, json!({"name": 5})),
        (DOMAIN, json!({"name": "x", "parentDomain": DOMAIN})),
    ] {
        let (status, body) = app.propose("UPSERT", urn, "domainProperties", &value).await;
        assert!(status.is_client_error(), "{body}");
        let message = message(&body);
        assert!(message.contains(DOMAIN), "{message}");
        assert_eq!(
            message
                .matches(&format!("{DOMAIN} domainProperties"))
                .count(),
            1,
            "{message}"
        );
        assert!(!message.contains(": domainProperties: "), "{message}");
    }
    let mut late = proposal("UPSERT", DOMAIN, "domainProperties", &json!({"name": "x"}));
    late["headers"] = json!({"If-Version-Match": "7"});
    let (status, body) = app
        .post("/aspects?action=ingestProposal", &json!({"proposal": late}))
        .await;
    assert_eq!(status, StatusCode::PRECONDITION_FAILED);
    assert_eq!(
        message(&body),
        format!(
            "{DOMAIN} domainProperties: Expected version 7, actual version -1 (domainProperties)"
        )
    );
}

#[tokio::test]
async fn the_content_type_of_a_value_must_fit_the_change_type() {
    let app = App::empty().await;
    let patch = json!([{"op": "add", "path": "/description", "value": "d"}]);
    let value = json!({"name": "x"});
    let json_patch = "application/json-patch+json";
    for (change, value, kind, taken) in [
        ("UPSERT", &value, Value::Null, true),
        ("UPSERT", &value, json!("application/json"), true),
        (
            "UPSERT",
            &value,
            json!("Application/JSON; charset=utf-8"),
            true,
        ),
        ("UPSERT", &value, json!("text/plain"), false),
        ("UPSERT", &value, json!(""), false),
        ("UPSERT", &value, json!(json_patch), false),
        ("CREATE", &value, json!("text/plain"), false),
        ("PATCH", &patch, json!(json_patch), true),
        ("PATCH", &patch, json!("application/json"), true),
        ("PATCH", &patch, json!("text/plain"), false),
        // A change without a type is an upsert.
        ("", &value, json!("application/json"), true),
    ] {
        let mut sent = proposal(change, DOMAIN, "domainProperties", value);
        sent["aspect"]["contentType"] = kind.clone();
        if change.is_empty() {
            sent["changeType"] = Value::Null;
        }
        let (status, body) = app
            .post("/aspects?action=ingestProposal", &json!({"proposal": sent}))
            .await;
        assert_eq!(status == StatusCode::OK, taken, "{change} {kind}: {body}");
        if !taken {
            assert_eq!(status, StatusCode::BAD_REQUEST, "{change} {kind}: {body}");
            assert!(message(&body).contains("contentType"), "{body}");
        }
    }
}

#[tokio::test]
async fn a_scroll_accepts_its_default_order() {
    let app = App::empty().await;
    let sorted = json!({"sortCriteria": [{"field": "urn", "order": "ASCENDING"}]});
    let (status, reply) = app.post("/openapi/v3/entity/scroll", &sorted).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
}

#[tokio::test]
async fn errors_of_the_openapi_have_only_the_members_that_they_have_in_datahub() {
    let app = App::empty().await;
    let unknown = json!([{"urn": DATASET, "unknown": {"value": {}}}]);
    for base in ["", "/gms"] {
        let path = format!("{base}/openapi/v3/entity/dataset?async=false");
        let (status, reply) = app.post(&path, &unknown).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        let message = message(&reply);
        assert!(message.contains("no aspect called 'unknown'"), "{reply}");
        let expected = json!({"error": "Validation Error", "message": message});
        assert_eq!(reply, expected);
    }
    let anonymous = Request::builder().uri("/openapi/v3/entity/dataset");
    let response = app.send(anonymous.body(Body::empty()).unwrap()).await;
    assert_eq!(response.0, StatusCode::UNAUTHORIZED);
    let members = response.1.as_object().unwrap().keys();
    assert_eq!(members.collect::<Vec<_>>(), ["error", "message"]);
    let (_, reply) = app.post("/aspects?action=unknown", &json!({})).await;
    assert_eq!(reply["status"], 400, "{reply}");
    assert!(reply["exceptionClass"].is_string(), "{reply}");
}
