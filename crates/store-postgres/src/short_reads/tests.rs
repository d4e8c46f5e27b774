//! With two connections there is one lane, which makes the order of reads deterministic.

use std::time::Instant;

use docent_model::{AspectName, Urn};
use docent_test_postgres::Database;
use docent_test_store::postgres_database;
use tokio::task::JoinHandle;

use super::*;
use crate::pool::Lease;
use crate::settings::Settings;

const TIMEOUT: Duration = Duration::from_secs(30);

struct Setup {
    reads: Arc<ShortReads>,
    connections: Arc<Connections>,
    database: Database,
}

type StartedRead = JoinHandle<Result<PointReply, EngineError>>;

impl Setup {
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

    /// Leases all connections, so that reads have to wait.
    async fn lease_all(&self) -> [Lease; 2] {
        let lease = async || self.connections.lease().await.unwrap();
        [lease().await, lease().await]
    }

    /// Starts a read of the status and the existence of a dataset.
    fn start_read(&self, number: usize) -> StartedRead {
        let (reads, name) = (Arc::clone(&self.reads), number.to_string());
        tokio::spawn(async move {
            let read = PointRead {
                rows: &[key(&name, AspectName::STATUS)],
                exists: &[entity(&name)],
            };
            reads.read(read).await
        })
    }

    async fn wait_for_queue(&self, count: usize) {
        let started = Instant::now();
        while self.reads.queue().reads.len() != count {
            assert!(started.elapsed() < TIMEOUT);
            tokio::task::yield_now().await;
        }
    }
}

fn key(name: &str, aspect: AspectName) -> AspectKey {
    let text = format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)");
    AspectKey::new(&Urn::parse(&text).unwrap(), aspect)
}

fn entity(name: &str) -> AspectKey {
    let registry = docent_model::Registry::get();
    key(name, registry.entity("dataset").unwrap().key_aspect)
}

async fn reply_of(read: StartedRead) -> Result<PointReply, EngineError> {
    let reply = tokio::time::timeout(TIMEOUT, read).await;
    reply.expect("no reply").unwrap()
}

/// The reply must be about the requested dataset.
async fn expect_reply(number: usize, read: StartedRead) {
    let (rows, exist) = reply_of(read).await.unwrap();
    let metadata = rows[0].as_ref().map(|row| row.metadata.as_str());
    let expected = (number < 100).then(|| format!("{{\"number\":{number}}}"));
    assert_eq!(metadata, expected.as_deref());
    assert_eq!(exist, [number < 100]);
}

#[tokio::test]
async fn queued_reads_share_one_statement_and_get_their_own_replies() {
    let setup = Setup::open("");
    let leases = setup.lease_all().await;
    // Some of them do not exist.
    let reads: Vec<StartedRead> = (60..120).map(|number| setup.start_read(number)).collect();
    setup.wait_for_queue(60).await;
    drop(leases);
    for (number, read) in (60..).zip(reads) {
        expect_reply(number, read).await;
    }
    let mut statements = 0;
    for lease in &setup.lease_all().await {
        let count = "SELECT coalesce(sum(generic_plans + custom_plans), 0)::bigint \
                     FROM pg_prepared_statements WHERE statement LIKE '%metadata_aspect_v2%' \
                     AND statement NOT LIKE '%pg_prepared%'";
        statements += lease.query(count, &[]).await.unwrap()[0].get::<_, i64>(0);
    }
    assert_eq!(statements, 1);
    assert_eq!(setup.reads.queue().lanes_used, 0);
}

#[tokio::test]
async fn the_number_of_keys_in_a_statement_is_limited() {
    let setup = Setup::open("");
    let leases = setup.lease_all().await;
    let reads: Vec<StartedRead> = (0..100).map(|number| setup.start_read(number)).collect();
    setup.wait_for_queue(100).await;
    let batch = setup.reads.next_batch();
    assert_eq!(batch.len(), MAX_BATCH_KEYS / 2);
    // Reads without a reply are repeated alone.
    drop((batch, leases));
    for (number, read) in reads.into_iter().enumerate() {
        expect_reply(number, read).await;
    }
}

#[tokio::test]
async fn reads_beyond_the_longest_queue_are_rejected_at_once() {
    let setup = Setup::open("");
    let leases = setup.lease_all().await;
    let reads: Vec<StartedRead> = (0..MAX_WAITING)
        .map(|number| setup.start_read(number % 100))
        .collect();
    setup.wait_for_queue(MAX_WAITING).await;
    let result = reply_of(setup.start_read(0)).await;
    let busy = matches!(result, Err(EngineError::Store(StoreError::Busy)));
    assert!(busy, "{result:?}");
    drop(leases);
    for (number, read) in reads.into_iter().enumerate() {
        expect_reply(number % 100, read).await;
    }
    expect_reply(0, setup.start_read(0)).await;
}

