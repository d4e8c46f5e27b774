//! Feeding in the background, and feeds that fail.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use docent_search::{Search, SearchRequest};

use super::Fixture;
use super::faulty_store::FaultyStore;

fn names(start: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |number| format!("{start}_{number}"))
}

#[tokio::test]
async fn the_maintainer_indexes_many_changes_once_writes_pause() {
    let fixture = Fixture::new().await;
    let mut maintainer = fixture.search.maintainer();
    assert_eq!(fixture.find("*").await.total, 0);
    fixture.datasets(names("first", 10)).await;
    for _ in 0..3 {
        assert!(maintainer.run_once().await.unwrap() > Duration::ZERO);
    }
    assert_eq!(fixture.search.pending_changes().await.unwrap(), 10);
    fixture.datasets(names("second", 300)).await;
    maintainer.run_once().await.unwrap();
    assert_eq!(
        fixture.search.pending_changes().await.unwrap(),
        310,
        "more may come"
    );
    maintainer.run_once().await.unwrap();
    assert_eq!(fixture.search.pending_changes().await.unwrap(), 0);
    assert_eq!(fixture.find("*").await.total, 310);
}

#[tokio::test]
async fn the_maintainer_indexes_very_many_changes_in_parts_during_writes() {
    let fixture = Fixture::new().await;
    let mut maintainer = fixture.search.maintainer();
    assert_eq!(fixture.find("*").await.total, 0);
    for part in 0..6 {
        let names = (part * 1000..(part + 1) * 1000).map(|number| format!("table_{number}"));
        fixture.datasets(names).await;
    }
    let rest = maintainer.run_once().await.unwrap();
    let pending = fixture.search.pending_changes().await.unwrap();
    assert!(pending > 0 && pending < 6000, "{pending}");
    assert!(rest > Duration::ZERO, "writes come first");
    // Writes have stopped.
    let mut runs = 0;
    while fixture.search.pending_changes().await.unwrap() > 0 {
        assert_eq!(maintainer.run_once().await.unwrap(), Duration::ZERO);
        runs += 1;
    }
    assert!((2..10).contains(&runs), "{runs}");
    assert_eq!(fixture.find("*").await.total, 6000);
}

#[tokio::test]
async fn the_maintainer_opens_an_index_only_if_it_is_behind() {
    let fixture = Fixture::new().await;
    fixture.datasets(names("first", 3)).await;
    assert_eq!(fixture.find("*").await.total, 3);
    let fixture = fixture.restart().await;
    fixture.datasets(names("second", 5)).await;
    assert_eq!(fixture.search.pending_changes().await.unwrap(), 5);
    let mut maintainer = fixture.search.maintainer();
    maintainer.run_once().await.unwrap();
    maintainer.run_once().await.unwrap();
    assert_eq!(fixture.search.pending_changes().await.unwrap(), 5);
    fixture.datasets(names("third", 300)).await;
    maintainer.run_once().await.unwrap();
    maintainer.run_once().await.unwrap();
    assert_eq!(fixture.search.pending_changes().await.unwrap(), 0);
    assert_eq!(fixture.find("*").await.total, 308);
}

#[tokio::test]
async fn a_feed_that_failed_halfway_is_repeated_without_duplicates() {
    let fixture = Fixture::new().await;
    let store = Arc::new(FaultyStore::before(Arc::clone(&fixture.store)));
    let search = Search::in_memory(Arc::clone(&store) as _);
    let everything = SearchRequest::default();
    assert_eq!(search.search(&everything).await.unwrap().total, 0);
    let list_calls = store.list_calls.load(Ordering::SeqCst);
    fixture.datasets(names("table", 1200)).await;
    // A feed reads 500 entities at a time.
    store.remaining_reads.store(1, Ordering::SeqCst);
    search.search(&everything).await.unwrap_err();
    assert_eq!(search.pending_changes().await.unwrap(), 1200);
    fixture.datasets(names("table", 600)).await;
    store.remaining_reads.store(u64::MAX, Ordering::SeqCst);
    assert_eq!(search.search(&everything).await.unwrap().total, 1200);
    assert_eq!(search.pending_changes().await.unwrap(), 0);
    let built = store.list_calls.load(Ordering::SeqCst);
    assert_eq!(built, list_calls, "the index was rebuilt");
}

#[tokio::test]
async fn a_log_that_keeps_growing_does_not_block_searches() {
    let fixture = Fixture::new().await;
    let store = Arc::new(FaultyStore::before(Arc::clone(&fixture.store)));
    let search = Search::in_memory(Arc::clone(&store) as _);
    assert_eq!(
        search
            .search(&SearchRequest::default())
            .await
            .unwrap()
            .total,
        0
    );
    fixture.datasets(names("table", 3000)).await;
    store.endless.store(true, Ordering::SeqCst);
    search.search(&SearchRequest::default()).await.unwrap();
    let read = store.read.load(Ordering::SeqCst);
    assert!(read < 5, "the log was read {read} times");
}

#[tokio::test]
async fn a_log_restored_from_a_backup_is_detected_at_run_time() {
    let fixture = Fixture::new().await;
    let store = Arc::new(FaultyStore::before(Arc::clone(&fixture.store)));
    let search = Search::in_memory(Arc::clone(&store) as _);
    fixture.datasets(names("table", 3)).await;
    assert_eq!(
        search
            .search(&SearchRequest::default())
            .await
            .unwrap()
            .total,
        3
    );
    fixture.datasets(names("other", 2)).await;
    let list_calls = store.list_calls.load(Ordering::SeqCst);
    store.restored.store(true, Ordering::SeqCst);
    assert_eq!(
        search
            .search(&SearchRequest::default())
            .await
            .unwrap()
            .total,
        5
    );
    let built = store.list_calls.load(Ordering::SeqCst);
    assert!(built > list_calls, "the index was not rebuilt");
}

/// Building and feeding an index, and what searches return of their entities.
#[tokio::test]
async fn entities_with_long_values_are_read_a_few_at_a_time() {
    const MIB: usize = 1024 * 1024;
    let fixture = Fixture::new().await;
    let store = Arc::new(FaultyStore::before(Arc::clone(&fixture.store)));
    let search = Search::in_memory(Arc::clone(&store) as _);
    // A word that is too long to be indexed takes little time.
    let text = format!("word {}", "x".repeat(5 * MIB));
    let long = async |names: [&str; 5]| {
        for name in names {
            fixture.dataset(name, &text).await;
        }
    };
    let everything = SearchRequest {
        query: "word".to_owned(),
        explain_matches: true,
        ..SearchRequest::default()
    };
    let names = [
        ["a1", "a2", "a3", "a4", "a5"],
        ["b1", "b2", "b3", "b4", "b5"],
    ];
    for (names, total) in names.into_iter().zip([5, 10]) {
        long(names).await;
        let found = search.search(&everything).await.unwrap();
        assert_eq!(found.total, total);
        assert!(found.hits.iter().all(|hit| !hit.matched.is_empty()));
    }
    let completed = SearchRequest {
        query: "a".to_owned(),
        ..SearchRequest::default()
    };
    let completions = search.complete(completed, 10).await.unwrap();
    assert_eq!(completions.suggestions.len(), 5);
    let largest = store.largest_read.load(Ordering::SeqCst);
    assert!(largest < 16 * MIB as u64, "{largest}");
}
