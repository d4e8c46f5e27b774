//! Versions of assets, with other writers in between.

use std::sync::Arc;

use docent_catalog::versions::NewVersion;
use docent_catalog::{Caller, Catalog, Change, Error, ErrorKind, Proposal};
use docent_model::{FixedClock, Registry, SystemMetadata, Urn};
use docent_store::{AspectKey, ReadRequest, Store};
use docent_test_store::{InterceptedStore, TestStore};
use serde_json::{Value, json};

use crate::interrupted::Interrupted;
use crate::{dataset, upsert, write_as_operator};

/// A catalog on an interrupted store, and another one that writes meanwhile.
struct World {
    catalog: Catalog,
    other: Catalog,
    store: Arc<InterceptedStore<Interrupted>>,
    _test_store: TestStore,
}

impl World {
    /// With these datasets as versions of one set, from the first to the latest.
    async fn with_versions(names: &[&str]) -> Self {
        let test_store = TestStore::open().await.unwrap();
        let clock = Arc::new(FixedClock::at(1_790_000_000_000));
        let other = Catalog::new(test_store.store(), clock.clone());
        let store = Interrupted::store(test_store.store());
        let catalog = Catalog::new(Arc::clone(&store) as Arc<dyn Store>, clock);
        let world = Self {
            catalog,
            other,
            store,
            _test_store: test_store,
        };
        for name in names {
            link(&world.other, &set("s"), name).await.unwrap();
        }
        world
    }

    async fn aspect(&self, urn: &Urn, aspect: &str) -> Option<Value> {
        let key = AspectKey::new(urn, Registry::get().aspect(aspect).unwrap());
        let row = self.store.inner.read(ReadRequest::row(&key)).await.unwrap();
        let row = row.into_row()?;
        Some(serde_json::from_str(&row.metadata).unwrap())
    }

    async fn version(&self, name: &str) -> Option<Value> {
        self.aspect(&dataset(name), "versionProperties").await
    }

    /// The latest version that the set names.
    async fn latest(&self) -> Option<Value> {
        let properties = self.aspect(&set("s"), "versionSetProperties").await;
        Some(properties?["latest"].clone())
    }

    /// Another caller unlinks this version before the next transaction, and perhaps links it to
    /// another set.
    async fn unlink_meanwhile(&self, name: &'static str, new_set: Option<Urn>) {
        let other = self.other.clone();
        let step = async move {
            unlink(&other, name).await.unwrap();
            if let Some(new_set) = new_set {
                link(&other, &new_set, name).await.unwrap();
            }
        };
        self.store.before_next(step).await;
    }

    async fn roll_back(&self, run: &str) {
        let system = Caller::system();
        let done = self.other.roll_back(&system, run, false, false).await;
        done.unwrap();
    }

    async fn delete(&self, name: &str) {
        let delete = Proposal::new(dataset(name), Change::DeleteEntity);
        write_as_operator(&self.other, vec![delete]).await;
    }
}

fn set(name: &str) -> Urn {
    Urn::parse(&format!("urn:li:versionSet:({name},dataset)")).unwrap()
}

async fn link(catalog: &Catalog, set: &Urn, name: &str) -> Result<(), Error> {
    let status = upsert(&dataset(name), "status", &json!({"removed": false}));
    write_as_operator(catalog, vec![status]).await;
    let new = NewVersion {
        tag: name.to_owned(),
        comment: None,
        source_time_ms: None,
        source_creator: None,
    };
    let system = Caller::system();
    catalog
        .link_version(&system, set, &dataset(name), new)
        .await
}

async fn unlink(catalog: &Catalog, name: &str) -> Result<bool, Error> {
    let system = Caller::system();
    let (set, asset) = (set("s"), dataset(name));
    catalog.unlink_version(&system, &set, &asset).await
}

fn assert_conflict(result: Result<bool, Error>) {
    let error = result.unwrap_err();
    let is_conflict = matches!(error.kind(), ErrorKind::Conflict(_));
    assert!(is_conflict, "{error}");
    assert!(error.to_string().contains("meanwhile"), "{error}");
}

#[tokio::test]
async fn a_version_that_became_the_latest_meanwhile_stays() {
    let world = World::with_versions(&["one", "two"]).await;
    world.unlink_meanwhile("two", None).await;
    assert_conflict(unlink(&world.catalog, "one").await);
    assert_eq!(world.latest().await, Some(json!(dataset("one"))));
    assert_eq!(world.version("one").await.unwrap()["isLatest"], true);
}

#[tokio::test]
async fn a_version_that_was_unlinked_meanwhile_does_not_become_the_latest() {
    let world = World::with_versions(&["one", "two"]).await;
    world.unlink_meanwhile("one", None).await;
    assert_conflict(unlink(&world.catalog, "two").await);
    assert_eq!(world.latest().await, Some(json!(dataset("two"))));
    assert!(unlink(&world.catalog, "two").await.unwrap());
    assert_eq!(world.latest().await, None);
}

#[tokio::test]
async fn a_version_that_moved_to_another_set_meanwhile_stays_there() {
    let world = World::with_versions(&["one", "two"]).await;
    world.unlink_meanwhile("one", Some(set("other"))).await;
    assert_conflict(unlink(&world.catalog, "one").await);
    let version = world.version("one").await.unwrap();
    assert_eq!(version["versionSet"], json!(set("other")));
    assert_eq!(world.latest().await, Some(json!(dataset("two"))));
}

