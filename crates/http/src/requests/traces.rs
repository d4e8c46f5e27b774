//! Traces for OpenTelemetry: a span for each request, and one for each part of it that
//! [`docent_catalog::spent`] times.
//!
//! Spans of parts are made when the part has ended, so that a request which is not sampled costs
//! little. They are children of the request, also if one part was within another.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use axum::http::HeaderMap;
use docent_catalog::spent::{Observer, Spent};
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{
    Span as _, SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

use super::EndedRequest;
use super::log::{shortened, user};
use crate::request_record::SpanIds;

/// The spans of one request, besides its own. The others are counted.
const MAX_PARTS: u64 = 200;
const INDEX_FEED: &str = "index feed";

/// Makes the spans of the server.
#[derive(Debug, Clone)]
pub struct Traces {
    tracer: SdkTracer,
    /// The name of the database system in spans.
    database: &'static str,
}

impl Traces {
    pub fn new(provider: &SdkTracerProvider, database: &'static str) -> Self {
        Self {
            tracer: provider.tracer("docent"),
            database,
        }
    }

    /// For what updates the search index in the background: each update is a trace of its own.
    pub fn of_index(&self) -> Spent {
        Spent::observed_by(IndexFeeds(self.tracer.clone()))
    }

    /// Begins the span of a request; `None` if its trace is not sampled.
    pub(super) fn begin(&self, method: &'static str, headers: &HeaderMap) -> Option<RequestTrace> {
        let caller = TraceContextPropagator::new()
            .extract_with_context(&Context::new(), &HeaderExtractor(headers));
        let builder = self
            .tracer
            .span_builder(method)
            .with_kind(SpanKind::Server)
            .with_attributes([KeyValue::new("http.request.method", method)]);
        let span = self.tracer.build_with_context(builder, &caller);
        if !span.is_recording() {
            return None;
        }
        Some(RequestTrace(Arc::new(Parts {
            traces: self.clone(),
            request: caller.with_span(span),
            count: AtomicU64::new(0),
        })))
    }
}

/// The trace of a request.
#[derive(Debug)]
pub(super) struct RequestTrace(Arc<Parts>);

impl RequestTrace {
    /// The ids of the request's span.
    pub(super) fn ids(&self) -> SpanIds {
        let span = self.0.request.span();
        let context = span.span_context();
        SpanIds {
            trace: context.trace_id().to_bytes(),
            span: context.span_id().to_bytes(),
        }
    }

    /// What makes the spans of the parts.
    pub(super) fn spent(&self) -> Spent {
        Spent::observed_by(PartObserver(Arc::clone(&self.0)))
    }

    pub(super) fn end(&self, request: &EndedRequest<'_>) {
        let span = self.0.request.span();
        span.update_name(format!("{} {}", request.method, request.route));
        span.set_attributes([
            KeyValue::new("http.route", request.route.to_owned()),
            KeyValue::new("http.response.status_code", i64::from(request.status)),
            KeyValue::new("http.response.body.size", number(request.reply_bytes)),
        ]);
        if let Some(operation) = request.operation {
            span.set_attribute(KeyValue::new("docent.operation", shortened(operation)));
        }
        if let Some(caller) = request.caller {
            span.set_attribute(KeyValue::new("user.id", shortened(user(caller))));
        }
        let parts = self.0.count.load(Ordering::Relaxed);
        if parts > MAX_PARTS {
            let omitted = number(parts - MAX_PARTS);
            span.set_attribute(KeyValue::new("docent.omitted_spans", omitted));
        }
        if request.status >= 500 {
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

#[derive(Debug)]
struct Parts {
    traces: Traces,
    /// With the span of the request, or its parent at the client.
    request: Context,
    count: AtomicU64,
}

#[derive(Debug)]
struct PartObserver(Arc<Parts>);

impl Observer for PartObserver {
    fn ended(&self, activity: &'static str, took: Duration) {
        let parts = &*self.0;
        if parts.count.fetch_add(1, Ordering::Relaxed) >= MAX_PARTS {
            return;
        }
        let is_of_database = ["read", "transaction", "statement"].contains(&activity);
        let (kind, attributes) = if is_of_database {
            let system = KeyValue::new("db.system.name", parts.traces.database);
            (SpanKind::Client, vec![system])
        } else {
            (SpanKind::Internal, Vec::new())
        };
        let tracer = &parts.traces.tracer;
        let builder = tracer
            .span_builder(activity)
            .with_kind(kind)
            .with_attributes(attributes);
        let end = now();
        let builder = builder.with_start_time(end - took);
        let mut span = tracer.build_with_context(builder, &parts.request);
        span.end_with_timestamp(end);
    }
}

#[derive(Debug)]
struct IndexFeeds(SdkTracer);

impl Observer for IndexFeeds {
    fn ended(&self, activity: &'static str, took: Duration) {
        if activity != INDEX_FEED {
            return;
        }
        let end = now();
        let builder = self.0.span_builder(INDEX_FEED).with_start_time(end - took);
        let mut span = self.0.build_with_context(builder, &Context::new());
        span.end_with_timestamp(end);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "spans have nanoseconds, like those that the library times itself"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
