//! Transactions: atomic, isolated, and without lost updates.

use std::sync::Arc;

use docent_model::{AspectName, Derived, Registry};
use futures_util::future::{join, join_all};

use super::{
    Harness, NOON, Stopped, dataset, domain, edges, key, log, new_aspect, placed, put, read,
    version_of,
};
use crate::spent::{self, Spent};
use crate::version;
use crate::{
    AspectKey, AspectWrite, Effect, ReadRequest, Store, StoreError, TimeseriesRow, Transaction,
    transact,
};

fn counter(name: &str) -> AspectKey {
    key(&dataset(name), AspectName::STATUS)
}

fn put_of(key: &AspectKey, content: &str) -> AspectWrite {
    let new = new_aspect(content, Derived::default(), NOON);
    version::put(key.clone(), None, new).unwrap()
}

async fn number_of(tx: &mut dyn Transaction, key: &AspectKey) -> Result<u64, StoreError> {
    let row = tx.aspects_get(std::slice::from_ref(key)).await?.remove(0);
    Ok(row.map_or(0, |row| row.metadata.parse().unwrap()))
}

/// Reads a number, adds one, writes it.
async fn increment(store: &dyn Store, key: AspectKey) -> Result<u64, Stopped> {
    transact(store, move |tx| {
        let key = key.clone();
        Box::pin(async move {
            let previous = tx.aspects_get(std::slice::from_ref(&key)).await?.remove(0);
            let number = number_of(tx, &key).await? + 1;
            let new = new_aspect(&number.to_string(), Derived::default(), NOON);
            let write = version::put(key, previous.as_ref(), new);
            tx.write(write.as_slice()).await?;
            Ok(number)
        })
    })
    .await
}

/// Writes, then aborts.
async fn write_and_stop(store: &dyn Store, write: AspectWrite) -> Stopped {
    transact::<(), Stopped, _>(store, move |tx| {
        let write = write.clone();
        Box::pin(async move {
            tx.write(&[write]).await?;
            Err(Stopped::Decided("enough"))
        })
    })
    .await
    .unwrap_err()
}

pub(super) async fn an_aborted_transaction_leaves_no_trace(harness: &impl Harness) {
    let store = harness.store();
    let (a, b) = (domain("a"), domain("b"));
    let properties = key(&a, AspectName::DOMAIN_PROPERTIES);
    put(store, &properties, "1", placed("A", None, 1)).await;
    let before = read(store, &properties).await;
    let logged = log(store).await;

    let mut derived = placed("A", Some(&b), 1);
    derived.edges = edges(&[("IsPartOf", &b)]).edges;
    let new = new_aspect("2", derived, NOON);
    let write = version::put(properties.clone(), before.as_ref(), new).unwrap();
    let stopped = write_and_stop(store, write).await;

    assert!(matches!(stopped, Stopped::Decided("enough")), "{stopped:?}");
    assert_eq!(read(store, &properties).await, before);
    assert_eq!(version_of(store, &properties, 1).await, None);
    assert_eq!(
        store
            .edges_list(std::slice::from_ref(&b), false, &[], &[], 0, 9)
            .await
            .unwrap()[0]
            .total,
        0
    );
    let below = store
        .placements_list("domain", Some(&b), 0, 9)
        .await
        .unwrap();
    assert_eq!(below.total, 0);
    assert_eq!(log(store).await, logged);
}

pub(super) async fn a_transaction_returns_its_result(harness: &impl Harness) {
    let store = harness.store();
    assert_eq!(increment(store, counter("t")).await.unwrap(), 1);
    assert_eq!(increment(store, counter("t")).await.unwrap(), 2);
    let only_read = transact::<u64, Stopped, _>(store, |tx| {
        Box::pin(async move { Ok(number_of(tx, &counter("t")).await?) })
    });
    assert_eq!(only_read.await.unwrap(), 2);
}

pub(super) async fn a_transaction_sees_its_own_writes(harness: &impl Harness) {
    let seen = transact::<(u64, u64), Stopped, _>(harness.store(), |tx| {
        Box::pin(async move {
            let before = number_of(tx, &counter("t")).await?;
            tx.write(&[put_of(&counter("t"), "7")]).await?;
            Ok((before, number_of(tx, &counter("t")).await?))
        })
    })
    .await
    .unwrap();
    assert_eq!(seen, (0, 7));
}

