//! A build of DataHub's web page in place of ours.

use std::fs;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use docent_http::{AuthMode, HttpSettings, IdentityProviders};
use http_body_util::BodyExt;
use serde_json::json;
use tempfile::TempDir;

use crate::sso::provider;
use crate::support::{App, DATASET, USER};

/// What a build has: the document, a script with a compressed form, and a picture.
fn build() -> TempDir {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("assets")).unwrap();
    let document = "<base href=\"@basePath\" /><script src=\"assets/index-1.js\"></script>";
    for (name, content) in [
        ("index.html", document),
        ("assets/index-1.js", "start()"),
        ("assets/index-1.js.gz", "compressed"),
        ("assets/logo.png", "picture"),
    ] {
        fs::write(root.join(name), content).unwrap();
    }
    directory
}

async fn with_frontend(settings: HttpSettings) -> (App, TempDir) {
    let directory = build();
    let mut app = App::with_settings(settings.clone()).await;
    app.serve_frontend(settings, directory.path());
    (app, directory)
}

fn anonymous(method: Method, path: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(path);
    let request = request.header(header::ACCEPT, "text/html,*/*;q=0.8");
    request.body(Body::empty()).unwrap()
}

async fn answer(app: &App, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
    let (parts, body) = app.respond(request).await.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    (parts.status, parts.headers, text)
}

