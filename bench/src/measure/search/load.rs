//! Writes the catalog directly into the tables of a store.
//!
//! Through the API, a million datasets take most of an hour. Domains, tags and owners go through
//! the store; datasets are rows of aspects and of the change log. Nothing here reads relationships,
//! so datasets have none.

use anyhow::{Context, Result};
use docent_model::{Registry, Urn};
use docent_store_sqlite::{OpenOptions, SqliteStore};

use crate::bench::Store;
use crate::report::Report;
use crate::search_data::{ACTOR, Catalog, NOON_MS};
use crate::{search_server, store};

const SYSTEM_METADATA: &str =
    r#"{"lastObserved":1794700000000,"runId":"bench","lastRunId":"bench"}"#;

/// Reports progress after this many rows.
const STEP: usize = 100_000;

pub(super) async fn write(store: &Store, catalog: &Catalog, report: &mut Report) -> Result<()> {
    write_labels(store, catalog).await?;
    write_datasets(store, catalog, report)
}

async fn write_labels(store: &Store, catalog: &Catalog) -> Result<()> {
    let store = SqliteStore::open(&store.path, OpenOptions::default())?;
    for (urn, aspect, value) in catalog.labels() {
        let urn = Urn::parse(&urn)?;
        let key = Registry::get()
            .entity(urn.entity_type())
            .with_context(|| format!("there is no entity type {}", urn.entity_type()))?
            .key_aspect;
        let key_value = Registry::get()
            .key_aspect_value(&urn)
            .with_context(|| format!("{urn} has no key"))?;
        search_server::put(&store, &urn, key.as_str(), &key_value).await?;
        search_server::put(&store, &urn, aspect, &value).await?;
    }
    Ok(())
}

/// The store need not survive a crash, so writes are not synced.
fn write_datasets(store: &Store, catalog: &Catalog, report: &mut Report) -> Result<()> {
    let connection = store::open_writer(&store.path)?;
    store::check_tables(&connection)?;
    connection.execute_batch(
        "PRAGMA journal_mode = DELETE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
         PRAGMA cache_size = -262144; BEGIN",
    )?;
    let mut aspect_row = connection.prepare(
        "INSERT INTO metadata_aspect_v2 (urn, aspect, version, metadata, systemmetadata, createdon, createdby, \
         createdfor) VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6, NULL)",
    )?;
    let mut change_row = connection.prepare(
        "INSERT INTO change_log (urn, aspect, kind, logical_version, time_ms, actor) \
         VALUES (?1, ?2, 'put', 1, ?3, ?4)",
    )?;
    for (number, dataset) in catalog.datasets().enumerate() {
        if number % STEP == 0 {
            report.progress(&format!("search: dataset {number}"));
        }
        let urn = dataset.urn();
        for (aspect, metadata) in dataset.aspects() {
            aspect_row.execute((&urn, aspect, metadata, SYSTEM_METADATA, NOON_MS, ACTOR))?;
            change_row.execute((&urn, aspect, NOON_MS, ACTOR))?;
        }
    }
    drop((aspect_row, change_row));
    connection.execute_batch("COMMIT; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
    Ok(())
}