pub(super) async fn failed_transactions_do_not_affect_concurrent_ones(harness: &impl Harness) {
    let store = harness.store();
    // Many rounds: the engine may group commits, with failures in any order.
    for round in 0..20 {
        let name = |part: &str| format!("{part}{round}");
        let ([first, last], passing) = (
            ["first", "last"].map(|part| counter(&name(part))),
            [counter(&name("one")), counter(&name("two"))],
        );
        let failing = join(
            write_and_stop(store, put_of(&first, "1")),
            write_and_stop(store, put_of(&last, "1")),
        );
        let [one, two] = passing.clone();
        let committed = join(increment(store, one), increment(store, two));
        let ((), (_, (one, two))) = join(
            async {
                increment(store, counter(&name("zero"))).await.unwrap();
            },
            join(failing, committed),
        )
        .await;
        assert_eq!((one.unwrap(), two.unwrap()), (1, 1));
        assert_eq!(read(store, &first).await, None);
        assert_eq!(read(store, &last).await, None);
        for key in &passing {
            assert_eq!(read(store, key).await.unwrap().metadata, "1");
        }
    }
}

pub(super) async fn concurrent_increments_lose_no_update(harness: &impl Harness) {
    let store = harness.store();
    let writers = (0..32).map(|_| async {
        let mut seen = Vec::new();
        for _ in 0..8 {
            seen.push(increment(store, counter("t")).await.unwrap());
        }
        seen
    });
    let mut seen: Vec<u64> = join_all(writers).await.into_iter().flatten().collect();
    seen.sort_unstable();
    assert_eq!(seen, (1..=256).collect::<Vec<u64>>());
    let last = read(store, &counter("t")).await.unwrap();
    assert_eq!(last.metadata, "256");
    assert_eq!(version::logical_version_of(&last).get(), 256);
}

pub(super) async fn a_list_of_writes_is_committed_atomically(harness: &impl Harness) {
    let store = harness.store();
    let keys: Vec<AspectKey> = (0..50).map(|number| counter(&number.to_string())).collect();
    let writes: Vec<AspectWrite> = keys.iter().map(|key| put_of(key, "1")).collect();
    super::write(store, writes).await;
    let rows = store.read(ReadRequest::rows(&keys)).await.unwrap().rows;
    assert!(rows.iter().all(Option::is_some));
    let logged = log(store).await;
    let order: Vec<AspectKey> = logged.into_iter().map(|entry| entry.key).collect();
    assert_eq!(order, keys);
}

pub(super) async fn reads_during_writes_see_whole_commits(harness: &impl Harness) {
    let store = harness.store();
    let keys = ["a", "b", "c"].map(counter);
    let writes = {
        let keys = keys.clone();
        async move {
            for number in 0..50 {
                let content = number.to_string();
                let all = keys.iter().map(|key| put_of(key, &content)).collect();
                super::write(store, all).await;
            }
        }
    };
    let reads = async {
        for _ in 0..200 {
            let rows = store.read(ReadRequest::rows(&keys)).await.unwrap().rows;
            let texts: Vec<_> = rows
                .iter()
                .map(|row| row.as_ref().map(|row| row.metadata.as_str()))
                .collect();
            assert!(texts.windows(2).all(|pair| pair[0] == pair[1]), "{texts:?}");
            // Lets writes happen in between.
            store
                .urns_list("dataset", AspectName::STATUS, None, 1)
                .await
                .unwrap();
        }
    };
    join(writes, reads).await;
    assert_eq!(read(store, &keys[2]).await.unwrap().metadata, "49");
}

