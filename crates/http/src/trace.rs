//! `traceparent` headers on responses to writes, and `POST /openapi/v1/trace/write/{traceId}` for
//! their status.
//!
//! Every write is durable before its response, so the status comes from the store. Write routes are
//! wrapped in [`traced`].

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use axum::extract::{Request, State};
use axum::http::{HeaderValue, header::HeaderName};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::MethodRouter;
use docent_catalog::{AspectKey, Caller, Catalog};
use serde_json::{Value, json};

use crate::AppState;
use crate::auth::{Authenticated, KnownCaller};
use crate::body::JsonBody;
use crate::error::ErrorResponse;
use crate::query::{Parameters, Path};
use crate::reply_budget::READ_CHUNK;
use crate::wire::{parse, parse_aspect, parse_urn, reply};

const HEADER: HeaderName = HeaderName::from_static("traceparent");
/// Names the proposal that a write became, because its caller may only propose changes.
const PROPOSAL_HEADER: HeaderName = HeaderName::from_static("x-docent-proposal");
const MAX_ASPECTS: usize = 10_000;

/// Adds a `traceparent` header to the successful responses of these methods.
pub(crate) fn traced(state: &AppState, methods: MethodRouter<AppState>) -> MethodRouter<AppState> {
    methods.layer(from_fn_with_state(state.clone(), add_header))
}

async fn add_header(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let client_trace = request.headers().get(HEADER).and_then(trace_id);
    let known_caller = KnownCaller::default();
    request.extensions_mut().insert(known_caller.clone());
    let mut response = next.run(request).await;
    if response.status().is_success() {
        let proposals = known_caller.0.get().map(Caller::proposals);
        for urn in proposals.into_iter().flatten() {
            if let Ok(urn) = HeaderValue::from_str(urn.as_str()) {
                response.headers_mut().append(PROPOSAL_HEADER, urn);
            }
        }
        let random = || RandomState::new().build_hasher().finish();
        // Clients read the time of the write, in microseconds, from the first half.
        let new_trace = || {
            format!(
                "{:016x}{:016x}",
                state.catalog().now_ms().saturating_mul(1000),
                random()
            )
        };
        let value = format!(
            "00-{}-{:016x}-01",
            client_trace.unwrap_or_else(new_trace),
            random()
        );
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HEADER, value);
        }
    }
    response
}

/// The trace id in the header of the request.
fn trace_id(value: &HeaderValue) -> Option<String> {
    let id = value.to_str().ok()?.split('-').nth(1)?;
    is_id(id).then(|| id.to_ascii_lowercase())
}

fn is_id(text: &str) -> bool {
    text.len() == 32
        && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        && text.bytes().any(|byte| byte != b'0')
}

/// The write status of each aspect in the request.
pub(crate) async fn write_status(
    Authenticated { state, .. }: Authenticated,
    Path(trace): Path,
    parameters: Parameters,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let requested: BTreeMap<String, Vec<String>> = parse(&bytes).await?;
    if !is_id(&trace) {
        return Err(ErrorResponse::bad_request(format!(
            "'{trace}' is not a trace id: send the 32 hexadecimal digits after the first '-' of a traceparent header"
        )));
    }
    if requested.values().map(Vec::len).sum::<usize>() > MAX_ASPECTS {
        return Err(ErrorResponse::bad_request(format!(
            "at most {MAX_ASPECTS} aspects are allowed in one request"
        )));
    }
    let errors_only = parameters.flag("onlyIncludeErrors")?;
    let mut keys = Vec::new();
    for (text, names) in &requested {
        let urn = parse_urn(text)?;
        for name in names {
            keys.push(AspectKey::new(&urn, parse_aspect(name)?));
        }
    }
    let stored = stored_among(state.catalog(), &keys).await?;
    let mut stored = keys.iter().map(|key| stored.contains(key));
    let mut statuses: BTreeMap<&str, BTreeMap<&str, Value>> = BTreeMap::new();
    for (text, names) in &requested {
        let mut of_entity = BTreeMap::new();
        for (name, is_stored) in names.iter().zip(stored.by_ref()) {
            if !(is_stored && errors_only) {
                of_entity.insert(name.as_str(), status(is_stored));
            }
        }
        if !(of_entity.is_empty() && errors_only) {
            statuses.insert(text, of_entity);
        }
    }
    Ok(reply(&statuses))
}

/// The aspects among these that are stored. A request may repeat them, and they can be large.
async fn stored_among<'k>(
    catalog: &Catalog,
    keys: &'k [AspectKey],
) -> Result<HashSet<&'k AspectKey>, ErrorResponse> {
    let distinct: HashSet<&AspectKey> = keys.iter().collect();
    let distinct: Vec<&AspectKey> = distinct.into_iter().collect();
    let mut stored = HashSet::new();
    for chunk in distinct.chunks(READ_CHUNK) {
        let read: Vec<AspectKey> = chunk.iter().copied().cloned().collect();
        let found = catalog.are_stored(&read).await?;
        let found = chunk.iter().zip(found).filter(|(_, is_stored)| *is_stored);
        stored.extend(found.map(|(key, _)| *key));
    }
    Ok(stored)
}

fn status(is_stored: bool) -> Value {
    let storage = if is_stored {
        json!({"writeStatus": "ACTIVE_STATE"})
    } else {
        json!({
            "writeStatus": "ERROR",
            "writeMessage": "the aspect is not stored: it was never written, or has been deleted",
        })
    };
    json!({"success": is_stored, "primaryStorage": storage, "searchStorage": storage})
}
