//! Reads that take long leave the thread of their caller.

use std::sync::mpsc;

use docent_model::{AspectName, Derived, Edge};
use docent_store::{
    AspectKey, AspectWrite, Effect, PointRange, ReadRequest, RowVersion, Store, StoreError,
    StoreReader as _, TimeseriesRow, transact,
};
use docent_store_sqlite::SqliteStore;
use futures_util::FutureExt as _;

use super::{TestDatabase, dataset, put, status};

const LONG: usize = 2 * 1024 * 1024;

/// With one blocking thread, for [`is_in_place`].
fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .build();
    runtime.unwrap().block_on(test);
}

/// Whether a read is ready when it is first polled, while the blocking thread is occupied.
async fn is_in_place<T>(read: impl Future<Output = T>) -> bool {
    let (end, ended) = mpsc::channel::<()>();
    let occupied = tokio::task::spawn_blocking(move || ended.recv());
    let is_ready = read.now_or_never().is_some();
    drop(end);
    occupied.await.unwrap().unwrap_err();
    is_ready
}

fn text(length: usize) -> String {
    format!("\"{}\"", "x".repeat(length))
}

async fn put_points(store: &dyn Store, key: &AspectKey, points: usize, length: usize) {
    let key = key.clone();
    transact::<_, StoreError, _>(store, move |tx| {
        let points = (0..points).map(|number| AspectWrite {
            key: key.clone(),
            effect: Effect::Timeseries(TimeseriesRow {
                time_ms: 1,
                id: number.to_string(),
                metadata: text(length),
                system_metadata: None,
            }),
        });
        let writes: Vec<AspectWrite> = points.collect();
        Box::pin(async move { tx.write(&writes).await })
    })
    .await
    .unwrap();
}

async fn store_with(database: &TestDatabase, aspects: &[(&AspectKey, usize)]) -> SqliteStore {
    let store = database.open();
    for (key, length) in aspects {
        put(&store, key, &text(*length), Derived::default())
            .await
            .unwrap();
    }
    store
}

#[test]
fn a_long_row_is_read_on_another_thread_and_then_cached() {
    run(async {
        let database = TestDatabase::new();
        let (long, short) = (status("long"), status("short"));
        let store = store_with(&database, &[(&long, LONG), (&short, 10)]).await;
        let read = |key| store.read(ReadRequest::row(key));
        assert!(is_in_place(read(&short)).await);
        assert!(!is_in_place(read(&long)).await);
        let row = read(&long).await.unwrap().into_row().unwrap();
        assert_eq!(row.metadata, text(LONG));
        assert!(is_in_place(read(&long)).await);
        // Many that are long together.
        let keys: Vec<_> = (0..20).map(|number| status(&number.to_string())).collect();
        let of_100_kib: Vec<_> = keys.iter().map(|key| (key, LONG / 20)).collect();
        let database = TestDatabase::new();
        let store = store_with(&database, &of_100_kib).await;
        assert!(!is_in_place(store.read(ReadRequest::rows(&keys))).await);
        let read = store.read(ReadRequest::rows(&keys)).await.unwrap();
        assert!(read.rows.iter().all(Option::is_some));
    });
}

#[test]
fn the_system_metadata_of_a_row_counts_too() {
    run(async {
        let database = TestDatabase::new();
        let key = status("long");
        let store = store_with(&database, &[(&key, 10)]).await;
        let long = "x".repeat(LONG);
        let set = "UPDATE metadata_aspect_v2 SET systemmetadata=?1";
        database.raw().execute(set, [&long]).unwrap();
        assert!(!is_in_place(store.read(ReadRequest::row(&key))).await);
        let read = store.read(ReadRequest::row(&key)).await.unwrap();
        assert_eq!(
            read.into_row().unwrap().system_metadata.as_ref(),
            Some(&long)
        );
    });
}

#[test]
fn a_long_entity_is_read_on_another_thread() {
    run(async {
        let database = TestDatabase::new();
        let long = status("long");
        let ownership = AspectKey::new(&long.urn, AspectName::OWNERSHIP);
        let store = store_with(
            &database,
            &[(&long, LONG), (&ownership, 10), (&status("short"), 10)],
        )
        .await;
        let read = |urns| store.read(ReadRequest::entities(urns));
        let (short, long) = ([dataset("short")], [long.urn]);
        assert!(is_in_place(read(&short)).await);
        assert!(!is_in_place(read(&long)).await);
        assert_eq!(read(&long).await.unwrap().entities[0].len(), 2);
    });
}

#[test]
fn a_long_version_is_read_on_another_thread() {
    run(async {
        let database = TestDatabase::new();
        let key = status("long");
        let store = store_with(&database, &[(&key, LONG), (&key, 10)]).await;
        let (first, latest) = (RowVersion::new(1), RowVersion::LATEST);
        let read = |version| store.aspect_read_version(&key, version);
        assert!(is_in_place(read(latest)).await);
        assert!(is_in_place(read(RowVersion::new(9))).await);
        assert!(!is_in_place(read(first)).await);
        let row = read(first).await.unwrap().unwrap();
        assert_eq!(row.metadata, text(LONG));
    });
}

#[test]
fn many_outgoing_edges_are_counted_on_another_thread() {
    run(async {
        let database = TestDatabase::new();
        let store = database.open();
        for (name, count) in [("few", 10), ("many", 2000)] {
            let edges = (0..count).map(|number| Edge {
                relationship: "DownstreamOf",
                destination: dataset(&format!("{number:04}")),
            });
            let derived = Derived {
                edges: edges.collect(),
                placement: None,
            };
            put(&store, &status(name), "1", derived).await.unwrap();
        }
        let (few, many) = ([dataset("few")], [dataset("many")]);
        let list = |urns| store.edges_list(urns, true, &[], &[], 0, 5);
        assert!(is_in_place(list(&few)).await);
        assert!(!is_in_place(list(&many)).await);
        let both = [dataset("few"), dataset("many")];
        let pages = list(&both).await.unwrap();
        assert_eq!((pages[0].total, pages[1].total), (10, 2000));
    });
}

#[test]
fn long_points_are_read_on_another_thread() {
    run(async {
        let database = TestDatabase::new();
        let store = database.open();
        let [short, long] =
            ["short", "long"].map(|name| AspectKey::new(&dataset(name), AspectName::STATUS));
        put_points(&store, &short, 3, 10).await;
        put_points(&store, &long, 3, LONG).await;
        let all = PointRange::default();
        let list = |key| store.timeseries_list(key, &all, true, 0, 10);
        assert!(is_in_place(list(&short)).await);
        assert!(!is_in_place(list(&long)).await);
        assert_eq!(list(&long).await.unwrap().len(), 3);
        let latest = |keys| store.timeseries_latest(keys);
        let both = [short.clone(), long];
        assert!(is_in_place(latest(&both[..1])).await);
        assert!(!is_in_place(latest(&both)).await);
        assert!(latest(&both).await.unwrap().iter().all(Option::is_some));
    });
}
