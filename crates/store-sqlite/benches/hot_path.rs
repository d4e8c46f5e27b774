//! The cost of the hot path of a request: reading one aspect, several, and the commit stamp.
//! `cargo bench -p docent-store-sqlite`

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]
#![expect(clippy::unwrap_used, reason = "a benchmark may panic")]

use std::hint::black_box;
use std::time::Instant;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Derived, Urn};
use docent_store::version::{self, NewAspect};
use docent_store::{AspectKey, ReadRequest, StoreError, StoreReader as _, transact};
use docent_store_sqlite::{OpenOptions, SqliteStore};

const ENTITIES: usize = 10_000;
const SLICES: usize = 40;
const ROUNDS: usize = 2_500;

fn key(number: usize) -> AspectKey {
    let text = format!("urn:li:dataset:(urn:li:dataPlatform:hive,warehouse.table_{number},PROD)");
    let urn = Urn::parse(&text).unwrap();
    AspectKey::new(&urn, AspectName::EDITABLE_DATASET_PROPERTIES)
}

async fn fill(store: &SqliteStore) {
    let actor = Urn::parse("urn:li:corpuser:bench").unwrap();
    let started = Instant::now();
    transact::<(), StoreError, _>(store, move |tx| {
        let actor = actor.clone();
        Box::pin(async move {
            for number in 0..ENTITIES {
                let new = NewAspect {
                    metadata: format!("{{\"description\":\"{}\"}}", "x".repeat(282)),
                    system_metadata: None,
                    stamp: AuditStamp::new(&actor, 1_700_000_000_000),
                    derived: Derived::default(),
                    retired_version: None,
                };
                let write = version::put(key(number), None, new);
                tx.write(write.as_slice()).await?;
            }
            Ok(())
        })
    })
    .await
    .unwrap();
    report("write one aspect in a large transaction", started, ENTITIES);
}

fn report(name: &str, started: Instant, count: usize) {
    let each = started.elapsed().as_nanos() / count as u128;
    println!("{name}: {each} ns");
}

/// Reports the fastest of many slices, because other load only makes it slower. The first is a
/// warm-up.
async fn measure(name: &str, mut operation: impl AsyncFnMut(usize)) {
    let mut best = u128::MAX;
    for slice in 0..SLICES {
        let started = Instant::now();
        for round in 0..ROUNDS {
            operation(slice * ROUNDS + round).await;
        }
        best = best.min(started.elapsed().as_nanos() / ROUNDS as u128);
    }
    println!("{name}: {best} ns");
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let directory = tempfile::tempdir().unwrap();
    let options = OpenOptions::default();
    let store = SqliteStore::open(&directory.path().join("bench.db"), options).unwrap();
    fill(&store).await;
    let keys: Vec<AspectKey> = (0..ENTITIES).map(key).collect();

    for (what, stride) in [("the same", 0), ("any of 10,000", 7919)] {
        measure(&format!("read, one key, {what}"), async |round| {
            let key = &keys[(round * stride) % ENTITIES];
            black_box(store.read(ReadRequest::row(key)).await.unwrap());
        })
        .await;
    }
    measure("read, ten keys", async |round| {
        let first = (round * 10) % (ENTITIES - 10);
        black_box(
            store
                .read(ReadRequest::rows(&keys[first..first + 10]))
                .await
                .unwrap(),
        );
    })
    .await;
    measure("commit_stamp", async |_| {
        black_box(store.commit_stamp().unwrap());
    })
    .await;
}
