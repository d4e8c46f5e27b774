//! How often a transaction reads for what follows from its list: siblings and summaries.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use docent_catalog::{Catalog, Proposal};
use docent_model::{AspectName, FixedClock, LogicalVersion, Registry, Urn};
use docent_store::{
    AbortReason, AspectKey, AspectWrite, AuditRecord, PointRange, ReadRequest, RelatedEntity,
    Store, StoreError, StoredAspect, Transaction, TransactionBody,
};
use docent_test_store::{Intercept, InterceptedStore, TestStore};
use serde_json::{Value, json};

use crate::{dataset, upsert, write_as_operator};

/// Counts the reads of transactions.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn Store>,
    requests: Arc<AtomicUsize>,
}

#[async_trait]
impl Intercept for Counting {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn run_transaction(&self, inner: Box<dyn TransactionBody>) -> Result<(), StoreError> {
        let requests = Arc::clone(&self.requests);
        let body = CountedBody { inner, requests };
        self.inner.run_transaction(Box::new(body)).await
    }
}

struct CountedBody {
    inner: Box<dyn TransactionBody>,
    requests: Arc<AtomicUsize>,
}

#[async_trait]
impl TransactionBody for CountedBody {
    async fn run(&mut self, tx: &mut dyn Transaction) -> Result<(), AbortReason> {
        let requests = &self.requests;
        self.inner.run(&mut Counted { tx, requests }).await
    }
}

struct Counted<'t> {
    tx: &'t mut dyn Transaction,
    requests: &'t AtomicUsize,
}

#[async_trait]
impl Transaction for Counted<'_> {
    async fn aspects_get(
        &mut self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<StoredAspect>>, StoreError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.tx.aspects_get(keys).await
    }

    async fn aspect_names(&mut self, urn: &Urn) -> Result<Vec<AspectName>, StoreError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.tx.aspect_names(urn).await
    }

    async fn latest_versions(
        &mut self,
        urn: &Urn,
    ) -> Result<Vec<(AspectName, LogicalVersion)>, StoreError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.tx.latest_versions(urn).await
    }

    async fn rows_count(
        &mut self,
        urn: &Urn,
        aspect: Option<AspectName>,
    ) -> Result<(u64, u64), StoreError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.tx.rows_count(urn, aspect).await
    }

    async fn aspect_history(&mut self, key: &AspectKey) -> Result<Vec<StoredAspect>, StoreError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.tx.aspect_history(key).await
    }

    async fn retired_versions(
        &mut self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<LogicalVersion>>, StoreError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.tx.retired_versions(keys).await
    }

    async fn points_count(
        &mut self,
        key: &AspectKey,
        range: &PointRange,
    ) -> Result<u64, StoreError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.tx.points_count(key, range).await
    }

    async fn placement_parent(&mut self, urn: &Urn) -> Result<Option<Option<Urn>>, StoreError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.tx.placement_parent(urn).await
    }

    async fn placements_named(
        &mut self,
        kind: &str,
        parent: Option<&Urn>,
        name: &str,
    ) -> Result<Vec<Urn>, StoreError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.tx.placements_named(kind, parent, name).await
    }

    async fn placement_children(
        &mut self,
        kind: &str,
        parents: &[Urn],
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.tx.placement_children(kind, parents, limit).await
    }

    async fn edges_into(
        &mut self,
        destination: &Urn,
        aspect: AspectName,
        limit: usize,
    ) -> Result<Vec<RelatedEntity>, StoreError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.tx.edges_into(destination, aspect, limit).await
    }

    async fn texts_list(
        &mut self,
        entity_type: &str,
        aspect: AspectName,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<(Urn, String)>, StoreError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.tx.texts_list(entity_type, aspect, after, limit).await
    }

    async fn lock(&mut self, name: &str) -> Result<(), StoreError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.tx.lock(name).await
    }

    async fn write(&mut self, writes: &[AspectWrite]) -> Result<(), StoreError> {
        self.tx.write(writes).await
    }

    async fn audit(&mut self, record: &AuditRecord) -> Result<(), StoreError> {
        self.tx.audit(record).await
    }
}

const DATASETS: usize = 100;

fn dbt(number: usize) -> Urn {
    let urn = format!("urn:li:dataset:(urn:li:dataPlatform:dbt,m{number},PROD)");
    Urn::parse(&urn).unwrap()
}

fn lineage(of: &Urn, upstream: &Urn) -> Proposal {
    let upstreams = json!([{"dataset": upstream, "type": "TRANSFORMED"}]);
    upsert(of, "upstreamLineage", &json!({"upstreams": upstreams}))
}

fn source(number: usize) -> Proposal {
    upsert(&dbt(number), "subTypes", &json!({"typeNames": ["Source"]}))
}

/// A catalog, and how many reads its last list took.
struct Written {
    catalog: Catalog,
    reads: usize,
    _test_store: TestStore,
}

