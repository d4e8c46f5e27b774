//! `docent serve`.

use std::io::IsTerminal as _;
use std::sync::Arc;

use anyhow::{Context, Result};
use docent_catalog::{Caller, Catalog, SYSTEM_ACTOR};
use docent_graphql::Engine;
use docent_http::{AppState, AuthMode};
use docent_model::{SystemClock, Urn};
use docent_search::Search;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::say;
use crate::demo;
use crate::engine::{self, Use};
use crate::settings::{LogFormat, ServeFlags, Settings, StoreFlags, Switch};

pub(super) fn serve(store: &StoreFlags, flags: ServeFlags) -> Result<()> {
    let settings = Settings::resolve(store, flags)?;
    start_log(&settings)?;
    // With one core there is nobody to share work with; passing it between threads would only cost.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = if cores == 1 {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    let runtime = builder
        .enable_all()
        .build()
        .context("the runtime could not be started")?;
    runtime.block_on(run(settings))
}

async fn run(settings: Settings) -> Result<()> {
    // The handlers stand before anything else: a signal during the start is a wish to stop, too.
    let stop = stop_signal()?;
    // Before the store, so that a wrong address leaves nothing behind.
    let listener = TcpListener::bind(settings.listen).await.with_context(|| {
        let address = settings.listen;
        format!("cannot listen on {address}; --listen chooses another address")
    })?;
    let address = listener.local_addr().context("no local address")?;
    let store = engine::open(&settings.store, Use::Server)?;
    let search = Arc::new(Search::in_directory(
        Arc::clone(&store),
        &settings.search_index,
    ));
    let catalog = Catalog::new(store, Arc::new(SystemClock)).with_search(Arc::clone(&search));
    let system = Caller::new(Urn::parse(SYSTEM_ACTOR)?);
    catalog.add_built_in_ownership_types(&system).await?;
    let engine = Engine::docent().context("the built-in GraphQL schema is not right")?;
    let token = if settings.demo {
        Some(demo::prepare(&catalog).await?)
    } else {
        None
    };
    // A large index takes a while to be built; everything else is answered meanwhile.
    let preparing = tokio::spawn(async move { search.build_if_missing().await });
    let auth = match settings.auth {
        Switch::On => AuthMode::On,
        Switch::Off => AuthMode::Off,
    };
    let router = docent_http::router(AppState::new(catalog, engine, auth));
    let version = env!("CARGO_PKG_VERSION");
    say(format!("Docent {version} is listening on http://{address}"));
    if auth == AuthMode::Off {
        tracing::warn!(
            "authentication is off: whoever reaches this address may read and change everything"
        );
    }
    if let Some(token) = token {
        say(format!("token: {token}"));
    }
    tracing::info!(
        store = %settings.store,
        auth = ?settings.auth,
        "serving {} on {address}",
        settings.store
    );
    docent_http::server::serve(listener, router, stop).await?;
    preparing.abort();
    tracing::info!("stopped");
    Ok(())
}

/// Resolves at Ctrl-C and at SIGTERM.
fn stop_signal() -> Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

fn start_log(settings: &Settings) -> Result<()> {
    let filter = EnvFilter::try_new(&settings.log)
        .with_context(|| format!("'{}' is not a log filter", settings.log))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match settings.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}