#[tokio::test]
async fn every_route_of_the_page_gets_its_document() {
    let (app, _directory) = with_frontend(HttpSettings::default()).await;
    for path in [
        "/",
        "/login",
        "/search?query=x",
        "/analytics",
        &format!("/dataset/{DATASET}/Schema"),
        "/settings/policies",
        "/glossaryTerm/urn:li:glossaryTerm:a.b",
        "/index.html/nothing",
    ] {
        let (status, headers, body) = answer(&app, anonymous(Method::GET, path)).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        assert_eq!(headers[header::CONTENT_TYPE], "text/html; charset=utf-8");
        assert_eq!(headers[header::CACHE_CONTROL], "no-cache");
        assert!(body.starts_with("<base href=\"/\" />"), "{path}: {body}");
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("default-src 'self';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    }
}

#[tokio::test]
async fn files_are_served_in_their_smallest_form() {
    let (app, directory) = with_frontend(HttpSettings::default()).await;
    let secret = directory.path().parent().unwrap().join("docent-secret");
    fs::write(&secret, "secret").unwrap();
    let (status, headers, body) = answer(&app, anonymous(Method::GET, "/assets/index-1.js")).await;
    assert_eq!((status, body.as_str()), (StatusCode::OK, "start()"));
    assert_eq!(headers[header::CONTENT_TYPE], "text/javascript");
    assert_eq!(headers[header::CACHE_CONTROL], "public, max-age=3600");
    let mut request = anonymous(Method::GET, "/assets/index-1.js");
    let gzip = header::HeaderValue::from_static("gzip, br");
    request.headers_mut().insert(header::ACCEPT_ENCODING, gzip);
    let (_, headers, body) = answer(&app, request).await;
    assert_eq!(headers[header::CONTENT_ENCODING], "gzip");
    assert_eq!(body, "compressed");
    // A missing file is an error; the document would fail to run as a script.
    let (status, _, body) = answer(&app, anonymous(Method::GET, "/assets/index-0.js")).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(body.contains("no file /assets/index-0.js"), "{body}");
    for path in [
        "/assets/../../docent-secret",
        "/assets/%2e%2e/%2e%2e/docent-secret",
    ] {
        let (_, _, body) = answer(&app, anonymous(Method::GET, path)).await;
        assert!(
            !body.contains("secret\n") && body != "secret",
            "{path}: {body}"
        );
    }
    fs::remove_file(secret).unwrap();
}

#[tokio::test]
async fn the_api_is_the_same_and_stays_protected() {
    let (app, _directory) = with_frontend(HttpSettings::default()).await;
    let me = app.graphql("{ me { corpUser { urn } } }").await;
    assert_eq!(me["data"]["me"]["corpUser"]["urn"], USER, "{me}");
    for path in ["/openapi/v1/unknown", "/api/unknown", "/mfe/config"] {
        let (status, _, _) = answer(&app, anonymous(Method::GET, path)).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let (status, _, _) = answer(&app, anonymous(Method::POST, "/settings")).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let request = app.request(Method::GET, "/mfe/config", String::new());
    let (status, headers, body) = answer(&app, request).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(headers[header::CONTENT_TYPE], "application/yaml");
    assert!(body.contains("microFrontends: []"), "{body}");
}

#[tokio::test]
async fn events_of_the_page_are_accepted() {
    let (app, _directory) = with_frontend(HttpSettings::default()).await;
    let track = "/openapi/v1/tracking/track";
    let (status, _) = app.post(track, &json!({"type": "PageViewEvent"})).await;
    assert_eq!(status, StatusCode::OK);
    let request = app.request(Method::POST, track, "{".to_owned());
    let (status, _, body) = answer(&app, request).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(body.contains("The event is not JSON"), "{body}");
}

async fn authenticate(app: &App, query: &str) -> (String, Option<String>) {
    let path = format!("/authenticate{query}");
    let (status, headers, _) = answer(app, anonymous(Method::GET, &path)).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{path}");
    let location = headers[header::LOCATION].to_str().unwrap().to_owned();
    let cookie = headers.get(header::SET_COOKIE);
    (location, cookie.map(|it| it.to_str().unwrap().to_owned()))
}

#[tokio::test]
async fn browsers_without_a_session_are_led_to_the_sign_in() {
    let (app, _directory) = with_frontend(HttpSettings::default()).await;
    let (location, cookie) = authenticate(&app, "?redirect_uri=%2Fsearch%3Fquery%3Da%26b").await;
    assert_eq!(location, "/login?redirect_uri=%2Fsearch%3Fquery%3Da%26b");
    assert_eq!(cookie, None);
    for elsewhere in [
        "%2F%2Fexample.com",
        "https%3A%2F%2Fexample.com",
        "%2F%5Cexample.com",
    ] {
        let (location, _) = authenticate(&app, &format!("?redirect_uri={elsewhere}")).await;
        assert_eq!(location, "/login?redirect_uri=%2F", "{elsewhere}");
    }
    let request = app.request(Method::GET, "/authenticate?redirect_uri=/a", String::new());
    let (_, headers, _) = answer(&app, request).await;
    assert_eq!(headers[header::LOCATION], "/a");
}

#[tokio::test]
async fn browsers_without_a_session_are_led_to_the_identity_provider() {
    let (app, _directory) = with_frontend(HttpSettings {
        identity: Arc::new(IdentityProviders {
            providers: vec![provider()],
            issuers: Vec::new(),
        }),
        ..HttpSettings::default()
    })
    .await;
    let (location, _) = authenticate(&app, "?redirect_uri=/a").await;
    assert_eq!(location, "/sso/oidc?redirect=%2Fa");
    // The page leads browsers to /sso; programs get the list.
    let (status, headers, _) = answer(&app, anonymous(Method::GET, "/sso")).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    assert_eq!(headers[header::LOCATION], "/sso/oidc");
    let (status, list) = app.get("/sso").await;
    assert_eq!(
        (status, &list["providers"][0]["id"]),
        (StatusCode::OK, &json!("oidc"))
    );
}

#[tokio::test]
async fn without_authentication_the_page_learns_who_the_caller_is() {
    let settings = HttpSettings {
        auth: AuthMode::Off,
        ..HttpSettings::default()
    };
    let (app, _directory) = with_frontend(settings).await;
    let (location, cookie) = authenticate(&app, "?redirect_uri=/a").await;
    assert_eq!(location, "/a");
    let cookie = cookie.unwrap();
    assert!(
        cookie.starts_with("actor=urn:li:corpuser:__datahub_system;"),
        "{cookie}"
    );
    assert!(!cookie.contains("HttpOnly"), "{cookie}");
}
