//! Runs the conformance suite of `docent-store` on this engine.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::path::Path;

use async_trait::async_trait;
use docent_store::Store;
use docent_store::suite::Harness;
use docent_store_postgres::{PostgresStore, Settings, restore};
use docent_test_postgres::Database;
use docent_test_store::{open_postgres, postgres_database};
use tempfile::TempDir;

struct Postgres {
    store: PostgresStore,
    directory: TempDir,
    _database: Database,
}

impl Postgres {
    async fn over(database: Database) -> Self {
        Self {
            store: open_postgres(database.url()).await.unwrap(),
            directory: tempfile::tempdir().unwrap(),
            _database: database,
        }
    }
}

#[async_trait]
impl Harness for Postgres {
    async fn fresh() -> Self {
        Self::over(postgres_database().unwrap()).await
    }

    async fn restored(backup: &Path) -> Self {
        let database = Database::empty().unwrap();
        let settings = Settings::parse(database.url()).unwrap();
        restore(backup, &settings, false, &mut |_, _| {})
            .await
            .unwrap();
        Self::over(database).await
    }

    fn store(&self) -> &dyn Store {
        &self.store
    }

    fn scratch(&self) -> &Path {
        self.directory.path()
    }
}

docent_store::store_suite!(Postgres);
