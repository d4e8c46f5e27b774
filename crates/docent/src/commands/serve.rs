//! `docent serve`.

use std::fs::{File, TryLockError};
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use docent_catalog::people::{ADMINISTRATOR, Administrator, Password};
use docent_catalog::{Caller, Catalog};
use docent_graphql::Engine;
use docent_http::{AppState, AuthMode};
use docent_model::SystemClock;
use docent_search::Search;
use futures_util::FutureExt as _;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::user::password_from;
use super::{operator, say};
use crate::demo;
use crate::engine::{self, Use};
use crate::interrupt::EXIT_INTERRUPTED;
use crate::settings::{LogFormat, ServeFlags, Settings, StoreFlags, StoreUrl, Switch};
use crate::unfinished;

/// How often it is stored when tokens were last used: each time is a commit, after which caches are filled anew.
const STORING_USES: Duration = Duration::from_mins(1);
const STORING_USES_AT_THE_END: Duration = Duration::from_secs(2);

/// The pool of connections logs every one that it loses; that the database went away is said once (`store-postgres`).
const POOL: &str = "deadpool";

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
    // Before the store, so that a wrong address or a wrong file leaves nothing behind.
    let (listener, address) = listen(settings.listen, "--listen").await?;
    let second = match settings.ui_listen {
        Some(address) => Some(listen(address, "--ui-listen").await?),
        None => None,
    };
    let given = settings.admin_password_file.as_deref();
    let given = given.map(password_from).transpose()?;
    let store = engine::open(&settings.store, Use::Server).await?;
    unfinished::expect_finished(&*store, &settings.store).await?;
    let _index_lock = match &settings.store {
        // Whoever has the file has the index.
        StoreUrl::Sqlite(_) => None,
        StoreUrl::Postgres(_) => Some(lock_index(&settings.search_index)?),
    };
    let search = Search::in_directory(Arc::clone(&store), &settings.search_index)
        .map_err(|error| anyhow!("{error}; --search-index chooses another directory"))?;
    let search = Arc::new(search);
    let catalog = Catalog::new(store, Arc::new(SystemClock)).with_search(Arc::clone(&search));
    catalog.add_built_in_ownership_types(&operator()?).await?;
    let engine = Engine::docent().context("the built-in GraphQL schema is not right")?;
    let auth = match settings.auth {
        Switch::On => AuthMode::On,
        Switch::Off => AuthMode::Off,
    };
    let password = match auth {
        AuthMode::On => first_password(&catalog, given).await?,
        AuthMode::Off => None,
    };
    let token = if settings.demo {
        Some(demo::prepare(&catalog).await?)
    } else {
        None
    };
    let keeping = tokio::spawn(keep_index(search));
    let noting = tokio::spawn(note_token_uses(catalog.clone(), operator()?));
    let router = docent_http::router(AppState::new(catalog.clone(), engine, auth));
    let version = env!("CARGO_PKG_VERSION");
    say(format!("Docent {version} is listening on http://{address}"));
    if let Some((_, address)) = &second {
        say(format!("and on http://{address}"));
    }
    if auth == AuthMode::Off {
        tracing::warn!(
            "authentication is off: whoever reaches this address may read and change everything"
        );
    }
    if let Some(password) = password {
        say(format!("user: {ADMINISTRATOR}"));
        say(format!("password: {}", password.as_str()));
        say(format!(
            "The password is shown this once; {} sets another.",
            passwd(&settings.store)
        ));
    } else if settings.demo && auth == AuthMode::On {
        say(format!(
            "Sign in as {ADMINISTRATOR}; {} sets a new password.",
            passwd(&settings.store)
        ));
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
    let stop = stop.shared();
    let first = docent_http::server::serve(listener, router.clone(), stop.clone());
    match second {
        Some((second, _)) => {
            let second = docent_http::server::serve(second, router, stop);
            tokio::try_join!(first, second)?;
        }
        None => first.await?,
    }
    keeping.abort();
    noting.abort();
    // What is not stored by then is not worth more of the operator's time.
    let operator = operator()?;
    let last_uses = catalog.store_token_uses(&operator);
    let _ = tokio::time::timeout(STORING_USES_AT_THE_END, last_uses).await;
    tracing::info!("stopped");
    Ok(())
}

/// Builds the search index if there is none, and feeds it with what is written; everything else is answered meanwhile.
async fn keep_index(search: Arc<Search>) {
    if let Err(error) = search.build_if_missing().await {
        // The index is being built, or the maintainer will log the error.
        tracing::debug!("{error}");
    }
    search.maintainer().run().await;
}

