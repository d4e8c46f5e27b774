//! From a store URL to an open store: the only place that names engines.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use docent_store::Store;
use docent_store_sqlite::{OpenOptions, SqliteStore};

use crate::settings::StoreUrl;

/// How a command uses the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// As the one server of it.
    Server,
    /// Beside a server that may be running; made if it is not there.
    Beside,
    /// Beside a server that may be running; it must be there.
    Existing,
}

/// Whether there is a store at this address. One that cannot be looked at is said to be there: opening it tells why.
pub(crate) fn exists(url: &StoreUrl) -> bool {
    match url {
        StoreUrl::Sqlite(path) => path.try_exists().unwrap_or(true),
    }
}

pub(crate) fn open(url: &StoreUrl, purpose: Use) -> Result<Arc<dyn Store>> {
    match url {
        StoreUrl::Sqlite(path) => {
            let options = OpenOptions {
                exclusive: purpose == Use::Server,
                create: purpose != Use::Existing,
                ..OpenOptions::default()
            };
            Ok(Arc::new(SqliteStore::open(path, options)?))
        }
    }
}

/// Looks for damage, and changes nothing: a store that is opened may be brought up to date.
pub(crate) fn check(url: &StoreUrl) -> Result<Vec<String>> {
    match url {
        StoreUrl::Sqlite(path) => Ok(docent_store_sqlite::check_file(path)?),
    }
}

/// Puts a backup in the place of a store that nobody uses; one that is there goes only if `replace` says so. Where it is
/// now if it could not be closed.
pub(crate) fn restore(
    url: &StoreUrl,
    backup: &Path,
    replace: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Option<PathBuf>> {
    match url {
        StoreUrl::Sqlite(path) => Ok(docent_store_sqlite::restore(
            backup, path, replace, progress,
        )?),
    }
}
