//! `GET /metrics`: what the server measures, in Prometheus' text format.
//!
//! Each crate counts with plain atomic numbers where things happen, and knows nothing of this
//! format. Here they get their names. `docs/MONITORING.md` has the same names and texts; a test
//! compares them. Labels have values that the program fixes, such as routes and fields of the
//! schema: never a text of a client, a name of a user, or anything of the catalog.
//!
//! To add a metric: a counter where it happens, a member of what its crate reports
//! (`measurements()`), a line here and a row in the document.

mod backups;
mod process;
mod requests;
mod text;

use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use docent_catalog::Caller;
use docent_catalog::measurements::{
    CatalogMeasurements, PoolMeasurements, SearchMeasurements, WebhookMeasurements,
    WriterMeasurements,
};
use docent_catalog::server_status::{STATUS_PRIVILEGES, ServerStatus};
use docent_graphql::EngineMeasurements;
use docent_model::measure::Counter;

use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::feed::FeedStreams;
use crate::memory::Usage;
use crate::server::ConnectionMeasurements;
use crate::{AppState, GRAPHQL_PATH};
pub use backups::BackupMeasurements;
use process::ProcessMeasurements;
pub(crate) use requests::RequestCounters;
use text::{MetricsText, Unit};

/// How long the store may take to report its state. The other metrics are shown without it.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

/// What this crate counts.
#[derive(Debug, Default)]
pub(crate) struct HttpCounters {
    pub(crate) requests: RequestCounters,
    /// Responses with the status 401.
    pub(crate) unauthenticated: Counter,
}

/// For administrators.
pub(crate) async fn metrics(
    Authenticated { caller, state }: Authenticated,
) -> Result<Response, ErrorResponse> {
    let catalog = state.catalog();
    catalog.authorize(&caller, STATUS_PRIVILEGES, None).await?;
    Ok(answer(&state).await)
}

/// `/metrics` for everyone who can reach the address that it is served at, and nothing else.
pub fn metrics_service(state: AppState) -> Router {
    let open = async |State(state): State<AppState>, request: Request| {
        let is_read = [Method::GET, Method::HEAD].contains(request.method());
        if is_read && request.uri().path() == "/metrics" {
            answer(&state).await
        } else {
            StatusCode::NOT_FOUND.into_response()
        }
    };
    Router::new().fallback(open).with_state(state)
}

async fn answer(state: &AppState) -> Response {
    let system = Caller::system();
    let status = state.catalog().server_status(&system);
    let status = match tokio::time::timeout(STATUS_TIMEOUT, status).await {
        Ok(Ok(status)) => Some(status),
        Ok(Err(error)) => {
            tracing::debug!(%error, "the metrics are without the state of the store");
            None
        }
        Err(_) => None,
    };
    let text = render(state, status.as_ref());
    ([(CONTENT_TYPE, text::CONTENT_TYPE)], text).into_response()
}

fn render(state: &AppState, status: Option<&ServerStatus>) -> String {
    let mut text = MetricsText::default();
    let catalog = state.catalog().measurements();
    build(&mut text, state.catalog().engine());
    requests(&mut text, state);
    if let Some(connections) = &state.in_effect().settings.connections {
        connections_and_bytes(&mut text, &connections.measurements());
    }
    memory(&mut text, state, &catalog);
    graphql(&mut text, &state.engine().measurements());
    access(&mut text, state, &catalog);
    streams(&mut text, state.streams());
    webhooks(&mut text, &catalog.webhooks);
    store(&mut text, status);
    if let Some(measured) = &state.in_effect().settings.backups {
        backups::render(&mut text, measured);
    }
    if let Some(writer) = &catalog.store.writer {
        sqlite(&mut text, writer);
    }
    if let Some(pool) = &catalog.store.pool {
        postgres(&mut text, pool);
    }
    if let Some(search) = &catalog.search {
        index(&mut text, search, status);
    }
    process(&mut text, &catalog);
    text.into_text()
}

fn build(text: &mut MetricsText, engine: &'static str) {
    let name = "docent_build_info";
    text.family(name, "gauge", "1, with the version and the storage engine.");
    let labels = [("version", env!("CARGO_PKG_VERSION")), ("engine", engine)];
    text.sample(name, &labels, 1);
}

fn requests(text: &mut MetricsText, state: &AppState) {
    let counters = &state.counters().requests;
    let name = "docent_http_request_duration_seconds";
    text.family(
        name,
        "histogram",
        "Requests by route, method and status, by the time until their response was ready.",
    );
    for route in counters.read(GRAPHQL_PATH) {
        let labels = [
            ("route", &*route.route),
            ("method", route.method),
            ("status", route.status),
        ];
        text.distribution(name, &labels, &route.micros, Unit::Seconds);
    }
    text.gauge(
        "docent_http_requests_in_progress",
        "Requests without a response yet.",
        counters.in_progress.get(),
    );
}

