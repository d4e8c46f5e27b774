//! Two connections, and so one lane, make it known who waits for whom.

use std::time::Instant;

use docent_model::{AspectName, Urn};
use docent_test_postgres::Database;
use docent_test_store::postgres_database;
use tokio::task::JoinHandle;

use super::*;
use crate::pool::Lease;
use crate::settings::Settings;

const PATIENCE: Duration = Duration::from_secs(30);

struct Place {
    reads: Arc<ShortReads>,
    connections: Arc<Connections>,
    database: Database,
}

type Asking = JoinHandle<Result<Found, EngineError>>;

impl Place {
    /// The datasets `0` to `99`, each with its own status.
    fn open(parameters: &str) -> Self {
        let database = postgres_database().unwrap();
        database
            .sql(
                "INSERT INTO metadata_aspect_v2 (urn, aspect, version, metadata, createdon, createdby) \
                 SELECT format('urn:li:dataset:(urn:li:dataPlatform:hive,%s,PROD)', e), a, 0, \
                 format('{\"number\":%s}', e), now(), 'urn:li:corpuser:x' \
                 FROM generate_series(0, 99) e, unnest(ARRAY['datasetKey', 'status']) a",
            )
            .unwrap();
        let url = format!("{}&pool_size=2{parameters}", database.url());
        let connections = Arc::new(Connections::new(&Settings::parse(&url).unwrap()).unwrap());
        Self {
            reads: Arc::new(ShortReads::new(&connections)),
            connections,
            database,
        }
    }

    /// All connections, so that whoever reads has to wait.
    async fn hold(&self) -> [Lease; 2] {
        let lease = async || self.connections.lease().await.unwrap();
        [lease().await, lease().await]
    }

    /// Begins to read the status of a dataset, and whether there is one.
    fn begin(&self, number: usize) -> Asking {
        let (reads, name) = (Arc::clone(&self.reads), number.to_string());
        tokio::spawn(async move {
            let question = Question {
                keys: &[key(&name, AspectName::STATUS)],
                witnesses: &[witness(&name)],
            };
            reads.ask(question).await
        })
    }

    async fn until_waiting(&self, count: usize) {
        let started = Instant::now();
        while self.reads.queue().waiting.len() != count {
            assert!(started.elapsed() < PATIENCE);
            tokio::task::yield_now().await;
        }
    }
}

fn key(name: &str, aspect: AspectName) -> AspectKey {
    let text = format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)");
    AspectKey::new(&Urn::parse(&text).unwrap(), aspect)
}

fn witness(name: &str) -> AspectKey {
    let registry = docent_model::Registry::get();
    key(name, registry.entity("dataset").unwrap().key_aspect)
}

async fn answered(asking: Asking) -> Result<Found, EngineError> {
    let answer = tokio::time::timeout(PATIENCE, asking).await;
    answer.expect("nobody answers").unwrap()
}

/// Who asked for a dataset gets that one.
async fn is_right(number: usize, asking: Asking) {
    let (rows, exist) = answered(asking).await.unwrap();
    let metadata = rows[0].as_ref().map(|row| row.metadata.as_str());
    let expected = (number < 100).then(|| format!("{{\"number\":{number}}}"));
    assert_eq!(metadata, expected.as_deref());
    assert_eq!(exist, [number < 100]);
}

#[tokio::test]
async fn who_waits_at_the_same_moment_is_asked_in_one_statement_and_gets_the_own_answer() {
    let place = Place::open("");
    let held = place.hold().await;
    // Some of them do not exist.
    let asking: Vec<Asking> = (60..120).map(|number| place.begin(number)).collect();
    place.until_waiting(60).await;
    drop(held);
    for (number, asking) in (60..).zip(asking) {
        is_right(number, asking).await;
    }
    let mut statements = 0;
    for lease in &place.hold().await {
        let count = "SELECT coalesce(sum(generic_plans + custom_plans), 0)::bigint \
                     FROM pg_prepared_statements WHERE statement LIKE '%metadata_aspect_v2%' \
                     AND statement NOT LIKE '%pg_prepared%'";
        statements += lease.query(count, &[]).await.unwrap()[0].get::<_, i64>(0);
    }
    assert_eq!(statements, 1);
    assert_eq!(place.reads.queue().lanes_taken, 0);
}

#[tokio::test]
async fn a_statement_has_a_bounded_number_of_keys() {
    let place = Place::open("");
    let held = place.hold().await;
    let asking: Vec<Asking> = (0..100).map(|number| place.begin(number)).collect();
    place.until_waiting(100).await;
    let group = place.reads.next_group();
    assert_eq!(group.len(), MAX_KEYS_TOGETHER / 2);
    // Whoever gets no answer asks alone.
    drop((group, held));
    for (number, asking) in asking.into_iter().enumerate() {
        is_right(number, asking).await;
    }
}

#[tokio::test]
async fn no_more_than_a_bounded_number_waits_and_the_rest_is_told_at_once() {
    let place = Place::open("");
    let held = place.hold().await;
    let asking: Vec<Asking> = (0..MAX_WAITING)
        .map(|number| place.begin(number % 100))
        .collect();
    place.until_waiting(MAX_WAITING).await;
    let refused = answered(place.begin(0)).await;
    let busy = matches!(refused, Err(EngineError::Store(StoreError::Busy)));
    assert!(busy, "{refused:?}");
    drop(held);
    for (number, asking) in asking.into_iter().enumerate() {
        is_right(number % 100, asking).await;
    }
    is_right(0, place.begin(0)).await;
}

