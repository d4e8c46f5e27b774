//! Traces of a running server, received as OpenTelemetry's collectors receive them.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use docent_e2e::{Options, Server, on_postgres, temporary_directory};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use reqwest::Method;
use serde_json::json;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CLIENT_SPAN: &str = "b7ad6b7169203331";
const TIMEOUT: Duration = Duration::from_mins(1);
const SEARCH: &str = "query find { searchAcrossEntities(input: {query: \"refund\"}) { total } }";

/// A collector that answers every request with this status.
struct Collector {
    address: String,
    requests: Receiver<ExportTraceServiceRequest>,
    spans: Vec<Span>,
    /// The header of the last request.
    authorization: Arc<Mutex<String>>,
}

impl Collector {
    fn start(status: &'static str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}", listener.local_addr()?);
        let (sender, requests) = channel();
        let authorization = Arc::new(Mutex::new(String::new()));
        let received_header = Arc::clone(&authorization);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let received = stream
                    .map_err(Into::into)
                    .and_then(|stream| receive(&stream, status, &sender, &received_header));
                if received.is_err() {
                    // The test has ended.
                    return;
                }
            }
        });
        Ok(Self {
            address,
            requests,
            spans: Vec::new(),
            authorization,
        })
    }

    /// Waits for a span. Each is sent once.
    fn span(&mut self, is_wanted: impl Fn(&Span) -> bool) -> anyhow::Result<Span> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(span) = self.spans.iter().find(|span| is_wanted(span)) {
                return Ok(span.clone());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let request = self.requests.recv_timeout(left);
            let request = request.with_context(|| format!("only {:?}", self.spans))?;
            let of_resource = request.resource_spans.into_iter();
            self.spans.extend(
                of_resource.flat_map(|it| it.scope_spans.into_iter().flat_map(|it| it.spans)),
            );
        }
    }

    fn child(&mut self, parent: &Span, name: &str) -> anyhow::Result<Span> {
        self.span(|span| span.name == name && span.parent_span_id == parent.span_id)
    }
}

fn receive(
    stream: &TcpStream,
    status: &str,
    requests: &Sender<ExportTraceServiceRequest>,
    authorization: &Mutex<String>,
) -> anyhow::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut is_path_right = false;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        is_path_right |= line.starts_with("POST /v1/traces ");
        let line = line.to_ascii_lowercase();
        if let Some(text) = line.strip_prefix("authorization:") {
            let mut authorization = authorization.lock().unwrap_or_else(PoisonError::into_inner);
            text.trim().clone_into(&mut authorization);
        }
        if let Some(text) = line.strip_prefix("content-length:") {
            length = text.trim().parse()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    ensure!(is_path_right, "another path");
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")?;
    requests.send(ExportTraceServiceRequest::decode(body.as_slice())?)?;
    Ok(())
}

fn start(collector: &Collector, arguments: &[&str]) -> anyhow::Result<Server> {
    let options = Options::default()
        .demo()
        .argument("--otlp")
        .argument(&collector.address)
        .variable("OTEL_BSP_SCHEDULE_DELAY", "50");
    let options = arguments.iter().fold(options, Options::argument);
    Server::start(options)
}

fn attribute<'s>(span: &'s Span, name: &str) -> Option<&'s Value> {
    let named = |it: &&KeyValue| it.key == name;
    span.attributes
        .iter()
        .find(named)?
        .value
        .as_ref()?
        .value
        .as_ref()
}

