//! The change log and the commit stamp.

use docent_model::{AspectName, Derived, SystemMetadata};
use futures_util::future::join_all;

use super::{
    ACTOR, Harness, NOON, Stopped, dataset, delete, key, log, new_aspect, put, put_at, urn, write,
};
use crate::change_log::is_internal;
use crate::version;
use crate::{
    AspectKey, AspectWrite, BrowsedEntry, Effect, LogEntry, LogEntryKind, LogKey, LogPosition,
    LogicalVersion, Store, transact,
};

pub(super) async fn changes_are_logged_in_commit_order(harness: &impl Harness) {
    let store = harness.store();
    assert_eq!(store.log_newest().await.unwrap(), None);
    let [a, b] = ["a", "b"].map(|name| key(&dataset(name), AspectName::STATUS));
    put_at(store, &a, "1", Derived::default(), NOON).await;
    put_at(store, &b, "1", Derived::default(), NOON + 1).await;
    put_at(store, &a, "2", Derived::default(), NOON + 2).await;
    delete(store, &a).await;
    let changes = log(store).await;
    let facts: Vec<_> = changes
        .iter()
        .map(|change| {
            (
                &change.key,
                change.kind,
                change.logical_version.map(LogicalVersion::get),
                change.time_ms,
            )
        })
        .collect();
    assert_eq!(
        facts,
        [
            (&a, LogEntryKind::Put, Some(1), NOON),
            (&b, LogEntryKind::Put, Some(1), NOON + 1),
            (&a, LogEntryKind::Put, Some(2), NOON + 2),
            (&a, LogEntryKind::Delete, None, NOON),
        ]
    );
    assert!(changes.iter().all(|change| change.actor == ACTOR));
    assert!(changes.is_sorted_by(|one, next| one.position < next.position));
    assert!(changes[0].position > LogPosition::START);
    let newest = store.log_newest().await.unwrap();
    assert_eq!(newest.as_ref(), changes.last());
}

pub(super) async fn the_log_is_read_after_a_position(harness: &impl Harness) {
    let store = harness.store();
    let key = key(&dataset("a"), AspectName::STATUS);
    for number in 0..5 {
        put(store, &key, &number.to_string(), Derived::default()).await;
    }
    let all = log(store).await;
    let mut read: Vec<LogEntry> = Vec::new();
    loop {
        let after = read
            .last()
            .map_or(LogPosition::START, |change| change.position);
        let page = store.log_read(after, 2).await.unwrap();
        assert!(page.len() <= 2);
        if page.is_empty() {
            break;
        }
        read.extend(page);
    }
    assert_eq!(read.len(), 5);
    assert_eq!(read, all);
}

pub(super) async fn touches_and_aborted_transactions_are_not_logged(harness: &impl Harness) {
    let store = harness.store();
    let key = key(&dataset("a"), AspectName::STATUS);
    put(store, &key, "1", Derived::default()).await;
    let logged = log(store).await;
    let touch = Effect::Touch {
        system_metadata: "{}".to_owned(),
    };
    write(
        store,
        vec![AspectWrite {
            key: key.clone(),
            effect: touch,
        }],
    )
    .await;
    let new = new_aspect("2", Derived::default(), NOON);
    transact::<(), Stopped, _>(store, move |tx| {
        let write = version::put(key.clone(), None, new.clone());
        Box::pin(async move {
            tx.write(write.as_slice()).await?;
            Err(Stopped::Decided("enough"))
        })
    })
    .await
    .unwrap_err();
    assert_eq!(log(store).await, logged);
}

pub(super) async fn positions_grow_under_concurrent_writers(harness: &impl Harness) {
    let store = harness.store();
    let writers = (0..16).map(|number| async move {
        let key = key(&dataset(&format!("t{number}")), AspectName::STATUS);
        for content in 0..4 {
            put(store, &key, &content.to_string(), Derived::default()).await;
        }
    });
    join_all(writers).await;
    let changes = log(store).await;
    assert_eq!(changes.len(), 64);
    assert!(changes.is_sorted_by(|one, next| one.position < next.position));
    // Per aspect the log has the versions in their order.
    for number in 0..16 {
        let urn = dataset(&format!("t{number}"));
        let of_one = changes.iter().filter(|change| change.key.urn == urn);
        let versions: Vec<_> = of_one.map(|change| change.logical_version).collect();
        let expected = [1, 2, 3, 4].map(|number| Some(LogicalVersion::new(number)));
        assert_eq!(versions, expected);
    }
}

