//! `docent serve`.

mod audit_retention;
mod backup_schedule;
mod collector;
mod listeners;
mod log;
mod reload;
mod wal_archiver;

use std::fs::{File, TryLockError};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use docent_catalog::people::{ADMINISTRATOR, Administrator, Password};
use docent_catalog::tokens::TokenLimits;
use docent_catalog::webhooks::{DeliverySettings, WebhookDeliverer};
use docent_catalog::{Caller, Catalog};
use docent_client::HttpClient;
use docent_graphql::Engine;
use docent_http::server::tls::Certificate;
use docent_http::server::{ConnectionLimits, Connections};
use docent_http::{
    AgentWrites, AppState, AuthMode, BackupMeasurements, Frontend, HttpSettings, IdentityProviders,
    RequestLog, Traces,
};
use docent_model::{SystemClock, Urn};
use docent_oidc::{Provider, TrustedIssuer};
use docent_search::Search;
use docent_store::{Store, spent};
use futures_util::FutureExt as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use backup_schedule::BackupSchedule;
use collector::Collector;
use listeners::Listeners;
use log::Log;
use reload::{KnownSettings, Reloader};

use super::say;
use super::user::password_from;
use crate::backups::Destination;
use crate::demo;
use crate::descriptors;
use crate::engine::{self, OpenMode, WalTail};
use crate::import_marker;
use crate::interrupt::EXIT_INTERRUPTED;
use crate::settings::{
    AgentChanges, IdentitySettings, ServeFlags, Settings, StoreFlags, StoreUrl, Switch,
};
use crate::webhook_sender::WebhookSender;

/// How often the last use of tokens is stored. Each time is a commit, which invalidates caches.
const TOKEN_USE_INTERVAL: Duration = Duration::from_mins(1);
const FINAL_TOKEN_USE_TIMEOUT: Duration = Duration::from_secs(2);
/// For blocking work that is not needed any more.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) fn serve(store: &StoreFlags, flags: ServeFlags) -> Result<()> {
    let source = SettingsSource {
        store: store.clone(),
        serve: flags,
    };
    let settings = source.resolve()?;
    let log = Log::start(&settings)?;
    for name in super::unknown_variables() {
        tracing::warn!("{name} is not a setting and is ignored; 'docent serve --help' lists them");
    }
    // On one core too: only this kind can move its tasks away from a long computation.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    runtime.block_on(run(source, settings, log))?;
    // A backup that is being made is given up: it has no name yet.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    Ok(())
}

