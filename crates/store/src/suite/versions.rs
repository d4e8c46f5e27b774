//! Versions and history.

use docent_model::{AspectName, Derived, Urn};
use futures_util::future::join_all;

use super::{Harness, dataset, delete, key, put, put_at, read, version_of};
use crate::version::{RETAINED_VERSIONS, logical_version_of};
use crate::{
    AspectKey, AspectWrite, Effect, LogicalVersion, ReadReply, ReadRequest, RowVersion, StoreError,
    StoredAspect, VersionKey, transact,
};

fn status() -> AspectKey {
    key(&dataset("t"), AspectName::STATUS)
}

pub(super) async fn history_is_numbered_from_one(harness: &impl Harness) {
    let store = harness.store();
    for number in 1..=3 {
        put_at(
            store,
            &status(),
            &number.to_string(),
            Derived::default(),
            number,
        )
        .await;
    }
    for (version, content) in [(0, "3"), (1, "1"), (2, "2")] {
        let row = version_of(store, &status(), version).await.unwrap();
        assert_eq!(row.version, RowVersion::new(version));
        assert_eq!(row.metadata, content);
        // A history row keeps the time and the system metadata of its write.
        assert_eq!(row.created_on_ms.to_string(), content);
        assert_eq!(logical_version_of(&row).to_string(), content);
    }
    assert_eq!(version_of(store, &status(), 3).await, None);
}