#[tokio::test]
async fn who_waits_for_a_connection_for_too_long_is_told() {
    let place = Place::open("&pool_timeout=1");
    let held = place.hold().await;
    for asking in [place.begin(0), place.begin(1)] {
        let refused = answered(asking).await;
        let busy = matches!(refused, Err(EngineError::Store(StoreError::Busy)));
        assert!(busy, "{refused:?}");
    }
    drop(held);
    is_right(0, place.begin(0)).await;
}

#[tokio::test]
async fn who_has_gone_is_not_asked_for_and_the_others_are_answered() {
    let place = Place::open("");
    let held = place.hold().await;
    let asking = [place.begin(0), place.begin(1), place.begin(2)];
    place.until_waiting(3).await;
    let [first, gone, last] = asking;
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    let group = place.reads.next_group();
    assert_eq!(group.len(), 2);
    drop((group, held));
    is_right(0, first).await;
    is_right(2, last).await;
}

/// In the place of the table comes a view that waits at one dataset for as long as a lock is held.
async fn slow_down(place: &Place, name: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(place.database.url(), tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    let urn = key(name, AspectName::STATUS).urn;
    client
        .batch_execute(&format!(
            "ALTER TABLE metadata_aspect_v2 RENAME TO stored; \
             CREATE FUNCTION wait() RETURNS boolean LANGUAGE SQL VOLATILE AS \
             'SELECT pg_advisory_xact_lock_shared(7); SELECT true'; \
             CREATE VIEW metadata_aspect_v2 AS SELECT * FROM stored \
             WHERE CASE WHEN urn = '{urn}' THEN wait() ELSE true END; \
             SELECT pg_advisory_lock(7)"
        ))
        .await
        .unwrap();
    client
}

#[tokio::test]
async fn a_slow_read_holds_up_no_other() {
    let place = Place::open("");
    let lock = slow_down(&place, "7").await;
    let slow = place.begin(7);
    let waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let started = Instant::now();
    while lock.query(waits, &[]).await.unwrap().is_empty() {
        assert!(started.elapsed() < PATIENCE);
    }
    for number in 8..20 {
        is_right(number, place.begin(number)).await;
    }
    assert!(!slow.is_finished());
    lock.batch_execute("SELECT pg_advisory_unlock(7)")
        .await
        .unwrap();
    is_right(7, slow).await;
    assert_eq!(place.reads.queue().lanes_taken, 0);
}

#[tokio::test]
async fn a_read_that_takes_longer_than_a_statement_may_is_given_up() {
    let place = Place::open("&statement_timeout=1");
    let _lock = slow_down(&place, "7").await;
    let refused = answered(place.begin(7)).await;
    let unavailable = matches!(
        refused,
        Err(EngineError::Store(StoreError::Unavailable { .. }))
    );
    assert!(unavailable, "{refused:?}");
    is_right(8, place.begin(8)).await;
}

#[tokio::test]
async fn a_damaged_row_fails_for_nobody_but_its_reader() {
    let place = Place::open("");
    let damage = format!(
        "ALTER TABLE metadata_aspect_v2 ALTER createdby DROP NOT NULL; \
         UPDATE metadata_aspect_v2 SET createdby = NULL WHERE urn = '{}'",
        key("5", AspectName::STATUS).urn
    );
    place.database.sql(&damage).unwrap();
    let held = place.hold().await;
    let asking: Vec<Asking> = (0..10).map(|number| place.begin(number)).collect();
    place.until_waiting(10).await;
    drop(held);
    for (number, asking) in asking.into_iter().enumerate() {
        if number == 5 {
            let failed = answered(asking).await;
            let other = matches!(failed, Err(EngineError::Store(StoreError::Other(_))));
            assert!(other, "{failed:?}");
        } else {
            is_right(number, asking).await;
        }
    }
}

#[tokio::test]
async fn a_connection_that_was_cut_is_replaced() {
    let place = Place::open("");
    let held = place.hold().await;
    let asking: Vec<Asking> = (0..10).map(|number| place.begin(number)).collect();
    place.until_waiting(10).await;
    let rows = held[0].query("SELECT pg_backend_pid()", &[]).await.unwrap();
    let cut = format!("SELECT pg_terminate_backend({})", rows[0].get::<_, i32>(0));
    // Nobody has noticed when it is given to the next.
    place.database.sql(&cut).unwrap();
    drop(held);
    for (number, asking) in asking.into_iter().enumerate() {
        is_right(number, asking).await;
    }
}

/// As when whoever asks for others panics.
#[tokio::test]
async fn a_lane_that_is_lost_takes_nobody_along() {
    let place = Place::open("");
    place.reads.queue().lanes_taken = 1;
    let lane = Lane {
        reads: Some(Arc::clone(&place.reads)),
    };
    let asking = place.begin(3);
    place.until_waiting(1).await;
    drop(lane);
    is_right(3, asking).await;
    assert_eq!(place.reads.queue().lanes_taken, 0);
    is_right(4, place.begin(4)).await;
}
