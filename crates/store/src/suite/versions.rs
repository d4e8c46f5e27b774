//! Versions and history.

use docent_model::{AspectName, Derived};

use super::{Harness, dataset, delete, key, put, put_at, read};
use crate::AspectKey;
use crate::version::{RETAINED_VERSIONS, logical_version_of};

fn status() -> AspectKey {
    key(&dataset("t"), AspectName::STATUS)
}

pub(super) async fn history_reads_from_one_upwards(harness: &impl Harness) {
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
        let row = store
            .aspect_read_version(&status(), version)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((row.version, row.metadata.as_str()), (version, content));
        // A former row keeps the time and the notes of its own write.
        assert_eq!(row.created_on_ms.to_string(), content);
        assert_eq!(logical_version_of(&row).to_string(), content);
    }
    assert_eq!(store.aspect_read_version(&status(), 3).await.unwrap(), None);
}

pub(super) async fn writing_the_same_content_makes_no_version(harness: &impl Harness) {
    let store = harness.store();
    put(store, &status(), r#"{"a":1,"b":2}"#, Derived::default()).await;
    let before = read(store, &status()).await;
    put(store, &status(), r#"{"b":2,"a":1}"#, Derived::default()).await;
    assert_eq!(read(store, &status()).await, before);
    assert_eq!(store.aspect_read_version(&status(), 1).await.unwrap(), None);
}

pub(super) async fn twenty_versions_are_kept_of_many(harness: &impl Harness) {
    let store = harness.store();
    let last = RETAINED_VERSIONS + 5;
    for number in 1..=last {
        put(store, &status(), &number.to_string(), Derived::default()).await;
    }
    let mut kept = vec![read(store, &status()).await.unwrap().metadata];
    for version in 1..=last {
        let row = store.aspect_read_version(&status(), version).await.unwrap();
        kept.extend(row.map(|row| row.metadata));
    }
    let mut expected = vec![last.to_string()];
    expected.extend((last - RETAINED_VERSIONS + 1..last).map(|number| number.to_string()));
    assert_eq!(kept, expected);
    assert_eq!(kept.len() as i64, RETAINED_VERSIONS);
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
        1
    );
    for version in 1..4 {
        assert_eq!(
            store.aspect_read_version(&status(), version).await.unwrap(),
            None
        );
    }
}

pub(super) async fn all_versions_of_several_aspects_are_read_at_once_oldest_first(
    harness: &impl Harness,
) {
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
    let versions: Vec<i64> = histories[2].iter().map(|row| row.version).collect();
    assert_eq!(versions, [1, 2, 0]);
}