pub(super) async fn writing_the_same_content_adds_no_version(harness: &impl Harness) {
    let store = harness.store();
    put(store, &status(), r#"{"a":1,"b":2}"#, Derived::default()).await;
    let before = read(store, &status()).await;
    put(store, &status(), r#"{"b":2,"a":1}"#, Derived::default()).await;
    assert_eq!(read(store, &status()).await, before);
    assert_eq!(version_of(store, &status(), 1).await, None);
}

pub(super) async fn twenty_versions_are_retained(harness: &impl Harness) {
    let store = harness.store();
    let last = RETAINED_VERSIONS + 5;
    for number in 1..=last {
        put(store, &status(), &number.to_string(), Derived::default()).await;
    }
    let mut retained = vec![read(store, &status()).await.unwrap().metadata];
    for version in 1..=last {
        let row = version_of(store, &status(), version).await;
        retained.extend(row.map(|row| row.metadata));
    }
    let mut expected = vec![last.to_string()];
    expected.extend((last - RETAINED_VERSIONS + 1..last).map(|number| number.to_string()));
    assert_eq!(retained, expected);
    assert_eq!(i64::try_from(retained.len()), Ok(RETAINED_VERSIONS));
}

pub(super) async fn only_the_latest_result_of_a_run_is_retained(harness: &impl Harness) {
    let store = harness.store();
    let run = Urn::parse("urn:li:dataHubExecutionRequest:1").unwrap();
    let result = key(&run, AspectName::EXECUTION_REQUEST_RESULT);
    for number in 1..=3 {
        put(store, &result, &number.to_string(), Derived::default()).await;
        for version in 1..=number {
            assert_eq!(version_of(store, &result, version).await, None, "{version}");
        }
    }
    assert_eq!(read(store, &result).await.unwrap().metadata, "3");
}

pub(super) async fn a_deleted_aspect_starts_again_at_version_one(harness: &impl Harness) {
    let store = harness.store();
    for content in ["1", "2", "3"] {
        put(store, &status(), content, Derived::default()).await;
    }
    delete(store, &status()).await;
    put(store, &status(), "4", Derived::default()).await;
    assert_eq!(
        logical_version_of(&read(store, &status()).await.unwrap()),
        LogicalVersion::FIRST
    );
    for version in 1..4 {
        assert_eq!(version_of(store, &status(), version).await, None);
    }
}

pub(super) async fn histories_of_several_aspects_are_read_oldest_first(harness: &impl Harness) {
    let store = harness.store();
    for content in ["1", "2", "3"] {
        put(store, &status(), content, Derived::default()).await;
    }
    let single = key(&dataset("single"), AspectName::STATUS);
    put(store, &single, "9", Derived::default()).await;
    let missing = key(&dataset("missing"), AspectName::STATUS);
    let histories = store
        .histories_read(&[single, missing, status()])
        .await
        .unwrap();
    let texts: Vec<Vec<&str>> = histories
        .iter()
        .map(|rows| rows.iter().map(|row| row.metadata.as_str()).collect())
        .collect();
    assert_eq!(texts, [vec!["9"], vec![], vec!["1", "2", "3"]]);
    let versions: Vec<i64> = histories[2].iter().map(|row| row.version.get()).collect();
    assert_eq!(versions, [1, 2, 0]);
}

pub(super) async fn versions_of_several_aspects_are_read_up_to_the_limit(harness: &impl Harness) {
    let store = harness.store();
    for content in ["\"one\"", "\"two\"", "\"three\""] {
        put(store, &status(), content, Derived::default()).await;
    }
    let single = key(&dataset("single"), AspectName::STATUS);
    put(store, &single, "9", Derived::default()).await;
    let missing = key(&dataset("missing"), AspectName::STATUS);
    let keys: Vec<VersionKey> = [
        (status(), 3),
        (missing, 1),
        (status(), 1),
        (single.clone(), 2),
        (single, 1),
        (status(), 2),
        (status(), 4),
    ]
    .into_iter()
    .map(|(key, number)| VersionKey {
        key,
        version: LogicalVersion::new(number),
    })
    .collect();
    let read = async |max_bytes: u64| store.versions_read(&keys, max_bytes).await.unwrap();
    let all = read(u64::MAX).await;
    let texts: Vec<Option<&str>> = all
        .iter()
        .map(|row| Some(row.as_ref()?.metadata.as_str()))
        .collect();
    assert_eq!(
        texts,
        [
            Some("\"three\""),
            None,
            Some("\"one\""),
            None,
            Some("9"),
            Some("\"two\""),
            None,
        ]
    );
    assert_eq!(all[0], super::read(store, &status()).await);
    assert_eq!(all[2], version_of(store, &status(), 1).await);
    let first = all[0].as_ref().unwrap().value_bytes();
    assert_eq!(read(1).await, all[..1]);
    assert_eq!(read(first).await, all[..1]);
    assert_eq!(read(first + 1).await, all[..3]);
    assert!(store.versions_read(&[], 1).await.unwrap().is_empty());
}

pub(super) async fn the_bytes_of_latest_values_are_known_before_they_are_read(
    harness: &impl Harness,
) {
    let store = harness.store();
    for content in ["\"replaced\"", "\"ä\""] {
        put(store, &status(), content, Derived::default()).await;
    }
    let properties = key(&status().urn, AspectName::EDITABLE_DATASET_PROPERTIES);
    put(store, &properties, "123", Derived::default()).await;
    let missing = key(&dataset("missing"), AspectName::STATUS);
    let bytes = async |rows: &[AspectKey], entities: &[Urn]| {
        let request = ReadRequest {
            rows,
            exists: &[],
            entities,
        };
        let bytes = store.read_bytes(rows, entities).await.unwrap();
        let reply = store.read(request).await.unwrap();
        assert_eq!(bytes, reply.value_bytes());
        bytes
    };
    assert_eq!(bytes(&[], &[]).await, 0);
    let nothing = [key(&dataset("missing"), AspectName::STATUS)];
    assert_eq!(bytes(&nothing, &[dataset("missing")]).await, 0);
    let one = bytes(&[status()], &[]).await;
    let row = read(store, &status()).await.unwrap();
    assert_eq!(one, 4 + row.system_metadata.unwrap().len() as u64);
    assert_eq!(bytes(&[status(), missing, status()], &[]).await, 2 * one);
    let all = bytes(&[properties], &[status().urn]).await;
    assert!(all > 2 * one, "{all}");
}

pub(super) async fn long_values_are_not_read_as_short_ones(harness: &impl Harness) {
    let store = harness.store();
    let long = format!("\"{}\"", "x".repeat(700_000));
    let aspects = [AspectName::STATUS, AspectName::EDITABLE_DATASET_PROPERTIES];
    let keys = aspects.map(|aspect| key(&status().urn, aspect));
    let third = key(&dataset("third"), AspectName::STATUS);
    for key in keys.iter().chain([&third]) {
        put(store, key, &long, Derived::default()).await;
    }
    let is_short = async |request: ReadRequest<'_>| {
        let reply = store.read_if_short(request).await.unwrap();
        reply.is_some_and(|reply| reply != ReadReply::default())
    };
    assert!(is_short(ReadRequest::row(&third)).await);
    assert!(is_short(ReadRequest::entities(std::slice::from_ref(&third.urn))).await);
    let [first, second] = keys.clone();
    assert!(!is_short(ReadRequest::rows(&[first, second, third])).await);
    assert!(!is_short(ReadRequest::entities(&[status().urn])).await);
    let mixed = ReadRequest {
        rows: &keys[..1],
        exists: &[],
        entities: &[dataset("third")],
    };
    assert!(!is_short(mixed).await);
}

/// The first writers race to create the aspect, too.
pub(super) async fn concurrent_writers_never_store_a_version_twice(harness: &impl Harness) {
    let store = harness.store();
    let writers = (0..6).map(|writer| async move {
        for number in 0..3 {
            let content = format!("[{writer},{number}]");
            put(store, &status(), &content, Derived::default()).await;
        }
    });
    join_all(writers).await;
    let history = store.histories_read(&[status()]).await.unwrap().remove(0);
    let versions: Vec<_> = history.iter().map(logical_version_of).collect();
    let expected: Vec<_> = (1..=18).map(LogicalVersion::new).collect();
    assert_eq!(versions, expected);
    let mut contents: Vec<&str> = history.iter().map(|row| row.metadata.as_str()).collect();
    contents.sort_unstable();
    contents.dedup();
    assert_eq!(contents.len(), 18, "{contents:?}");
}

/// A damaged row may claim an older version than its own.
pub(super) async fn history_is_never_overwritten(harness: &impl Harness) {
    let store = harness.store();
    for content in ["\"first\"", "\"second\""] {
        put(store, &status(), content, Derived::default()).await;
    }
    let latest = read(store, &status()).await.unwrap();
    let write = AspectWrite {
        key: status(),
        effect: Effect::Put {
            row: StoredAspect {
                metadata: "\"third\"".to_owned(),
                ..latest.clone()
            },
            history: Some(StoredAspect {
                version: RowVersion::new(1),
                ..latest.clone()
            }),
            prune_through: None,
            derived: Derived::default(),
            logical_version: LogicalVersion::new(2),
            run: None,
        },
    };
    let rejected = transact::<(), StoreError, _>(store, move |tx| {
        let write = write.clone();
        Box::pin(async move { tx.write(&[write]).await })
    })
    .await;
    assert!(
        matches!(rejected, Err(StoreError::Corrupt { .. })),
        "{rejected:?}"
    );
    let history = store.histories_read(&[status()]).await.unwrap().remove(0);
    let contents: Vec<&str> = history.iter().map(|row| row.metadata.as_str()).collect();
    assert_eq!(contents, ["\"first\"", "\"second\""]);
}
