//! Who is let in.

use crate::support::{App, DATASET, USER, new_token};
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use docent_http::AuthMode;
use serde_json::{Value, json};

/// Every route there is, with what it needs: this list and the router must agree.
const PROTECTED: [(&str, &str); 10] = [
    ("POST", "/api/graphql"),
    ("POST", "/api/v2/graphql"),
    ("GET", "/api/graphql"),
    ("POST", "/aspects?action=ingestProposal"),
    ("POST", "/aspects/?action=ingestProposalBatch"),
    ("GET", "/aspects/urn%3Ali%3Adomain%3Aa?aspect=domainKey"),
    ("GET", "/entitiesV2/urn%3Ali%3Adomain%3Aa"),
    ("POST", "/entities?action=delete"),
    ("POST", "/entities/?action=delete"),
    ("GET", "/no/such/route"),
];

const OPEN: [&str; 6] = [
    "/",
    "/config",
    "/health",
    "/health/live",
    "/health/ready",
    "/health/detailed",
];

fn anonymous(method: &str, path: &str, authorization: Option<&str>) -> Request<Body> {
    let mut request = Request::builder()
        .method(Method::from_bytes(method.as_bytes()).unwrap())
        .uri(path);
    if let Some(value) = authorization {
        request = request.header(header::AUTHORIZATION, value);
    }
    request.body(Body::from("{}")).unwrap()
}

