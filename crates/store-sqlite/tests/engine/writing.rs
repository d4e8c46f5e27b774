//! The writer: group commit, failures, other processes.

use std::time::Duration;

use async_trait::async_trait;
use docent_model::Derived;
use docent_store::{
    AbortReason, AspectWrite, Effect, LogPosition, RowVersion, StoreError, StoreMaintenance as _,
    StoreReader as _, StoreWriter as _, Transaction, TransactionBody,
};
use futures_util::FutureExt as _;
use futures_util::future::join_all;

use docent_store_sqlite::SqliteStore;

use super::{TestDatabase, put, status, text};

#[tokio::test]
async fn queued_writes_are_committed_together() {
    let database = TestDatabase::new();
    let store = database.open();
    // Another process holds the write lock, so that all writes are queued before any can start.
    let other = database.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let before = store.writer_statistics();
    let keys: Vec<_> = (0..200).map(|number| status(&number.to_string())).collect();
    let writes = join_all(
        keys.iter()
            .map(|key| put(&store, key, "1", Derived::default())),
    );
    let release = async {
        other.execute_batch("COMMIT").unwrap();
    };
    let (results, ()) = futures_util::future::join(writes, release).await;
    assert!(results.iter().all(Result::is_ok));
    let after = store.writer_statistics();
    assert_eq!(after.jobs - before.jobs, 200);
    let commits = after.commits - before.commits;
    assert!((1..=4).contains(&commits), "{commits} commits");
    assert_eq!(
        store
            .log_read(LogPosition::START, 1000)
            .await
            .unwrap()
            .len(),
        200
    );
}

#[tokio::test]
async fn the_log_stays_short_although_readers_hold_snapshots() {
    let database = TestDatabase::new();
    let store = database.open();
    let log = database.directory.path().join("docent.db-wal");
    let mut longest = 0;
    for number in 0..100 {
        let content = format!("\"{number}{}\"", "x".repeat(1024 * 1024));
        put(&store, &status("a"), &content, Derived::default())
            .await
            .unwrap();
        // Each read leaves its snapshot open for the next one.
        assert_eq!(text(&store, &status("a")).await, Some(content));
        longest = longest.max(log.metadata().unwrap().len());
    }
    assert!(
        longest < 48 * 1024 * 1024,
        "{longest} bytes for 200 MiB written"
    );
}

#[tokio::test]
async fn history_is_never_overwritten() {
    let database = TestDatabase::new();
    let store = database.open();
    for content in ["1", "2"] {
        put(&store, &status("a"), content, Derived::default())
            .await
            .unwrap();
    }
    // The latest row claims to be the first version.
    database
        .raw()
        .execute_batch(
            "UPDATE metadata_aspect_v2 SET systemmetadata = '{\"version\":\"1\"}' WHERE version = 0",
        )
        .unwrap();
    let rejected = put(&store, &status("a"), "3", Derived::default())
        .await
        .unwrap_err();
    assert!(
        rejected.to_string().contains("already in its history"),
        "{rejected}"
    );
    let former = store
        .aspect_read_version(&status("a"), RowVersion::new(1))
        .await
        .unwrap();
    assert_eq!(former.unwrap().metadata, "1");
    assert_eq!(text(&store, &status("a")).await.as_deref(), Some("2"));
}

