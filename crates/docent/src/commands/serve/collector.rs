//! Sends traces to a collector, by OTLP over HTTP.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use bytes::Bytes;
use docent_catalog::traces;
use docent_client::HttpClient;
use docent_model::{Clock as _, SystemClock};
use http::header::HeaderMap;
use http::{Request, Response};
use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry_http::HttpError;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, Sampler, SdkTracerProvider};
use tokio::runtime::Handle;

use crate::settings::{OtlpSettings, read_headers};

const SERVICE: &str = "docent";
/// The variable of OpenTelemetry for another name.
const SERVICE_VARIABLE: &str = "OTEL_SERVICE_NAME";
/// For the spans that have not been sent yet, at shutdown.
const FINAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The connection to the collector. The library collects spans, up to a limit, and sends them in
/// batches from a thread of its own.
pub(super) struct Collector {
    provider: SdkTracerProvider,
}

impl Collector {
    /// Does not wait for the collector: the server starts without it.
    pub(super) fn start(settings: &OtlpSettings) -> Result<Self> {
        let base = settings.collector.as_str().trim_end_matches('/');
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(CollectorClient::new(settings.headers_file.clone()))
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{base}/v1/traces"))
            .build()
            .context("cannot send traces")?;
        let mut resource = Resource::builder()
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        if std::env::var_os(SERVICE_VARIABLE).is_none() {
            resource = resource.with_service_name(SERVICE);
        }
        let of_new_traces = Sampler::TraceIdRatioBased(settings.sample);
        let provider = SdkTracerProvider::builder()
            .with_id_generator(TimedIds::default())
            .with_sampler(Sampler::ParentBased(Box::new(of_new_traces)))
            .with_resource(resource.build())
            .with_batch_exporter(exporter)
            .build();
        Ok(Self { provider })
    }

    pub(super) fn provider(&self) -> &SdkTracerProvider {
        &self.provider
    }

    /// Sends what has not been sent, for a moment.
    pub(super) fn stop(&self) {
        let stopped =
            tokio::task::block_in_place(|| self.provider.shutdown_with_timeout(FINAL_TIMEOUT));
        if let Err(error) = stopped {
            tracing::debug!(%error, "the last traces were not sent: {error}");
        }
    }
}

/// Makes trace ids of the form that writes over REST have, which begin with the time: one id leads
/// to the spans of a write, and to what has become of it.
#[derive(Debug, Default)]
struct TimedIds {
    random: RandomIdGenerator,
    clock: SystemClock,
}

impl IdGenerator for TimedIds {
    fn new_trace_id(&self) -> TraceId {
        let random = self.random.new_trace_id();
        // The sampler decides by this half.
        let half = random.to_bytes().last_chunk().copied();
        let half = u64::from_be_bytes(half.unwrap_or_default());
        let id = traces::TraceId::new(self.clock.now_ms(), half);
        TraceId::from_hex(id.as_str()).unwrap_or(random)
    }

    fn new_span_id(&self) -> SpanId {
        self.random.new_span_id()
    }
}

/// Sends batches from the thread of the library. Logs when that begins to fail and when it works
/// again; what could not be sent is lost.
#[derive(Debug)]
struct CollectorClient {
    client: HttpClient,
    runtime: Handle,
    is_failing: AtomicBool,
    headers_file: Option<PathBuf>,
    /// As they were read last.
    headers: Mutex<HeaderMap>,
}

impl CollectorClient {
    fn new(headers_file: Option<PathBuf>) -> Self {
        Self {
            client: HttpClient::default(),
            runtime: Handle::current(),
            is_failing: AtomicBool::new(false),
            headers_file,
            headers: Mutex::default(),
        }
    }

    /// The headers in the file, read again for each batch. While it cannot be read, because it is
    /// being replaced, the former ones remain.
    fn headers(&self) -> HeaderMap {
        let mut headers = self.headers.lock().unwrap_or_else(PoisonError::into_inner);
        match self.headers_file.as_deref().map(read_headers) {
            Some(Ok(read)) => *headers = read,
            Some(Err(error)) => tracing::debug!("{error:#}"),
            None => {}
        }
        headers.clone()
    }

    fn report(&self, failure: Option<&str>) {
        let was_failing = self.is_failing.swap(failure.is_some(), Ordering::Relaxed);
        match failure {
            Some(reason) if !was_failing => tracing::warn!(
                "the collector of traces {reason}; spans are lost until it accepts them"
            ),
            None if was_failing => tracing::info!("the collector accepts traces again"),
            _ => {}
        }
    }
}

#[async_trait]
impl opentelemetry_http::HttpClient for CollectorClient {
    async fn send_bytes(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        request.headers_mut().extend(self.headers());
        let client = self.client.clone();
        let sent = self
            .runtime
            .spawn(async move { client.send(request).await });
        let sent = sent.await?;
        match &sent {
            Ok(response) if response.status().is_success() => self.report(None),
            Ok(response) => self.report(Some(&format!("returned {}", response.status()))),
            Err(error) => self.report(Some(&error.to_string())),
        }
        Ok(sent?)
    }
}
