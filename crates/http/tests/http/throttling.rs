//! Delays after failed sign-ins, and whom they do not affect.

use std::net::IpAddr;

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use docent_catalog::people::Password;
use docent_http::HttpSettings;
use docent_http::server::Peer;
use http_body_util::BodyExt;

use crate::sign_in::{ADA, PASSWORD, add, log_in, session, system, urn, with_ada, with_header};
use crate::support::App;

const STRANGER: [u8; 4] = [203, 0, 113, 66];
const ELSEWHERE: [u8; 4] = [192, 0, 2, 2];

fn from(mut request: Request<Body>, peer: [u8; 4]) -> Request<Body> {
    request
        .extensions_mut()
        .insert(Peer::at(IpAddr::from(peer)));
    request
}

/// The status of a sign-in, and `Retry-After`.
async fn attempt(app: &App, request: Request<Body>) -> (u16, Option<String>) {
    let response = app.respond(request).await;
    let wait = response.headers().get(header::RETRY_AFTER);
    let wait = wait.map(|value| value.to_str().unwrap().to_owned());
    (response.status().as_u16(), wait)
}

#[tokio::test]
async fn a_strangers_failures_do_not_lock_the_administrator_out() {
    let app = App::empty().await;
    add(&app, "urn:li:corpuser:datahub").await;
    let stranger = |password| from(log_in("datahub", password), STRANGER);
    // The administrator has signed in before, from the address that the stranger has later.
    let response = app.respond(stranger(PASSWORD)).await;
    let known = crate::sign_in::cookies(&response)
        .into_iter()
        .find(|cookie| cookie.starts_with("docent_device="))
        .unwrap();
    let known = known.split(';').next().unwrap().to_owned();
    let mut rejected = 0;
    for _ in 0..10 {
        let (status, _) = attempt(&app, stranger("wrong horse")).await;
        rejected += u32::from(status == 401);
    }
    assert_eq!(rejected, 5);
    // The stranger's address waits, even with the correct password, so that guesses teach nothing.
    let response = app.respond(stranger(PASSWORD)).await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()[header::RETRY_AFTER], "1");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8_lossy(&body);
    assert!(body.contains("Try again in 1 s"), "{body}");
    assert!(body.contains("signed in with before"), "{body}");

    let elsewhere = from(log_in("datahub", PASSWORD), ELSEWHERE);
    assert_eq!(attempt(&app, elsewhere).await.0, 200);
    let on_known_device = with_header(stranger(PASSWORD), "cookie", &known);
    assert_eq!(attempt(&app, on_known_device).await.0, 200);
    // The cookie is for this user alone, and a new password makes it worthless.
    let other_user = with_header(from(log_in("ada", "x"), STRANGER), "cookie", &known);
    assert_eq!(attempt(&app, other_user).await.0, 401);
    let password = Password::new("another horse").unwrap();
    app.catalog
        .set_password(&system(), &urn("urn:li:corpuser:datahub"), &password)
        .await
        .unwrap();
    let outdated = with_header(stranger("another horse"), "cookie", &known);
    assert_eq!(attempt(&app, outdated).await.0, 429);
}

#[tokio::test]
async fn the_delay_doubles_with_each_failure_and_ends_with_a_correct_password() {
    let app = with_ada().await;
    for _ in 0..5 {
        assert_eq!(attempt(&app, log_in("ada", "wrong")).await.0, 401);
    }
    for seconds in ["1", "2", "4", "8"] {
        let waits = (429, Some(seconds.to_owned()));
        assert_eq!(attempt(&app, log_in("ada", "wrong")).await, waits);
        app.clock.advance(seconds.parse::<i64>().unwrap() * 1000);
        assert_eq!(attempt(&app, log_in("ada", "wrong")).await.0, 401);
    }
    app.clock.advance(15_001);
    let nearly = (429, Some("1".to_owned()));
    assert_eq!(attempt(&app, log_in("ada", PASSWORD)).await, nearly);
    app.clock.advance(999);
    session(&app, "ada").await;
    assert_eq!(attempt(&app, log_in("ada", "wrong")).await.0, 401);
}

#[tokio::test]
async fn sign_in_attempts_are_limited_per_address() {
    let app = with_ada().await;
    for number in 0..30 {
        let request = log_in(&format!("user-{number}"), "guess");
        assert_eq!(attempt(&app, request).await.0, 401, "{number}");
    }
    // Forwarding headers of clients are ignored.
    let request = with_header(log_in("ada", PASSWORD), "x-forwarded-for", "198.51.100.7");
    assert_eq!(attempt(&app, request).await, (429, Some("10".to_owned())));
    let elsewhere = from(log_in("ada", PASSWORD), ELSEWHERE);
    assert_eq!(attempt(&app, elsewhere).await.0, 200);
    app.clock.advance(10_000);
    session(&app, "ada").await;
}

#[tokio::test]
async fn behind_a_trusted_proxy_attempts_count_for_the_forwarded_address() {
    let app = App::with_settings(HttpSettings {
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
        ..HttpSettings::default()
    })
    .await;
    add(&app, ADA).await;
    let proxied = |password, forwarded| {
        let request = from(log_in("ada", password), [10, 0, 0, 1]);
        with_header(request, "x-forwarded-for", forwarded)
    };
    for _ in 0..5 {
        let request = proxied("wrong", "198.51.100.7");
        assert_eq!(attempt(&app, request).await.0, 401);
    }
    // Whatever the client itself puts in front.
    for forwarded in ["198.51.100.7", "203.0.113.1, 198.51.100.7"] {
        let request = proxied(PASSWORD, forwarded);
        assert_eq!(attempt(&app, request).await.0, 429, "{forwarded}");
    }
    let request = proxied(PASSWORD, "198.51.100.8");
    assert_eq!(attempt(&app, request).await.0, 200);
}