fn is_text(span: &Span, name: &str, text: &str) -> bool {
    matches!(attribute(span, name), Some(Value::StringValue(value)) if value == text)
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn find(server: &Server, traceparent: Option<&str>) -> anyhow::Result<()> {
    let mut request = server.request(Method::POST, "/api/graphql")?;
    if let Some(traceparent) = traceparent {
        request = request.header("traceparent", traceparent);
    }
    let reply = server.send(request.json(&json!({"query": SEARCH})))?;
    ensure!(reply.status == 200, "{reply:?}");
    Ok(())
}

#[test]
fn a_request_continues_the_trace_of_its_client_and_has_spans_of_its_parts() -> anyhow::Result<()> {
    let mut collector = Collector::start("200 OK")?;
    let mut server = start(&collector, &["--otlp-sample", "0"])?;
    // Not sampled.
    find(&server, None)?;
    let domain = json!({"query": "mutation { createDomain(input: {name: \"traced\"}) }"});
    let parent = format!("00-{TRACE}-{CLIENT_SPAN}-01");
    let write = server.request(Method::POST, "/api/graphql")?;
    let reply = server.send(write.header("traceparent", &parent).json(&domain))?;
    ensure!(reply.body.contains("urn:li:domain:"), "{reply:?}");
    let write = collector.span(|span| is_text(span, "docent.operation", "createDomain"))?;
    ensure!(hex(&write.trace_id) == TRACE && hex(&write.parent_span_id) == CLIENT_SPAN);
    ensure!(write.name == "POST /api/graphql", "{write:?}");
    ensure!(is_text(&write, "user.id", "datahub"), "{write:?}");
    ensure!(is_text(&write, "http.route", "/api/graphql"), "{write:?}");
    let status = attribute(&write, "http.response.status_code");
    ensure!(matches!(status, Some(Value::IntValue(200))), "{write:?}");
    let transaction = collector.child(&write, "transaction")?;
    let system = if on_postgres()? {
        "postgresql"
    } else {
        "sqlite"
    };
    ensure!(
        is_text(&transaction, "db.system.name", system),
        "{transaction:?}"
    );
    let statement = collector.child(&write, "statement")?;
    ensure!(
        is_text(&statement, "db.system.name", system),
        "{statement:?}"
    );
    ensure!(statement.start_time_unix_nano >= transaction.start_time_unix_nano);
    ensure!(statement.end_time_unix_nano <= transaction.end_time_unix_nano);
    ensure!(transaction.start_time_unix_nano >= write.start_time_unix_nano);
    ensure!(transaction.end_time_unix_nano <= write.end_time_unix_nano);

    find(&server, Some(&parent))?;
    let search = collector.span(|span| is_text(span, "docent.operation", "find"))?;
    collector.child(&search, "search")?;

    // A read of microseconds on SQLite.
    let exists = "query read { entityExists(urn: \"urn:li:tag:traced\") }";
    let read = server.request(Method::POST, "/api/graphql")?;
    let read = read.header("traceparent", &parent);
    let reply = server.send(read.json(&json!({"query": exists})))?;
    ensure!(reply.status == 200, "{reply:?}");
    let read = collector.span(|span| is_text(span, "docent.operation", "read"))?;
    collector.child(&read, "read")?;

    ensure!(server.stop()?.success());
    let of_clients = collector.spans.iter().filter(|span| span.kind == 2);
    ensure!(of_clients.count() == 3, "{:?}", collector.spans);
    Ok(())
}

/// Writes an aspect over REST and returns the `traceparent` header of the response.
fn write_tag(server: &Server) -> anyhow::Result<String> {
    let tag = json!([{"urn": "urn:li:tag:traced", "tagProperties": {"value": {"name": "traced"}}}]);
    let request = server.request(Method::POST, "/openapi/v3/entity/tag")?;
    let response = request.json(&tag).send()?;
    ensure!(response.status().is_success(), "{response:?}");
    let header = response.headers().get("traceparent").context("no header")?;
    Ok(header.to_str()?.to_owned())
}

#[test]
fn a_write_has_one_trace_id_and_headers_for_the_collector_are_in_a_file() -> anyhow::Result<()> {
    let mut collector = Collector::start("200 OK")?;
    let directory = temporary_directory()?;
    let file = directory.path().join("headers");
    fs::write(&file, "Authorization: Bearer first\n")?;
    let path = file.to_str().context("no text")?;
    let server = start(&collector, &["--otlp-headers-file", path])?;
    let header = write_tag(&server)?;
    let [_, trace, span, flags] = header.split('-').collect::<Vec<_>>()[..] else {
        bail!("{header}");
    };
    ensure!(flags == "01", "{header}");
    let root = collector.span(|it| hex(&it.trace_id) == trace && it.parent_span_id.is_empty())?;
    ensure!(hex(&root.span_id) == span, "{root:?}");
    ensure!(
        root.name.starts_with("POST /openapi/v3/entity/"),
        "{root:?}"
    );
    // What became of the write.
    let written = format!("/openapi/v1/trace/write/{trace}?onlyIncludeErrors=false");
    let reply = server.post(&written, &json!({"urn:li:tag:traced": ["tagProperties"]}))?;
    ensure!(
        reply.status == 200 && reply.body.contains("ACTIVE_STATE"),
        "{reply:?}"
    );
    let authorization = || {
        let header = collector.authorization.lock();
        header.unwrap_or_else(PoisonError::into_inner).clone()
    };
    ensure!(authorization() == "bearer first");
    fs::write(&file, "Authorization: Bearer second\n")?;
    let deadline = Instant::now() + TIMEOUT;
    while authorization() != "bearer second" {
        ensure!(Instant::now() < deadline, "{}", authorization());
        find(&server, None)?;
    }
    let server = start(&collector, &["--otlp-sample", "0"])?;
    let header = write_tag(&server)?;
    ensure!(header.ends_with("-00"), "{header}");
    Ok(())
}

#[test]
fn all_requests_but_probes_are_traced_unless_the_share_says_otherwise() -> anyhow::Result<()> {
    let mut collector = Collector::start("200 OK")?;
    let server = start(&collector, &[])?;
    ensure!(server.get("/health")?.status == 200);
    ensure!(server.get("/entities/nothing")?.status >= 400);
    find(&server, None)?;
    collector.span(|span| is_text(span, "docent.operation", "find"))?;
    let failed = collector.span(|span| span.name.starts_with("GET "))?;
    ensure!(failed.parent_span_id.is_empty(), "{failed:?}");
    // A search or the background takes over the new domain.
    let domain = "mutation { createDomain(input: {name: \"traced\"}) }";
    server.graphql(domain, json!({}))?;
    find(&server, None)?;
    collector.span(|span| span.name == "index feed")?;
    let is_probe = |span: &Span| span.name.contains("/health");
    ensure!(
        !collector.spans.iter().any(is_probe),
        "{:?}",
        collector.spans
    );
    Ok(())
}

#[test]
fn a_collector_that_fails_delays_nothing_and_is_logged_once() -> anyhow::Result<()> {
    let collector = Collector::start("400 Bad Request")?;
    let mut server = start(&collector, &[])?;
    for _ in 0..3 {
        find(&server, None)?;
        collector.requests.recv_timeout(TIMEOUT)?;
    }
    server.logged_line("the collector of traces returned 400")?;
    ensure!(server.stop()?.success());
    let printed = server.printed();
    ensure!(
        printed.matches("collector of traces").count() == 1,
        "{printed}"
    );
    Ok(())
}
