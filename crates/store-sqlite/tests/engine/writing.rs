//! The writer: groups, failures, other processes.

use std::time::Duration;

use async_trait::async_trait;
use docent_model::Derived;
use docent_store::{
    Aborted, AspectWrite, Effect, LogPosition, RowVersion, StoreError, StoreReader as _,
    StoreWriter as _, Transaction, Work,
};
use futures_util::FutureExt as _;
use futures_util::future::join_all;

use docent_store_sqlite::SqliteStore;

use super::{Place, put, status, text};

#[tokio::test]
async fn writes_that_wait_together_are_committed_together() {
    let place = Place::new();
    let store = place.open();
    // Another process holds the write lock, so that all of them are queued before any can begin.
    let other = place.raw();
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
            .changes_read(LogPosition::START, 1000)
            .await
            .unwrap()
            .len(),
        200
    );
}

#[tokio::test]
async fn the_log_stays_short_although_readers_keep_their_snapshots() {
    let place = Place::new();
    let store = place.open();
    let log = place.directory.path().join("docent.db-wal");
    let mut longest = 0;
    for number in 0..100 {
        let content = format!("\"{number}{}\"", "x".repeat(1024 * 1024));
        put(&store, &status("a"), &content, Derived::default())
            .await
            .unwrap();
        // Each read leaves a snapshot behind for the next one.
        assert_eq!(text(&store, &status("a")).await, Some(content));
        longest = longest.max(log.metadata().unwrap().len());
    }
    assert!(
        longest < 48 * 1024 * 1024,
        "{longest} bytes for 200 MiB written"
    );
}

#[tokio::test]
async fn a_version_that_is_in_the_history_is_never_overwritten() {
    let place = Place::new();
    let store = place.open();
    for content in ["1", "2"] {
        put(&store, &status("a"), content, Derived::default())
            .await
            .unwrap();
    }
    // The latest row takes itself for the first.
    place
        .raw()
        .execute_batch(
            "UPDATE metadata_aspect_v2 SET systemmetadata = '{\"version\":\"1\"}' WHERE version = 0",
        )
        .unwrap();
    let refused = put(&store, &status("a"), "3", Derived::default())
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("in its history already"),
        "{refused}"
    );
    let former = store
        .aspect_read_version(&status("a"), RowVersion::new(1))
        .await
        .unwrap();
    assert_eq!(former.unwrap().metadata, "1");
    assert_eq!(text(&store, &status("a")).await.as_deref(), Some("2"));
}

