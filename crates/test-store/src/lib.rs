//! Empty stores for tests, on the engine that the tests are run with.
//!
//! `DOCENT_TEST_STORE=postgres` runs the same tests on PostgreSQL that run on SQLite otherwise. The server is started by
//! the tests themselves ([`docent_test_postgres`]); `TEST_DATABASE_URL` names another one.
//!
//! To add an engine: a variant of [`Engine`], and how to make a new, empty store of it.

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

/// An empty store that no other test uses, and a directory for the test's files. Dropping it removes both.
#[derive(Debug)]
pub struct TestStore {
    store: Arc<dyn Store>,
    place: Place,
    directory: TempDir,
}

#[derive(Debug)]
enum Place {
    /// In the directory.
    Sqlite,
    Postgres(Database),
}

impl Place {
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
        Self::opened(Place::new()?, tempfile::tempdir()?).await
    }

    /// As after a restart: another store on the same files or the same database. Nobody may hold the former any more.
    pub async fn reopened(self) -> Result<Self> {
        let Self {
            store,
            place,
            directory,
        } = self;
        drop(store);
        Self::opened(place, directory).await
    }

    /// As when an operator puts an empty store in its place; what else is in the directory stays.
    pub async fn replaced(self) -> Result<Self> {
        let Self {
            store,
            place,
            directory,
        } = self;
        drop((store, place));
        for end in ["", "-wal", "-shm"] {
            let file = directory.path().join(format!("{FILE}{end}"));
            if file.exists() {
                std::fs::remove_file(file)?;
            }
        }
        Self::opened(Place::new()?, directory).await
    }

    async fn opened(place: Place, directory: TempDir) -> Result<Self> {
        Ok(Self {
            store: place.open(directory.path()).await?,
            place,
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

/// A database with all tables and nothing in them.
pub fn postgres_database() -> Result<Database> {
    let schema = concat!(
        include_str!("../../store-postgres/migrations/0001_aspects.sql"),
        include_str!("../../store-postgres/migrations/0002_retired_versions.sql"),
        include_str!("../../store-postgres/migrations/0003_pending_writers.sql"),
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

/// Opens a database as a server does.
pub async fn open_postgres(url: &str) -> Result<PostgresStore> {
    let options = docent_store_postgres::OpenOptions {
        create: true,
        watch: true,
    };
    Ok(PostgresStore::open(&Settings::parse(url)?, options).await?)
}
