//! The catalog over a real SQLite file, past the doors that people use.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod derived;
mod lineage;
mod people;
mod runs;
mod writing;

use std::sync::Arc;

use docent_catalog::{Caller, Catalog};
use docent_model::{FixedClock, Urn};
use docent_store_sqlite::{OpenOptions, SqliteStore};
use tempfile::TempDir;

struct House {
    store: Arc<SqliteStore>,
    catalog: Catalog,
    caller: Caller,
    _directory: TempDir,
}

impl House {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("docent.db");
        let store = Arc::new(SqliteStore::open(&path, OpenOptions::default()).unwrap());
        let clock = Arc::new(FixedClock::at(1_790_000_000_000));
        Self {
            catalog: Catalog::new(Arc::<SqliteStore>::clone(&store), clock),
            caller: Caller::new(Urn::parse("urn:li:corpuser:tester").unwrap()),
            store,
            _directory: directory,
        }
    }
}

fn dataset(name: impl std::fmt::Display) -> Urn {
    let urn = format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)");
    Urn::parse(&urn).unwrap()
}

fn domain(name: impl std::fmt::Display) -> Urn {
    Urn::new("domain", &format!("d{name}")).unwrap()
}
