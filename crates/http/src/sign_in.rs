//! `POST /logIn`, and the way out, `/logOut`.
//!
//! The session is a cookie with DataHub's name for it, which no script can read. Beside it stands `actor`, the URN of
//! the user, for pages that want to show who is signed in: nothing is decided by it.

use axum::Json;
use axum::extract::State;
use axum::http::header::{COOKIE, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use docent_catalog::sessions::{SESSION_TTL_MS, SignIn};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::json;

use crate::AppState;
use crate::body::WholeBody;
use crate::error::ErrorResponse;
use crate::origin;
use crate::server::Peer;

/// Anybody may send this much, and nobody needs more for a name and a password.
const MAX_CREDENTIALS_BYTES: usize = 64 * 1024;

const SESSION_COOKIE: &str = "PLAY_SESSION";
const ACTOR_COOKIE: &str = "actor";

/// The second half of a sentence.
const WANTED: &str =
    "a user name and a password are wanted as JSON: {\"username\": \"…\", \"password\": \"…\"}.";

/// What a cookie cannot hold as it is. DataHub writes the colons of a URN plainly.
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
                "The body is said to be {kind}, but {WANTED} Send it with 'Content-Type: application/json'."
            ),
        ));
    }
    // A page of another site must not sign a person in as somebody else either.
    origin::check_headers(&headers)?;
    // What the parser has to say might repeat the password.
    let credentials: Credentials = serde_json::from_slice(&bytes)
        .map_err(|_| ErrorResponse::bad_request(format!("Here {WANTED}")))?;
    let Credentials { username, password } = credentials;
    let outcome = state
        .catalog()
        .sign_in(&username, &password, peer.address())
        .await?;
    match outcome {
        SignIn::Welcome { user, secret } => {
            let actor = utf8_percent_encode(user.as_str(), ENCODED).to_string();
            let cookies = cookies(&headers, &secret, &actor, SESSION_TTL_MS / 1000);
            Ok((cookies, Json(json!({"actor": user}))).into_response())
        }
        SignIn::Refused => Err(ErrorResponse::new(
            StatusCode::UNAUTHORIZED,
            "The user name or the password is wrong, or the user may not sign in. \
             'docent user list' shows who may, 'docent user passwd' sets a new password.",
        )),
        SignIn::Wait { milliseconds } => {
            let seconds = milliseconds.max(1).saturating_add(999) / 1000;
            let error = ErrorResponse::new(
                StatusCode::TOO_MANY_REQUESTS,
                format!("Too many attempts to sign in. Try again in {seconds} s."),
            );
            Ok(([(RETRY_AFTER, seconds.to_string())], error).into_response())
        }
    }
}

/// Ends the session. Whoever has none is signed out already.
pub(crate) async fn log_out(
    State(state): State<AppState>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    origin::check_headers(&headers)?;
    if let Some(secret) = session(&headers) {
        state.catalog().sign_out(secret).await?;
    }
    Ok((cookies(&headers, "", "", 0), Json(json!({}))).into_response())
}

/// For a person who follows a link.
pub(crate) async fn log_out_by_link(
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
pub(crate) fn session(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find(|(name, _)| *name == SESSION_COOKIE)
        .map(|(_, secret)| secret.trim_matches('"'))
        .filter(|secret| !secret.is_empty())
}

/// Both cookies; a life of no seconds takes them away.
fn cookies(
    headers: &HeaderMap,
    secret: &str,
    actor: &str,
    seconds: i64,
) -> AppendHeaders<[(axum::http::HeaderName, String); 2]> {
    let secure = if came_by_https(headers) {
        "; Secure"
    } else {
        ""
    };
    let rest = format!("Max-Age={seconds}; Path=/; SameSite=Lax{secure}");
    AppendHeaders([
        (
            SET_COOKIE,
            format!("{SESSION_COOKIE}={secret}; {rest}; HttpOnly"),
        ),
        (SET_COOKIE, format!("{ACTOR_COOKIE}={actor}; {rest}")),
    ])
}

/// The server itself speaks HTTP; a proxy in front of it says what the browser spoke.
fn came_by_https(headers: &HeaderMap) -> bool {
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
