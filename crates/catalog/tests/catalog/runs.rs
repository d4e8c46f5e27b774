//! Rollbacks during other writes, and deletion of entities with many references.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use docent_catalog::{AspectKey, Catalog, Change, ErrorKind, Proposal, ReadRequest};
use docent_model::{AspectName, FixedClock, Registry, SystemMetadata, Urn};
use docent_store::{LogEntry, LogPosition, Store, StoreError, TransactionBody};
use docent_test_store::{Intercept, InterceptedStore};
use serde_json::json;

use crate::{Fixture, dataset, upsert};

const ENTITIES: usize = 240;

fn properties() -> AspectName {
    Registry::get().aspect("datasetProperties").unwrap()
}

fn description(urn: &Urn, aspect: AspectName, text: &str, run: Option<&str>) -> Proposal {
    let system_metadata = run.map(|run| SystemMetadata {
        run_id: run.to_owned(),
        ..SystemMetadata::default()
    });
    let value = json!({"description": text}).to_string();
    Proposal::upsert(urn.clone(), aspect, value).with_system_metadata(system_metadata)
}

/// Writes acknowledged during a rollback survive it: the entity stays, or is created again.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_edit_during_the_rollback_of_its_entity_is_not_lost() {
    let fixture = Fixture::new().await;
    let urns: Vec<Urn> = (0..ENTITIES).map(dataset).collect();
    let ingested = urns
        .iter()
        .map(|urn| description(urn, properties(), "run", Some("r")))
        .collect();
    fixture
        .catalog
        .ingest(&fixture.caller, ingested)
        .await
        .unwrap();
    let editor = tokio::spawn({
        let (catalog, caller, urns) = (
            fixture.catalog.clone(),
            fixture.caller.clone(),
            urns.clone(),
        );
        async move {
            for urn in urns.iter().rev() {
                let aspect = AspectName::EDITABLE_DATASET_PROPERTIES;
                let edit = description(urn, aspect, "by hand", None);
                catalog.ingest(&caller, vec![edit]).await.unwrap();
            }
        }
    });
    let rolled_back = fixture
        .catalog
        .roll_back(&fixture.caller, "r", false, false)
        .await
        .unwrap();
    editor.await.unwrap();
    let keys: Vec<AspectKey> = urns
        .iter()
        .map(|urn| AspectKey::new(urn, AspectName::EDITABLE_DATASET_PROPERTIES))
        .collect();
    let rows = fixture
        .catalog
        .read(ReadRequest::rows(&keys))
        .await
        .unwrap()
        .rows;
    let lost = rows.iter().filter(|row| row.is_none()).count();
    assert_eq!(lost, 0, "{rolled_back:?}");
    let deleted: Vec<AspectKey> = urns
        .iter()
        .map(|urn| AspectKey::new(urn, properties()))
        .collect();
    let rows = fixture
        .catalog
        .read(ReadRequest::rows(&deleted))
        .await
        .unwrap()
        .rows;
    assert!(rows.iter().all(Option::is_none));
}

#[tokio::test]
async fn a_value_that_a_run_overwrote_keeps_the_entity_that_the_run_created() {
    let fixture = Fixture::new().await;
    let urn = dataset("t");
    let aspect = AspectName::EDITABLE_DATASET_PROPERTIES;
    for (text, run) in [("made", Some("r")), ("by hand", None), ("again", Some("r"))] {
        let write = description(&urn, aspect, text, run);
        fixture
            .catalog
            .ingest(&fixture.caller, vec![write])
            .await
            .unwrap();
    }
    let done = fixture
        .catalog
        .roll_back(&fixture.caller, "r", false, false)
        .await
        .unwrap();
    assert_eq!((done.unsafe_entities, done.entities_affected), (1, 0));
    let reply = fixture
        .catalog
        .read(ReadRequest::row(&AspectKey::new(&urn, aspect)))
        .await
        .unwrap();
    let text = reply.into_row().map(|row| row.metadata.clone());
    assert_eq!(text, Some(json!({"description": "by hand"}).to_string()));
}

/// Notes the end of the log after every transaction.
#[derive(Debug)]
struct Transactions {
    inner: Arc<dyn Store>,
    ends: Mutex<Vec<LogPosition>>,
}

#[async_trait]
impl Intercept for Transactions {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    async fn run_transaction(&self, body: Box<dyn TransactionBody>) -> Result<(), StoreError> {
        let ran = self.inner.run_transaction(body).await;
        let newest = self.inner.log_newest().await?;
        let newest = newest.map_or(LogPosition::START, |entry| entry.position);
        self.ends.lock().unwrap().push(newest);
        ran
    }
}

/// How many entities other than the deleted one each transaction of a deletion changes.
async fn changes_of_deletion(fixture: &Fixture, target: &Urn) -> Vec<usize> {
    let store = Arc::new(InterceptedStore(Transactions {
        inner: Arc::clone(&fixture.store),
        ends: Mutex::default(),
    }));
    let clock = Arc::new(FixedClock::at(1_790_000_000_000));
    let catalog = Catalog::new(Arc::clone(&store) as Arc<dyn Store>, clock);
    let mut from = fixture.store.log_newest().await.unwrap().unwrap().position;
    let delete = Proposal::new(target.clone(), Change::DeleteEntity);
    catalog.ingest(&fixture.caller, vec![delete]).await.unwrap();
    let ends = std::mem::take(&mut *store.ends.lock().unwrap());
    let mut changes = Vec::new();
    for end in ends {
        let mut part = fixture.store.log_read(from, 20_000).await.unwrap();
        part.retain(|entry| entry.position <= end && entry.key.urn != *target);
        changes.push(part.len());
        from = end;
    }
    changes
}

