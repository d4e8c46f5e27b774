//! Ingestion runs and their rollback.

use docent_model::{AspectName, NO_RUN_ID, SystemMetadata, derive};
use serde_json::{Value, json};

use super::{
    Harness, dataset, delete, domain, key, log, new_aspect, put_in, put_value, read, version_of,
};
use crate::version::{self, revert};
use crate::{AspectKey, LogicalVersion, Store, StoreError, transact};

/// Writes like an ingestion run.
async fn ingest(store: &dyn Store, key: &AspectKey, value: &Value, run: &str, time_ms: i64) {
    let mut new = new_aspect(
        &value.to_string(),
        derive(&key.urn, key.aspect, value),
        time_ms,
    );
    new.system_metadata = Some(SystemMetadata {
        run_id: run.to_owned(),
        last_observed: time_ms,
        ..SystemMetadata::default()
    });
    let key = key.clone();
    transact::<(), StoreError, _>(store, move |tx| {
        let (key, new) = (key.clone(), new.clone());
        Box::pin(async move { put_in(tx, key, new).await })
    })
    .await
    .unwrap();
}

/// Rolls back a run; returns whether it had written the aspect.
async fn roll_back(store: &dyn Store, key: &AspectKey, run: &'static str) -> bool {
    let key = key.clone();
    transact::<bool, StoreError, _>(store, move |tx| {
        let key = key.clone();
        Box::pin(async move {
            let Some(latest) = tx.aspects_get(std::slice::from_ref(&key)).await?.remove(0) else {
                return Ok(false);
            };
            let history = tx.aspect_history(&key).await?;
            let stamp = new_aspect("", docent_model::Derived::default(), 9).stamp;
            let write = revert(key, &latest, history, run, &stamp);
            tx.write(write.as_slice()).await?;
            Ok(write.is_some())
        })
    })
    .await
    .unwrap()
}

fn description(name: &str) -> AspectKey {
    key(&dataset(name), AspectName::EDITABLE_DATASET_PROPERTIES)
}

fn text(text: &str) -> Value {
    json!({"description": text})
}

async fn aspects(store: &dyn Store, run: &str) -> Vec<(AspectKey, i64)> {
    let found = store.run_aspects(run, true, 0, 100).await.unwrap();
    found
        .into_iter()
        .map(|aspect| (aspect.key, aspect.time_ms))
        .collect()
}

async fn runs(store: &dyn Store, include_removed: bool) -> Vec<(String, u64, i64)> {
    let found = store.runs_list(include_removed, 0, 100).await.unwrap();
    found
        .into_iter()
        .map(|run| (run.id, run.rows, run.time_ms))
        .collect()
}

pub(super) async fn a_run_lists_the_aspects_it_wrote_or_confirmed_last(harness: &impl Harness) {
    let store = harness.store();
    ingest(store, &description("a"), &text("a"), "one", 5).await;
    ingest(store, &description("b"), &text("b"), "one", 3).await;
    ingest(store, &description("c"), &text("c"), NO_RUN_ID, 4).await;
    let both = [(description("b"), 3), (description("a"), 5)];
    assert_eq!(aspects(store, "one").await, both);
    assert_eq!(store.run_aspects("one", true, 1, 5).await.unwrap().len(), 1);
    // Confirmed, and changed.
    ingest(store, &description("a"), &text("a"), "two", 7).await;
    ingest(store, &description("b"), &text("other"), "two", 8).await;
    assert_eq!(aspects(store, "one").await, []);
    let both = [(description("a"), 7), (description("b"), 8)];
    assert_eq!(aspects(store, "two").await, both);
    assert_eq!(aspects(store, NO_RUN_ID).await, []);
}

pub(super) async fn runs_are_listed_newest_first_in_pages(harness: &impl Harness) {
    let store = harness.store();
    for (name, run, time_ms) in [("a", "x", 5), ("b", "y", 9), ("c", "x", 6), ("d", "z", 1)] {
        ingest(store, &description(name), &text(name), run, time_ms).await;
    }
    let expected = [("y", 1, 9), ("x", 2, 6), ("z", 1, 1)];
    let expected = expected.map(|(id, rows, time)| (id.to_owned(), rows, time));
    assert_eq!(runs(store, true).await, expected);
    let page = store.runs_list(true, 1, 1).await.unwrap();
    assert_eq!((page.len(), page[0].id.as_str()), (1, "x"));
}

pub(super) async fn aspects_of_soft_deleted_entities_count_only_on_request(harness: &impl Harness) {
    let store = harness.store();
    for (name, run) in [("a", "x"), ("b", "x"), ("c", "y")] {
        ingest(store, &description(name), &text(name), run, 1).await;
    }
    for name in ["b", "c"] {
        let status = key(&dataset(name), AspectName::STATUS);
        put_value(store, &status, &json!({"removed": true})).await;
    }
    assert_eq!(runs(store, false).await, [("x".to_owned(), 1, 1)]);
    assert_eq!(runs(store, true).await.len(), 2);
    let visible = store.run_aspects("x", false, 0, 10).await.unwrap();
    assert_eq!(visible.len(), 1);
    assert_eq!(visible[0].key, description("a"));
    assert_eq!(aspects(store, "x").await.len(), 2);
}