async fn run(source: SettingsSource, settings: Settings, log: Log) -> Result<()> {
    // Before anything else, so that a signal during startup stops the server.
    let has_terminal = std::io::stdin().is_terminal();
    let stop = stop_signal(has_terminal)?.shared();
    let reload_signals = reload::signals()?;
    let mut phases = Phases::start();
    // Before files are opened, which count as well.
    let connections = Connections::new(connection_limits(&settings));
    // Before the store is created, so that an invalid address or file leaves nothing behind.
    let listeners = Listeners::bind(&settings).await?;
    let files = SettingsFiles::read(&settings)?;
    let certificate = files.certificate.map(Arc::new);
    phases.end("reading the settings");
    // The longest part of a start, beside the others.
    let engine = tokio::task::spawn_blocking(Engine::docent);
    let (store, wal_tail) = open_store(&settings).await?;
    import_marker::check_complete(&*store, &settings.store).await?;
    phases.end("opening the store");
    let _index_lock = index_lock(&settings)?;
    let search = open_search(&settings, &store)?;
    phases.end("opening the search index");
    let catalog = prepare_catalog(&settings, Arc::clone(&store), &search).await?;
    phases.end("checking the policies");
    let engine = engine.await.context("reading the GraphQL schema failed")?;
    let engine = engine.context("the built-in GraphQL schema is invalid")?;
    phases.end("waiting for the GraphQL schema");
    let password = match settings.auth {
        Switch::On => ensure_administrator(&catalog, files.initial_password).await?,
        Switch::Off => None,
    };
    phases.end("checking the administrator");
    let token = load_demo(&settings, &catalog).await?;
    let collector = settings.otlp.as_ref().map(Collector::start).transpose()?;
    let system = database(&settings.store);
    let traces = collector
        .as_ref()
        .map(|it| Traces::new(it.provider(), system));
    let mut background = JoinSet::new();
    let of_index = traces.as_ref().map(|traces| Arc::new(traces.of_index()));
    background.spawn(spent::measure(of_index, maintain_index(search)));
    let deliverer = WebhookDeliverer::new(catalog.clone(), delivery_settings(&settings));
    let delivery = tokio::spawn(deliverer.run(stop.clone()));
    background.spawn(store_token_uses(catalog.clone(), Caller::system()));
    let (audit_retention, retention_changes) = watch::channel(settings.audit_retention_days);
    background.spawn(audit_retention::prune(catalog.clone(), retention_changes));
    let backups = files
        .backups
        .and_then(|destination| BackupSchedule::new(&settings, destination, store, wal_tail));
    let measured = backups.as_ref().map(|it| Arc::clone(&it.measured));
    let wal_archiver = backups.as_ref().and_then(BackupSchedule::wal_archiver);
    if let Some(schedule) = backups {
        schedule.start(&mut background);
    }
    let request_log = log::start_request_log(&settings)?;
    let parts = ServerParts {
        request_log: Arc::clone(&request_log),
        connections: connections.clone(),
        traces,
        backups: measured,
    };
    let http = parts.http_settings(&settings, files.identity);
    let state = AppState::new(catalog.clone(), engine, http);
    listeners.announce(certificate.as_ref().map_or("http", |_| "https"));
    announce(&settings, password.as_ref(), token.as_deref());
    tracing::info!(
        store = %settings.store,
        auth = ?settings.auth,
        "serving {} on {}",
        settings.store,
        listeners.address()
    );
    if let Some(certificate) = certificate.clone() {
        background.spawn(certificate.watch());
    }
    let reloader = Reloader {
        source,
        known: KnownSettings::of(&settings),
        log,
        parts,
        state: state.clone(),
        certificate: certificate.clone(),
        audit_retention,
    };
    if !has_terminal {
        background.spawn(reloader.watch(reload_signals));
    }
    background.spawn(end_streams(state.clone(), stop.clone()));
    let serving = listeners.serve(state, files.frontend, connections, certificate, stop);
    serving.await?;
    background.abort_all();
    // It stores which events were accepted, in a few seconds at most.
    let _ = delivery.await;
    store_last_rows(&catalog).await;
    if let Some(archiver) = wal_archiver {
        // A task that still runs could commit after the end was archived.
        background.shutdown().await;
        archiver.finish().await;
    }
    request_log.close();
    if let Some(collector) = collector {
        collector.stop();
    }
    tracing::info!("stopped");
    Ok(())
}

/// Where the settings come from, to read them again.
struct SettingsSource {
    store: StoreFlags,
    serve: ServeFlags,
}

impl SettingsSource {
    fn resolve(&self) -> Result<Settings> {
        Settings::resolve(&self.store, self.serve.clone())
    }
}

/// What the files say that settings name.
pub(super) struct SettingsFiles {
    frontend: Option<Frontend>,
    certificate: Option<Certificate>,
    identity: IdentityProviders,
    initial_password: Option<Password>,
    backups: Option<Destination>,
}

impl SettingsFiles {
    pub(super) fn read(settings: &Settings) -> Result<Self> {
        let certificate = settings.tls.as_ref();
        let password = settings.admin_password_file.as_deref();
        Ok(Self {
            frontend: settings
                .frontend
                .as_deref()
                .map(open_frontend)
                .transpose()?,
            certificate: certificate
                .map(|files| Certificate::load(&files.certificate, &files.key))
                .transpose()?,
            identity: identity_providers(&settings.identity)?,
            initial_password: password.map(password_from).transpose()?,
            backups: settings
                .backup
                .as_ref()
                .map(|backup| backup_destination(&backup.place))
                .transpose()?,
        })
    }
}

/// What lives as long as the server, whatever the settings are.
struct ServerParts {
    request_log: Arc<RequestLog>,
    connections: Connections,
    traces: Option<Traces>,
    backups: Option<Arc<BackupMeasurements>>,
}

