//! The web page, which needs no token.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use docent_page::File;

use crate::routes::ALSO_A_PAGE;
use crate::support::{App, DATASET};
use crate::tokens::{OPEN, PROTECTED, SIGN_IN};

fn get(path: &str) -> Request<Body> {
    Request::builder()
        .method(Method::GET)
        .uri(path)
        .body(Body::empty())
        .unwrap()
}

#[tokio::test]
async fn every_page_route_returns_the_document_with_a_strict_policy() {
    let app = App::empty().await;
    for path in [
        "/",
        "/login",
        "/search?query=x",
        &format!("/dataset/{DATASET}"),
        "/dataset/urn%3Ali%3Adataset%3A(urn%3Ali%3AdataPlatform%3As3,a%2Fb,PROD)",
        "/domains",
        "/domain/urn:li:domain:a",
        "/settings",
        "/settings/tokens",
        "/graphiql",
    ] {
        let response = app.respond(get(path)).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let header = |name: header::HeaderName| response.headers()[name].to_str().unwrap();
        assert_eq!(header(header::CONTENT_TYPE), "text/html; charset=utf-8");
        assert_eq!(header(header::CACHE_CONTROL), "no-cache");
        let policy = header(header::CONTENT_SECURITY_POLICY);
        assert!(policy.contains("script-src 'self';"), "{policy}");
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    }
}

#[tokio::test]
async fn files_with_a_content_hash_are_cached_for_a_year() {
    let app = App::empty().await;
    for file in docent_page::files() {
        let path = format!("/{}", file.path());
        let headers = app.headers_of(get(&path)).await;
        if file.path() == "index.html" {
            continue;
        }
        assert_eq!(headers[header::CONTENT_TYPE], file.content_type(), "{path}");
        let kept = headers[header::CACHE_CONTROL].to_str().unwrap();
        assert_eq!(kept.contains("immutable"), file.is_immutable(), "{path}");
        assert!(!headers.contains_key(header::CONTENT_ENCODING), "{path}");
        for (encoding, body) in [("gzip", file.gzip()), ("br", file.brotli())] {
            let mut request = get(&path);
            let accepted = header::HeaderValue::from_static(encoding);
            request
                .headers_mut()
                .insert(header::ACCEPT_ENCODING, accepted);
            let headers = app.headers_of(request).await;
            let sent = headers.get(header::CONTENT_ENCODING);
            assert_eq!(sent.is_some(), body.is_some(), "{path} as {encoding}");
        }
    }
}

#[tokio::test]
async fn api_paths_never_return_the_page() {
    let app = App::empty().await;
    assert!(
        docent_page::find("assets/none.js")
            .map(File::path)
            .is_none()
    );
    let (status, body) = app.send(get("/assets/none.js")).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(
        body["message"]
            .as_str()
            .unwrap()
            .contains("Reload the page"),
        "{body}"
    );
    for path in [
        "/api/gms/search",
        "/api/gms/domains",
        "/gms/search",
        "/datasets/",
        "/datasets",
        "/settings/a/b/c",
    ] {
        let (status, _) = app.send(get(path)).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let (status, _) = app.send(app.request(Method::POST, "/search", "{}")).await;
    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
}

fn get_as_a_browser(path: &str) -> Request<Body> {
    let mut request = get(path);
    let accepted = header::HeaderValue::from_static(
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    );
    request.headers_mut().insert(header::ACCEPT, accepted);
    request
}

#[tokio::test]
async fn unknown_paths_return_the_page_to_browsers_and_an_error_to_programs() {
    let app = App::empty().await;
    for path in ["/datasett/x", "/datasets", "/settings/a/b/c", "/Search"] {
        let response = app.respond(get_as_a_browser(path)).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        let headers = response.headers();
        assert_eq!(headers[header::CONTENT_TYPE], "text/html; charset=utf-8");
        assert!(headers.contains_key(header::CONTENT_SECURITY_POLICY));
        let mut posted = get_as_a_browser(path);
        *posted.method_mut() = Method::POST;
        let (status, _) = app.send(posted).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let routes = PROTECTED.iter().chain(&OPEN).chain(&SIGN_IN);
    let places: BTreeSet<&str> = routes
        .map(|(_, route)| route.split('/').nth(1).unwrap())
        .chain(["gms", "api/gms", "assets"])
        // Also an address of the page.
        .filter(|place| format!("/{place}") != ALSO_A_PAGE)
        .collect();
    for place in places {
        let path = format!("/{place}/no/such/address");
        let headers = app.headers_of(get_as_a_browser(&path)).await;
        assert_eq!(headers[header::CONTENT_TYPE], "application/json", "{path}");
    }
}

#[tokio::test]
async fn open_paths_of_datahub_that_are_missing_are_not_found_without_a_token() {
    let app = App::empty().await;
    for path in [
        "/actuator/prometheus",
        "/config/search/export",
        "/openapi/operations/dev/featureFlags",
        "/public-iceberg/health",
        "/gms/schema-registry/subjects",
    ] {
        let (status, _) = app.send(get(path)).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
    }
    for path in ["/actuator", "/config/search", "/openapi/operations/dev"] {
        let (status, _) = app.send(get(path)).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
    }
}