pub(super) async fn a_rollback_restores_the_previous_content_and_drops_later_versions(
    harness: &impl Harness,
) {
    let store = harness.store();
    let key = description("a");
    ingest(store, &key, &text("first"), "one", 1).await;
    ingest(store, &key, &text("second"), "two", 2).await;
    ingest(store, &key, &text("third"), "two", 3).await;
    let before = log(store).await.len();
    assert!(roll_back(store, &key, "two").await);
    let row = read(store, &key).await.unwrap();
    assert_eq!(row.metadata, text("first").to_string());
    // A rollback is a change like any other: a new version by its author.
    assert_eq!(version::logical_version_of(&row).get(), 4);
    assert_eq!(
        (row.created_on_ms, row.created_by.as_str()),
        (9, super::ACTOR)
    );
    for (version, is_retained) in [(1, true), (2, false), (3, false), (4, false)] {
        let row = version_of(store, &key, version).await;
        assert_eq!(row.is_some(), is_retained, "version {version}");
    }
    assert_eq!(log(store).await.len(), before + 1);
    assert_eq!(aspects(store, "one").await.len(), 1);
    // A run that only confirmed the value cannot be rolled back; its author can, even after writing
    // it twice.
    ingest(store, &key, &text("first"), "three", 4).await;
    assert!(!roll_back(store, &key, "three").await);
    ingest(store, &key, &text("fourth"), "four", 5).await;
    ingest(store, &key, &text("fourth"), "four", 6).await;
    assert!(roll_back(store, &key, "four").await);
    assert_eq!(
        read(store, &key).await.unwrap().metadata,
        text("first").to_string()
    );
    let fresh = description("fresh");
    ingest(store, &fresh, &text("x"), "four", 7).await;
    assert!(roll_back(store, &fresh, "four").await);
    assert_eq!(read(store, &fresh).await, None);
}

pub(super) async fn versions_are_not_reused_after_a_rollback(harness: &impl Harness) {
    let store = harness.store();
    let version = async |key: &AspectKey| {
        let row = read(store, key).await.unwrap();
        version::logical_version_of(&row).get()
    };
    let changed = description("changed");
    ingest(store, &changed, &text("before"), "one", 1).await;
    ingest(store, &changed, &text("wrong"), "two", 2).await;
    assert_eq!(version(&changed).await, 2);
    assert!(roll_back(store, &changed, "two").await);
    assert_eq!(version(&changed).await, 3);
    ingest(store, &changed, &text("right"), "three", 3).await;
    assert_eq!(version(&changed).await, 4);
    let log = log(store).await;
    let versions = log.iter().map(|entry| entry.logical_version);
    let logged: Vec<i64> = versions.flatten().map(LogicalVersion::get).collect();
    assert_eq!(logged, [1, 2, 3, 4]);
    // Also after the rollback has deleted the aspect.
    let made = description("made");
    ingest(store, &made, &text("wrong"), "two", 2).await;
    assert!(roll_back(store, &made, "two").await);
    ingest(store, &made, &text("wrong again"), "three", 3).await;
    assert_eq!(version(&made).await, 2);
    assert!(roll_back(store, &made, "three").await);
    ingest(store, &made, &text("right"), "four", 4).await;
    assert_eq!(version(&made).await, 3);
    // A deletion on request starts again.
    delete(store, &made).await;
    ingest(store, &made, &text("new"), "five", 5).await;
    assert_eq!(version(&made).await, 1);
}

pub(super) async fn rebuild_and_check_accept_the_writes_of_runs(harness: &impl Harness) {
    let store = harness.store();
    put_value(store, &description("a"), &text("by hand")).await;
    ingest(store, &description("a"), &text("a"), "one", 1).await;
    ingest(store, &description("a"), &text("b"), "two", 2).await;
    assert!(roll_back(store, &description("a"), "two").await);
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    let report = store.rebuild(Box::new(|_, _| {})).await.unwrap();
    assert_eq!((report.repaired, report.orphans), (0, 0));
    assert_eq!(aspects(store, "one").await, [(description("a"), 1)]);
}

pub(super) async fn entities_are_counted_by_aspect_and_pattern(harness: &impl Harness) {
    let store = harness.store();
    for name in ["sales.orders", "sales.Items", "hr.people", "a*b"] {
        put_value(store, &description(name), &text(name)).await;
    }
    let aspect = AspectName::EDITABLE_DATASET_PROPERTIES;
    for (pattern, expected) in [
        (None, 4),
        (Some("%,sales.%"), 2),
        (Some("%items%"), 0),
        (Some("urn:li:dataset:(%,a*b,PROD)"), 1),
        (Some("%a_b%"), 1),
        (Some("%*%"), 1),
    ] {
        let count = store.aspects_count(aspect, pattern, &[]).await.unwrap();
        assert_eq!(count, expected, "{pattern:?}");
    }
    delete(store, &description("hr.people")).await;
    assert_eq!(store.aspects_count(aspect, None, &[]).await.unwrap(), 3);
    let status = AspectName::STATUS;
    for urn in [dataset("a"), domain("a"), domain("b")] {
        put_value(store, &key(&urn, status), &text("s")).await;
    }
    // The last ones are the beginnings of names.
    for (pattern, excluded, expected) in [
        (None, &["domain"][..], 1),
        (Some("%a%"), &["domain"], 1),
        (Some("urn:li:domain:%"), &["domain"], 0),
        (None, &["domain", "dataset"], 0),
        (None, &["dom", "data"], 3),
    ] {
        let count = store.aspects_count(status, pattern, excluded);
        assert_eq!(count.await.unwrap(), expected, "{pattern:?} {excluded:?}");
    }
}