#[tokio::test]
async fn work_that_writes_nothing_is_no_commit() {
    let place = Place::new();
    let store = place.open();
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
async fn another_process_that_keeps_the_lock_makes_the_store_busy() {
    let place = Place::new();
    let store = place.open();
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = put(&store, &status("a"), "1", Derived::default()).await;
    assert!(matches!(refused, Err(StoreError::Busy)), "{refused:?}");
    other.execute_batch("COMMIT").unwrap();
    put(&store, &status("a"), "1", Derived::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn more_waiting_work_than_the_queue_holds_is_refused() {
    let place = Place::new();
    let store = place.open();
    let other = place.raw();
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
    let refused = results.iter().filter(busy).count();
    // The queue takes 1024, and the group that was waiting for the lock up to 256 more.
    assert!(
        (1500 - 1024 - 256..=1500 - 1024).contains(&refused),
        "{refused}"
    );
    let done = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(done + refused, 1500);
    assert_eq!(
        store
            .changes_read(LogPosition::START, 2000)
            .await
            .unwrap()
            .len(),
        done
    );
}

#[tokio::test]
async fn work_whose_caller_went_away_before_it_began_is_not_done() {
    let place = Place::new();
    let store = place.open();
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (first, second) = (status("first"), status("second"));
    let mut waiting = Box::pin(put(&store, &first, "1", Derived::default()));
    assert!((&mut waiting).now_or_never().is_none());
    taken(&store, 1).await;
    let mut cut_off = Box::pin(put(&store, &second, "1", Derived::default()));
    assert!((&mut cut_off).now_or_never().is_none());
    drop(cut_off);
    other.execute_batch("COMMIT").unwrap();
    waiting.await.unwrap();
    put(&store, &status("third"), "1", Derived::default())
        .await
        .unwrap();
    assert_eq!(text(&store, &first).await.as_deref(), Some("1"));
    assert_eq!(text(&store, &second).await, None);
}

/// Work that tells when it is dropped.
struct Heavy {
    _weight: std::sync::Arc<()>,
}

#[async_trait]
impl Work for Heavy {
    async fn run(&mut self, _: &mut dyn Transaction) -> Result<(), Aborted> {
        Ok(())
    }
}

#[tokio::test]
async fn the_work_of_a_caller_who_has_gone_does_not_wait_in_the_queue() {
    let place = Place::new();
    let store = place.open();
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let first = status("first");
    let mut waiting = Box::pin(put(&store, &first, "1", Derived::default()));
    assert!((&mut waiting).now_or_never().is_none());
    taken(&store, 1).await;
    let weight = std::sync::Arc::new(());
    let mut cut_off = Box::pin(store.run(Box::new(Heavy {
        _weight: weight.clone(),
    })));
    assert!((&mut cut_off).now_or_never().is_none());
    assert_eq!(std::sync::Arc::strong_count(&weight), 2);
    drop(cut_off);
    assert_eq!(std::sync::Arc::strong_count(&weight), 1);
    other.execute_batch("COMMIT").unwrap();
    waiting.await.unwrap();
}

/// Waits until the writer has taken so many pieces of work out of its queue.
async fn taken(store: &SqliteStore, jobs: u64) {
    let wait = async {
        while store.writer_statistics().jobs < jobs {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait)
        .await
        .unwrap();
}

/// Work that misbehaves after a write.
enum Misbehaving {
    Panics,
    Waits,
    /// Goes on after a write that the database refused.
    IgnoresFailure,
}

#[async_trait]
impl Work for Misbehaving {
    async fn run(&mut self, tx: &mut dyn Transaction) -> Result<(), Aborted> {
        tx.write(&[deletion("kept")]).await?;
        match self {
            Self::Panics => panic!("on purpose"),
            Self::Waits => std::future::pending().await,
            Self::IgnoresFailure => {
                // The table's own condition refuses this row.
                let refused = tx.write(&[unacceptable()]).await;
                assert!(refused.is_err());
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

fn unacceptable() -> AspectWrite {
    deletion("refused")
}

#[tokio::test]
async fn misbehaving_work_is_rolled_back_alone_and_the_writer_lives_on() {
    let place = Place::new();
    let store = place.open();
    put(&store, &status("kept"), "1", Derived::default())
        .await
        .unwrap();
    place
        .raw()
        .execute_batch(&format!(
            "CREATE TRIGGER refuse BEFORE INSERT ON change_log WHEN new.urn = '{}' \
             BEGIN SELECT RAISE(ABORT, 'refused'); END",
            status("refused").urn
        ))
        .unwrap();
    for grouped in [false, true] {
        for (work, reason) in [
            (Misbehaving::Panics, "on purpose"),
            (Misbehaving::Waits, "waited"),
            (Misbehaving::IgnoresFailure, "had failed"),
        ] {
            let other = place.raw();
            let first = status(&format!("first {reason}{grouped}"));
            let mut first = Box::pin(put(&store, &first, "1", Derived::default()));
            if grouped {
                // A piece of work that waits for the lock; what comes behind it is one group.
                other.execute_batch("BEGIN IMMEDIATE").unwrap();
                let before = store.writer_statistics().jobs;
                assert!((&mut first).now_or_never().is_none());
                taken(&store, before + 1).await;
            }
            let neighbour = status(&format!("{reason}{grouped}"));
            let (failed, passed, (), first) = tokio::join!(
                store.run(Box::new(work)),
                put(&store, &neighbour, "1", Derived::default()),
                async {
                    if grouped {
                        other.execute_batch("COMMIT").unwrap();
                    }
                },
                first,
            );
            first.unwrap();
            let StoreError::Other(source) = failed.unwrap_err() else {
                panic!("{reason}: not an error of its own kind")
            };
            assert!(source.to_string().contains(reason), "{source}");
            passed.unwrap();
            assert_eq!(text(&store, &status("kept")).await.as_deref(), Some("1"));
            assert_eq!(text(&store, &neighbour).await.as_deref(), Some("1"));
        }
    }
}