fn connections_and_bytes(text: &mut MetricsText, connections: &ConnectionMeasurements) {
    text.gauge(
        "docent_http_connections",
        "Open connections.",
        connections.open,
    );
    text.gauge(
        "docent_http_connections_limit",
        "The most connections that may be open.",
        connections.max_open,
    );
    text.counter(
        "docent_http_connections_accepted_total",
        "Connections that were accepted.",
        connections.accepted,
    );
    text.counter(
        "docent_http_connections_rejected_total",
        "Connections over the limit of the server or of their address.",
        connections.rejected,
    );
    text.counter(
        "docent_http_received_bytes_total",
        "Bytes of requests with their headers, without TLS.",
        connections.received_bytes,
    );
    text.counter(
        "docent_http_sent_bytes_total",
        "Bytes of responses with their headers, without TLS.",
        connections.sent_bytes,
    );
}

fn memory(text: &mut MetricsText, state: &AppState, catalog: &CatalogMeasurements) {
    let body = state.body_budget();
    let loaded = Usage {
        used: catalog.loaded_bytes,
        limit: catalog.max_loaded_bytes,
    };
    let budgets = [
        ("bodies", body.received_usage()),
        ("parsed", body.parsed_usage()),
        ("loaded", loaded),
        ("replies", state.reply_memory().usage()),
    ];
    let used = "docent_memory_used_bytes";
    text.family(
        used,
        "gauge",
        "Memory that requests have reserved, by its use.",
    );
    for (budget, usage) in budgets {
        text.sample(used, &[("use", budget)], usage.used);
    }
    let limit = "docent_memory_limit_bytes";
    text.family(
        limit,
        "gauge",
        "The most that requests may reserve, by its use.",
    );
    for (budget, usage) in budgets {
        text.sample(limit, &[("use", budget)], usage.limit);
    }
}

fn graphql(text: &mut MetricsText, engine: &EngineMeasurements) {
    let name = "docent_graphql_operations_total";
    text.family(
        name,
        "counter",
        "GraphQL operations by kind, first field and outcome: ok, error in the reply, or rejected before execution.",
    );
    for it in &engine.operations {
        for outcome in &it.outcomes {
            let labels = [
                ("kind", it.kind),
                ("field", &*it.field),
                ("outcome", outcome.outcome),
            ];
            text.sample(name, &labels, outcome.count);
        }
    }
    let name = "docent_graphql_request_duration_seconds";
    text.family(
        name,
        "histogram",
        "GraphQL requests by kind and first field of their operation, by the time until their response was ready.",
    );
    for it in &engine.operations {
        if let Some(micros) = &it.micros {
            let labels = [("kind", it.kind), ("field", &*it.field)];
            text.distribution(name, &labels, micros, Unit::Seconds);
        }
    }
    let cache = &engine.plan_cache;
    text.counter(
        "docent_graphql_plan_cache_hits_total",
        "Documents that were in the plan cache.",
        cache.hits,
    );
    text.counter(
        "docent_graphql_plan_cache_misses_total",
        "Documents that had to be parsed.",
        cache.misses,
    );
    text.gauge(
        "docent_graphql_plan_cache_documents",
        "Documents in the plan cache.",
        cache.documents,
    );
    text.gauge(
        "docent_graphql_plan_cache_bytes",
        "The size of the plan cache.",
        cache.bytes,
    );
    text.gauge(
        "docent_graphql_plan_cache_limit_bytes",
        "The most that the plan cache may take.",
        cache.max_bytes,
    );
}

fn access(text: &mut MetricsText, state: &AppState, catalog: &CatalogMeasurements) {
    let name = "docent_sign_ins_total";
    text.family(
        name,
        "counter",
        "Attempts to sign in by outcome: ok, rejected, or delayed after too many.",
    );
    let counts = catalog.sign_ins;
    for (outcome, count) in [
        ("ok", counts.succeeded),
        ("rejected", counts.rejected),
        ("delayed", counts.delayed),
    ] {
        text.sample(name, &[("outcome", outcome)], count);
    }
    text.counter(
        "docent_unauthenticated_requests_total",
        "Responses with the status 401: no valid token or session, or a wrong password.",
        state.counters().unauthenticated.get(),
    );
    text.counter(
        "docent_denials_total",
        "Requests that the audit log counts as denied, with sign-ins that failed.",
        catalog.denials,
    );
}

fn streams(text: &mut MetricsText, streams: &FeedStreams) {
    text.gauge(
        "docent_event_streams",
        "Open streams of events.",
        streams.count(),
    );
    text.gauge(
        "docent_event_streams_limit",
        "The most streams of events that may be open.",
        FeedStreams::limit(),
    );
    text.counter(
        "docent_event_streams_sent_total",
        "Events that were sent in streams.",
        streams.sent(),
    );
}

fn webhooks(text: &mut MetricsText, webhooks: &WebhookMeasurements) {
    let name = "docent_webhook_events_total";
    text.family(
        name,
        "counter",
        "Attempts to send an event of a webhook by outcome: accepted or failed; and events that became dead letters.",
    );
    for (outcome, count) in [
        ("accepted", webhooks.accepted),
        ("failed", webhooks.failed),
        ("dead", webhooks.dead_letters),
    ] {
        text.sample(name, &[("outcome", outcome)], count);
    }
    text.gauge(
        "docent_webhook_pending_changes",
        "Changes that webhooks have read and not delivered yet, of those that this server delivers.",
        webhooks.pending,
    );
    text.histogram(
        "docent_webhook_attempt_duration_seconds",
        "Attempts to send an event of a webhook by how long they took.",
        &webhooks.attempt_micros,
        Unit::Seconds,
    );
}

