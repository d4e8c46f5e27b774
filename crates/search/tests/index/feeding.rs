//! The index is fed beside those who search, and a feeding that fails loses nothing.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use docent_search::{Request, Search};

use super::Fixture;
use super::hindered::HinderedStore;

fn names(start: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |number| format!("{start}_{number}"))
}

#[tokio::test]
async fn many_writes_are_taken_in_when_they_pause_and_few_are_left_to_the_next_search() {
    let fixture = Fixture::new().await;
    let mut keeper = fixture.search.keeper();
    assert_eq!(fixture.find("*").await.total, 0);
    fixture.datasets(names("first", 10)).await;
    for _ in 0..3 {
        assert!(keeper.look().await.unwrap() > Duration::ZERO);
    }
    assert_eq!(fixture.search.behind().await.unwrap(), 10);
    fixture.datasets(names("second", 300)).await;
    keeper.look().await.unwrap();
    assert_eq!(fixture.search.behind().await.unwrap(), 310, "more may come");
    keeper.look().await.unwrap();
    assert_eq!(fixture.search.behind().await.unwrap(), 0);
    assert_eq!(fixture.find("*").await.total, 310);
}

#[tokio::test]
async fn very_many_writes_are_taken_in_while_they_go_on_some_at_a_time() {
    let fixture = Fixture::new().await;
    let mut keeper = fixture.search.keeper();
    assert_eq!(fixture.find("*").await.total, 0);
    for part in 0..6 {
        let names = (part * 1000..(part + 1) * 1000).map(|number| format!("table_{number}"));
        fixture.datasets(names).await;
    }
    let rest = keeper.look().await.unwrap();
    let behind = fixture.search.behind().await.unwrap();
    assert!(behind > 0 && behind < 6000, "{behind}");
    assert!(rest > Duration::ZERO, "writes come first");
    // Nobody writes any more.
    assert_eq!(keeper.look().await.unwrap(), Duration::ZERO);
    keeper.look().await.unwrap();
    assert_eq!(fixture.search.behind().await.unwrap(), 0);
    assert_eq!(fixture.find("*").await.total, 6000);
}

#[tokio::test]
async fn an_index_that_nobody_has_opened_is_opened_only_when_it_has_fallen_behind() {
    let fixture = Fixture::new().await;
    fixture.datasets(names("first", 3)).await;
    assert_eq!(fixture.find("*").await.total, 3);
    let fixture = fixture.restart().await;
    fixture.datasets(names("second", 5)).await;
    assert_eq!(fixture.search.behind().await.unwrap(), 5);
    let mut keeper = fixture.search.keeper();
    keeper.look().await.unwrap();
    keeper.look().await.unwrap();
    assert_eq!(fixture.search.behind().await.unwrap(), 5);
    fixture.datasets(names("third", 300)).await;
    keeper.look().await.unwrap();
    keeper.look().await.unwrap();
    assert_eq!(fixture.search.behind().await.unwrap(), 0);
    assert_eq!(fixture.find("*").await.total, 308);
}

#[tokio::test]
async fn what_was_half_taken_in_when_the_store_failed_is_taken_in_once() {
    let fixture = Fixture::new().await;
    let store = Arc::new(HinderedStore::before(Arc::clone(&fixture.store)));
    let search = Search::in_memory(Arc::clone(&store) as _);
    let everything = Request::default();
    assert_eq!(search.search(&everything).await.unwrap().total, 0);
    let listed = store.listed.load(Ordering::SeqCst);
    fixture.datasets(names("table", 1200)).await;
    // Five hundred are read at a time.
    store.reads_left.store(1, Ordering::SeqCst);
    search.search(&everything).await.unwrap_err();
    assert_eq!(search.behind().await.unwrap(), 1200);
    fixture.datasets(names("table", 600)).await;
    store.reads_left.store(u64::MAX, Ordering::SeqCst);
    assert_eq!(search.search(&everything).await.unwrap().total, 1200);
    assert_eq!(search.behind().await.unwrap(), 0);
    let built = store.listed.load(Ordering::SeqCst);
    assert_eq!(built, listed, "the index was built anew");
}

#[tokio::test]
async fn whoever_writes_faster_than_the_index_is_fed_does_not_keep_searches_waiting() {
    let fixture = Fixture::new().await;
    let store = Arc::new(HinderedStore::before(Arc::clone(&fixture.store)));
    let search = Search::in_memory(Arc::clone(&store) as _);
    assert_eq!(search.search(&Request::default()).await.unwrap().total, 0);
    fixture.datasets(names("table", 3000)).await;
    store.endless.store(true, Ordering::SeqCst);
    search.search(&Request::default()).await.unwrap();
    let read = store.read.load(Ordering::SeqCst);
    assert!(read < 5, "the log was read {read} times");
}

#[tokio::test]
async fn a_log_that_was_put_back_while_the_server_runs_is_noticed() {
    let fixture = Fixture::new().await;
    let store = Arc::new(HinderedStore::before(Arc::clone(&fixture.store)));
    let search = Search::in_memory(Arc::clone(&store) as _);
    fixture.datasets(names("table", 3)).await;
    assert_eq!(search.search(&Request::default()).await.unwrap().total, 3);
    fixture.datasets(names("other", 2)).await;
    let listed = store.listed.load(Ordering::SeqCst);
    store.put_back.store(true, Ordering::SeqCst);
    assert_eq!(search.search(&Request::default()).await.unwrap().total, 5);
    let built = store.listed.load(Ordering::SeqCst);
    assert!(built > listed, "the index was not built anew");
}