impl ServerParts {
    fn http_settings(&self, settings: &Settings, identity: IdentityProviders) -> HttpSettings {
        HttpSettings {
            auth: match settings.auth {
                Switch::On => AuthMode::On,
                Switch::Off => AuthMode::Off,
            },
            trusted_proxies: settings.trusted_proxies.clone(),
            allowed_hosts: settings.allowed_hosts.clone(),
            address_rate_limit: settings.address_rate_limit,
            token_rate_limit: settings.token_rate_limit,
            request_timeout: settings.request_timeout,
            agent_writes: match settings.agent_writes {
                AgentChanges::Allow => AgentWrites::Allow,
                AgentChanges::Propose => AgentWrites::Propose,
                AgentChanges::Off => AgentWrites::Off,
            },
            identity: Arc::new(identity),
            request_log: Some(Arc::clone(&self.request_log)),
            slow_requests: settings.slow_requests,
            traces: self.traces.clone(),
            backups: self.backups.clone(),
            connections: Some(self.connections.clone()),
            shown: settings.shown(),
        }
    }
}

fn backup_destination(place: &str) -> Result<Destination> {
    if !Destination::is_meant(place) {
        bail!("--backup-to is neither an existing directory nor s3://BUCKET/PREFIX: '{place}'");
    }
    Destination::parse(place)
}

fn open_frontend(directory: &Path) -> Result<Frontend> {
    Frontend::open(directory).with_context(|| {
        format!(
            "cannot read {}; --frontend takes the directory that a build of DataHub's web page writes, datahub-web-react/dist",
            directory.join("index.html").display()
        )
    })
}

/// Logs what each part of the start takes, to explain a slow one.
struct Phases {
    begun: Instant,
}

impl Phases {
    /// A part that takes longer is logged without `--log debug`, too.
    const SLOW: Duration = Duration::from_secs(1);

    fn start() -> Self {
        Self {
            begun: Instant::now(),
        }
    }

    /// Ends a part and begins the next one.
    fn end(&mut self, phase: &str) {
        let time = self.begun.elapsed();
        self.begun = Instant::now();
        let milliseconds = time.as_millis();
        if time < Self::SLOW {
            tracing::debug!("{phase} took {milliseconds} ms");
        } else {
            tracing::info!("{phase} took {milliseconds} ms");
        }
    }
}

fn delivery_settings(settings: &Settings) -> DeliverySettings {
    DeliverySettings {
        // The lock on the SQLite file keeps other servers away.
        is_only_server: matches!(settings.store, StoreUrl::Sqlite(_)),
        give_up_ms: settings.webhook_retry_ms,
        ..DeliverySettings::default()
    }
}

/// The limits on connections, as far as there are file descriptors for them.
fn connection_limits(settings: &Settings) -> ConnectionLimits {
    let defaults = ConnectionLimits::default();
    ConnectionLimits {
        total: defaults.total.min(descriptors::raise_limit()),
        per_address: settings.address_connections,
        exempt: settings.trusted_proxies.clone(),
    }
}

/// The catalog of the server, with what every store contains.
async fn prepare_catalog(
    settings: &Settings,
    store: Arc<dyn Store>,
    search: &Arc<Search>,
) -> Result<Catalog> {
    let mut token_limits = TokenLimits::default();
    if let Some(session_ttl_ms) = settings.max_token_ttl_ms {
        token_limits.session_ttl_ms = session_ttl_ms;
    }
    let client = HttpClient::default();
    let sender = WebhookSender::new(client, settings.webhook_networks.clone());
    let catalog = Catalog::new(store, Arc::new(SystemClock))
        .with_search(Arc::clone(search))
        .with_event_sender(Arc::new(sender))
        .with_session_limits(settings.session_limits)
        .with_token_limits(token_limits)
        .with_secret_keys(settings.secret_keys.clone());
    catalog
        .add_built_in_ownership_types(&Caller::system())
        .await?;
    catalog.ensure_policies().await?;
    catalog.ensure_home_page().await?;
    let reencrypted = catalog.reencrypt_secrets().await?;
    if reencrypted > 0 {
        tracing::info!("encrypted {reencrypted} secrets with the new key");
    }
    if settings.auth == Switch::On {
        enforce_policies(&catalog, settings.default_role.as_deref()).await?;
        if settings.view_policies == Switch::On {
            catalog.enforce_view_policies();
        }
    }
    Ok(catalog)
}