fn store(text: &mut MetricsText, status: Option<&ServerStatus>) {
    text.gauge(
        "docent_store_up",
        "1 if the store can be read, 0 otherwise.",
        u8::from(status.is_some()),
    );
    let Some(status) = status else { return };
    text.gauge(
        "docent_store_writable",
        "1 if the store accepts writes, 0 otherwise.",
        u8::from(status.is_writable),
    );
    text.gauge(
        "docent_store_bytes",
        "The size of the database on the disk.",
        status.store_bytes,
    );
}

fn sqlite(text: &mut MetricsText, writer: &WriterMeasurements) {
    text.gauge(
        "docent_sqlite_writer_queue",
        "Transactions that wait for the writer or run.",
        writer.queued,
    );
    text.gauge(
        "docent_sqlite_writer_queue_limit",
        "The most transactions that may wait or run; others get the status 503.",
        writer.max_queued,
    );
    text.counter(
        "docent_sqlite_transactions_total",
        "Transactions that ran, including failed ones.",
        writer.transactions,
    );
    text.histogram(
        "docent_sqlite_commit_transactions",
        "Commits by the number of transactions that shared them.",
        &writer.commit_transactions,
        Unit::Count,
    );
    text.histogram(
        "docent_sqlite_commit_duration_seconds",
        "Commits by the time until they were durable on the disk.",
        &writer.commit_micros,
        Unit::Seconds,
    );
}

fn postgres(text: &mut MetricsText, pool: &PoolMeasurements) {
    let name = "docent_postgres_connections";
    text.family(
        name,
        "gauge",
        "Connections to the database by state: used or idle.",
    );
    text.sample(name, &[("state", "used")], pool.used_connections);
    text.sample(name, &[("state", "idle")], pool.idle_connections);
    text.gauge(
        "docent_postgres_connections_limit",
        "The most connections to the database.",
        pool.max_connections,
    );
    text.gauge(
        "docent_postgres_waiting",
        "Reads and writes that wait for a connection to the database.",
        pool.waiting,
    );
    text.histogram(
        "docent_postgres_wait_duration_seconds",
        "Reads and writes by how long they waited for a connection to the database.",
        &pool.wait_micros,
        Unit::Seconds,
    );
    text.counter(
        "docent_postgres_transactions_total",
        "Transactions that ran, including failed ones.",
        pool.transactions,
    );
    text.counter(
        "docent_postgres_transaction_retries_total",
        "Transactions that were repeated after a conflict with another one.",
        pool.retries,
    );
}

fn index(text: &mut MetricsText, search: &SearchMeasurements, status: Option<&ServerStatus>) {
    if let Some(index) = status.and_then(|status| status.index) {
        text.gauge(
            "docent_index_pending_changes",
            "Changes that are not in the search index yet; the next search adds them.",
            index.pending_changes,
        );
        text.gauge(
            "docent_index_building",
            "1 while the search index is built from the store, 0 otherwise.",
            u8::from(index.built.is_some()),
        );
        text.gauge(
            "docent_index_bytes",
            "The size of the search index on the disk.",
            index.size_bytes.unwrap_or_default(),
        );
    }
    text.counter(
        "docent_index_commits_total",
        "Commits of changes to the search index.",
        search.commits,
    );
    text.counter(
        "docent_index_entities_total",
        "Entities that were written to the search index, with each change again.",
        search.entities,
    );
    text.histogram(
        "docent_search_duration_seconds",
        "Searches by how long they took, with the changes that they indexed first.",
        &search.search_micros,
        Unit::Seconds,
    );
    text.counter(
        "docent_search_failures_total",
        "Searches that failed, also because of a mistake in the request.",
        search.failed_searches,
    );
}

fn process(text: &mut MetricsText, catalog: &CatalogMeasurements) {
    let process = ProcessMeasurements::read();
    if let Some(seconds) = process.cpu_seconds {
        text.counter(
            "process_cpu_seconds_total",
            "CPU time of the process.",
            seconds,
        );
    }
    let gauges = [
        (
            "process_resident_memory_bytes",
            "Memory of the process in RAM.",
            process.resident_bytes,
        ),
        (
            "process_virtual_memory_bytes",
            "Address space of the process.",
            process.virtual_bytes,
        ),
        (
            "process_threads",
            "Threads of the process.",
            process.threads,
        ),
        (
            "process_open_fds",
            "Open files and connections of the process.",
            process.open_files,
        ),
        (
            "process_max_fds",
            "The most that may be open.",
            process.max_files,
        ),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            text.gauge(name, help, value);
        }
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "times in milliseconds fit into 53 bits"
    )]
    let started = catalog.started_at_ms as f64 / 1000.0;
    text.gauge(
        "process_start_time_seconds",
        "When the server started, in seconds since 1970.",
        started,
    );
}
