//! From a store URL to an open store: the only place that names engines.

use std::path::Path;
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

/// Puts a backup in the place of a store that nobody uses; one that is there goes only if `replace` says so.
pub(crate) fn restore(
    url: &StoreUrl,
    backup: &Path,
    replace: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    match url {
        StoreUrl::Sqlite(path) => {
            docent_store_sqlite::restore(backup, path, replace, progress)?;
        }
    }
    Ok(())
}