/// Writes lists one after the other.
async fn written(lists: Vec<Vec<Proposal>>) -> Written {
    let test_store = TestStore::open().await.unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let store = Arc::new(InterceptedStore(Counting {
        inner: test_store.store(),
        requests: Arc::clone(&requests),
    }));
    let clock = Arc::new(FixedClock::at(1_790_000_000_000));
    let catalog = Catalog::new(Arc::clone(&store) as Arc<dyn Store>, clock);
    for list in lists {
        requests.store(0, Ordering::SeqCst);
        write_as_operator(&catalog, list).await;
    }
    Written {
        catalog,
        reads: requests.load(Ordering::SeqCst),
        _test_store: test_store,
    }
}

/// The value of an aspect, which must be there.
async fn value(catalog: &Catalog, urn: &Urn, aspect: &str) -> Value {
    let aspect = Registry::get().aspect(aspect).unwrap();
    let key = AspectKey::new(urn, aspect);
    let row = catalog.read(ReadRequest::row(&key)).await.unwrap();
    serde_json::from_str(&row.into_row().unwrap().metadata).unwrap()
}

/// How many reads the last list takes. All datasets have siblings then.
async fn reads(lists: Vec<Vec<Proposal>>) -> usize {
    let written = written(lists).await;
    for number in 0..DATASETS {
        for (urn, sibling) in [
            (dbt(number), dataset(number)),
            (dataset(number), dbt(number)),
        ] {
            let value = value(&written.catalog, &urn, "siblings").await;
            assert_eq!(value["siblings"], json!([sibling]));
        }
    }
    written.reads
}

/// The reads of one list, whatever its length.
const MAX_READS: usize = 8;

#[tokio::test]
async fn many_tables_and_their_models_are_read_at_once() {
    let list = (0..DATASETS).map(|number| lineage(&dataset(number), &dbt(number)));
    let reads = reads(vec![list.collect()]).await;
    assert!(reads <= MAX_READS, "{reads}");
}

#[tokio::test]
async fn many_sources_and_their_tables_are_read_at_once() {
    let both = |number| [source(number), lineage(&dbt(number), &dataset(number))];
    let reads = reads(vec![(0..DATASETS).flat_map(both).collect()]).await;
    assert!(reads <= MAX_READS, "{reads}");
}

#[tokio::test]
async fn the_tables_of_stored_lineage_are_read_at_once() {
    let lineages = (0..DATASETS).map(|number| lineage(&dbt(number), &dataset(number)));
    let sources = (0..DATASETS).map(source);
    let reads = reads(vec![lineages.collect(), sources.collect()]).await;
    assert!(reads <= MAX_READS, "{reads}");
}

fn assertion(number: usize) -> Urn {
    Urn::new("assertion", &format!("a{number}")).unwrap()
}

/// A result of each assertion.
fn results(time_ms: i64, result: &str) -> Vec<Proposal> {
    let of = |number: usize| {
        let run = json!({
            "timestampMillis": time_ms, "runId": "r", "asserteeUrn": dataset(number),
            "assertionUrn": assertion(number), "status": "COMPLETE", "result": {"type": result},
        });
        upsert(&assertion(number), "assertionRunEvent", &run)
    };
    (0..DATASETS).map(of).collect()
}

#[tokio::test]
async fn the_summaries_of_many_assertions_are_read_at_once() {
    let first = results(10, "SUCCESS");
    let second = results(20, "FAILURE");
    for (lists, expected) in [
        (vec![first.clone()], "PASSING"),
        (vec![first, second], "FAILING"),
    ] {
        let written = written(lists).await;
        for number in 0..DATASETS {
            let urn = assertion(number);
            let summary = value(&written.catalog, &urn, "assertionRunSummary").await;
            assert_eq!(summary["assertionStatus"], expected);
        }
        assert!(written.reads <= MAX_READS, "{}", written.reads);
    }
}

/// An incident about each dataset from this one on.
fn incidents(first: usize) -> Vec<Proposal> {
    let of = |number: usize| {
        let stamp = json!({"time": 1, "actor": "urn:li:corpuser:tester"});
        let info = json!({
            "type": "FRESHNESS", "title": "Late", "entities": [dataset(first + number)],
            "status": {"state": "ACTIVE", "lastUpdated": stamp}, "created": stamp,
        });
        let incident = Urn::new("incident", &format!("i{number}")).unwrap();
        upsert(&incident, "incidentInfo", &info)
    };
    (0..DATASETS).map(of).collect()
}

#[tokio::test]
async fn the_summaries_of_many_assets_are_read_at_once() {
    let status = |number: usize| upsert(&dataset(number), "status", &json!({"removed": false}));
    let datasets: Vec<Proposal> = (0..2 * DATASETS).map(status).collect();
    let raised = vec![datasets, incidents(0)];
    let mut moved = raised.clone();
    moved.push(incidents(DATASETS));
    for (lists, first) in [(raised, 0), (moved, DATASETS)] {
        let written = written(lists).await;
        for number in 0..DATASETS {
            let asset = dataset(first + number);
            let summary = value(&written.catalog, &asset, "incidentsSummary").await;
            let active = summary["activeIncidentDetails"].as_array();
            assert_eq!(active.map(Vec::len), Some(1), "{summary}");
        }
        assert!(written.reads <= MAX_READS, "{}", written.reads);
    }
}
