//! Proxies, HTTPS, and the headers that every response has.

use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode, header};
use docent_http::HttpSettings;
use docent_http::server::Peer;

use crate::sign_in::{
    ADA, ME, PASSWORD, add, cookies, log_in, query_with_cookie, whoami, with_header,
};
use crate::support::App;

const PROXY: [u8; 4] = [10, 0, 0, 1];
const STRANGER: [u8; 4] = [192, 0, 2, 9];

/// A catalog behind a trusted proxy, where ada can sign in.
async fn behind_proxy() -> App {
    let app = App::with_settings(HttpSettings {
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
        ..HttpSettings::default()
    })
    .await;
    add(&app, ADA).await;
    app
}

fn from(mut request: Request<Body>, peer: [u8; 4]) -> Request<Body> {
    request.extensions_mut().insert(Peer::at(peer.into()));
    request
}

fn over_tls(mut request: Request<Body>) -> Request<Body> {
    let peer = Peer::at(STRANGER.into()).over_tls();
    request.extensions_mut().insert(peer);
    request
}

fn names_and_attributes(response: &Response<Body>) -> Vec<(String, bool)> {
    let cookies = cookies(response).into_iter();
    cookies
        .map(|cookie| {
            let name = cookie.split('=').next().unwrap().to_owned();
            (name, cookie.contains("; Secure"))
        })
        .collect()
}

fn expected(prefix: &str, is_secure: bool) -> Vec<(String, bool)> {
    let session = format!("{prefix}PLAY_SESSION");
    let device = format!("{prefix}docent_device");
    [session, "actor".to_owned(), device]
        .map(|name| (name, is_secure))
        .to_vec()
}

#[tokio::test]
async fn cookies_over_https_are_secure_and_bound_to_the_host() {
    let app = behind_proxy().await;
    for (peer, name, value, is_https) in [
        (PROXY, "x-forwarded-proto", "https", true),
        (PROXY, "x-forwarded-proto", "http, HTTPS", true),
        (PROXY, "x-forwarded-proto", "https, http", false),
        (PROXY, "forwarded", "proto=https", false),
        (PROXY, "x-other", "https", false),
        (STRANGER, "x-forwarded-proto", "https", false),
    ] {
        let request = with_header(from(log_in("ada", PASSWORD), peer), name, value);
        let response = app.respond(request).await;
        assert_eq!(response.status(), StatusCode::OK);
        let prefix = if is_https { "__Host-" } else { "" };
        let found = names_and_attributes(&response);
        assert_eq!(found, expected(prefix, is_https), "{name}: {value}");
    }
    let response = app.respond(over_tls(log_in("ada", PASSWORD))).await;
    assert_eq!(names_and_attributes(&response), expected("__Host-", true));
    for cookie in cookies(&response) {
        // Browsers reject the prefix with a domain or another path.
        assert!(cookie.contains("; Path=/"), "{cookie}");
        assert!(!cookie.contains("Domain"), "{cookie}");
    }
}

#[tokio::test]
async fn over_https_only_the_cookie_that_is_bound_to_the_host_is_a_session() {
    let app = behind_proxy().await;
    let response = app.respond(over_tls(log_in("ada", PASSWORD))).await;
    let secret = cookies(&response)[0]
        .split(['=', ';'])
        .nth(1)
        .unwrap()
        .to_owned();
    let bound = format!("__Host-PLAY_SESSION={secret}");
    // Another host of the domain can set this one.
    let planted = format!("PLAY_SESSION={secret}");
    let status = async |request| app.send(request).await.0;
    let ask = |cookie: &str| query_with_cookie(cookie, ME);
    assert_eq!(status(over_tls(ask(&bound))).await, StatusCode::OK);
    assert_eq!(
        status(over_tls(ask(&planted))).await,
        StatusCode::UNAUTHORIZED
    );
    let both = format!("{planted}; {bound}");
    assert_eq!(status(over_tls(ask(&both))).await, StatusCode::OK);
    assert_eq!(whoami(&app, &planted).await.as_deref(), Some(ADA));

    let out = Request::builder()
        .method(Method::POST)
        .uri("/logOut")
        .header(header::COOKIE, &bound)
        .body(Body::empty())
        .unwrap();
    let response = app.respond(over_tls(out)).await;
    let expired = "__Host-PLAY_SESSION=; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=0";
    assert_eq!(cookies(&response)[0], expired);
    assert_eq!(
        status(over_tls(ask(&bound))).await,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn over_https_pages_without_tls_are_another_origin() {
    let app = behind_proxy().await;
    let ask = |origin: &str| with_header(log_in("ada", PASSWORD), "origin", origin);
    for (request, expected) in [
        (over_tls(ask("https://docent.example")), StatusCode::OK),
        (
            over_tls(ask("http://docent.example")),
            StatusCode::FORBIDDEN,
        ),
        (from(ask("http://docent.example"), STRANGER), StatusCode::OK),
        // A proxy that is not trusted: the browser's headers are all there is.
        (
            from(ask("https://docent.example"), STRANGER),
            StatusCode::OK,
        ),
    ] {
        assert_eq!(app.send(request).await.0, expected);
    }
    // The host name that the browser used, from trusted proxies only.
    let forwarded = |peer| {
        let request = from(ask("https://catalog.example"), peer);
        with_header(request, "x-forwarded-host", "catalog.example")
    };
    assert_eq!(app.send(forwarded(PROXY)).await.0, StatusCode::OK);
    assert_eq!(app.send(forwarded(STRANGER)).await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn every_api_response_has_security_headers() {
    let app = App::with_dataset().await;
    let graphql = || {
        let body = r#"{"query": "{ me { corpUser { urn } } }"}"#;
        app.request(Method::POST, "/api/graphql", body)
    };
    let get = |path: &str| app.request(Method::GET, path, "");
    for request in [
        graphql(),
        get("/config"),
        get("/health"),
        get("/openapi/v3/entity/dataset"),
        get("/openapi/v3/api-docs"),
        get("/no/such/route"),
        app.request(Method::DELETE, "/api/graphql", ""),
        log_in("ada", "wrong"),
    ] {
        let uri = request.uri().clone();
        let headers = app.headers_of(request).await;
        let header = |name| headers.get(name).map(|value| value.to_str().unwrap());
        let nosniff = header(header::X_CONTENT_TYPE_OPTIONS);
        assert_eq!(nosniff, Some("nosniff"), "{uri}");
        assert_eq!(header(header::CACHE_CONTROL), Some("no-store"), "{uri}");
        assert_eq!(header(header::STRICT_TRANSPORT_SECURITY), None, "{uri}");
    }
    for request in [graphql(), get("/"), get("/health")] {
        let uri = request.uri().clone();
        let headers = app.headers_of(over_tls(request)).await;
        let hsts = &headers[header::STRICT_TRANSPORT_SECURITY];
        assert_eq!(hsts, "max-age=31536000", "{uri}");
    }
}
