//! Which rows and trees are locked, and in which order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, StoreError, StoreMaintenance as _, transact};
use docent_test_postgres::Database;
use docent_test_store::{open_postgres, postgres_database};
use tokio_postgres::Client;

use super::{dataset, domain, put};

fn key_of(urn: &Urn) -> AspectKey {
    let entity = Registry::get().entity(urn.entity_type()).unwrap();
    AspectKey::new(urn, entity.key_aspect)
}

/// Another client of the database.
async fn other_client(database: &Database) -> Client {
    let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    client
}

/// Waits until a session waits for a lock of this kind.
async fn wait_for_waiter(database: &Database, kind: &str) {
    let started = Instant::now();
    let waiting = format!(
        "SELECT 1 FROM pg_stat_activity \
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = '{kind}'"
    );
    while database.rows(&waiting).unwrap().is_empty() {
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "no session waits"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn lock_nowait(urn: &Urn) -> String {
    format!("SELECT 1 FROM metadata_aspect_v2 WHERE urn = '{urn}' FOR UPDATE NOWAIT")
}

const LOCK_TREE: &str =
    "BEGIN; SELECT pg_advisory_xact_lock(hashtext('docent_tree'), hashtext('domain'))";

/// The holder of the tree may lock the row next, which would deadlock.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_waits_for_a_tree_holds_no_row() {
    let database = postgres_database().unwrap();
    let store = Arc::new(open_postgres(database.url()).await.unwrap());
    let blocker = other_client(&database).await;
    for urn in [domain("sales"), dataset("orders")] {
        put(&*store, &key_of(&urn), "{}").await;
        blocker.batch_execute(LOCK_TREE).await.unwrap();
        let work = {
            let (store, urn) = (Arc::clone(&store), urn.clone());
            tokio::spawn(async move {
                transact::<(), StoreError, _>(&*store, move |tx| {
                    let urn = urn.clone();
                    Box::pin(async move {
                        assert_eq!(tx.rows_count(&urn, None).await?, (1, 0));
                        let sales = [domain("sales")];
                        assert_eq!(tx.placement_children("domain", &sales, 1).await?, []);
                        Ok(())
                    })
                })
                .await
                .unwrap();
            })
        };
        wait_for_waiter(&database, "advisory").await;
        database.sql(&lock_nowait(&urn)).unwrap();
        blocker.batch_execute("COMMIT").await.unwrap();
        work.await.unwrap();
    }
}

/// Some transactions lock all rows of an entity at once, others the key aspect alone first: both
/// start with the latter.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_waits_for_a_key_aspect_holds_no_other_row_of_the_entity() {
    let database = postgres_database().unwrap();
    let store = Arc::new(open_postgres(database.url()).await.unwrap());
    let urn = dataset("orders");
    // Sorts before the key aspect by name.
    let early = AspectKey::new(&urn, Registry::get().aspect("browsePathsV2").unwrap());
    let keys = [early.clone(), key_of(&urn)];
    for key in &keys {
        put(&*store, key, "{}").await;
    }
    let blocker = other_client(&database).await;
    let hold = format!(
        "BEGIN; SELECT 1 FROM metadata_aspect_v2 WHERE urn = '{urn}' AND aspect = '{}' FOR UPDATE",
        keys[1].aspect
    );
    blocker.batch_execute(&hold).await.unwrap();
    let work = {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            put(&*store, &keys[0], r#"{"paths":[]}"#).await;
        })
    };
    wait_for_waiter(&database, "transactionid").await;
    let other = format!(
        "SELECT 1 FROM metadata_aspect_v2 WHERE urn = '{urn}' AND aspect = '{}' FOR UPDATE NOWAIT",
        early.aspect
    );
    database.sql(&other).unwrap();
    blocker.batch_execute("COMMIT").await.unwrap();
    work.await.unwrap();
}