pub(super) async fn the_commit_stamp_changes_with_every_commit(harness: &impl Harness) {
    let store = harness.store();
    let key = key(&dataset("a"), AspectName::STATUS);
    let mut stamps = vec![store.commit_stamp().unwrap()];
    let mut exact = vec![store.commit_stamp_exact().await.unwrap()];
    let of_type = || store.commit_stamp_of(&["corpuser", "dataset"]).unwrap();
    let mut of_types = vec![of_type()];
    for number in 0..5 {
        put(store, &key, &number.to_string(), Derived::default()).await;
        stamps.push(store.commit_stamp().unwrap());
        exact.push(store.commit_stamp_exact().await.unwrap());
        of_types.push(of_type());
    }
    for stamps in [&stamps, &exact, &of_types] {
        assert!(
            stamps.windows(2).all(|pair| pair[0] != pair[1]),
            "{stamps:?}"
        );
    }
    super::read(store, &key).await.unwrap();
    assert_eq!(store.commit_stamp().unwrap(), *stamps.last().unwrap());
    let last = store.commit_stamp_exact().await.unwrap();
    assert_eq!(last, *exact.last().unwrap());
}

/// Reads all pages of two entries.
async fn browse(store: &dyn Store, edits_only: bool) -> Vec<BrowsedEntry> {
    let mut all: Vec<BrowsedEntry> = Vec::new();
    loop {
        let before = all.last().map_or(LogKey::END, |entry| entry.position);
        let page = store.log_browse(before, edits_only, 2).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

pub(super) async fn the_log_is_browsed_newest_first_with_ingestion_runs(harness: &impl Harness) {
    let store = harness.store();
    let keys = ["a", "b", "c"].map(|name| key(&dataset(name), AspectName::STATUS));
    let writes = keys.iter().enumerate().map(|(number, key)| {
        let mut new = new_aspect("1", Derived::default(), NOON);
        new.system_metadata = (number > 0).then(|| SystemMetadata {
            run_id: "run".to_owned(),
            ..SystemMetadata::default()
        });
        version::put(key.clone(), None, new).unwrap()
    });
    // One transaction, whose entries keep their order.
    write(store, writes.collect()).await;
    let token = urn("urn:li:dataHubAccessToken:a");
    put_at(
        store,
        &key(&token, AspectName::STATUS),
        "1",
        Derived::default(),
        NOON,
    )
    .await;
    delete(store, &keys[1]).await;
    let all = browse(store, false).await;
    let facts: Vec<_> = all
        .iter()
        .map(|entry| (entry.key.urn.clone(), entry.kind, entry.run.as_deref()))
        .collect();
    let [a, b, c] = ["a", "b", "c"].map(dataset);
    assert_eq!(
        facts,
        [
            (b.clone(), LogEntryKind::Delete, None),
            (token, LogEntryKind::Put, None),
            (c, LogEntryKind::Put, Some("run")),
            (b.clone(), LogEntryKind::Put, Some("run")),
            (a.clone(), LogEntryKind::Put, None),
        ]
    );
    let edits = browse(store, true).await;
    let urns: Vec<_> = edits.iter().map(|entry| &entry.key.urn).collect();
    assert_eq!(urns, [&b, &a]);
    assert_eq!(
        LogKey::parse(&edits[0].position.to_string()),
        Some(edits[0].position)
    );
}

pub(super) async fn internal_entries_are_told_apart_as_documented(harness: &impl Harness) {
    let store = harness.store();
    let credentials = AspectName::CORP_USER_CREDENTIALS;
    let keys = [
        ("urn:li:docentSession:a", AspectName::STATUS),
        ("urn:li:dataHubAccessToken:a", AspectName::STATUS),
        ("urn:li:dataHubStepState:a", AspectName::STATUS),
        ("urn:li:globalSettings:a", AspectName::STATUS),
        ("urn:li:inviteToken:a", AspectName::STATUS),
        ("urn:li:post:a", AspectName::STATUS),
        ("urn:li:telemetry:a", AspectName::STATUS),
        ("urn:li:corpuser:a", credentials),
        ("urn:li:corpuser:a", AspectName::STATUS),
        ("urn:li:dataset:a", AspectName::STATUS),
        ("urn:li:dataPlatform:a", AspectName::STATUS),
        ("urn:li:domain:a", AspectName::STATUS),
    ]
    .map(|(text, aspect)| key(&urn(text), aspect));
    for key in &keys {
        put(store, key, "1", Derived::default()).await;
    }
    let edits = browse(store, true).await;
    let listed = |key: &AspectKey| edits.iter().any(|entry| entry.key == *key);
    for key in &keys {
        assert_eq!(!listed(key), is_internal(&key.urn, key.aspect), "{key:?}");
    }
    let count = keys.len() - edits.len();
    let counted = store.log_count_internal(NOON, NOON + 1).await.unwrap();
    assert_eq!((counted, count), (count as u64, 8));
    assert_eq!(
        store.log_count_internal(NOON + 1, NOON + 2).await.unwrap(),
        0
    );
}
