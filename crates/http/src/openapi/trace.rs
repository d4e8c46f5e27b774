//! `POST /openapi/v1/trace/write/{traceId}`: what has become of the aspects of a write.

use std::collections::{BTreeMap, HashMap, HashSet};

use axum::response::Response;
use docent_catalog::traces::{TraceId, TracedWrite};
use docent_catalog::{AspectKey, Catalog};
use serde_json::{Value, json};

use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::error::ErrorResponse;
use crate::query::{Parameters, Path};
use crate::reply_budget::READ_CHUNK;
use crate::trace::trace_id;
use crate::wire::{parse, parse_aspect, parse_urn, reply};

const MAX_ASPECTS: usize = 10_000;

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