/// A change of the description does not lock the tree.
#[tokio::test(flavor = "multi_thread")]
async fn a_domain_can_be_described_while_its_tree_is_locked_but_not_renamed() {
    let database = postgres_database().unwrap();
    let store = open_postgres(database.url()).await.unwrap();
    let key = AspectKey::new(&domain("sales"), AspectName::DOMAIN_PROPERTIES);
    put(&store, &key, r#"{"name":"Sales"}"#).await;
    let blocker = other_client(&database).await;
    blocker.batch_execute(LOCK_TREE).await.unwrap();
    let described = put(&store, &key, r#"{"name":"Sales","description":"d"}"#);
    let in_time = tokio::time::timeout(Duration::from_secs(20), described).await;
    in_time.unwrap();
    let renamed = put(&store, &key, r#"{"name":"Revenue"}"#);
    let in_time = tokio::time::timeout(Duration::from_millis(300), renamed).await;
    assert!(in_time.is_err(), "the rename ignored the lock of the tree");
}

/// A missing row cannot be locked, and must not count as locked when it is created later.
#[tokio::test(flavor = "multi_thread")]
async fn an_entity_created_meanwhile_is_locked_by_the_next_query() {
    let database = Arc::new(postgres_database().unwrap());
    let store = Arc::new(open_postgres(database.url()).await.unwrap());
    let key = key_of(&dataset("late"));
    let (maker, other) = (Arc::clone(&store), Arc::clone(&database));
    transact::<(), StoreError, _>(&*store, move |tx| {
        let (key, maker, other) = (key.clone(), Arc::clone(&maker), Arc::clone(&other));
        Box::pin(async move {
            assert_eq!(tx.rows_count(&key.urn, None).await?, (0, 0));
            put(&*maker, &key, "{}").await;
            let lock = format!(
                "SELECT 1 FROM metadata_aspect_v2 WHERE urn = '{}' FOR NO KEY UPDATE NOWAIT",
                key.urn
            );
            other.sql(&lock).unwrap();
            assert_eq!(tx.rows_count(&key.urn, None).await?, (1, 0));
            let rejection = format!("{:?}", other.sql(&lock).unwrap_err());
            assert!(
                rejection.contains("55P03") || rejection.contains("could not obtain lock"),
                "{rejection}"
            );
            Ok(())
        })
    })
    .await
    .unwrap();
}

/// The lock and the query are two statements, and the entity may be created between them.
#[tokio::test(flavor = "multi_thread")]
async fn an_entity_created_between_lock_and_query_is_locked() {
    let database = Arc::new(postgres_database().unwrap());
    let store = Arc::new(open_postgres(database.url()).await.unwrap());
    let key = key_of(&dataset("late"));
    // Blocks the query, which also reads points, but not the lock.
    let blocker = other_client(&database).await;
    blocker
        .batch_execute("BEGIN; LOCK TABLE timeseries")
        .await
        .unwrap();
    let work = {
        let (store, database, key) = (Arc::clone(&store), Arc::clone(&database), key.clone());
        tokio::spawn(async move {
            transact::<(), StoreError, _>(&*store, move |tx| {
                let (database, key) = (Arc::clone(&database), key.clone());
                Box::pin(async move {
                    assert_eq!(tx.rows_count(&key.urn, None).await?, (1, 0));
                    let rejection = format!("{:?}", database.sql(&lock_nowait(&key.urn)));
                    assert!(rejection.contains("could not obtain lock"), "{rejection}");
                    Ok(())
                })
            })
            .await
            .unwrap();
        })
    };
    wait_for_waiter(&database, "relation").await;
    put(&*store, &key, "{}").await;
    blocker.batch_execute("COMMIT").await.unwrap();
    work.await.unwrap();
}

/// A rebuild locks a page of aspects in their order, which is not that of writers.
#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_retries_after_a_deadlock_with_a_writer() {
    let database = postgres_database().unwrap();
    let store = Arc::new(open_postgres(database.url()).await.unwrap());
    let (one, other) = (dataset("a"), dataset("b"));
    for urn in [&one, &other] {
        put(&*store, &key_of(urn), "{}").await;
    }
    let lock =
        |urn: &Urn| format!("SELECT 1 FROM metadata_aspect_v2 WHERE urn = '{urn}' FOR UPDATE");
    let blocker = other_client(&database).await;
    // With a shorter deadlock timeout, the rebuild detects the deadlock and is aborted.
    let begin = format!("SET deadlock_timeout = '1min'; BEGIN; {}", lock(&other));
    blocker.batch_execute(&begin).await.unwrap();
    let rebuild = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.rebuild(Box::new(|_, _| {})).await })
    };
    wait_for_waiter(&database, "transactionid").await;
    blocker.batch_execute(&lock(&one)).await.unwrap();
    blocker.batch_execute("COMMIT").await.unwrap();
    let report = rebuild.await.unwrap().unwrap();
    assert_eq!(report.aspects, 2);
}
