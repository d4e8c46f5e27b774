//! From a store URL to an open store: the only place that names engines.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use docent_store::Store;
use docent_store_postgres::PostgresStore;
use docent_store_sqlite::SqliteStore;

use crate::settings::StoreUrl;

/// How a command uses the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// As a server: on SQLite the only one.
    Server,
    /// Without a server beside; it must be there.
    Alone,
    /// Without a server beside; made if it is not there.
    AloneAndNew,
    /// Beside a server that may be running; made if it is not there.
    Beside,
    /// Beside a server that may be running; it must be there.
    Existing,
}

/// Whether there is a store at this address. One that cannot be looked at is said to be there: opening it tells why.
pub(crate) async fn exists(url: &StoreUrl) -> bool {
    match url {
        StoreUrl::Sqlite(path) => path.try_exists().unwrap_or(true),
        StoreUrl::Postgres(settings) => docent_store_postgres::exists(settings)
            .await
            .unwrap_or(true),
    }
}

/// Whether two addresses, spelled differently, lead to the same store. One that cannot be looked at is said to be another:
/// opening it tells why.
pub(crate) async fn is_same(one: &StoreUrl, other: &StoreUrl) -> bool {
    match (one, other) {
        (StoreUrl::Postgres(one), StoreUrl::Postgres(other)) => {
            docent_store_postgres::is_same(one, other)
                .await
                .unwrap_or(false)
        }
        _ => false,
    }
}

pub(crate) async fn open(url: &StoreUrl, purpose: Use) -> Result<Arc<dyn Store>> {
    let create = matches!(purpose, Use::Server | Use::Beside | Use::AloneAndNew);
    let alone = matches!(purpose, Use::Alone | Use::AloneAndNew);
    match url {
        StoreUrl::Sqlite(path) => {
            let options = docent_store_sqlite::OpenOptions {
                exclusive: alone || purpose == Use::Server,
                create,
                ..docent_store_sqlite::OpenOptions::default()
            };
            Ok(Arc::new(SqliteStore::open(path, options)?))
        }
        StoreUrl::Postgres(settings) => {
            let options = docent_store_postgres::OpenOptions {
                create,
                watch: purpose == Use::Server,
            };
            let store = if alone {
                PostgresStore::open_alone(settings, create).await
            } else {
                PostgresStore::open(settings, options).await
            };
            Ok(Arc::new(
                store.with_context(|| format!("{settings} cannot be used"))?,
            ))
        }
    }
}

/// Whether nothing was ever written to a store.
pub(crate) async fn is_empty(store: &dyn Store) -> Result<bool> {
    Ok(store.aspects_export(None, 1).await?.is_empty() && store.change_newest().await?.is_none())
}

/// Looks for damage, and changes nothing: a store that is opened may be brought up to date.
pub(crate) async fn check(url: &StoreUrl) -> Result<Vec<String>> {
    match url {
        StoreUrl::Sqlite(path) => Ok(docent_store_sqlite::check_file(path)?),
        StoreUrl::Postgres(settings) => docent_store_postgres::check_database(settings)
            .await
            .with_context(|| format!("{settings} cannot be checked")),
    }
}

/// Whether a file begins so; one that cannot be read does not, and restoring it says why.
fn begins_with(path: &Path, start: &[u8]) -> bool {
    let mut first = vec![0; start.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == start
}

/// Puts a backup in the place of a store that nobody uses; one that is there goes only if `replace` says so. Where it is
/// now if it could not be closed.
pub(crate) async fn restore(
    url: &StoreUrl,
    backup: &Path,
    replace: bool,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Option<PathBuf>> {
    let (start, other) = match url {
        StoreUrl::Sqlite(_) => (docent_store_postgres::BACKUP_START, "PostgreSQL"),
        StoreUrl::Postgres(_) => (docent_store_sqlite::BACKUP_START, "SQLite"),
    };
    if begins_with(backup, start) {
        bail!(
            "{} is a backup of a store on {other}: restore it into such a store, and then copy that one here with 'docent move'",
            backup.display()
        );
    }
    match url {
        StoreUrl::Sqlite(path) => Ok(docent_store_sqlite::restore(
            backup, path, replace, progress,
        )?),
        StoreUrl::Postgres(settings) => {
            docent_store_postgres::restore(backup, settings, replace, progress).await?;
            Ok(None)
        }
    }
}
