//! `POST /mcp`: the Model Context Protocol, for agents.
//!
//! The library reads and writes the messages; authentication, rates, sizes and times are limited
//! here, as for all requests.

use axum::body::Body;
use axum::extract::{FromRequest as _, FromRequestParts as _, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use docent_graphql::Context;
use docent_mcp::{AgentCall, MAX_REQUEST_BYTES};
use http_body_util::Full;

use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::client::Client;
use crate::error::ErrorResponse;

/// Answers a message of an agent.
pub(crate) async fn answer(
    axum::extract::State(state): axum::extract::State<AppState>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let (mut parts, body) = request.into_parts();
    let authenticated = Authenticated::from_request_parts(&mut parts, &state).await?;
    let request = Request::from_parts(parts.clone(), body);
    let JsonBody(bytes) = JsonBody::from_request(request, &state).await?;
    if bytes.len() > MAX_REQUEST_BYTES {
        return Err(ErrorResponse::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "The message has {} bytes, and at most {MAX_REQUEST_BYTES} are allowed.",
                bytes.len()
            ),
        ));
    }
    let Authenticated { mut state, caller } = authenticated;
    let page = page_address(&parts);
    let context = Context::new(state.take_catalog(), caller);
    let writes = state.settings().agent_writes;
    let call = AgentCall::new(state.engine().clone(), context, writes, page);
    let request = axum::http::Request::from_parts(parts, Full::new(bytes));
    let response = state.agents().answer(call, request).await;
    Ok(response.map(Body::new))
}

/// The address of the web page, as the client of this request reaches it.
fn page_address(parts: &Parts) -> Option<String> {
    let client = Client::of(parts);
    let scheme = if client.is_https() { "https" } else { "http" };
    let host = client.host(&parts.headers).filter(|it| !it.is_empty())?;
    Some(format!("{scheme}://{host}"))
}
