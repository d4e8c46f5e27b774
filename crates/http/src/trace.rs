//! `traceparent` on replies to writes, and `POST /openapi/v1/trace/write/{traceId}`: has it been written?
//!
//! Every write is durable before it is answered, so the question is answered from the store. Routes that write are
//! wrapped in [`traced`].

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, header::HeaderName};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::MethodRouter;
use docent_catalog::AspectKey;
use serde_json::{Value, json};

use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::error::ErrorResponse;
use crate::query::Parameters;
use crate::restli::{json as reply, parse, parse_aspect, parse_urn};

const HEADER: HeaderName = HeaderName::from_static("traceparent");
const MAX_ASPECTS: usize = 10_000;

/// Gives each successful reply of these methods the name of its trace.
pub(crate) fn traced(state: &AppState, methods: MethodRouter<AppState>) -> MethodRouter<AppState> {
    methods.layer(from_fn_with_state(state.clone(), mark))
}

async fn mark(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let given = request.headers().get(HEADER).and_then(trace_id);
    let mut response = next.run(request).await;
    if response.status().is_success() {
        let random = || RandomState::new().build_hasher().finish();
        // Clients read the time of the write, in microseconds, out of the first half.
        let own = || {
            format!(
                "{:016x}{:016x}",
                state.catalog().now_ms().saturating_mul(1000),
                random()
            )
        };
        let value = format!("00-{}-{:016x}-01", given.unwrap_or_else(own), random());
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HEADER, value);
        }
    }
    response
}

/// The trace that the client is in already.
fn trace_id(value: &HeaderValue) -> Option<String> {
    let id = value.to_str().ok()?.split('-').nth(1)?;
    is_id(id).then(|| id.to_ascii_lowercase())
}

fn is_id(text: &str) -> bool {
    text.len() == 32
        && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        && text.bytes().any(|byte| byte != b'0')
}

/// For each aspect named whether it is there.
pub(crate) async fn written(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(trace): Path<String>,
    parameters: Parameters,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    let asked: BTreeMap<String, Vec<String>> = parse(&bytes)?;
    if !is_id(&trace) {
        return Err(ErrorResponse::bad_request(format!(
            "'{trace}' is no trace id: send the 32 hexadecimal digits behind the first '-' of a reply's traceparent"
        )));
    }
    if asked.values().map(Vec::len).sum::<usize>() > MAX_ASPECTS {
        return Err(ErrorResponse::bad_request(format!(
            "at most {MAX_ASPECTS} aspects can be asked for at once"
        )));
    }
    let errors_only = parameters.flag("onlyIncludeErrors")?;
    let mut keys = Vec::new();
    for (text, names) in &asked {
        let urn = parse_urn(text)?;
        for name in names {
            keys.push(AspectKey::new(&urn, parse_aspect(name)?));
        }
    }
    let rows = state.catalog().read_current(&caller, &keys).await?;
    let mut there = rows.iter().map(Option::is_some);
    let mut answer: BTreeMap<&str, BTreeMap<&str, Value>> = BTreeMap::new();
    for (text, names) in &asked {
        let mut states = BTreeMap::new();
        for (name, there) in names.iter().zip(there.by_ref()) {
            if !(there && errors_only) {
                states.insert(name.as_str(), status(there));
            }
        }
        if !(states.is_empty() && errors_only) {
            answer.insert(text, states);
        }
    }
    Ok(reply(&answer))
}

fn status(there: bool) -> Value {
    let storage = if there {
        json!({"writeStatus": "ACTIVE_STATE"})
    } else {
        json!({
            "writeStatus": "ERROR",
            "writeMessage": "the aspect is not stored: it was not written, or was deleted since",
        })
    };
    json!({"success": there, "primaryStorage": storage, "searchStorage": storage})
}
