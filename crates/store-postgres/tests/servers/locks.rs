//! What is locked, and in which order.

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

/// Somebody else at the database.
async fn stranger(database: &Database) -> Client {
    let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    client
}

/// Waits until somebody waits for a lock of this kind.
async fn wait_for_waiting(database: &Database, kind: &str) {
    let started = Instant::now();
    let waiting = format!(
        "SELECT 1 FROM pg_stat_activity \
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = '{kind}'"
    );
    while database.rows(&waiting).unwrap().is_empty() {
        assert!(started.elapsed() < Duration::from_secs(20), "nobody waits");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn lock_at_once(urn: &Urn) -> String {
    format!("SELECT 1 FROM metadata_aspect_v2 WHERE urn = '{urn}' FOR UPDATE NOWAIT")
}

const HOLD_TREE: &str =
    "BEGIN; SELECT pg_advisory_xact_lock(hashtext('docent_tree'), hashtext('domain'))";

/// Whoever has the tree may want the row next.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_who_waits_for_a_tree_holds_a_row() {
    let database = postgres_database().unwrap();
    let store = Arc::new(open_postgres(database.url()).await.unwrap());
    let stranger = stranger(&database).await;
    for urn in [domain("sales"), dataset("orders")] {
        put(&*store, &key_of(&urn), "{}").await;
        stranger.batch_execute(HOLD_TREE).await.unwrap();
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
        wait_for_waiting(&database, "advisory").await;
        database.sql(&lock_at_once(&urn)).unwrap();
        stranger.batch_execute("COMMIT").await.unwrap();
        work.await.unwrap();
    }
}

/// Who knows what it needs locks all of it, and who does not the key alone to begin with: both begin with the key.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_who_waits_for_the_key_of_an_entity_holds_another_row_of_it() {
    let database = postgres_database().unwrap();
    let store = Arc::new(open_postgres(database.url()).await.unwrap());
    let urn = dataset("orders");
    // In the order of their names it comes before the key.
    let early = AspectKey::new(&urn, Registry::get().aspect("browsePathsV2").unwrap());
    let keys = [early.clone(), key_of(&urn)];
    for key in &keys {
        put(&*store, key, "{}").await;
    }
    let stranger = stranger(&database).await;
    let hold = format!(
        "BEGIN; SELECT 1 FROM metadata_aspect_v2 WHERE urn = '{urn}' AND aspect = '{}' FOR UPDATE",
        keys[1].aspect
    );
    stranger.batch_execute(&hold).await.unwrap();
    let work = {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            put(&*store, &keys[0], r#"{"paths":[]}"#).await;
        })
    };
    // The first attempt does not wait; the second does.
    wait_for_waiting(&database, "transactionid").await;
    let other = format!(
        "SELECT 1 FROM metadata_aspect_v2 WHERE urn = '{urn}' AND aspect = '{}' FOR UPDATE NOWAIT",
        early.aspect
    );
    database.sql(&other).unwrap();
    stranger.batch_execute("COMMIT").await.unwrap();
    work.await.unwrap();
}

/// What a domain says about itself changes no tree.
#[tokio::test(flavor = "multi_thread")]
async fn a_domain_that_stays_where_it_is_is_written_while_others_change_the_tree() {
    let database = postgres_database().unwrap();
    let store = open_postgres(database.url()).await.unwrap();
    let key = AspectKey::new(&domain("sales"), AspectName::DOMAIN_PROPERTIES);
    put(&store, &key, r#"{"name":"Sales"}"#).await;
    let stranger = stranger(&database).await;
    stranger.batch_execute(HOLD_TREE).await.unwrap();
    let described = put(&store, &key, r#"{"name":"Sales","description":"d"}"#);
    let in_time = tokio::time::timeout(Duration::from_secs(20), described).await;
    in_time.unwrap();
    let renamed = put(&store, &key, r#"{"name":"Revenue"}"#);
    let in_time = tokio::time::timeout(Duration::from_millis(300), renamed).await;
    assert!(in_time.is_err(), "the tree was changed by two at once");
}

/// A row that is not there cannot be locked; who asks again, when it is, must not believe to have the lock.
#[tokio::test(flavor = "multi_thread")]
async fn an_entity_that_somebody_makes_meanwhile_is_held_when_it_is_asked_for_again() {
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
            let refused = format!("{:?}", other.sql(&lock).unwrap_err());
            assert!(
                refused.contains("55P03") || refused.contains("could not obtain lock"),
                "{refused}"
            );
            Ok(())
        })
    })
    .await
    .unwrap();
}

/// Looking for the row to lock and asking are two looks, and somebody may make the entity between them.
#[tokio::test(flavor = "multi_thread")]
async fn an_entity_that_is_made_between_the_lock_and_the_question_is_held() {
    let database = Arc::new(postgres_database().unwrap());
    let store = Arc::new(open_postgres(database.url()).await.unwrap());
    let key = key_of(&dataset("late"));
    // Holds up the question, which is about points, too, and nothing else.
    let stranger = stranger(&database).await;
    stranger
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
                    let refused = format!("{:?}", database.sql(&lock_at_once(&key.urn)));
                    assert!(refused.contains("could not obtain lock"), "{refused}");
                    Ok(())
                })
            })
            .await
            .unwrap();
        })
    };
    wait_for_waiting(&database, "relation").await;
    put(&*store, &key, "{}").await;
    stranger.batch_execute("COMMIT").await.unwrap();
    work.await.unwrap();
}

/// Rebuilding locks a page of aspects in their order, and writers have another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_that_a_writer_is_in_the_way_of_goes_on() {
    let database = postgres_database().unwrap();
    let store = Arc::new(open_postgres(database.url()).await.unwrap());
    let (one, other) = (dataset("a"), dataset("b"));
    for urn in [&one, &other] {
        put(&*store, &key_of(urn), "{}").await;
    }
    let lock =
        |urn: &Urn| format!("SELECT 1 FROM metadata_aspect_v2 WHERE urn = '{urn}' FOR UPDATE");
    let stranger = stranger(&database).await;
    // Whoever waits longest for the other looks for a circle first, and gives way.
    let begin = format!("SET deadlock_timeout = '1min'; BEGIN; {}", lock(&other));
    stranger.batch_execute(&begin).await.unwrap();
    let rebuild = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.rebuild(Box::new(|_, _| {})).await })
    };
    wait_for_waiting(&database, "transactionid").await;
    stranger.batch_execute(&lock(&one)).await.unwrap();
    stranger.batch_execute("COMMIT").await.unwrap();
    let report = rebuild.await.unwrap().unwrap();
    assert_eq!(report.aspects, 2);
}
