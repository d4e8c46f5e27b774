//! Behavior of this engine beyond the conformance suite.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod damage;
mod files;
mod long_reads;
mod properties;
mod read_only;
mod wal;
mod writing;

use std::path::{Path, PathBuf};

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Derived, Urn};
use docent_store::version::{self, NewAspect};
use docent_store::{AspectKey, ReadRequest, Store, StoreError, transact};
use docent_store_sqlite::{OpenOptions, SqliteStore};
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

/// For commands that run next to a server.
const COMMAND: OpenOptions = OpenOptions {
    exclusive: false,
    create: false,
    readers: 1,
    archive_wal: false,
};

/// A directory for a database, which may not exist yet.
struct TestDatabase {
    directory: TempDir,
    path: PathBuf,
}

impl TestDatabase {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("docent.db");
        Self { directory, path }
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.path, OpenOptions::default()).unwrap()
    }

    /// A connection that bypasses the engine.
    fn raw(&self) -> Connection {
        raw(&self.path)
    }
}

fn raw(path: &Path) -> Connection {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    connection
        .busy_timeout(std::time::Duration::from_secs(5))
        .unwrap();
    connection
}

fn dataset(name: &str) -> Urn {
    Urn::parse(&format!(
        "urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"
    ))
    .unwrap()
}

fn domain(name: &str) -> Urn {
    Urn::new("domain", name).unwrap()
}

fn status(name: &str) -> AspectKey {
    AspectKey::new(&dataset(name), AspectName::STATUS)
}

/// Writes like the catalog.
async fn put(
    store: &dyn Store,
    key: &AspectKey,
    metadata: &str,
    derived: Derived,
) -> Result<(), StoreError> {
    let key = key.clone();
    let new = NewAspect {
        metadata: metadata.to_owned(),
        system_metadata: None,
        stamp: AuditStamp::new(&Urn::parse("urn:li:corpuser:tester").unwrap(), 7),
        derived,
        retired_version: None,
    };
    transact(store, move |tx| {
        let (key, new) = (key.clone(), new.clone());
        Box::pin(async move {
            let previous = tx.aspects_get(std::slice::from_ref(&key)).await?.remove(0);
            let write = version::put(key, previous.as_ref(), new);
            tx.write(write.as_slice()).await
        })
    })
    .await
}

async fn text(store: &dyn Store, key: &AspectKey) -> Option<String> {
    let reply = store.read(ReadRequest::row(key)).await.unwrap();
    reply.into_row().map(|row| row.metadata.clone())
}