/// What the documents promise to other writers.
#[tokio::test]
async fn each_transaction_of_a_deletion_removes_200_references_or_4_mib_at_most() {
    const LONG: usize = 12;
    let fixture = Fixture::new().await;
    let [wide, long] = ["wide", "long"].map(|name| Urn::new("tag", name).unwrap());
    let tagged = |urn: &Urn, tag: &Urn, context: &str| {
        let tags = json!({"tags": [{"tag": tag, "context": context}, {"tag": "urn:li:tag:other"}]});
        upsert(urn, "globalTags", &tags)
    };
    let mut list = [&wide, &long]
        .map(|tag| upsert(tag, "tagProperties", &json!({"name": "n"})))
        .to_vec();
    list.extend((0..450).map(|number| tagged(&dataset(number), &wide, "short")));
    fixture.catalog.ingest(&fixture.caller, list).await.unwrap();
    let changes = changes_of_deletion(&fixture, &wide).await;
    assert_eq!(changes.iter().sum::<usize>(), 450, "{changes:?}");
    assert!(changes.iter().all(|number| *number <= 200), "{changes:?}");
    let context = "x".repeat(1_500_000);
    for number in 0..LONG {
        let write = tagged(&dataset(format!("long{number}")), &long, &context);
        let ingested = fixture.catalog.ingest(&fixture.caller, vec![write]).await;
        ingested.unwrap();
    }
    let changes = changes_of_deletion(&fixture, &long).await;
    assert_eq!(changes.iter().sum::<usize>(), LONG, "{changes:?}");
    assert!(changes.iter().all(|number| *number <= 3), "{changes:?}");
}

/// Several transactions remove a tag from thousands of assets; the last one deletes it. Another
/// writer gets its turn between them: it waits for two or three of them.
#[tokio::test]
async fn an_entity_with_thousands_of_references_is_deleted_in_chunks() {
    const HOLDERS: usize = 2100;
    let fixture = Fixture::new().await;
    let tag = Urn::parse("urn:li:tag:wide").unwrap();
    let other_tag = Urn::parse("urn:li:tag:other").unwrap();
    let domain = Urn::parse("urn:li:domain:wide").unwrap();
    let write = |urn: &Urn, aspect, value: serde_json::Value| {
        Proposal::upsert(urn.clone(), aspect, value.to_string())
    };
    let mut list = vec![
        write(&tag, AspectName::TAG_PROPERTIES, json!({"name": "wide"})),
        write(
            &domain,
            AspectName::DOMAIN_PROPERTIES,
            json!({"name": "wide"}),
        ),
    ];
    let urns: Vec<Urn> = (0..HOLDERS).map(dataset).collect();
    for urn in &urns {
        list.push(write(
            urn,
            AspectName::GLOBAL_TAGS,
            json!({"tags": [{"tag": tag}]}),
        ));
        list.push(write(
            urn,
            AspectName::DOMAINS,
            json!({"domains": [domain]}),
        ));
    }
    fixture.catalog.ingest(&fixture.caller, list).await.unwrap();
    for (target, aspect) in [
        (&tag, AspectName::GLOBAL_TAGS),
        (&domain, AspectName::DOMAINS),
    ] {
        let delete = Proposal::new(target.clone(), Change::DeleteEntity);
        // In a list with others it would not be all or nothing.
        let other = write(&urns[0], AspectName::STATUS, json!({"removed": true}));
        let rejected = fixture
            .catalog
            .ingest(&fixture.caller, vec![delete.clone(), other])
            .await;
        assert_eq!(rejected.unwrap_err().kind(), ErrorKind::TooLarge);
        let before = fixture.store.log_newest().await.unwrap().unwrap().position;
        let deletion = fixture.catalog.ingest(&fixture.caller, vec![delete]);
        let is_deleted = Cell::new(false);
        let others = async {
            let mut number = 0;
            while !is_deleted.get() {
                let name = json!({"name": format!("name {number}")});
                let list = vec![write(&other_tag, AspectName::TAG_PROPERTIES, name)];
                fixture.catalog.ingest(&fixture.caller, list).await.unwrap();
                number += 1;
            }
        };
        let deleted = async {
            deletion.await.unwrap();
            is_deleted.set(true);
        };
        tokio::join!(deleted, others);
        let mut changes = fixture.store.log_read(before, 20_000).await.unwrap();
        let is_of_others = |it: &LogEntry| it.key.urn == other_tag;
        let longest = changes.split(is_of_others).map(<[_]>::len).max();
        assert!(
            longest < Some(HOLDERS / 3),
            "others wait for {longest:?} of the changes"
        );
        changes.retain(|it| !is_of_others(it));
        let first_deletion = changes.iter().position(|it| it.key.urn == *target);
        assert_eq!(
            first_deletion,
            Some(HOLDERS),
            "{aspect}: those who refer to it come first"
        );
        let exists = fixture.catalog.exists(std::slice::from_ref(target)).await;
        assert_eq!(exists.unwrap(), [false]);
        let edges = fixture
            .store
            .edges_list(std::slice::from_ref(target), false, &[], &[], 0, 1)
            .await
            .unwrap();
        assert_eq!(edges[0].total, 0, "{aspect}");
    }
}