#[tokio::test]
async fn the_version_before_a_deleted_one_is_the_latest() {
    let world = World::with_versions(&["one", "two", "three"]).await;
    world.delete("three").await;
    assert_eq!(world.latest().await, Some(json!(dataset("two"))));
    assert_eq!(world.version("two").await.unwrap()["isLatest"], true);
    world.delete("one").await;
    assert_eq!(world.latest().await, Some(json!(dataset("two"))));
    link(&world.catalog, &set("s"), "four").await.unwrap();
    assert_eq!(world.latest().await, Some(json!(dataset("four"))));
    let two = world.version("two").await.unwrap();
    assert_eq!(two["isLatest"], false);

    let unlinked = Change::DeleteAspect {
        aspect: Registry::get().aspect("versionProperties").unwrap(),
    };
    write_as_operator(&world.other, vec![Proposal::new(dataset("four"), unlinked)]).await;
    assert_eq!(world.version("two").await.unwrap()["isLatest"], true);
    world.delete("two").await;
    assert_eq!(world.aspect(&set("s"), "versionSetKey").await, None);
}

#[tokio::test]
async fn a_version_that_moves_to_another_set_leaves_a_latest_one_behind() {
    let world = World::with_versions(&["one", "two"]).await;
    let mut moved = world.version("two").await.unwrap();
    moved["versionSet"] = json!(set("other"));
    let moved = upsert(&dataset("two"), "versionProperties", &moved);
    write_as_operator(&world.other, vec![moved]).await;
    assert_eq!(world.latest().await, Some(json!(dataset("one"))));
    assert_eq!(world.version("one").await.unwrap()["isLatest"], true);
    let other = world.aspect(&set("other"), "versionSetProperties").await;
    assert_eq!(other.unwrap()["latest"], json!(dataset("two")));
}

#[tokio::test]
async fn rolling_back_a_run_makes_the_version_before_it_the_latest() {
    let world = World::with_versions(&[]).await;
    let ingest = async |name: &str, set: &Urn, sort_id: &str, run: &str| {
        let value = json!({
            "versionSet": set, "version": {"versionTag": name}, "sortId": sort_id,
            "versioningScheme": "LEXICOGRAPHIC_STRING",
        });
        let run = SystemMetadata {
            run_id: run.to_owned(),
            ..SystemMetadata::default()
        };
        let proposal = upsert(&dataset(name), "versionProperties", &value);
        write_as_operator(&world.other, vec![proposal.with_system_metadata(Some(run))]).await;
    };
    let is_latest = async |name| world.version(name).await.unwrap()["isLatest"] == true;
    ingest("one", &set("s"), "b", "first").await;
    ingest("two", &set("s"), "c", "second").await;
    assert!(!is_latest("one").await);
    world.roll_back("second").await;
    assert_eq!(world.version("two").await, None);
    assert_eq!(world.latest().await, Some(json!(dataset("one"))));
    assert!(is_latest("one").await);

    // A run moves the latest version to another set, and back.
    ingest("zero", &set("s"), "a", "first").await;
    ingest("one", &set("other"), "b", "third").await;
    assert!(is_latest("zero").await);
    world.roll_back("third").await;
    assert_eq!(world.latest().await, Some(json!(dataset("one"))));
    assert!(is_latest("one").await);
    assert!(!is_latest("zero").await);
    assert_eq!(world.aspect(&set("other"), "versionSetKey").await, None);
}

#[tokio::test]
async fn the_latest_version_may_be_named_before_it_is_written() {
    let world = World::with_versions(&["one"]).await;
    let value = json!({
        "latest": dataset("two"), "versioningScheme": "ALPHANUMERIC_GENERATED_BY_DATAHUB",
    });
    let proposal = upsert(&set("s"), "versionSetProperties", &value);
    let operator = Caller::system();
    world.other.ingest(&operator, vec![proposal]).await.unwrap();
    assert_eq!(world.latest().await, Some(json!(dataset("two"))));
    link(&world.other, &set("s"), "two").await.unwrap();
    assert_eq!(world.latest().await, Some(json!(dataset("two"))));
    assert_eq!(world.version("one").await.unwrap()["isLatest"], false);
}

#[tokio::test]
async fn all_versions_of_a_large_set_are_compared() {
    let world = World::with_versions(&["latest"]).await;
    let name = |number: usize| format!("v{number:04}");
    let version = |number: usize| {
        let time = json!({"time": 1, "actor": "urn:li:corpuser:x"});
        let value = json!({
            "versionSet": set("s"), "version": {"versionTag": "v"}, "isLatest": false,
            "sortId": format!("AAAA{number:04}"), "versioningScheme": "ALPHANUMERIC_GENERATED_BY_DATAHUB",
            "metadataCreatedTimestamp": time,
        });
        upsert(&dataset(name(number)), "versionProperties", &value)
    };
    write_as_operator(&world.other, (0..1_100).map(version).collect()).await;
    assert!(unlink(&world.catalog, "latest").await.unwrap());
    assert_eq!(world.latest().await, Some(json!(dataset(name(1_099)))));
}