pub(super) async fn transactions_count_the_rows_of_an_entity(harness: &impl Harness) {
    let store = harness.store();
    for content in ["1", "2", "3"] {
        put(store, &counter("t"), content, Derived::default()).await;
    }
    put(
        store,
        &key(&dataset("t"), AspectName::OWNERSHIP),
        "1",
        Derived::default(),
    )
    .await;
    put(store, &counter("other"), "1", Derived::default()).await;
    let profile = Registry::get().aspect("datasetProfile").unwrap();
    for time_ms in [1, 2] {
        let point = TimeseriesRow {
            time_ms,
            id: String::new(),
            metadata: "{}".to_owned(),
            system_metadata: None,
        };
        let write = AspectWrite {
            key: key(&dataset("t"), profile),
            effect: Effect::Timeseries(point),
        };
        super::write(store, vec![write]).await;
    }
    let (names, counts, of_profile, none) = transact::<_, StoreError, _>(store, move |tx| {
        Box::pin(async move {
            let names = tx.aspect_names(&dataset("t")).await?;
            let counts = tx.rows_count(&dataset("t"), None).await?;
            let of_profile = tx.rows_count(&dataset("t"), Some(profile)).await?;
            let none = tx.rows_count(&dataset("missing"), None).await?;
            Ok((names, counts, of_profile, none))
        })
    })
    .await
    .unwrap();
    assert_eq!(names, [profile, AspectName::OWNERSHIP, AspectName::STATUS]);
    assert_eq!(counts, (4, 2));
    assert_eq!(of_profile, (0, 2));
    assert_eq!(none, (0, 0));
}

pub(super) async fn transactions_list_the_texts_of_an_aspect(harness: &impl Harness) {
    let store = harness.store();
    for content in ["1", "2"] {
        put(store, &counter("a"), content, Derived::default()).await;
    }
    put(store, &counter("c"), "3", Derived::default()).await;
    let other_aspect = key(&dataset("d"), AspectName::OWNERSHIP);
    put(store, &other_aspect, "4", Derived::default()).await;
    let other_type = key(&domain("e"), AspectName::STATUS);
    put(store, &other_type, "5", Derived::default()).await;
    let (all, first, rest) = transact::<_, StoreError, _>(store, |tx| {
        Box::pin(async move {
            tx.write(&[put_of(&counter("b"), "own")]).await?;
            let status = AspectName::STATUS;
            let all = tx.texts_list("dataset", status, None, 9).await?;
            let first = tx.texts_list("dataset", status, None, 1).await?;
            let after = Some(&all[0].0);
            let rest = tx.texts_list("dataset", status, after, 9).await?;
            Ok((all, first, rest))
        })
    })
    .await
    .unwrap();
    let expected = [("a", "2"), ("b", "own"), ("c", "3")];
    let expected = expected.map(|(name, text)| (dataset(name), text.to_owned()));
    assert_eq!(all, expected);
    assert_eq!(first, expected[..1]);
    assert_eq!(rest, expected[1..]);
}

/// Adds a dataset unless there are `max` already: what others add meanwhile counts.
async fn add_up_to(store: &dyn Store, name: String, max: usize) -> bool {
    transact::<bool, StoreError, _>(store, move |tx| {
        let key = counter(&name);
        Box::pin(async move {
            tx.lock("datasets").await?;
            let listed = tx.texts_list("dataset", key.aspect, None, max).await?;
            if listed.len() == max {
                return Ok(false);
            }
            tx.write(&[put_of(&key, "1")]).await?;
            Ok(true)
        })
    })
    .await
    .unwrap()
}

pub(super) async fn transactions_that_take_the_same_lock_run_one_after_the_other(
    harness: &impl Harness,
) {
    let store = harness.store();
    let writers = (0..32).map(|number| add_up_to(store, format!("t{number}"), 5));
    let added = join_all(writers).await;
    assert_eq!(added.iter().filter(|it| **it).count(), 5);
}

pub(super) async fn the_statements_of_a_transaction_are_counted_for_its_request(
    harness: &impl Harness,
) {
    let store = harness.store();
    let of_request = Arc::new(Spent::default());
    let request = spent::measure(
        Some(Arc::clone(&of_request)),
        increment(store, counter("measured")),
    );
    request.await.unwrap();
    assert_eq!(of_request.transactions.count(), 1);
    assert_eq!(of_request.reads.count(), 0);
    let statements = of_request.statements.count();
    assert!((2..=10).contains(&statements), "{statements}");
    increment(store, counter("measured")).await.unwrap();
    assert_eq!(of_request.statements.count(), statements);
    // Short reads count, too.
    let key = counter("measured");
    let before = of_request.reads.count();
    let read = store.read_if_short(ReadRequest::row(&key));
    let row = spent::measure(Some(Arc::clone(&of_request)), read).await;
    assert!(row.unwrap().is_some());
    assert!(of_request.reads.count() > before);
}
