//! Empty stores for tests, on the selected engine.
//!
//! Tests run on SQLite, or on PostgreSQL with `DOCENT_TEST_STORE=postgres`. They start their own
//! PostgreSQL server ([`docent_test_postgres`]), unless `TEST_DATABASE_URL` names one.
//!
//! To add an engine: a variant of [`Engine`], and its empty store in `StoreLocation`.

mod intercept;

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use docent_store::Store;
use docent_store_postgres::{PostgresStore, Settings};
use docent_store_sqlite::SqliteStore;
use docent_test_postgres::{Database, on_own_thread};
use tempfile::TempDir;

pub use docent_test_postgres::Engine;
pub use intercept::{Intercept, InterceptedStore};

/// An empty store that no other test uses, and a directory for files. Dropping it deletes both.
#[derive(Debug)]
pub struct TestStore {
    store: Arc<dyn Store>,
    location: StoreLocation,
    directory: TempDir,
}

#[derive(Debug)]
enum StoreLocation {
    /// In the directory of the test.
    Sqlite,
    Postgres(Database),
}

impl StoreLocation {
    fn new() -> Result<Self> {
        Ok(match Engine::selected()? {
            Engine::Sqlite => Self::Sqlite,
            Engine::Postgres => Self::Postgres(postgres_database()?),
        })
    }

    async fn open(&self, directory: &Path) -> Result<Arc<dyn Store>> {
        Ok(match self {
            Self::Sqlite => {
                let options = docent_store_sqlite::OpenOptions::default();
                Arc::new(SqliteStore::open(&directory.join(FILE), options)?)
            }
            Self::Postgres(database) => Arc::new(open_postgres(database.url()).await?),
        })
    }
}

const FILE: &str = "docent.db";

impl TestStore {
    pub async fn open() -> Result<Self> {
        Self::opened(StoreLocation::new()?, tempfile::tempdir()?).await
    }

    /// Opens the same database again, as after a restart. The old store must not be in use any
    /// more.
    pub async fn reopened(self) -> Result<Self> {
        let Self {
            store,
            location,
            directory,
        } = self;
        drop(store);
        Self::opened(location, directory).await
    }

    /// Replaces the database by an empty one. Other files in the directory stay.
    pub async fn replaced(self) -> Result<Self> {
        let Self {
            store,
            location,
            directory,
        } = self;
        drop((store, location));
        for suffix in ["", "-wal", "-shm"] {
            let file = directory.path().join(format!("{FILE}{suffix}"));
            if file.exists() {
                std::fs::remove_file(file)?;
            }
        }
        Self::opened(StoreLocation::new()?, directory).await
    }

    async fn opened(location: StoreLocation, directory: TempDir) -> Result<Self> {
        Ok(Self {
            store: location.open(directory.path()).await?,
            location,
            directory,
        })
    }

    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

/// A database with empty tables.
pub fn postgres_database() -> Result<Database> {
    let schema = concat!(
        include_str!("../../store-postgres/migrations/0001_aspects.sql"),
        include_str!("../../store-postgres/migrations/0002_retired_versions.sql"),
        include_str!("../../store-postgres/migrations/0003_pending_writers.sql"),
        include_str!("../../store-postgres/migrations/0004_token_users.sql"),
    );
    Database::from_template(schema, |url| {
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

/// Opens a database like a server.
pub async fn open_postgres(url: &str) -> Result<PostgresStore> {
    let options = docent_store_postgres::OpenOptions {
        create: true,
        watch: true,
    };
    Ok(PostgresStore::open(&Settings::parse(url)?, options).await?)
}