/// Prints how to sign in: what the first start has generated, and the demo's token.
fn announce(settings: &Settings, password: Option<&Password>, token: Option<&str>) {
    if settings.auth == Switch::Off {
        tracing::warn!(
            "authentication is off: every client that can reach this address has full access"
        );
    }
    if let Some(password) = password {
        say(format!("user: {ADMINISTRATOR}"));
        say(format!("password: {}", password.as_str()));
        say(format!(
            "Save the password, it is not shown again; {} sets a new one.",
            passwd_command(&settings.store)
        ));
    } else if settings.demo && settings.auth == Switch::On {
        say(format!(
            "Sign in as {ADMINISTRATOR}; {} sets a new password.",
            passwd_command(&settings.store)
        ));
    }
    if let Some(token) = token {
        say(format!("token: {token}"));
    }
}

/// Ends the streams of events when the server stops, which would otherwise wait for them.
async fn end_streams(state: AppState, stop: impl Future<Output = ()>) {
    stop.await;
    state.end_streams();
}

/// Builds the search index if it is missing, then keeps it up to date in the background.
async fn maintain_index(search: Arc<Search>) {
    if let Err(error) = search.build_if_missing().await {
        // Another build is running, or the index maintainer will report the problem.
        tracing::debug!("{error}");
    }
    search.maintainer().run().await;
}

/// Best effort: it must not delay the shutdown.
async fn store_last_rows(catalog: &Catalog) {
    let operator = Caller::system();
    let last_rows = store_periodic_rows(catalog, &operator);
    let _ = tokio::time::timeout(FINAL_TOKEN_USE_TIMEOUT, last_rows).await;
}

/// Stores the last use of tokens periodically, and what else is collected in memory.
async fn store_token_uses(catalog: Catalog, caller: Caller) {
    loop {
        tokio::time::sleep(TOKEN_USE_INTERVAL).await;
        store_periodic_rows(&catalog, &caller).await;
    }
}

/// Stores when tokens were last used, and how many denials the audit log left out.
async fn store_periodic_rows(catalog: &Catalog, caller: &Caller) {
    catalog.store_token_uses(caller).await;
    catalog.store_dropped_denials().await;
}

/// The name of the database system, as OpenTelemetry has it.
fn database(store: &StoreUrl) -> &'static str {
    match store {
        StoreUrl::Sqlite(_) => "sqlite",
        StoreUrl::Postgres(_) => "postgresql",
    }
}

/// Loads the sample catalog, and creates a token for it, if the settings say so.
async fn load_demo(settings: &Settings, catalog: &Catalog) -> Result<Option<String>> {
    if !settings.demo {
        return Ok(None);
    }
    demo::load(catalog).await?;
    match settings.auth {
        Switch::On => demo::create_token(catalog).await.map(Some),
        Switch::Off => Ok(None),
    }
}

fn open_search(settings: &Settings, store: &Arc<dyn Store>) -> Result<Arc<Search>> {
    let search = Search::in_directory(Arc::clone(store), &settings.search_index)
        .map_err(|error| anyhow!("{error}; choose another directory with --search-index"))?;
    Ok(Arc::new(search))
}

/// Opens the store, and its write-ahead log if it is archived.
async fn open_store(settings: &Settings) -> Result<(Arc<dyn Store>, Option<Arc<WalTail>>)> {
    let backup = settings.backup.as_ref();
    if backup.is_some_and(|it| it.wal_interval.is_some()) {
        engine::open_archived(&settings.store).await
    } else {
        Ok((engine::open(&settings.store, OpenMode::Server).await?, None))
    }
}

fn index_lock(settings: &Settings) -> Result<Option<File>> {
    match &settings.store {
        // The lock on the SQLite file covers the index.
        StoreUrl::Sqlite(_) => Ok(None),
        StoreUrl::Postgres(_) => lock_index(&settings.search_index).map(Some),
    }
}

