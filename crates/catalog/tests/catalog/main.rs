//! The catalog over a real store, without an API.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access;
mod contracts;
mod derived;
mod external_users;
mod follow_up_reads;
mod interrupted;
mod lineage;
mod loading;
mod model;
mod moves;
mod people;
mod policy_races;
mod proposal_lists;
mod random;
mod random_world;
mod runs;
mod tokens;
mod versions;
mod view_filters;
mod writing;

use std::sync::Arc;

use docent_catalog::{Caller, Catalog, Proposal};
use docent_model::{FixedClock, Registry, Urn};
use docent_store::Store;
use docent_test_store::TestStore;
use serde_json::Value;

struct Fixture {
    store: Arc<dyn Store>,
    catalog: Catalog,
    caller: Caller,
    _test_store: TestStore,
}

impl Fixture {
    /// With access control, where users without a role are Editors.
    async fn enforced() -> Self {
        let fixture = Self::new().await;
        fixture.enforce().await;
        fixture
    }

    async fn enforce(&self) {
        self.catalog.ensure_policies().await.unwrap();
        let editor = Urn::new("dataHubRole", "Editor").unwrap();
        self.catalog.enforce_policies(Some(&editor));
    }

    async fn new() -> Self {
        let test_store = TestStore::open().await.unwrap();
        let store = test_store.store();
        let clock = Arc::new(FixedClock::at(1_790_000_000_000));
        Self {
            catalog: Catalog::new(Arc::clone(&store), clock),
            caller: Caller::new(Urn::parse("urn:li:corpuser:tester").unwrap()),
            store,
            _test_store: test_store,
        }
    }
}

fn upsert(urn: &Urn, aspect: &str, value: &Value) -> Proposal {
    let aspect = Registry::get().aspect(aspect).unwrap();
    Proposal::upsert(urn.clone(), aspect, value.to_string())
}

/// Writes as the operator at the server, who alone writes policies and roles directly.
async fn write_as_operator(catalog: &Catalog, proposals: Vec<Proposal>) {
    catalog.ingest(&Caller::system(), proposals).await.unwrap();
}

fn dataset(name: impl std::fmt::Display) -> Urn {
    let urn = format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)");
    Urn::parse(&urn).unwrap()
}

fn domain(name: impl std::fmt::Display) -> Urn {
    Urn::new("domain", &format!("d{name}")).unwrap()
}
