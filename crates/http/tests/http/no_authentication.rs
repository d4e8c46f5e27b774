//! `--auth off`: everyone is the system, from local pages and host names only.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use docent_http::server::Peer;
use docent_http::{AuthMode, HttpSettings};
use serde_json::{Value, json};

use crate::support::{App, USER};

#[tokio::test]
async fn with_authentication_off_cross_site_requests_are_rejected() {
    let app = App::with_auth(AuthMode::Off).await;
    let mutation =
        json!({"query": r#"mutation { createDomain(input: { id: "a", name: "A" }) }"#}).to_string();
    let ask = |headers: &[(&str, &str)]| {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri("/api/graphql")
            .header("Host", "127.0.0.1:8080");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::from(mutation.clone())).unwrap()
    };
    for foreign in [
        vec![("Sec-Fetch-Site", "cross-site")],
        vec![("Origin", "http://evil.example")],
        vec![("Origin", "null"), ("Content-Type", "application/json")],
        vec![("Content-Type", "text/plain")],
    ] {
        let (status, body) = app.send(ask(&foreign)).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{foreign:?}: {body}");
    }
    let made = |reply: &Value| reply["data"]["createDomain"] == "urn:li:domain:a";
    let (_, reply) = app.send(ask(&[("Origin", "http://127.0.0.1:8080")])).await;
    assert!(made(&reply), "nothing was there before: {reply}");
}

#[tokio::test]
async fn with_authentication_off_every_client_needs_a_local_or_allowed_host_name() {
    let app = App::with_settings(HttpSettings {
        auth: AuthMode::Off,
        allowed_hosts: vec!["Docent.example".to_owned()],
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
        ..HttpSettings::default()
    })
    .await;
    let ask = |host: &str, peer: [u8; 4]| {
        Request::builder()
            .uri("/entitiesV2/urn%3Ali%3Acorpuser%3Adatahub")
            .header("Host", host)
            .extension(Peer::at(peer.into()))
            .body(Body::empty())
            .unwrap()
    };
    let (here, there, proxy) = ([127, 0, 0, 1], [192, 168, 0, 7], [10, 0, 0, 1]);
    for peer in [here, there] {
        for (host, expected) in [
            ("localhost:8080", true),
            ("192.168.0.2:8080", true),
            ("docent.example:8080", true),
            ("evil.example:8080", false),
            ("docent.example.evil.example", false),
            ("evil-docent.example", false),
        ] {
            let (status, body) = app.send(ask(host, peer)).await;
            assert_eq!(status != StatusCode::FORBIDDEN, expected, "{host}: {body}");
            let message = body["message"].as_str().unwrap_or_default();
            assert_eq!(message.contains("--allowed-host"), !expected, "{body}");
        }
    }
    // Behind a trusted proxy, the name that the browser used counts.
    for (peer, forwarded, expected) in [
        (proxy, "evil.example", false),
        (proxy, "docent.example", true),
        (there, "evil.example", true),
    ] {
        let mut request = ask("localhost", peer);
        let forwarded = forwarded.parse().unwrap();
        request.headers_mut().insert("x-forwarded-host", forwarded);
        let (status, body) = app.send(request).await;
        assert_eq!(status != StatusCode::FORBIDDEN, expected, "{body}");
    }
    let app = App::empty().await;
    let mut request = ask("evil.example:8080", here);
    let token = format!("Bearer {}", app.token);
    request
        .headers_mut()
        .insert(header::AUTHORIZATION, token.parse().unwrap());
    assert_eq!(app.send(request).await.0, StatusCode::OK);
}

#[tokio::test]
async fn with_authentication_off_no_tokens_are_created() {
    let app = App::with_auth(AuthMode::Off).await;
    let mutation = format!(
        r#"mutation {{ createAccessToken(input: {{ type: PERSONAL, actorUrn: "{USER}", duration: ONE_HOUR, name: "x" }})
           {{ accessToken }} }}"#
    );
    let (code, message) = app.graphql_error(&mutation).await;
    assert_eq!(code, 403, "{message}");
    assert!(message.contains("docent token create"), "{message}");
}

#[tokio::test]
async fn the_configuration_takes_only_missing_credentials_for_an_anonymous_caller() {
    let app = App::with_auth(AuthMode::Off).await;
    let request = Request::builder().uri("/config?verbose=true");
    let request = request.header("X-DataHub-Actor", "nobody");
    let (status, reply) = app.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
}

#[tokio::test]
async fn with_authentication_off_the_caller_is_the_system_or_the_named_actor() {
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