/// Locks the index for this process: several servers on a machine may share a database, but not an
/// index.
fn lock_index(directory: &Path) -> Result<File> {
    let mut name = directory.as_os_str().to_owned();
    name.push(".lock");
    let path = PathBuf::from(name);
    let failed = || format!("cannot use the search index at {}", directory.display());
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(failed)?;
    }
    let file = File::create(&path).with_context(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "another server uses the search index at {}; choose another directory with --search-index",
            directory.display()
        ),
        Err(TryLockError::Error(error)) => Err(error).with_context(failed),
    }
}

/// Turns access control on.
async fn enforce_policies(catalog: &Catalog, default_role: Option<&str>) -> Result<()> {
    let role = default_role
        .map(|id| Urn::new("dataHubRole", id))
        .transpose()
        .context("--default-role is not the name of a role")?;
    if let Some(role) = &role
        && catalog.exists(std::slice::from_ref(role)).await? != [true]
    {
        bail!(
            "there is no role {}: set --default-role to Admin, Editor, Proposer, Reader, another existing role, or none",
            role.key()
        );
    }
    catalog.enforce_policies(role.as_ref());
    Ok(())
}

/// The identity providers and trusted issuers. They are contacted when they are first needed, so
/// that the server starts without them.
fn identity_providers(settings: &IdentitySettings) -> Result<IdentityProviders> {
    let providers = settings.providers.iter().cloned();
    let issuers = settings.issuers.iter().cloned();
    Ok(IdentityProviders {
        providers: providers
            .map(|settings| Provider::new(settings, Arc::new(SystemClock)))
            .collect::<Result<_, _>>()?,
        issuers: issuers
            .map(|settings| TrustedIssuer::new(settings, Arc::new(SystemClock)))
            .collect::<Result<_, _>>()?,
    })
}

/// Gives the administrator a password on the first start. Returns it if it was generated.
async fn ensure_administrator(
    catalog: &Catalog,
    initial_password: Option<Password>,
) -> Result<Option<Password>> {
    let is_generated = initial_password.is_none();
    let administrator = catalog
        .ensure_administrator(&Caller::system(), initial_password)
        .await
        .context("cannot create the first user")?;
    match administrator {
        Administrator::Created(password) if is_generated => Ok(Some(password)),
        Administrator::Created(_) => Ok(None),
        Administrator::Exists => {
            if !is_generated {
                tracing::info!(
                    "{ADMINISTRATOR} already has a password: the password file is ignored"
                );
            }
            Ok(None)
        }
        Administrator::Blocked => {
            tracing::warn!(
                "{ADMINISTRATOR} is suspended or removed and cannot sign in: use 'docent user resume {ADMINISTRATOR}' or \
                 'docent user add {ADMINISTRATOR}'"
            );
            Ok(None)
        }
    }
}

/// The command that sets the administrator's password. It omits a PostgreSQL URL, which would not
/// work without its password and parameters.
fn passwd_command(store: &StoreUrl) -> String {
    match store {
        StoreUrl::Sqlite(_) => format!("'docent user passwd {ADMINISTRATOR} --store {store}'"),
        StoreUrl::Postgres(_) => format!(
            "'docent user passwd {ADMINISTRATOR}', with the same DOCENT_STORE, --config or --store,"
        ),
    }
}

/// Resolves on Ctrl-C, SIGTERM, or when the terminal of the server is closed; without a terminal,
/// SIGHUP reloads the settings. A further Ctrl-C exits immediately.
fn stop_signal(has_terminal: bool) -> Result<impl Future<Output = ()>> {
    let mut interrupt =
        signal(SignalKind::interrupt()).context("cannot install the handler of Ctrl-C")?;
    let mut terminate =
        signal(SignalKind::terminate()).context("cannot install the handler of SIGTERM")?;
    let mut hangup =
        signal(SignalKind::hangup()).context("cannot install the handler of SIGHUP")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv(), if has_terminal => {}
        }
        tracing::info!("shutting down; press Ctrl-C to exit immediately");
        tokio::spawn(async move {
            interrupt.recv().await;
            // Acknowledged writes are durable, and the store recovers from any exit.
            tracing::warn!("exited immediately; requests in progress got no response");
            std::process::exit(EXIT_INTERRUPTED);
        });
    })
}
