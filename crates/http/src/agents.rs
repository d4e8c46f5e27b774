//! `POST /mcp`: the Model Context Protocol, for agents.
//!
//! The library reads and writes the messages; authentication, rates, sizes and times are limited
//! here, as for all requests.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use docent_graphql::Context;
use docent_mcp::{AgentCall, MAX_REQUEST_BYTES};
use http_body_util::{BodyExt as _, Full};
use serde::Deserialize;

use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::client::Client;
use crate::error::ErrorResponse;

/// What clients of the protocol accept.
const ACCEPTED: &str = "application/json, text/event-stream";

/// Answers a message of an agent.
pub(crate) async fn answer(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let (mut parts, body) = request.into_parts();
    let authenticated = Authenticated::from_request_parts(&mut parts, &state).await?;
    let JsonBody(bytes) = JsonBody::read(&state, &parts, body).await?;
    if bytes.len() > MAX_REQUEST_BYTES {
        return Err(ErrorResponse::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "The message has {} bytes, and at most {MAX_REQUEST_BYTES} are allowed.",
                bytes.len()
            ),
        ));
    }
    if let (Some(client), Some(operation)) = (parts.extensions.get::<Client>(), operation(&bytes)) {
        client.record().set_action(&operation);
    }
    let Authenticated { mut state, caller } = authenticated;
    let page = page_address(&parts);
    let context = Context::new(state.take_catalog(), caller);
    let writes = state.in_effect().settings.agent_writes;
    let call = AgentCall::new(Arc::clone(state.engine()), context, writes, page);
    // The library rejects other types; here the reply is JSON, whatever the client accepts.
    let json = HeaderValue::from_static("application/json");
    parts.headers.insert(CONTENT_TYPE, json);
    parts
        .headers
        .insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
    let request = Request::from_parts(parts, Full::new(bytes));
    let response = state.agents().answer(call, request).await;
    if response.status().is_success() || is_json(&response) {
        return Ok(response.map(Body::new));
    }
    let status = match response.status() {
        // What is no message of the protocol.
        StatusCode::UNSUPPORTED_MEDIA_TYPE => StatusCode::BAD_REQUEST,
        status => status,
    };
    let Ok(body) = response.into_body().collect().await;
    let message = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    Err(ErrorResponse::new(status, message))
}

/// What a message asks for, for the request log: the tool, or another method of the protocol.
fn operation(message: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Message {
        method: String,
        params: Option<Parameters>,
    }
    #[derive(Deserialize)]
    struct Parameters {
        name: Option<String>,
    }
    let Message { method, params } = serde_json::from_slice(message).ok()?;
    let tool = params.and_then(|it| it.name);
    Some(match tool {
        Some(tool) if method == "tools/call" => tool,
        _ => method,
    })
}

fn is_json<B>(response: &axum::http::Response<B>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}

/// The address of the web page, as the client of this request reaches it.
fn page_address(parts: &Parts) -> Option<String> {
    let client = Client::of(parts);
    let scheme = if client.is_https() { "https" } else { "http" };
    let host = client.host(&parts.headers).filter(|it| !it.is_empty())?;
    Some(format!("{scheme}://{host}"))
}