/// Stores when tokens were last used, now and then.
async fn note_token_uses(catalog: Catalog, caller: Caller) {
    loop {
        tokio::time::sleep(STORING_USES).await;
        catalog.store_token_uses(&caller).await;
    }
}

/// Two servers on one database may run on one machine, but not with one index. The lock goes with the process.
fn lock_index(directory: &Path) -> Result<File> {
    let mut name = directory.as_os_str().to_owned();
    name.push(".lock");
    let path = PathBuf::from(name);
    let failed = || format!("the search index at {} cannot be used", directory.display());
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(failed)?;
    }
    let file = File::create(&path).with_context(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "another server uses the search index at {}; --search-index chooses another directory",
            directory.display()
        ),
        Err(TryLockError::Error(error)) => Err(error).with_context(failed),
    }
}

async fn listen(address: SocketAddr, flag: &str) -> Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; {flag} chooses another address"))?;
    let address = listener.local_addr().context("no local address")?;
    Ok((listener, address))
}

/// Lets the administrator in on the first start. Returns a password that was made up, for the operator to see.
async fn first_password(catalog: &Catalog, given: Option<Password>) -> Result<Option<Password>> {
    let shown = given.is_none();
    let administrator = catalog
        .ensure_administrator(&operator()?, given)
        .await
        .context("the first user could not be made")?;
    match administrator {
        Administrator::Created(password) if shown => Ok(Some(password)),
        Administrator::Created(_) => Ok(None),
        Administrator::Exists => {
            if !shown {
                tracing::info!("{ADMINISTRATOR} has a password: the password file was not needed");
            }
            Ok(None)
        }
        Administrator::KeptOut => {
            tracing::warn!(
                "{ADMINISTRATOR} is suspended or removed and stays so: 'docent user resume {ADMINISTRATOR}' or 'docent user \
                 add {ADMINISTRATOR}' lets that user in"
            );
            Ok(None)
        }
    }
}

/// The command that sets the administrator's password. The URL of a database is not repeated: without its password and its
/// parameters it would not work.
fn passwd(store: &StoreUrl) -> String {
    match store {
        StoreUrl::Sqlite(_) => format!("'docent user passwd {ADMINISTRATOR} --store {store}'"),
        StoreUrl::Postgres(_) => format!(
            "'docent user passwd {ADMINISTRATOR}', with the store as it is given here (DOCENT_STORE, --config or --store),"
        ),
    }
}

/// Resolves at Ctrl-C and at SIGTERM. The next Ctrl-C after that ends the process at once.
fn stop_signal() -> Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stopping; Ctrl-C ends at once");
        tokio::spawn(async move {
            interrupt.recv().await;
            // What was acknowledged is on the disk, and the store is opened after any end.
            tracing::warn!("ended at once; requests that were being carried out got no reply");
            std::process::exit(EXIT_INTERRUPTED);
        });
    })
}

/// Levels, and levels of targets. The library takes any other word for the name of a target, of which nothing is logged then.
fn log_filter(text: &str) -> Result<EnvFilter> {
    let is_level = |word: &str| word.trim().parse::<LevelFilter>().is_ok();
    let wrong = text.split(',').find(|part| match part.rsplit_once('=') {
        Some((target, level)) => target.trim().is_empty() || !is_level(level),
        None => part.trim().is_empty() || !is_level(part),
    });
    if let Some(wrong) = wrong {
        bail!(
            "the log filter '{text}' is not right at '{wrong}': write a level (off, error, warn, info, debug, trace), or \
             target=level, or several with commas, like info,docent_http=debug"
        );
    }
    let filter = if text.contains(POOL) {
        text.to_owned()
    } else {
        format!("{text},{POOL}=off")
    };
    EnvFilter::try_new(filter).with_context(|| format!("'{text}' is not a log filter"))
}

fn start_log(settings: &Settings) -> Result<()> {
    let filter = log_filter(&settings.log)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_filter_is_made_of_levels() {
        for right in [
            "info",
            "WARN",
            "off",
            "docent=debug",
            "info,docent_http=trace",
            "warn,x=3",
        ] {
            log_filter(right).unwrap();
        }
        for (wrong, at) in [
            ("inof", "'inof'"),
            ("", "''"),
            ("docent=debgu", "'docent=debgu'"),
            ("info,docent", "'docent'"),
            ("=info", "'=info'"),
        ] {
            let error = log_filter(wrong).unwrap_err().to_string();
            assert!(error.contains(at), "{error}");
            assert!(error.contains("target=level"), "{error}");
        }
    }
}
