//! Behavior of an engine with many writers: commit order, conflicts, other servers.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod connections;
mod locks;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Derived, Urn, derive};
use docent_store::version::{self, NewAspect};
use docent_store::{
    AspectKey, LogPosition, ReadRequest, Store, StoreError, StoreMaintenance as _,
    StoreReader as _, Transaction, transact,
};
use docent_store_postgres::{OpenOptions, PostgresStore, Settings};
use docent_test_postgres::Database;
use docent_test_store::{open_postgres, postgres_database};
use tokio::sync::Barrier;

/// The limit for events that take much less.
const TIMEOUT: Duration = Duration::from_secs(30);

fn dataset(name: &str) -> Urn {
    let text = format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)");
    Urn::parse(&text).unwrap()
}

fn domain(name: &str) -> Urn {
    Urn::new("domain", name).unwrap()
}

fn status(name: &str) -> AspectKey {
    AspectKey::new(&dataset(name), AspectName::STATUS)
}

fn new(metadata: String, derived: Derived) -> NewAspect {
    NewAspect {
        metadata,
        system_metadata: None,
        stamp: AuditStamp::new(&Urn::parse("urn:li:corpuser:tester").unwrap(), 1),
        derived,
        retired_version: None,
    }
}

/// Reads, decides and writes, as the catalog does.
async fn put_in(
    tx: &mut dyn Transaction,
    key: &AspectKey,
    metadata: &str,
) -> Result<(), StoreError> {
    let previous = tx.aspects_get(std::slice::from_ref(key)).await?.remove(0);
    let value = serde_json::from_str(metadata).unwrap();
    let derived = derive(&key.urn, key.aspect, &value);
    let new = new(metadata.to_owned(), derived);
    let write = version::put(key.clone(), previous.as_ref(), new);
    tx.write(write.as_slice()).await
}

async fn put(store: &dyn Store, key: &AspectKey, metadata: &str) {
    try_put(store, key, metadata).await.unwrap();
}

async fn try_put(store: &dyn Store, key: &AspectKey, metadata: &str) -> Result<(), StoreError> {
    let (key, metadata) = (key.clone(), metadata.to_owned());
    transact(store, move |tx| {
        let (key, metadata) = (key.clone(), metadata.clone());
        Box::pin(async move { put_in(tx, &key, &metadata).await })
    })
    .await
}

async fn logged(store: &dyn Store, after: i64) -> Vec<(i64, Urn)> {
    let after = LogPosition::new(after);
    let changes = store.log_read(after, 100).await.unwrap();
    changes
        .into_iter()
        .map(|change| (change.position.get(), change.key.urn))
        .collect()
}

/// A transaction takes its number, another takes the next one and commits, a reader reads the log,
/// and only then the first commits. A reader that continues from there must see it.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_commits_late_is_not_missing_from_the_log() {
    let database = postgres_database().unwrap();
    let store = open_postgres(database.url()).await.unwrap();
    // Another server, between its last statement and its commit.
    let (late, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    late.batch_execute(
        "BEGIN; INSERT INTO change_pending (transaction, changes) VALUES (nextval('change_transaction'), 1); \
         INSERT INTO change_log (transaction, item, urn, aspect, kind, logical_version, time_ms, actor) \
         VALUES (currval('change_transaction'), 0, 'urn:li:domain:late', 'status', 'put', 1, 1, 'urn:li:corpuser:x')",
    )
    .await
    .unwrap();
    put(&store, &status("early"), "{}").await;
    let before = logged(&store, 0).await;
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].1, dataset("early"));
    let stamp = store.commit_stamp_exact().await.unwrap();
    late.batch_execute("COMMIT").await.unwrap();
    assert_ne!(store.commit_stamp_exact().await.unwrap(), stamp);
    let behind = logged(&store, before[0].0).await;
    assert_eq!(behind, [(before[0].0 + 1, domain("late"))]);
    put(&store, &status("later"), "{}").await;
    let all: Vec<Urn> = logged(&store, 0).await.into_iter().map(|it| it.1).collect();
    assert_eq!(all, [dataset("early"), domain("late"), dataset("later")]);
    drop(late);
    connection.await.unwrap().unwrap();
}

