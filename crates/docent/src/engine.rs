//! From a store URL to an open store: the only place that names engines.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use docent_store::Store;
use docent_store_postgres::PostgresStore;
use docent_store_sqlite::SqliteStore;

use crate::settings::StoreUrl;

/// How a command uses the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// As a server: on SQLite the only one.
    Server,
    /// Without a server beside, where the engine can tell; it must be there.
    Alone,
    /// Beside a server that may be running; made if it is not there.
    Beside,
    /// Beside a server that may be running; it must be there.
    Existing,
}

pub(crate) async fn open(url: &StoreUrl, purpose: Use) -> Result<Arc<dyn Store>> {
    let create = matches!(purpose, Use::Server | Use::Beside);
    match url {
        StoreUrl::Sqlite(path) => {
            let options = docent_store_sqlite::OpenOptions {
                exclusive: matches!(purpose, Use::Server | Use::Alone),
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
            let store = PostgresStore::open(settings, options)
                .await
                .with_context(|| format!("{settings} cannot be used"))?;
            Ok(Arc::new(store))
        }
    }
}
