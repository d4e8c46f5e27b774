//! Trace ids of writes: `traceparent` headers on their responses.
//!
//! A write that is traced for OpenTelemetry has the ids of its span, so that the header leads to
//! it. Its trace id is of the same form: see `serve/collector.rs` of the binary.
//!
//! Write routes are wrapped in [`traced`]. [`docent_catalog::traces`] explains how traces are
//! stored; [`crate::openapi::trace`] tells what has become of them.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Arc, OnceLock};

use axum::extract::{Request, State};
use axum::http::{HeaderValue, header::HeaderName};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::MethodRouter;
use docent_catalog::Caller;
use docent_catalog::traces::TraceId;
use docent_model::hex;

use crate::AppState;
use crate::client::Client;

const HEADER: HeaderName = HeaderName::from_static("traceparent");
/// Names the proposal that a write became, because its caller may only propose changes.
const PROPOSAL_HEADER: HeaderName = HeaderName::from_static("x-docent-proposal");

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
    let client = request.extensions().get::<Client>();
    let span = client.and_then(|client| client.record().notes().span);
    let given = request.headers().get(HEADER);
    let id = match &span {
        Some(ids) => TraceId::parse(&hex(&ids.trace)),
        None => given.and_then(|value| trace_id(value.to_str().ok()?)),
    };
    let id = id.unwrap_or_else(|| TraceId::new(state.catalog().now_ms(), random()));
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
        let span_id = span.map_or_else(|| format!("{:016x}", random()), |ids| hex(&ids.span));
        // Whoever continues a trace that this server does not record should not expect it to.
        let is_dropped = span.is_none() && state.in_effect().settings.traces.is_some();
        let flags = if is_dropped { "00" } else { "01" };
        let value = format!("00-{}-{span_id}-{flags}", trace.id);
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HEADER, value);
        }
    }
    response
}

/// The id in a `traceparent` header.
pub(crate) fn trace_id(header: &str) -> Option<TraceId> {
    TraceId::parse(header.split('-').nth(1)?)
}
