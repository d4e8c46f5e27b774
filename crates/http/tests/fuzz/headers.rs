//! Headers: invalid ones get a clear response. None signs anybody in, only what a trusted proxy
//! added last counts, and a response has a form that the client accepts.

use axum::body::Body;
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE,
    STRICT_TRANSPORT_SECURITY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use docent_http::HttpSettings;
use docent_http::server::Peer;
use serde_json::json;

use crate::engine::{Format, Outcome, Target};
use crate::expect_clear;
use crate::support::{App, DATASET, encoded, proposal};

const TARGET: Target = Target {
    name: "headers",
    format: Format::Text,
    dictionary: &[
        "\n",
        ": ",
        ", ",
        ";",
        "=",
        "q=",
        "q=0",
        "q=0.5",
        "Q=1",
        "Accept",
        "Accept-Encoding",
        "Cookie",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "Host",
        "Origin",
        "If-None-Match",
        "If-Version-Match",
        "If-Modified-Since",
        "If-Unmodified-Since",
        "If-Match",
        "Range",
        "Sec-Fetch-Site",
        "Authorization",
        "Bearer ",
        "Content-Type",
        "Content-Encoding",
        "traceparent",
        "application/json",
        "application/graphql-response+json",
        "text/html",
        "*/*",
        "gzip",
        "br",
        "identity",
        "https",
        "http",
        "10.0.0.1",
        "[::1]:80",
        "PLAY_SESSION",
        "bytes=0-1",
        "same-origin",
        "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "X-DataHub-Actor",
    ],
};

#[tokio::test]
async fn fuzz_headers_sign_nobody_in_and_get_a_response_that_fits() {
    let settings = HttpSettings {
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
        ..HttpSettings::default()
    };
    let app = App::with_settings(settings).await;
    app.add_dataset(DATASET).await;
    TARGET.run(async |text| check(&app, text).await).await;
}

async fn check(app: &App, text: &str) -> Outcome {
    let headers = parse(text);
    let read = format!("/entitiesV2/{}", encoded(DATASET));
    let anonymous = request(&headers, Method::GET, &read, String::new());
    let (status, reply) = app.send(anonymous).await;
    if status != StatusCode::UNAUTHORIZED {
        return Err(format!("{status} without a token: {reply}"));
    }
    expect_page(app, &headers).await?;
    let graphql = expect_graphql(app, &headers).await?;
    let written = expect_write(app, &headers).await?;
    Ok(format!("{graphql} {written}"))
}

/// The headers in a text that HTTP allows.
fn parse(text: &str) -> HeaderMap {
    let lines = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(value.trim().as_bytes()).ok()?))
    });
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(name, value);
    }
    headers
}

/// A request of a trusted proxy.
fn request(headers: &HeaderMap, method: Method, path: &str, body: String) -> Request<Body> {
    let mut request = Request::new(Body::from(body));
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().unwrap();
    request
        .extensions_mut()
        .insert(Peer::at("10.0.0.1".parse().unwrap()));
    *request.headers_mut() = headers.clone();
    request
}

/// A request with a valid token.
fn signed(app: &App, headers: &HeaderMap, path: &str, body: String) -> Request<Body> {
    let mut request = request(headers, Method::POST, path, body);
    let token = format!("Bearer {}", app.token).parse().unwrap();
    request.headers_mut().insert(AUTHORIZATION, token);
    request
}

/// The items of a header that is a list, without their parameters, in lower case.
fn items(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    let values = headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let items = values.flat_map(|value| value.split(','));
    items
        .map(|item| {
            item.split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .to_ascii_lowercase()
        })
        .collect()
}

async fn expect_page(app: &App, headers: &HeaderMap) -> Result<(), String> {
    let response = app
        .respond(request(headers, Method::GET, "/login", String::new()))
        .await;
    if response.status() != StatusCode::OK {
        return Err(format!("the page has {}", response.status()));
    }
    let encoding = response.headers().get(CONTENT_ENCODING);
    let encoding = encoding
        .and_then(|it| it.to_str().ok())
        .unwrap_or("identity");
    if encoding != "identity"
        && !items(headers, &ACCEPT_ENCODING)
            .iter()
            .any(|it| it == encoding)
    {
        return Err(format!("{encoding} is not accepted"));
    }
    let forwarded = headers.get_all("x-forwarded-proto").iter().next_back();
    let forwarded = forwarded
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let last = forwarded.rsplit(',').next().unwrap_or_default().trim();
    let is_https = last.eq_ignore_ascii_case("https");
    if response.headers().contains_key(STRICT_TRANSPORT_SECURITY) != is_https {
        return Err(format!("{:?} for {last}", response.headers()));
    }
    Ok(())
}

async fn expect_graphql(app: &App, headers: &HeaderMap) -> Outcome {
    let body = json!({"query": "{ __typename }"}).to_string();
    let response = app
        .respond(signed(app, headers, "/api/graphql", body))
        .await;
    let status = response.status();
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|it| it.to_str().ok());
    let kind = kind
        .and_then(|kind| kind.split(';').next())
        .unwrap_or_default()
        .to_owned();
    let allowed = [StatusCode::OK, StatusCode::UNSUPPORTED_MEDIA_TYPE];
    if !allowed.contains(&status) {
        return Err(format!("{status} for a query"));
    }
    let is_named = items(headers, &ACCEPT).contains(&kind);
    if kind != "application/json" && !is_named {
        return Err(format!("{kind} is not accepted"));
    }
    Ok(format!("{status} {kind}"))
}

/// Preconditions hold, or nothing is written.
async fn expect_write(app: &App, headers: &HeaderMap) -> Outcome {
    let before = app.aspect(DATASET, "status").await;
    let removed = before
        .as_ref()
        .is_some_and(|status| status["removed"] == true);
    let wire = proposal("UPSERT", DATASET, "status", &json!({"removed": !removed}));
    let body = json!({"proposal": wire}).to_string();
    let request = signed(app, headers, "/aspects?action=ingestProposal", body);
    let (status, reply) = app.send(request).await;
    let outcome = expect_clear(status, &reply)?;
    let is_changed = app.aspect(DATASET, "status").await != before;
    if is_changed != (status == StatusCode::OK) {
        return Err(format!("{status} {reply}, changed: {is_changed}"));
    }
    if headers.contains_key("if-none-match") && before.is_some() && is_changed {
        return Err("an existing aspect was replaced".to_owned());
    }
    Ok(outcome)
}