#[tokio::test]
async fn queued_reads_fail_after_the_pool_timeout() {
    let setup = Setup::open("&pool_timeout=1");
    let leases = setup.lease_all().await;
    for read in [setup.start_read(0), setup.start_read(1)] {
        let result = reply_of(read).await;
        let busy = matches!(result, Err(EngineError::Store(StoreError::Busy)));
        assert!(busy, "{result:?}");
    }
    drop(leases);
    expect_reply(0, setup.start_read(0)).await;
}

#[tokio::test]
async fn a_cancelled_read_leaves_the_queue() {
    let setup = Setup::open("");
    let leases = setup.lease_all().await;
    let reads = [
        setup.start_read(0),
        setup.start_read(1),
        setup.start_read(2),
    ];
    setup.wait_for_queue(3).await;
    let [first, gone, last] = reads;
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    let batch = setup.reads.next_batch();
    assert_eq!(batch.len(), 2);
    drop((batch, leases));
    expect_reply(0, first).await;
    expect_reply(2, last).await;
}

/// Replaces the table by a view that waits for a lock at one dataset.
async fn slow_down(setup: &Setup, name: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(setup.database.url(), tokio_postgres::NoTls)
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
async fn a_slow_read_does_not_block_others() {
    let setup = Setup::open("");
    let lock = slow_down(&setup, "7").await;
    let slow = setup.start_read(7);
    let waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let started = Instant::now();
    while lock.query(waits, &[]).await.unwrap().is_empty() {
        assert!(started.elapsed() < TIMEOUT);
    }
    for number in 8..20 {
        expect_reply(number, setup.start_read(number)).await;
    }
    assert!(!slow.is_finished());
    lock.batch_execute("SELECT pg_advisory_unlock(7)")
        .await
        .unwrap();
    expect_reply(7, slow).await;
    assert_eq!(setup.reads.queue().lanes_used, 0);
}

#[tokio::test]
async fn a_read_fails_after_the_statement_timeout() {
    let setup = Setup::open("&statement_timeout=1");
    let _lock = slow_down(&setup, "7").await;
    let result = reply_of(setup.start_read(7)).await;
    let unavailable = matches!(
        result,
        Err(EngineError::Store(StoreError::Unavailable { .. }))
    );
    assert!(unavailable, "{result:?}");
    expect_reply(8, setup.start_read(8)).await;
}

#[tokio::test]
async fn a_corrupt_row_only_fails_its_own_read() {
    let setup = Setup::open("");
    let damage = format!(
        "ALTER TABLE metadata_aspect_v2 ALTER createdby DROP NOT NULL; \
         UPDATE metadata_aspect_v2 SET createdby = NULL WHERE urn = '{}'",
        key("5", AspectName::STATUS).urn
    );
    setup.database.sql(&damage).unwrap();
    let leases = setup.lease_all().await;
    let reads: Vec<StartedRead> = (0..10).map(|number| setup.start_read(number)).collect();
    setup.wait_for_queue(10).await;
    drop(leases);
    for (number, read) in reads.into_iter().enumerate() {
        if number == 5 {
            let failed = reply_of(read).await;
            let other = matches!(failed, Err(EngineError::Store(StoreError::Other(_))));
            assert!(other, "{failed:?}");
        } else {
            expect_reply(number, read).await;
        }
    }
}

#[tokio::test]
async fn a_closed_connection_is_replaced() {
    let setup = Setup::open("");
    let leases = setup.lease_all().await;
    let reads: Vec<StartedRead> = (0..10).map(|number| setup.start_read(number)).collect();
    setup.wait_for_queue(10).await;
    let rows = leases[0]
        .query("SELECT pg_backend_pid()", &[])
        .await
        .unwrap();
    let cut = format!("SELECT pg_terminate_backend({})", rows[0].get::<_, i32>(0));
    // The pool lends it again without noticing.
    setup.database.sql(&cut).unwrap();
    drop(leases);
    for (number, read) in reads.into_iter().enumerate() {
        expect_reply(number, read).await;
    }
}

/// As after a panic in the task that serves it.
#[tokio::test]
async fn reads_of_a_lost_lane_are_repeated_alone() {
    let setup = Setup::open("");
    setup.reads.queue().lanes_used = 1;
    let lane = Lane {
        reads: Some(Arc::clone(&setup.reads)),
    };
    let read = setup.start_read(3);
    setup.wait_for_queue(1).await;
    drop(lane);
    expect_reply(3, read).await;
    assert_eq!(setup.reads.queue().lanes_used, 0);
    expect_reply(4, setup.start_read(4)).await;
}
