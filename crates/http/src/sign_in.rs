//! `POST /logIn` and `/logOut`.
//!
//! The session cookie has DataHub's name and is `HttpOnly`. A second cookie, `actor`, has the URN
//! of the user for pages that show it; the server ignores it.

use axum::Json;
use axum::extract::State;
use axum::http::header::{COOKIE, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use docent_catalog::sessions::{SESSION_TTL_MS, SignIn};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::json;

use crate::AppState;
use crate::body::WholeBody;
use crate::error::ErrorResponse;
use crate::origin;
use crate::server::Peer;

/// Unauthenticated callers may send this much; names and passwords are much smaller.
const MAX_CREDENTIALS_BYTES: usize = 64 * 1024;

const SESSION_COOKIE: &str = "PLAY_SESSION";
const ACTOR_COOKIE: &str = "actor";

const EXPECTED_BODY: &str = "{\"username\": \"…\", \"password\": \"…\"}";

/// Characters to percent-encode in a cookie. DataHub leaves the colons of a URN.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b':')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'@');

#[derive(Deserialize)]
#[serde(expecting = "an object with username and password")]
struct Credentials {
    username: String,
    password: String,
}

pub(crate) async fn log_in(
    State(state): State<AppState>,
    peer: Peer,
    headers: HeaderMap,
    WholeBody(bytes): WholeBody<MAX_CREDENTIALS_BYTES>,
) -> Result<Response, ErrorResponse> {
    if let Some(kind) = origin::form(&headers) {
        return Err(ErrorResponse::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!(
                "Content-Type {kind} is not supported. Send {EXPECTED_BODY} with 'Content-Type: application/json'."
            ),
        ));
    }
    // Login CSRF: another site must not sign the user in as someone else.
    origin::check_headers(&headers)?;
    // The error of the parser may contain the password.
    let credentials: Credentials = serde_json::from_slice(&bytes).map_err(|_| {
        ErrorResponse::bad_request(format!("The body is invalid. Send {EXPECTED_BODY}."))
    })?;
    let Credentials { username, password } = credentials;
    let outcome = state
        .catalog()
        .sign_in(&username, &password, peer.address())
        .await?;
    match outcome {
        SignIn::Welcome { user, secret } => {
            let actor = utf8_percent_encode(user.as_str(), ENCODED).to_string();
            let max_age = Duration::milliseconds(SESSION_TTL_MS);
            let cookies = cookies(&headers, &secret, &actor, max_age);
            Ok((cookies, Json(json!({"actor": user}))).into_response())
        }
        SignIn::Rejected => Err(ErrorResponse::new(
            StatusCode::UNAUTHORIZED,
            "The user name or the password is wrong, or the account is suspended. \
             'docent user list' shows the accounts, 'docent user passwd' sets a new password.",
        )),
        SignIn::Wait { milliseconds } => {
            let seconds = milliseconds.max(1).saturating_add(999) / 1000;
            let error = ErrorResponse::new(
                StatusCode::TOO_MANY_REQUESTS,
                format!("Too many sign-in attempts. Try again in {seconds} s."),
            );
            Ok(([(RETRY_AFTER, seconds.to_string())], error).into_response())
        }
    }
}

/// Ends the session, if there is one.
pub(crate) async fn log_out(
    State(state): State<AppState>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    origin::check_headers(&headers)?;
    if let Some(secret) = session(&headers) {
        state.catalog().sign_out(&secret).await?;
    }
    let expired = cookies(&headers, "", "", Duration::ZERO);
    Ok((expired, Json(json!({}))).into_response())
}

/// `GET`, for links: redirects to the start page.
pub(crate) async fn log_out_and_redirect(
    state: State<AppState>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    let ended = log_out(state, headers).await?;
    let mut response = Redirect::to("/").into_response();
    for cookie in ended.headers().get_all(SET_COOKIE) {
        response.headers_mut().append(SET_COOKIE, cookie.clone());
    }
    Ok(response)
}

/// The secret in the session cookie.
pub(crate) fn session(headers: &HeaderMap) -> Option<String> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(Cookie::split_parse)
        .filter_map(Result::ok)
        .find(|cookie| cookie.name() == SESSION_COOKIE)
        .map(|cookie| cookie.value_trimmed().to_owned())
        .filter(|secret| !secret.is_empty())
}

/// Both cookies. A maximum age of zero deletes them in the browser.
fn cookies(
    headers: &HeaderMap,
    secret: &str,
    actor: &str,
    max_age: Duration,
) -> AppendHeaders<[(axum::http::HeaderName, String); 2]> {
    let is_secure = is_https(headers);
    let cookie = |name, value, is_http_only| {
        let cookie = Cookie::build((name, value))
            .path("/")
            .max_age(max_age)
            .same_site(SameSite::Lax)
            .secure(is_secure)
            .http_only(is_http_only);
        (SET_COOKIE, cookie.build().to_string())
    };
    AppendHeaders([
        cookie(SESSION_COOKIE, secret, true),
        cookie(ACTOR_COOKIE, actor, false),
    ])
}

/// Whether the browser used HTTPS. The server itself speaks HTTP, so a proxy's headers tell.
fn is_https(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let first = |value: &str| {
        let first = value.split(',').next().unwrap_or_default();
        first.trim().to_ascii_lowercase()
    };
    if let Some(protocol) = text("x-forwarded-proto") {
        return first(protocol) == "https";
    }
    text("forwarded").is_some_and(|forwarded| {
        let forwarded = first(forwarded);
        let mut pairs = forwarded.split(';').filter_map(|pair| pair.split_once('='));
        pairs.any(|(name, value)| name.trim() == "proto" && value.trim_matches('"') == "https")
    })
}
