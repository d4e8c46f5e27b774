//! Trace ids of writes: `traceparent` headers on their responses, and `POST
//! /openapi/v1/trace/write/{traceId}` for what has become of them.
//!
//! Write routes are wrapped in [`traced`]. [`docent_catalog::traces`] explains how traces are
//! stored.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Arc, OnceLock};

use axum::extract::{Request, State};
use axum::http::{HeaderValue, header::HeaderName};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::MethodRouter;
use docent_catalog::traces::{TraceId, TracedWrite};
use docent_catalog::{AspectKey, Caller, Catalog};
use serde_json::{Value, json};

use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::error::ErrorResponse;
use crate::query::{Parameters, Path};
use crate::reply_budget::READ_CHUNK;
use crate::wire::{parse, parse_aspect, parse_urn, reply};

const HEADER: HeaderName = HeaderName::from_static("traceparent");
/// Names the proposal that a write became, because its caller may only propose changes.
const PROPOSAL_HEADER: HeaderName = HeaderName::from_static("x-docent-proposal");
const MAX_ASPECTS: usize = 10_000;

/// The trace of a request, and its caller once it is authenticated.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    pub(crate) id: Arc<str>,
    pub(crate) caller: Arc<OnceLock<Caller>>,
}

/// Gives the requests of these methods a trace id, and their successful responses a `traceparent`
/// header.
pub(crate) fn traced(state: &AppState, methods: MethodRouter<AppState>) -> MethodRouter<AppState> {
    methods.layer(from_fn_with_state(state.clone(), trace))
}

async fn trace(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let random = || RandomState::new().build_hasher().finish();
    let given = request.headers().get(HEADER);
    let id = given
        .and_then(|value| trace_id(value.to_str().ok()?))
        .unwrap_or_else(|| TraceId::new(state.catalog().now_ms(), random()));
    let trace = Trace {
        id: id.as_str().into(),
        caller: Arc::default(),
    };
    request.extensions_mut().insert(trace.clone());
    let mut response = next.run(request).await;
    if response.status().is_success() {
        let proposals = trace.caller.get().map(Caller::proposals);
        for urn in proposals.into_iter().flatten() {
            if let Ok(urn) = HeaderValue::from_str(urn.as_str()) {
                response.headers_mut().append(PROPOSAL_HEADER, urn);
            }
        }
        let value = format!("00-{}-{:016x}-01", trace.id, random());
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HEADER, value);
        }
    }
    response
}

/// The id in a `traceparent` header.
fn trace_id(header: &str) -> Option<TraceId> {
    TraceId::parse(header.split('-').nth(1)?)
}

/// What has become of each aspect in the request.
pub(crate) async fn write_status(
    Authenticated { state, .. }: Authenticated,
    Path(text): Path,
    parameters: Parameters,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let requested: BTreeMap<String, Vec<String>> = parse(&bytes).await?;
    let trace = trace_id(&text).or_else(|| TraceId::parse(&text));
    let trace = trace.ok_or_else(|| {
        ErrorResponse::bad_request(format!(
            "'{text}' is not a trace id: send the 32 hexadecimal digits after the first '-' of a traceparent header"
        ))
    })?;
    if requested.values().map(Vec::len).sum::<usize>() > MAX_ASPECTS {
        return Err(ErrorResponse::bad_request(format!(
            "at most {MAX_ASPECTS} aspects are allowed in one request"
        )));
    }
    let errors_only = parameters.optional_flag("onlyIncludeErrors")?;
    let errors_only = errors_only.unwrap_or(true);
    let mut keys = Vec::new();
    for (text, names) in &requested {
        let urn = parse_urn(text)?;
        for name in names {
            keys.push(AspectKey::new(&urn, parse_aspect(name)?));
        }
    }
    let found = traced_writes(state.catalog(), &trace, &keys).await?;
    let mut found = keys.iter().filter_map(|key| found.get(key).copied());
    let mut statuses: BTreeMap<&str, BTreeMap<&str, Value>> = BTreeMap::new();
    for (text, names) in &requested {
        let mut of_entity = BTreeMap::new();
        for (name, write) in names.iter().zip(found.by_ref()) {
            if write == TracedWrite::Missing || !errors_only {
                of_entity.insert(name.as_str(), status(write));
            }
        }
        if !(of_entity.is_empty() && errors_only) {
            statuses.insert(text, of_entity);
        }
    }
    Ok(reply(&statuses))
}

/// What has become of each aspect. A request may repeat them, and they can be large.
async fn traced_writes<'k>(
    catalog: &Catalog,
    trace: &TraceId,
    keys: &'k [AspectKey],
) -> Result<HashMap<&'k AspectKey, TracedWrite>, ErrorResponse> {
    let distinct: HashSet<&AspectKey> = keys.iter().collect();
    let distinct: Vec<&AspectKey> = distinct.into_iter().collect();
    let mut writes = HashMap::with_capacity(distinct.len());
    for chunk in distinct.chunks(READ_CHUNK) {
        let read: Vec<AspectKey> = chunk.iter().copied().cloned().collect();
        let found = catalog.traced_writes(trace, &read).await?;
        writes.extend(chunk.iter().copied().zip(found));
    }
    Ok(writes)
}

/// The status of a write in DataHub's form: its store, and its search index.
fn status(write: TracedWrite) -> Value {
    let (store, search) = match write {
        TracedWrite::Latest => ("ACTIVE_STATE", "ACTIVE_STATE"),
        TracedWrite::Unchanged => ("NO_OP", "NO_OP"),
        TracedWrite::Replaced => ("HISTORIC_STATE", "HISTORIC_STATE"),
        TracedWrite::Untraced => ("NO_OP", "TRACE_NOT_IMPLEMENTED"),
        TracedWrite::Unknown => ("UNKNOWN", "UNKNOWN"),
        TracedWrite::Missing => ("ERROR", "ERROR"),
    };
    let (mut store, mut search) = (
        json!({"writeStatus": store}),
        json!({"writeStatus": search}),
    );
    let is_stored = write != TracedWrite::Missing;
    if !is_stored {
        store["writeMessage"] =
            json!("nothing of this trace is stored: it was never written, or has been deleted");
        search["writeMessage"] = json!("Primary storage write failed.");
    }
    json!({"success": is_stored, "primaryStorage": store, "searchStorage": search})
}