#[tokio::test]
async fn a_transaction_without_writes_does_not_commit() {
    let database = TestDatabase::new();
    let store = database.open();
    put(&store, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    let (before, stamp) = (store.writer_statistics(), store.commit_stamp().unwrap());
    put(&store, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    let after = store.writer_statistics();
    assert_eq!(
        (after.jobs, after.commits),
        (before.jobs + 1, before.commits)
    );
    assert_eq!(store.commit_stamp().unwrap(), stamp);
}

#[tokio::test]
async fn a_lock_of_another_process_makes_the_store_busy() {
    let database = TestDatabase::new();
    let store = database.open();
    let other = database.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let rejected = put(&store, &status("a"), "1", Derived::default()).await;
    assert!(matches!(rejected, Err(StoreError::Busy)), "{rejected:?}");
    other.execute_batch("COMMIT").unwrap();
    put(&store, &status("a"), "1", Derived::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_full_queue_rejects_transactions() {
    let database = TestDatabase::new();
    let store = database.open();
    let other = database.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let keys: Vec<_> = (0..1500)
        .map(|number| status(&number.to_string()))
        .collect();
    let writes = join_all(
        keys.iter()
            .map(|key| put(&store, key, "1", Derived::default())),
    );
    let release = async {
        other.execute_batch("COMMIT").unwrap();
    };
    let (results, ()) = futures_util::future::join(writes, release).await;
    let busy = |result: &&Result<(), StoreError>| matches!(result, Err(StoreError::Busy));
    let rejected = results.iter().filter(busy).count();
    // The queue holds 1024, and the group that waits for the lock up to 256 more.
    assert!(
        (1500 - 1024 - 256..=1500 - 1024).contains(&rejected),
        "{rejected}"
    );
    let done = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(done + rejected, 1500);
    assert_eq!(
        store
            .log_read(LogPosition::START, 2000)
            .await
            .unwrap()
            .len(),
        done
    );
}

#[tokio::test]
async fn a_transaction_cancelled_in_the_queue_does_not_run() {
    let database = TestDatabase::new();
    let store = database.open();
    let other = database.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (first, second) = (status("first"), status("second"));
    let mut waiting = Box::pin(put(&store, &first, "1", Derived::default()));
    assert!((&mut waiting).now_or_never().is_none());
    started(&store, 1).await;
    let queued = || store.measurements().writer.map(|writer| writer.queued);
    // It runs.
    assert_eq!(queued(), Some(1));
    let mut cancelled = Box::pin(put(&store, &second, "1", Derived::default()));
    assert!((&mut cancelled).now_or_never().is_none());
    drop(cancelled);
    other.execute_batch("COMMIT").unwrap();
    waiting.await.unwrap();
    put(&store, &status("third"), "1", Derived::default())
        .await
        .unwrap();
    assert_eq!(text(&store, &first).await.as_deref(), Some("1"));
    assert_eq!(text(&store, &second).await, None);
    assert_eq!(queued(), Some(0));
}

/// A transaction that takes longer than a group may.
struct Slow {
    may_end: std::sync::mpsc::Receiver<()>,
}

#[async_trait]
impl TransactionBody for Slow {
    async fn run(&mut self, _: &mut dyn Transaction) -> Result<(), AbortReason> {
        // Ends also if the test has failed.
        let _ = self.may_end.recv_timeout(Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(120));
        Ok(())
    }
}

#[tokio::test]
async fn a_group_ends_after_a_long_transaction_and_what_follows_can_still_be_cancelled() {
    let database = TestDatabase::new();
    let store = database.open();
    let other = database.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let key = status("first");
    let mut first = Box::pin(put(&store, &key, "1", Derived::default()));
    assert!((&mut first).now_or_never().is_none());
    started(&store, 1).await;
    // These form one group when the lock is free.
    let slow = [(); 2].map(|()| {
        let (end, may_end) = std::sync::mpsc::channel();
        (end, store.run_transaction(Box::new(Slow { may_end })))
    });
    let [(end_first, first_slow), (end_second, mut second_slow)] = slow;
    let (mut first_slow, key) = (Box::pin(first_slow), status("cancelled"));
    assert!((&mut first_slow).now_or_never().is_none());
    assert!((&mut second_slow).now_or_never().is_none());
    let mut cancelled = Box::pin(put(&store, &key, "1", Derived::default()));
    assert!((&mut cancelled).now_or_never().is_none());
    other.execute_batch("COMMIT").unwrap();
    first.await.unwrap();
    started(&store, 2).await;
    drop(cancelled);
    end_first.send(()).unwrap();
    // The first one of the group is answered while the second one runs.
    first_slow.await.unwrap();
    assert!((&mut second_slow).now_or_never().is_none());
    end_second.send(()).unwrap();
    second_slow.await.unwrap();
    put(&store, &status("last"), "1", Derived::default())
        .await
        .unwrap();
    assert_eq!(text(&store, &key).await, None);
}

/// A transaction whose drop can be observed.
struct Heavy {
    _weight: std::sync::Arc<()>,
}

#[async_trait]
impl TransactionBody for Heavy {
    async fn run(&mut self, _: &mut dyn Transaction) -> Result<(), AbortReason> {
        Ok(())
    }
}

#[tokio::test]
async fn a_cancelled_transaction_is_dropped_from_the_queue() {
    let database = TestDatabase::new();
    let store = database.open();
    let other = database.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let first = status("first");
    let mut waiting = Box::pin(put(&store, &first, "1", Derived::default()));
    assert!((&mut waiting).now_or_never().is_none());
    started(&store, 1).await;
    let weight = std::sync::Arc::new(());
    let mut cancelled = Box::pin(store.run_transaction(Box::new(Heavy {
        _weight: weight.clone(),
    })));
    assert!((&mut cancelled).now_or_never().is_none());
    assert_eq!(std::sync::Arc::strong_count(&weight), 2);
    drop(cancelled);
    assert_eq!(std::sync::Arc::strong_count(&weight), 1);
    other.execute_batch("COMMIT").unwrap();
    waiting.await.unwrap();
}

/// Waits until the writer has started this many transactions.
async fn started(store: &SqliteStore, jobs: u64) {
    let wait = async {
        while store.writer_statistics().jobs < jobs {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait)
        .await
        .unwrap();
}

/// A transaction that misbehaves after a write.
enum Misbehaving {
    Panics,
    Waits,
    /// Continues after a failed write.
    IgnoresFailure,
}

#[async_trait]
impl TransactionBody for Misbehaving {
    async fn run(&mut self, tx: &mut dyn Transaction) -> Result<(), AbortReason> {
        tx.write(&[deletion("kept")]).await?;
        match self {
            Self::Panics => panic!("on purpose"),
            Self::Waits => std::future::pending().await,
            Self::IgnoresFailure => {
                // A trigger rejects this row.
                let failed = tx.write(&[deletion("rejected")]).await;
                assert!(failed.is_err());
                Ok(())
            }
        }
    }
}

fn deletion(name: &str) -> AspectWrite {
    let effect = Effect::Delete {
        retired_version: None,
        time_ms: 7,
        actor: "urn:li:corpuser:tester".to_owned(),
    };
    AspectWrite {
        key: status(name),
        effect,
    }
}

#[tokio::test]
async fn misbehaving_transactions_are_rolled_back_alone() {
    let database = TestDatabase::new();
    let store = database.open();
    put(&store, &status("kept"), "1", Derived::default())
        .await
        .unwrap();
    database
        .raw()
        .execute_batch(&format!(
            "CREATE TRIGGER refuse BEFORE INSERT ON change_log WHEN new.urn = '{}' \
             BEGIN SELECT RAISE(ABORT, 'rejected'); END",
            status("rejected").urn
        ))
        .unwrap();
    for grouped in [false, true] {
        for (body, reason) in [
            (Misbehaving::Panics, "on purpose"),
            (Misbehaving::Waits, "waited"),
            (Misbehaving::IgnoresFailure, "had failed"),
        ] {
            let other = database.raw();
            let first = status(&format!("first {reason}{grouped}"));
            let mut first = Box::pin(put(&store, &first, "1", Derived::default()));
            if grouped {
                // A transaction that waits for the lock; those after it form one group.
                other.execute_batch("BEGIN IMMEDIATE").unwrap();
                let before = store.writer_statistics().jobs;
                assert!((&mut first).now_or_never().is_none());
                started(&store, before + 1).await;
            }
            let neighbor = status(&format!("{reason}{grouped}"));
            let (failed, passed, (), first) = tokio::join!(
                store.run_transaction(Box::new(body)),
                put(&store, &neighbor, "1", Derived::default()),
                async {
                    if grouped {
                        other.execute_batch("COMMIT").unwrap();
                    }
                },
                first,
            );
            first.unwrap();
            let StoreError::Other(source) = failed.unwrap_err() else {
                panic!("{reason}: not StoreError::Other")
            };
            assert!(source.to_string().contains(reason), "{source}");
            passed.unwrap();
            assert_eq!(text(&store, &status("kept")).await.as_deref(), Some("1"));
            assert_eq!(text(&store, &neighbor).await.as_deref(), Some("1"));
        }
    }
}