#[tokio::test]
async fn every_route_but_the_open_ones_needs_a_token() {
    let app = App::empty().await;
    for (method, path) in PROTECTED {
        for authorization in [
            None,
            Some("Bearer"),
            Some("Bearer "),
            Some("bearer invalid-token"),
            Some("Basic dXNlcjpwYXNz"),
            Some("Token abc"),
        ] {
            let (status, body) = app.send(anonymous(method, path, authorization)).await;
            assert_eq!(
                status,
                StatusCode::UNAUTHORIZED,
                "{method} {path} {authorization:?}"
            );
            let message = body["message"].as_str().unwrap_or_default();
            assert!(message.contains("docent token create"), "{body}");
        }
        let valid = format!("Bearer {}", app.token);
        let (status, _) = app.send(anonymous(method, path, Some(&valid))).await;
        assert_ne!(status, StatusCode::UNAUTHORIZED, "{method} {path}");
    }
    for path in OPEN {
        let (status, _) = app.send(anonymous("GET", path, None)).await;
        assert_eq!(status, StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn the_router_has_no_route_that_these_tests_do_not_know() {
    let source = include_str!("../../src/lib.rs");
    let mut routes: Vec<&str> = source
        .split(".route(\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    routes.sort_unstable();
    let known = |route: &str| {
        let prefix = route.split("{*").next().unwrap_or(route);
        OPEN.contains(&route)
            || PROTECTED.iter().any(|(_, path)| {
                path.split('?').next() == Some(prefix)
                    || (route.contains("{*") && path.starts_with(prefix))
            })
    };
    assert!(routes.len() >= 14, "{routes:?}");
    for route in routes {
        assert!(known(route), "{route} is in no list of tokens.rs");
    }
}

#[tokio::test]
async fn a_token_ends_when_its_time_is_over() {
    let app = App::empty().await;
    let short = new_token(&app.catalog, Some(1000)).await;
    let authorization = format!("Bearer {short}");
    let ask = || anonymous("POST", "/api/graphql", Some(&authorization));
    assert_ne!(app.send(ask()).await.0, StatusCode::UNAUTHORIZED);
    app.clock.advance(999);
    assert_ne!(app.send(ask()).await.0, StatusCode::UNAUTHORIZED);
    app.clock.advance(1);
    assert_eq!(app.send(ask()).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn tokens_are_made_listed_and_revoked_over_graphql_with_effect_at_once() {
    let app = App::empty().await;
    let create = format!(
        r#"mutation {{ createAccessToken(input: {{
            type: PERSONAL, actorUrn: "{USER}", duration: ONE_MONTH, name: "ci", description: "for ci"
        }}) {{ accessToken metadata {{ id urn name description actorUrn ownerUrn createdAt expiresAt owner {{ username }} }} }} }}"#
    );
    let created = app.graphql(&create).await["data"]["createAccessToken"].clone();
    let secret = created["accessToken"].as_str().unwrap().to_owned();
    let metadata = &created["metadata"];
    assert_eq!(metadata["name"], "ci");
    assert_eq!(metadata["actorUrn"], USER);
    assert_eq!(metadata["owner"]["username"], "datahub");
    assert_eq!(
        metadata["expiresAt"].as_i64().unwrap() - metadata["createdAt"].as_i64().unwrap(),
        30 * 24 * 3_600_000
    );
    let authorization = format!("Bearer {secret}");
    let ask = || anonymous("POST", "/api/graphql", Some(&authorization));
    assert_eq!(
        app.send(ask()).await.0,
        StatusCode::BAD_REQUEST,
        "let in; the body is no query"
    );

    let list = format!(
        r#"{{ listAccessTokens(input: {{ start: 0, count: 10, filters: [{{ field: "ownerUrn", values: ["{USER}"] }}] }}) {{ total tokens {{ id name }} }} }}"#
    );
    let listed = app.graphql(&list).await["data"]["listAccessTokens"].clone();
    assert_eq!(listed["total"], 2);
    assert_eq!(
        listed["tokens"][0]["name"], "ci",
        "the one that lives longest is first"
    );

    let whole = app.graphql(&list).await.to_string();
    assert!(!whole.contains(&secret), "a listing never shows the secret");
    let id = metadata["id"].as_str().unwrap();
    assert_ne!(id, secret);
    let revoke = format!(r#"mutation {{ revokeAccessToken(tokenId: "{id}") }}"#);
    assert_eq!(
        app.graphql(&revoke).await,
        json!({"data": {"revokeAccessToken": true}, "extensions": {}})
    );
    assert_eq!(app.send(ask()).await.0, StatusCode::UNAUTHORIZED);
    let again = app.graphql(&revoke).await;
    assert_eq!(again["data"], Value::Null, "the field is non-null: {again}");
    assert_eq!(again["errors"][0]["extensions"]["code"], 404);
}

#[tokio::test]
async fn a_token_needs_a_sensible_life_and_a_user() {
    let app = App::empty().await;
    for arguments in [
        format!(r#"actorUrn: "{USER}""#),
        format!(r#"actorUrn: "{USER}", duration: ONE_DAY, durationIso: "P1D""#),
        format!(r#"actorUrn: "{USER}", durationIso: "tomorrow""#),
        format!(r#"actorUrn: "{USER}", duration: NO_EXPIRY"#),
        r#"actorUrn: "urn:li:corpuser:nobody", duration: ONE_DAY"#.to_owned(),
        format!(r#"actorUrn: "{DATASET}", duration: ONE_DAY"#),
    ] {
        let create = format!(
            r#"mutation {{ createAccessToken(input: {{ type: PERSONAL, name: "x", {arguments} }}) {{ accessToken }} }}"#
        );
        let (code, message) = app.graphql_error(&create).await;
        assert_eq!(code, 400, "{arguments}: {message}");
    }
}

#[tokio::test]
async fn the_token_s_user_is_in_every_stamp() {
    let app = App::with_dataset().await;
    let me = app
        .graphql("{ me { corpUser { urn } platformPrivileges { manageDomains } } }")
        .await;
    assert_eq!(
        me["data"]["me"],
        json!({"corpUser": {"urn": USER}, "platformPrivileges": {"manageDomains": true}})
    );
    let path = format!("/entitiesV2/{}", crate::support::encoded(DATASET));
    let (_, entity) = app.get(&path).await;
    let aspect = &entity["aspects"]["datasetProperties"];
    assert_eq!(aspect["created"]["actor"], USER);
    assert_eq!(aspect["created"]["time"], crate::support::NOW_MS);
}

#[tokio::test]
async fn with_authentication_off_everybody_is_the_system_or_whom_they_name() {
    let app = App::with_auth(AuthMode::Off).await;
    let body = json!({"query": "{ me { corpUser { urn } } }"}).to_string();
    let ask = |actor: Option<&str>| {
        let mut request = Request::builder().method(Method::POST).uri("/api/graphql");
        if let Some(actor) = actor {
            request = request.header("X-DataHub-Actor", actor);
        }
        request.body(Body::from(body.clone())).unwrap()
    };
    let urn = |reply: &Value| reply["data"]["me"]["corpUser"]["urn"].clone();
    let (_, reply) = app.send(ask(None)).await;
    assert_eq!(urn(&reply), "urn:li:corpuser:__datahub_system", "{reply}");
    let (_, reply) = app.send(ask(Some("urn:li:corpuser:ada"))).await;
    assert_eq!(urn(&reply), "urn:li:corpuser:ada");
    let (status, _) = app.send(ask(Some("ada"))).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}
