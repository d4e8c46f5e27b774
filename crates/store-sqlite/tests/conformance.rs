//! The conformance suite of `docent-store` on this engine.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::path::Path;

use async_trait::async_trait;
use docent_store::Store;
use docent_store::suite::Harness;
use docent_store_sqlite::{OpenOptions, SqliteStore, restore};
use tempfile::TempDir;

struct Sqlite {
    store: SqliteStore,
    directory: TempDir,
}

#[async_trait]
impl Harness for Sqlite {
    async fn fresh() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("docent.db");
        let store = SqliteStore::open(&path, OpenOptions::default()).unwrap();
        Self { store, directory }
    }

    async fn restored(backup: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("docent.db");
        restore(backup, &path, false, &mut |_, _| {}).unwrap();
        let store = SqliteStore::open(&path, OpenOptions::default()).unwrap();
        Self { store, directory }
    }

    fn store(&self) -> &dyn Store {
        &self.store
    }

    fn scratch(&self) -> &Path {
        self.directory.path()
    }
}

docent_store::store_suite!(Sqlite);
