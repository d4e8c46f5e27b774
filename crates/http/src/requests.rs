//! What the server knows about a request when it ends: for the [log](RequestLog), for metrics
//! and for [traces](Traces).
//!
//! [`RequestInProgress`] surrounds the request. Handlers and extractors, which know more than it
//! does, add to its [`RequestRecord`].

mod log;
mod route;
mod slow;
mod traces;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::HttpBody as _;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use docent_catalog::spent::Spent;
use docent_model::Urn;

use crate::page::{first_segment, is_api_path, without_base};
use crate::rate_limits::is_health;
use crate::request_record::RequestRecord;
use crate::{AppState, GRAPHQL_PATH, SettingsInEffect, graphql};

pub use log::{RequestLog, RequestLogDetail, RequestLogFormat};
pub(crate) use route::RouteRecorder;
pub(crate) use slow::SlowRequests;
use traces::RequestTrace;
pub use traces::Traces;

/// As nginx reports a client that has closed its connection before it got a response.
const CLIENT_CLOSED_REQUEST: u16 = 499;
/// The route of a request that matches none.
const NO_ROUTE: &str = "-";

/// How important a request is to readers of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    GraphQl,
    Api,
    /// Health checks and metrics: many, and all alike.
    Probe,
    /// Files and documents of the web page.
    Page,
}

impl Kind {
    fn of(request: &Request) -> Self {
        if graphql::is_request(request) {
            return Self::GraphQl;
        }
        let path = request.uri().path();
        let local = without_base(path);
        if is_health(local) || ["/admin", "/metrics"].contains(&local) {
            Self::Probe
        } else if first_segment(path) == "assets" || !is_api_path(path) {
            Self::Page
        } else {
            Self::Api
        }
    }

    /// Probes and files would hide the traces of the API.
    fn is_traced(self) -> bool {
        matches!(self, Self::GraphQl | Self::Api)
    }

    fn is_quiet(self, status: u16) -> bool {
        match self {
            Self::GraphQl | Self::Api => false,
            // A probe that fails says so every few seconds, and what it says is logged elsewhere.
            Self::Probe => true,
            Self::Page => status < 400,
        }
    }
}

/// A request that has ended.
#[derive(Debug, Clone, Copy)]
struct EndedRequest<'r> {
    method: &'static str,
    route: &'r str,
    operation: Option<&'r str>,
    status: u16,
    took: Duration,
    caller: Option<&'r Urn>,
    reply_bytes: u64,
    is_quiet: bool,
}

/// A request from its arrival to its response.
#[derive(Debug)]
pub(crate) struct RequestInProgress<'s> {
    state: &'s AppState,
    in_effect: &'s SettingsInEffect,
    method: &'static str,
    kind: Kind,
    started: Instant,
    record: Arc<RequestRecord>,
    /// `None` if slow requests are not logged and this one is not traced.
    spent: Option<Arc<Spent>>,
    /// `None` if the request is not traced.
    trace: Option<RequestTrace>,
    has_ended: bool,
}

impl<'s> RequestInProgress<'s> {
    pub(crate) fn begin(
        state: &'s AppState,
        in_effect: &'s SettingsInEffect,
        request: &Request,
    ) -> Self {
        state.counters().requests.in_progress.increment();
        let (method, kind) = (method_name(request.method()), Kind::of(request));
        let traces = in_effect.settings.traces.as_ref();
        let trace = traces
            .filter(|_| kind.is_traced())
            .and_then(|traces| traces.begin(method, request.headers()));
        let spent = match &trace {
            Some(trace) => Some(trace.spent()),
            None => in_effect.slow_requests.as_ref().map(|_| Spent::default()),
        };
        let record = RequestRecord::default();
        if let Some(trace) = &trace {
            record.set_span(trace.ids());
        }
        Self {
            state,
            in_effect,
            method,
            kind,
            started: Instant::now(),
            record: Arc::new(record),
            spent: spent.map(Arc::new),
            trace,
            has_ended: false,
        }
    }

    /// What the request spends, to be measured while it is answered.
    pub(crate) fn spent(&self) -> Option<Arc<Spent>> {
        self.spent.clone()
    }

    pub(crate) fn record(&self) -> Arc<RequestRecord> {
        Arc::clone(&self.record)
    }

    pub(crate) fn end(mut self, response: &Response) {
        let bytes = response.body().size_hint().lower();
        self.report(response.status().as_u16(), bytes);
    }

    fn report(&mut self, status: u16, reply_bytes: u64) {
        self.has_ended = true;
        let notes = self.record.notes();
        let route = match notes.matched_route() {
            Some(route) => without_base(route),
            None if self.kind == Kind::GraphQl => GRAPHQL_PATH,
            None => NO_ROUTE,
        };
        let ended = EndedRequest {
            method: self.method,
            route,
            operation: notes.operation(),
            status,
            took: self.started.elapsed(),
            caller: notes.caller.as_ref(),
            reply_bytes,
            is_quiet: self.kind.is_quiet(status),
        };
        if status == StatusCode::UNAUTHORIZED {
            self.state.counters().unauthenticated.increment();
        }
        if let Some(field) = notes.root_field {
            self.state.engine().observe(field, ended.took);
        }
        let counters = &self.state.counters().requests;
        if self.kind == Kind::GraphQl {
            counters.count_graphql(status, ended.took);
        } else {
            counters.count(route, self.method, status, ended.took);
        }
        if let Some(trace) = &self.trace {
            trace.end(&ended);
        }
        if let Some(log) = &self.in_effect.settings.request_log {
            log.write(&ended, self.state.catalog());
        }
        if let (Some(slow), Some(spent)) = (&self.in_effect.slow_requests, &self.spent) {
            slow.log(&ended, spent);
        }
    }
}

impl Drop for RequestInProgress<'_> {
    /// The client has closed its connection.
    fn drop(&mut self) {
        if !self.has_ended {
            self.report(CLIENT_CLOSED_REQUEST, 0);
        }
        self.state.counters().requests.in_progress.decrement();
    }
}

/// A client may send any word as a method.
fn method_name(method: &Method) -> &'static str {
    const NAMES: [&str; 7] = ["POST", "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let known = NAMES.into_iter().find(|name| method == name);
    known.unwrap_or("OTHER")
}
