//! The log of the process, and the request log.

use std::io::IsTerminal as _;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use docent_http::{RequestLog, RequestLogDetail, RequestLogFormat};
use tracing::Level;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, fmt, reload};

use crate::settings::{LogFormat, Settings};

/// The filter of the log, which can be changed while the server runs.
pub(super) struct Log {
    filter: reload::Handle<EnvFilter, Registry>,
}

impl Log {
    pub(super) fn start(settings: &Settings) -> Result<Self> {
        let (filter, handle) = reload::Layer::new(settings.log_filter()?);
        let lines = fmt::layer()
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(std::io::stderr);
        let lines = match settings.log_format {
            LogFormat::Text => lines.boxed(),
            LogFormat::Json => lines.json().boxed(),
        };
        tracing_subscriber::registry()
            .with(filter)
            .with(lines)
            .init();
        Ok(Self { filter: handle })
    }

    pub(super) fn set_filter(&self, settings: &Settings) -> Result<()> {
        let changed = self.filter.reload(settings.log_filter()?);
        changed.context("cannot change the log filter")
    }
}

/// Which requests the log filter shows.
pub(super) fn request_detail() -> RequestLogDetail {
    if tracing::enabled!(target: RequestLog::TARGET, Level::DEBUG) {
        RequestLogDetail::All
    } else if tracing::enabled!(target: RequestLog::TARGET, Level::INFO) {
        RequestLogDetail::Api
    } else {
        RequestLogDetail::None
    }
}

pub(super) fn start_request_log(settings: &Settings) -> Result<Arc<RequestLog>> {
    let format = match settings.log_format {
        LogFormat::Text => RequestLogFormat::Text,
        LogFormat::Json => RequestLogFormat::Json,
    };
    let log = RequestLog::start(format, request_detail(), std::io::stderr());
    Ok(Arc::new(
        log.context("cannot start the thread of the request log")?,
    ))
}