/// The other direction, that a commit leaves the stamps of other types alone, is tested without a
/// clock in `stamp`.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_advances_the_stamp_of_its_entity_type_on_every_server() {
    let database = postgres_database().unwrap();
    let servers = [
        open_postgres(database.url()).await.unwrap(),
        open_postgres(database.url()).await.unwrap(),
    ];
    let stamps = || {
        servers
            .each_ref()
            .map(|server| server.commit_stamp_of(&["dataset"]).unwrap())
    };
    for round in 0..5 {
        let before = stamps();
        put(&servers[0], &status(&format!("t{round}")), "{}").await;
        let started = Instant::now();
        while stamps().iter().zip(before).any(|(now, then)| *now == then) {
            assert!(started.elapsed() < TIMEOUT, "round {round}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_writer_only_blocks_writers_of_the_same_entity() {
    let database = postgres_database().unwrap();
    let store = Arc::new(open_postgres(database.url()).await.unwrap());
    put(&*store, &status("slow"), "{}").await;
    let (holding, go_on) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let slow = {
        let (store, holding, go_on) =
            (Arc::clone(&store), Arc::clone(&holding), Arc::clone(&go_on));
        tokio::spawn(async move {
            transact::<(), StoreError, _>(&*store, move |tx| {
                let (holding, go_on) = (Arc::clone(&holding), Arc::clone(&go_on));
                Box::pin(async move {
                    put_in(tx, &status("slow"), r#"{"removed":true}"#).await?;
                    // Sends the write and keeps its locks.
                    tx.aspects_get(&[status("slow")]).await?;
                    holding.wait().await;
                    go_on.wait().await;
                    Ok(())
                })
            })
            .await
            .unwrap();
        })
    };
    holding.wait().await;
    // The slow writer has not committed, and this one has.
    put(&*store, &status("other"), r#"{"removed":true}"#).await;
    assert_eq!(logged(&*store, 0).await.len(), 2);
    let same = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { put(&*store, &status("slow"), r#"{"removed":false}"#).await })
    };
    go_on.wait().await;
    slow.await.unwrap();
    same.await.unwrap();
    let row = store
        .read(ReadRequest::rows(&[status("slow")]))
        .await
        .unwrap()
        .rows
        .remove(0)
        .unwrap();
    assert_eq!(row.metadata, r#"{"removed":false}"#);
    assert_eq!(version::logical_version_of(&row).get(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writers_of_one_entity_run_once_each() {
    const WRITES: usize = 20;
    let database = postgres_database().unwrap();
    let store = Arc::new(open_postgres(database.url()).await.unwrap());
    let registry = docent_model::Registry::get();
    let key_aspect = registry.entity("dataset").unwrap().key_aspect;
    let keys = [AspectName::STATUS, key_aspect].map(|it| AspectKey::new(&dataset("busy"), it));
    for key in &keys {
        put(&*store, key, "{}").await;
    }
    let runs = Arc::new(AtomicU64::new(0));
    let writers = (0..8).map(|writer| {
        let (store, keys, runs) = (Arc::clone(&store), keys.clone(), Arc::clone(&runs));
        tokio::spawn(async move {
            for number in 0..WRITES {
                let (keys, runs) = (keys.clone(), Arc::clone(&runs));
                transact::<(), StoreError, _>(&*store, move |tx| {
                    let (keys, runs) = (keys.clone(), Arc::clone(&runs));
                    Box::pin(async move {
                        runs.fetch_add(1, Ordering::Relaxed);
                        let previous = tx.aspects_get(&keys).await?.remove(0);
                        let metadata = format!(r#"{{"writer":{writer},"number":{number}}}"#);
                        let new = new(metadata, Derived::default());
                        let write = version::put(keys[0].clone(), previous.as_ref(), new);
                        tx.write(write.as_slice()).await
                    })
                })
                .await
                .unwrap();
            }
        })
    });
    for writer in futures_util::future::join_all(writers).await {
        writer.unwrap();
    }
    let row = store
        .read(ReadRequest::rows(&keys[..1]))
        .await
        .unwrap()
        .rows
        .remove(0);
    assert_eq!(
        usize::try_from(version::logical_version_of(&row.unwrap()).get()),
        Ok(1 + 8 * WRITES)
    );
    let runs = usize::try_from(runs.load(Ordering::Relaxed)).unwrap();
    assert_eq!(runs, 8 * WRITES);
}

/// Two transactions check that a name is free among siblings in a tree, and take it: one must see
/// the other. Queries on a tree lock all of it.
#[tokio::test(flavor = "multi_thread")]
async fn only_one_of_two_concurrent_writers_gets_a_name_in_a_tree() {
    let database = postgres_database().unwrap();
    let store = Arc::new(open_postgres(database.url()).await.unwrap());
    for round in 0..20 {
        let both = Arc::new(Barrier::new(2));
        let key = |name: &str| {
            AspectKey::new(
                &domain(&format!("{name}{round}")),
                AspectName::DOMAIN_PROPERTIES,
            )
        };
        let place = |own: AspectKey, name: &'static str| {
            let (store, both) = (Arc::clone(&store), Arc::clone(&both));
            tokio::spawn(async move {
                let mut first = Some(both);
                transact::<bool, StoreError, _>(&*store, move |tx| {
                    let (own, first) = (own.clone(), first.take());
                    Box::pin(async move {
                        if let Some(both) = first {
                            both.wait().await;
                        }
                        let taken = !tx.placements_named("domain", None, name).await?.is_empty();
                        if !taken {
                            put_in(tx, &own, &format!(r#"{{"name":"{name}"}}"#)).await?;
                        }
                        Ok(!taken)
                    })
                })
                .await
                .unwrap()
            })
        };
        let name: &'static str = Box::leak(format!("Sales {round}").into_boxed_str());
        let (one, other) = (place(key("a"), name), place(key("b"), name));
        let placed = [one.await.unwrap(), other.await.unwrap()];
        assert_eq!(
            placed.iter().filter(|placed| **placed).count(),
            1,
            "{placed:?}"
        );
    }
}

/// An entity is deleted while another is attached to it: no reference dangles, in either order.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_attached_to_an_entity_being_deleted() {
    let database = postgres_database().unwrap();
    let store = Arc::new(open_postgres(database.url()).await.unwrap());
    let key_aspect = docent_model::Registry::get()
        .entity("domain")
        .unwrap()
        .key_aspect;
    for round in 0..20 {
        let target = domain(&format!("d{round}"));
        let own = AspectKey::new(&target, key_aspect);
        put(&*store, &own, r#"{"id":"d"}"#).await;
        let attach = {
            let (store, own, target) = (Arc::clone(&store), own.clone(), target.clone());
            tokio::spawn(async move {
                transact::<bool, StoreError, _>(&*store, move |tx| {
                    let (own, target) = (own.clone(), target.clone());
                    Box::pin(async move {
                        if tx.aspects_get(&[own]).await?[0].is_none() {
                            return Ok(false);
                        }
                        let key = AspectKey::new(&dataset(target.key()), AspectName::DOMAINS);
                        put_in(tx, &key, &format!(r#"{{"domains":["{target}"]}}"#)).await?;
                        Ok(true)
                    })
                })
                .await
                .unwrap()
            })
        };
        let delete = {
            let (store, own, target) = (Arc::clone(&store), own.clone(), target.clone());
            tokio::spawn(async move {
                transact::<usize, StoreError, _>(&*store, move |tx| {
                    let (own, target) = (own.clone(), target.clone());
                    Box::pin(async move {
                        let members = tx.edges_into(&target, AspectName::DOMAINS, 10).await?;
                        for member in &members {
                            let key = AspectKey::new(&member.urn, AspectName::DOMAINS);
                            put_in(tx, &key, r#"{"domains":[]}"#).await?;
                        }
                        let effect = docent_store::Effect::Delete {
                            retired_version: None,
                            time_ms: 1,
                            actor: "urn:li:corpuser:x".to_owned(),
                        };
                        tx.write(&[docent_store::AspectWrite { key: own, effect }])
                            .await?;
                        Ok(members.len())
                    })
                })
                .await
                .unwrap()
            })
        };
        let (attached, released) = (attach.await.unwrap(), delete.await.unwrap());
        assert_eq!(usize::from(attached), released, "round {round}");
        let pages = store
            .edges_list(&[target], false, &[], &[], 0, 9)
            .await
            .unwrap();
        assert_eq!(pages[0].total, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_another_server_advances_the_stamp_within_a_second() {
    let database = postgres_database().unwrap();
    let one = open_postgres(database.url()).await.unwrap();
    let other = open_postgres(database.url()).await.unwrap();
    for round in 0..5 {
        let before = one.commit_stamp().unwrap();
        put(&other, &status("a"), &round.to_string()).await;
        let committed = Instant::now();
        loop {
            // Before the read: a test that is not scheduled in between must not fail.
            let elapsed = committed.elapsed();
            if one.commit_stamp().unwrap() != before {
                break;
            }
            assert!(elapsed < Duration::from_secs(1), "round {round}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Concurrent reads share statements, but never one that began before the read.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_sees_every_write_acknowledged_before_it_began() {
    let database = postgres_database().unwrap();
    let one = Arc::new(open_postgres(database.url()).await.unwrap());
    let other = open_postgres(database.url()).await.unwrap();
    let newest = Arc::new(AtomicU64::new(0));
    put(&other, &status("a"), "0").await;
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..24)
        .map(|_| {
            let (store, newest, done) = (Arc::clone(&one), Arc::clone(&newest), Arc::clone(&done));
            tokio::spawn(async move {
                let mut reads = 0;
                while !done.load(Ordering::Relaxed) {
                    let acknowledged = newest.load(Ordering::Acquire);
                    let rows = store
                        .read(ReadRequest::rows(&[status("a")]))
                        .await
                        .unwrap()
                        .rows;
                    let seen: u64 = rows[0].as_ref().unwrap().metadata.parse().unwrap();
                    assert!(seen >= acknowledged, "{seen} after {acknowledged}");
                    reads += 1;
                }
                reads
            })
        })
        .collect();
    for number in 1..100 {
        put(&other, &status("a"), &number.to_string()).await;
        newest.store(number, Ordering::Release);
    }
    done.store(true, Ordering::Relaxed);
    let reads = futures_util::future::join_all(readers).await;
    let reads: u64 = reads.into_iter().map(Result::unwrap).sum();
    assert!(reads > 100, "{reads}");
}

/// Without the database, commits of other servers are unknown, so every cached value must count as
/// stale.
#[tokio::test(flavor = "multi_thread")]
async fn the_stamp_changes_on_every_read_while_the_database_is_down() {
    let server = docent_test_postgres::Server::start().unwrap();
    let store = open_postgres(&server.url()).await.unwrap();
    put(&store, &status("a"), "1").await;
    server.kill().unwrap();
    let killed = Instant::now();
    while store.commit_stamp().unwrap() == store.commit_stamp().unwrap() {
        assert!(killed.elapsed() < TIMEOUT, "the outage is not noticed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let stamps: Vec<_> = (0..3).map(|_| store.commit_stamp().unwrap()).collect();
    assert!(
        stamps[0] != stamps[1] && stamps[1] != stamps[2],
        "{stamps:?}"
    );
    let failed = store
        .read(ReadRequest::rows(&[status("a")]))
        .await
        .unwrap_err();
    assert!(
        matches!(failed, StoreError::Unavailable { .. }),
        "{failed:?}"
    );
    let rejection = try_put(&store, &status("b"), "1").await.unwrap_err();
    assert!(
        matches!(rejection, StoreError::Unavailable { .. }),
        "{rejection:?}"
    );
    server.restart().unwrap();
    let back = Instant::now();
    let row = loop {
        match store.read(ReadRequest::rows(&[status("a")])).await {
            Ok(reply) => break reply.into_row(),
            Err(error) => assert!(back.elapsed() < TIMEOUT, "{error}"),
        }
    };
    assert_eq!(row.unwrap().metadata, "1");
    // Writes also need the serving lock, which the server takes again after its connections.
    while let Err(error) = try_put(&store, &status("b"), "1").await {
        assert!(back.elapsed() < TIMEOUT, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_start_at_once_on_an_empty_database_migrate_it_once() {
    let database = Database::empty().unwrap();
    let starting = (0..4).map(|_| open_postgres(database.url()));
    let stores = futures_util::future::join_all(starting).await;
    for store in &stores {
        put(store.as_ref().unwrap(), &status("a"), "1").await;
    }
}

#[tokio::test]
async fn a_database_with_tables_of_another_program_is_rejected() {
    let database = Database::empty().unwrap();
    database
        .sql("CREATE TABLE metadata_aspect_v2 (urn text)")
        .unwrap();
    let rejection = open_postgres(database.url()).await.unwrap_err();
    assert!(
        rejection.to_string().contains("of another program"),
        "{rejection}"
    );
    let own_schema = format!("{}&search_path=docent", database.url());
    database.sql("CREATE SCHEMA docent").unwrap();
    let store = open_postgres(&own_schema).await.unwrap();
    put(&store, &status("a"), "1").await;
}

/// A restore takes the exclusive lock of its schema only.
#[tokio::test(flavor = "multi_thread")]
async fn catalogs_in_two_schemas_of_a_database_are_independent() {
    let database = Database::empty().unwrap();
    database.sql("CREATE SCHEMA a; CREATE SCHEMA b").unwrap();
    let [one, other] = ["a", "b"].map(|schema| format!("{}&search_path={schema}", database.url()));
    let store = open_postgres(&one).await.unwrap();
    put(&store, &status("a"), "1").await;
    let directory = tempfile::tempdir().unwrap();
    let backup = directory.path().join("backup");
    store.backup(&backup, Box::new(|_, _| {})).await.unwrap();
    let settings = Settings::parse(&other).unwrap();
    assert!(settings.to_string().ends_with("?search_path=b"));
    docent_store_postgres::restore(&backup, &settings, false, &mut |_, _| {})
        .await
        .unwrap();
    put(&store, &status("b"), "1").await;
    let restored = open_postgres(&other).await.unwrap();
    assert_eq!(logged(&restored, 0).await.len(), 1);
}

#[tokio::test]
async fn an_empty_database_is_rejected_unless_it_may_be_created() {
    let database = Database::empty().unwrap();
    let options = OpenOptions {
        create: false,
        watch: false,
    };
    let settings = Settings::parse(database.url()).unwrap();
    let rejection = PostgresStore::open(&settings, options).await.unwrap_err();
    assert!(rejection.to_string().contains("no catalog"), "{rejection}");
}
