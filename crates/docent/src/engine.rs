//! Opens a store by its URL. The only module that knows the engines.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use docent_store::Store;
use docent_store_postgres::PostgresStore;
use docent_store_sqlite::SqliteStore;
pub(crate) use docent_store_sqlite::{RollForward, WalPosition, WalSegment, WalTail};

use crate::settings::StoreUrl;

/// How a command opens the store. Modes without `Create` need an existing store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// For `docent serve`: creates the store; exclusive on SQLite.
    Server,
    /// No server may be running.
    Exclusive,
    ExclusiveCreate,
    /// A server may be running.
    Shared,
    SharedCreate,
    /// A server may be running. Changes nothing, and rejects a store of an older version.
    ReadOnly,
}

/// Whether the store exists. Also true on errors, which opening it will report.
pub(crate) async fn exists(url: &StoreUrl) -> bool {
    match url {
        StoreUrl::Sqlite(path) => path.try_exists().unwrap_or(true),
        StoreUrl::Postgres(settings) => docent_store_postgres::exists(settings)
            .await
            .unwrap_or(true),
    }
}

/// Whether two different URLs lead to the same store. False on errors, which opening it will
/// report.
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

pub(crate) async fn open(url: &StoreUrl, mode: OpenMode) -> Result<Arc<dyn Store>> {
    let create = matches!(
        mode,
        OpenMode::Server | OpenMode::SharedCreate | OpenMode::ExclusiveCreate
    );
    let exclusive = matches!(mode, OpenMode::Exclusive | OpenMode::ExclusiveCreate);
    match url {
        StoreUrl::Sqlite(path) if mode == OpenMode::ReadOnly => {
            Ok(Arc::new(SqliteStore::open_read_only(path)?))
        }
        StoreUrl::Sqlite(path) => {
            let options = docent_store_sqlite::OpenOptions {
                exclusive: exclusive || mode == OpenMode::Server,
                create,
                ..docent_store_sqlite::OpenOptions::default()
            };
            Ok(Arc::new(SqliteStore::open(path, options)?))
        }
        StoreUrl::Postgres(settings) => {
            let options = docent_store_postgres::OpenOptions {
                create,
                watch: mode == OpenMode::Server,
            };
            let store = if mode == OpenMode::ReadOnly {
                PostgresStore::open_read_only(settings).await
            } else if exclusive {
                PostgresStore::open_exclusive(settings, create).await
            } else {
                PostgresStore::open(settings, options).await
            };
            Ok(Arc::new(
                store.with_context(|| format!("cannot open {settings}"))?,
            ))
        }
    }
}

/// Opens the store of a server, and its write-ahead log for an archive.
pub(crate) async fn open_archived(
    url: &StoreUrl,
) -> Result<(Arc<dyn Store>, Option<Arc<WalTail>>)> {
    let StoreUrl::Sqlite(path) = url else {
        return Ok((open(url, OpenMode::Server).await?, None));
    };
    let options = docent_store_sqlite::OpenOptions {
        archive_wal: true,
        ..docent_store_sqlite::OpenOptions::default()
    };
    let store = SqliteStore::open(path, options)?;
    let tail = store.wal_tail();
    Ok((Arc::new(store), tail))
}

/// Whether a store was never written to.
pub(crate) async fn is_empty(store: &dyn Store) -> Result<bool> {
    Ok(store.aspects_export(None, 1).await?.is_empty() && store.log_newest().await?.is_none())
}

/// Checks a store for damage. It does not open the store, which could migrate it.
pub(crate) async fn check(url: &StoreUrl) -> Result<Vec<String>> {
    match url {
        StoreUrl::Sqlite(path) => Ok(docent_store_sqlite::check_file(path)?),
        StoreUrl::Postgres(settings) => docent_store_postgres::check_database(settings)
            .await
            .with_context(|| format!("cannot check {settings}")),
    }
}

/// Whether a file starts with these bytes. False on errors, which restoring it will report.
fn begins_with(path: &Path, start: &[u8]) -> bool {
    let mut first = vec![0; start.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == start
}

/// Restores a backup to a temporary place, and checks the store there: for SQLite in a new file,
/// `restored`, and for PostgreSQL in a schema of its own. Returns the findings.
pub(crate) async fn check_backup(
    url: &StoreUrl,
    backup: &Path,
    restored: &Path,
    mut progress: Box<dyn FnMut(u64, u64) + Send>,
) -> Result<Vec<String>> {
    reject_other_engine(url, backup)?;
    match url {
        StoreUrl::Sqlite(_) => {
            let (from, to) = (backup.to_owned(), restored.to_owned());
            let restoring = move || docent_store_sqlite::restore(&from, &to, false, &mut *progress);
            tokio::task::spawn_blocking(restoring).await??;
            let restored = StoreUrl::Sqlite(restored.to_owned());
            let store = open(&restored, OpenMode::Exclusive).await?;
            Ok(store.check().await?)
        }
        StoreUrl::Postgres(settings) => {
            let checking = docent_store_postgres::check_backup(backup, settings, &mut *progress);
            Ok(checking.await?)
        }
    }
}

/// Rejects a backup that the other engine made.
fn reject_other_engine(url: &StoreUrl, backup: &Path) -> Result<()> {
    let (start, other) = match url {
        StoreUrl::Sqlite(_) => (docent_store_postgres::BACKUP_START, "PostgreSQL"),
        StoreUrl::Postgres(_) => (docent_store_sqlite::BACKUP_START, "SQLite"),
    };
    if begins_with(backup, start) {
        bail!(
            "{} is a backup of a {other} store: restore it to a {other} store, then copy that one with 'docent move'",
            backup.display()
        );
    }
    Ok(())
}

/// Restores a backup. `replace` allows an existing store, which no process may have open. Returns
/// where the old store was moved if it could not be closed.
pub(crate) async fn restore(
    url: &StoreUrl,
    backup: &Path,
    replace: bool,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Option<PathBuf>> {
    reject_other_engine(url, backup)?;
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
