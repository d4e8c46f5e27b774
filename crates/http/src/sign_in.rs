//! `POST /logIn` and `/logOut`.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use cookie::time::Duration;
use docent_catalog::sessions::{DEVICE_TTL_MS, SignIn, SignInClient};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::AppState;
use crate::body::{MAX_SMALL_BODY_BYTES, WholeBody};
use crate::client::Client;
use crate::cookies::{self, EndedCookies};
use crate::error::ErrorResponse;
use crate::origin;
use crate::sso;

/// The names in the audit log.
pub(crate) const LOG_IN: &str = "POST /logIn";
pub(crate) const LOG_OUT: &str = "POST /logOut";

const EXPECTED_BODY: &str = "{\"username\": \"…\", \"password\": \"…\"}";

#[derive(Deserialize)]
#[serde(expecting = "an object with username and password")]
struct Credentials {
    username: String,
    password: String,
}

pub(crate) async fn log_in(
    State(state): State<AppState>,
    client: Client,
    headers: HeaderMap,
    WholeBody(bytes): WholeBody<MAX_SMALL_BODY_BYTES>,
) -> Result<Response, ErrorResponse> {
    check_request(&headers, &client, EXPECTED_BODY)?;
    let credentials: Credentials = parse_body(&bytes, EXPECTED_BODY)?;
    let Credentials { username, password } = credentials;
    let device = cookies::DEVICE.read(&headers, &client);
    let from = SignInClient {
        address: client.address(),
        device: device.as_deref(),
        operation: LOG_IN,
    };
    let outcome = state.catalog().sign_in(&username, &password, from).await?;
    let rejected = "The username or the password is wrong, or the account is suspended. \
                    An administrator can create a link that resets the password.";
    let rejected = ErrorResponse::new(StatusCode::UNAUTHORIZED, rejected);
    respond(&state, &client, outcome, rejected)
}

/// Rejects forms and requests of other sites: login CSRF would sign the user in as someone else.
pub(crate) fn check_request(
    headers: &HeaderMap,
    client: &Client,
    expected: &str,
) -> Result<(), ErrorResponse> {
    if let Some(kind) = origin::form(headers) {
        return Err(ErrorResponse::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!(
                "Content-Type {kind} is not supported. Send {expected} with 'Content-Type: application/json'."
            ),
        ));
    }
    origin::check_headers(headers, client)
}

/// Parses a body with a password. The error of the parser may contain it.
pub(crate) fn parse_body<T: DeserializeOwned>(
    bytes: &[u8],
    expected: &str,
) -> Result<T, ErrorResponse> {
    serde_json::from_slice(bytes)
        .map_err(|_| ErrorResponse::bad_request(format!("The body is invalid. Send {expected}.")))
}

/// Sets the cookies of a new session, or says why there is none.
pub(crate) fn respond(
    state: &AppState,
    client: &Client,
    outcome: SignIn,
    rejected: ErrorResponse,
) -> Result<Response, ErrorResponse> {
    match outcome {
        SignIn::Welcome {
            user,
            secret,
            device,
        } => {
            let cookies =
                cookies::begin_session(client, &user, &secret, state.catalog().session_limits());
            let device_age = Duration::milliseconds(DEVICE_TTL_MS);
            let device = device.map(|device| cookies::DEVICE.set(client, &device, device_age));
            let device = AppendHeaders(device);
            Ok((cookies, device, Json(json!({"actor": user}))).into_response())
        }
        SignIn::Rejected => Err(rejected),
        SignIn::Wait { milliseconds } => {
            Err(ErrorResponse::too_many_requests(milliseconds, |seconds| {
                format!(
                    "Too many failed sign-ins from this address. Try again in {seconds} s, or sign in with a browser \
                     that you have signed in with before."
                )
            }))
        }
    }
}

/// Ends the session, if there is one. The browser stays a known device. The body has the page of
/// the provider where the user signs out there, too.
pub(crate) async fn log_out(
    State(state): State<AppState>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    let (expired, redirect) = end_session(&state, &client, &headers).await?;
    let body = match redirect {
        Some(location) => json!({"redirect": location}),
        None => json!({}),
    };
    Ok((expired, Json(body)).into_response())
}

/// `GET`, for links: redirects to the start page, or to the provider to sign out there.
pub(crate) async fn log_out_and_redirect(
    State(state): State<AppState>,
    client: Client,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    origin::check_navigation(&headers)?;
    let (expired, redirect) = end_session(&state, &client, &headers).await?;
    let location = redirect.as_deref().unwrap_or("/");
    Ok((expired, Redirect::to(location)).into_response())
}

/// Ends the session. Returns the cookies, and the page of the provider that signed the user in.
async fn end_session(
    state: &AppState,
    client: &Client,
    headers: &HeaderMap,
) -> Result<(EndedCookies, Option<String>), ErrorResponse> {
    origin::check_headers(headers, client)?;
    let provider = match cookies::SESSION.read(headers, client) {
        Some(secret) => {
            let catalog = state.catalog();
            catalog.sign_out(&secret, client.address(), LOG_OUT).await?
        }
        None => None,
    };
    let redirect = match &provider {
        Some(provider) => {
            let id_token = cookies::id_token(headers, client, provider);
            sso::end_session(state, provider, id_token.as_deref()).await
        }
        None => None,
    };
    Ok((cookies::end_session(client), redirect))
}
