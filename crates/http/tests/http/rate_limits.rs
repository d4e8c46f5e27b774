//! Limits on the rate of requests.

use axum::body::Body;
use axum::http::{Method, Request, header};
use docent_http::HttpSettings;
use docent_http::server::Peer;

use crate::sign_in::{ADA, ME, add, query_with_cookie, session};
use crate::support::{App, new_token};

/// The status of a response, and `Retry-After`.
async fn answer(app: &App, request: Request<Body>) -> (u16, Option<String>) {
    let response = app.respond(request).await;
    let wait = response.headers().get(header::RETRY_AFTER);
    let wait = wait.map(|value| value.to_str().unwrap().to_owned());
    (response.status().as_u16(), wait)
}

#[tokio::test]
async fn each_token_and_session_has_its_own_rate() {
    let app = App::with_settings(HttpSettings {
        token_rate_limit: Some("3/m".parse().unwrap()),
        ..HttpSettings::default()
    })
    .await;
    add(&app, ADA).await;
    let other = new_token(&app.catalog, None).await;
    let with_token = |token: &str| {
        let mut request = app.request(Method::GET, "/openapi/v3/entity/corpuser", "");
        let authorization = format!("Bearer {token}").parse().unwrap();
        request
            .headers_mut()
            .insert(header::AUTHORIZATION, authorization);
        request
    };
    for _ in 0..3 {
        assert_eq!(answer(&app, with_token(&app.token)).await.0, 200);
    }
    let waits = (429, Some("20".to_owned()));
    assert_eq!(answer(&app, with_token(&app.token)).await, waits);
    assert_eq!(answer(&app, with_token(&other)).await.0, 200);
    // An invalid token does not count, and gets the status that it has without limits.
    for _ in 0..5 {
        assert_eq!(answer(&app, with_token("docent_invalid")).await.0, 401);
    }
    let cookie = session(&app, "ada").await;
    for expected in [200, 200, 200, 429] {
        let request = query_with_cookie(&cookie, ME);
        assert_eq!(answer(&app, request).await.0, expected);
    }
    app.clock.advance(20_000);
    assert_eq!(answer(&app, with_token(&app.token)).await.0, 200);
    assert_eq!(answer(&app, with_token(&app.token)).await.0, 429);
}

#[tokio::test]
async fn each_address_has_its_own_rate() {
    let app = App::with_settings(HttpSettings {
        address_rate_limit: Some("2/s".parse().unwrap()),
        trusted_proxies: vec!["10.0.0.1".parse::<std::net::IpAddr>().unwrap().into()],
        ..HttpSettings::default()
    })
    .await;
    let get = |path: &str, forwarded: &str| {
        let mut request = app.request(Method::GET, path, "");
        let peer = Peer::at([10, 0, 0, 1].into());
        request.extensions_mut().insert(peer);
        let forwarded = forwarded.parse().unwrap();
        request.headers_mut().insert("x-forwarded-for", forwarded);
        request
    };
    for path in ["/config", "/"] {
        assert_eq!(answer(&app, get(path, "192.0.2.1")).await.0, 200, "{path}");
    }
    for path in ["/config", "/", "/no/such/route"] {
        let waits = (429, Some("1".to_owned()));
        assert_eq!(answer(&app, get(path, "192.0.2.1")).await, waits, "{path}");
    }
    let rejected = app.headers_of(get("/config", "192.0.2.1")).await;
    assert_eq!(rejected[header::CACHE_CONTROL], "no-store");
    assert_eq!(answer(&app, get("/config", "192.0.2.2")).await.0, 200);
    for path in ["/health", "/health/live", "/gms/health"] {
        assert_eq!(answer(&app, get(path, "192.0.2.1")).await.0, 200, "{path}");
    }
    app.clock.advance(500);
    assert_eq!(answer(&app, get("/config", "192.0.2.1")).await.0, 200);
}
