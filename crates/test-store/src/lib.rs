//! Empty stores for tests, on the engine that the tests are run with.
//!
//! `DOCENT_TEST_STORE=postgres` runs the same tests on PostgreSQL that run on SQLite otherwise. The server is started by
//! the tests themselves ([`docent_test_postgres`]); `TEST_DATABASE_URL` names another one.
//!
//! To add an engine: a variant of [`Engine`], and how to make a new, empty store of it.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use docent_store::Store;
use docent_store_postgres::{PostgresStore, Settings};
use docent_store_sqlite::SqliteStore;
use docent_test_postgres::{Database, on_own_thread};
use tempfile::TempDir;

pub use docent_test_postgres::Engine;

/// An empty store that no other test uses, and a directory for the test's files. Dropping it removes both.
#[derive(Debug)]
pub struct TestStore {
    store: Arc<dyn Store>,
    directory: TempDir,
    _database: Option<Database>,
}

impl TestStore {
    pub async fn open() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let (store, database): (Arc<dyn Store>, _) = match Engine::chosen()? {
            Engine::Sqlite => {
                let path = directory.path().join("docent.db");
                let options = docent_store_sqlite::OpenOptions::default();
                (Arc::new(SqliteStore::open(&path, options)?), None)
            }
            Engine::Postgres => {
                let database = postgres_database()?;
                let store = open_postgres(database.url()).await?;
                (Arc::new(store), Some(database))
            }
        };
        Ok(Self {
            store,
            directory,
            _database: database,
        })
    }

    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

/// A database with all tables and nothing in them.
pub fn postgres_database() -> Result<Database> {
    let schema = concat!(
        include_str!("../../store-postgres/migrations/0001_aspects.sql"),
        include_str!("../../store-postgres/migrations/0002_retired_versions.sql"),
    );
    Database::filled(schema, |url| {
        on_own_thread(async move {
            let options = docent_store_postgres::OpenOptions {
                create: true,
                watch: false,
            };
            drop(PostgresStore::open(&Settings::parse(url)?, options).await?);
            Ok(())
        })
    })
}

/// Opens a database as a server does.
pub async fn open_postgres(url: &str) -> Result<PostgresStore> {
    let options = docent_store_postgres::OpenOptions {
        create: true,
        watch: true,
    };
    Ok(PostgresStore::open(&Settings::parse(url)?, options).await?)
}
