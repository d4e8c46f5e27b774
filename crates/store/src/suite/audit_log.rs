//! The audit log.

use docent_model::{AspectName, Derived, EpochMillis};

use super::{ACTOR, Harness, NOON, Stopped, dataset, key, new_aspect, read};
use crate::version;
use crate::{
    AspectChange, AuditEvent, AuditItem, AuditKey, AuditOutcome, AuditRange, AuditRecord,
    LogicalVersion, Store, StoreError, transact,
};

fn change(aspect: &str, before: Option<i64>, after: Option<i64>) -> AspectChange {
    AspectChange {
        aspect: aspect.to_owned(),
        before: before.map(LogicalVersion::new),
        after: after.map(LogicalVersion::new),
    }
}

fn record(time_ms: EpochMillis, id: i64, entities: &[&str]) -> AuditRecord {
    let item = |name: &&str| AuditItem {
        urn: dataset(name).to_string(),
        changes: vec![
            change("status", None, Some(1)),
            change("ownership", Some(id), None),
        ],
    };
    AuditRecord {
        event: AuditEvent {
            key: AuditKey { time_ms, id },
            actor: Some(ACTOR.to_owned()),
            address: Some("192.0.2.1".to_owned()),
            credential: Some("token 0123".to_owned()),
            operation: "POST /aspects".to_owned(),
            outcome: AuditOutcome::Allowed,
            policies: vec!["urn:li:dataHubPolicy:\"1\"".to_owned()],
            reason: None,
            dropped: 0,
            entities: entities.len() as u64,
        },
        items: entities.iter().map(item).collect(),
    }
}

fn denied(time_ms: EpochMillis) -> AuditRecord {
    let mut denied = record(time_ms, 0, &[]);
    denied.event = AuditEvent {
        actor: None,
        address: None,
        credential: None,
        outcome: AuditOutcome::Denied,
        policies: Vec::new(),
        reason: Some("no privilege".to_owned()),
        dropped: 7,
        ..denied.event
    };
    denied
}

async fn add(store: &dyn Store, records: Vec<AuditRecord>) {
    transact::<(), StoreError, _>(store, move |tx| {
        let records = records.clone();
        Box::pin(async move {
            for record in &records {
                tx.audit(record).await?;
            }
            Ok(())
        })
    })
    .await
    .unwrap();
}

const EVERYTHING: AuditRange<'static> = AuditRange {
    since_ms: EpochMillis::MIN,
    before: AuditKey::END,
    entity: None,
};

async fn ids(store: &dyn Store, range: AuditRange<'_>, limit: usize) -> Vec<(EpochMillis, i64)> {
    let events = store.audit_events(range, limit).await.unwrap();
    events
        .iter()
        .map(|event| (event.key.time_ms - NOON, event.key.id))
        .collect()
}

pub(super) async fn events_are_read_newest_first_exactly_as_written(harness: &impl Harness) {
    let store = harness.store();
    let records = [
        record(NOON, 3, &["a", "b"]),
        denied(NOON + 2),
        record(NOON, -9, &["a"]),
    ];
    add(store, records.to_vec()).await;
    let events = store.audit_events(EVERYTHING, 9).await.unwrap();
    let [first, second, third] = records;
    assert_eq!(
        events,
        [&second, &first, &third].map(|record| record.event.clone())
    );
    let keys: Vec<AuditKey> = events.iter().map(|event| event.key).collect();
    let items = store.audit_items(&keys, None, 9).await.unwrap();
    assert_eq!(items, [Vec::new(), first.items.clone(), third.items]);
    let one = store.audit_items(&keys[1..2], None, 1).await.unwrap();
    assert_eq!(one, [first.items[..1].to_vec()]);
    let of_b = dataset("b").to_string();
    let of_b = store.audit_items(&keys, Some(&of_b), 9).await.unwrap();
    assert_eq!(of_b, [Vec::new(), first.items[1..].to_vec(), Vec::new()]);
}

pub(super) async fn events_are_found_by_time_and_entity_in_pages(harness: &impl Harness) {
    let store = harness.store();
    for (time, id, entities) in [
        (0, 1, ["a", "b"]),
        (1, 1, ["b", "c"]),
        (1, 2, ["a", "c"]),
        (5, 1, ["a", "b"]),
    ] {
        add(store, vec![record(NOON + time, id, &entities)]).await;
    }
    assert_eq!(ids(store, EVERYTHING, 2).await, [(5, 1), (1, 2)]);
    let rest = AuditRange {
        before: AuditKey {
            time_ms: NOON + 1,
            id: 2,
        },
        ..EVERYTHING
    };
    assert_eq!(ids(store, rest, 9).await, [(1, 1), (0, 1)]);
    let since = AuditRange {
        since_ms: NOON + 1,
        before: AuditKey::before(NOON + 5),
        ..EVERYTHING
    };
    assert_eq!(ids(store, since, 9).await, [(1, 2), (1, 1)]);
    let a = dataset("a").to_string();
    let of_a = AuditRange {
        entity: Some(&a),
        ..EVERYTHING
    };
    assert_eq!(ids(store, of_a, 9).await, [(5, 1), (1, 2), (0, 1)]);
    assert_eq!(ids(store, of_a, 1).await, [(5, 1)]);
    let of_a = AuditRange {
        entity: Some(&a),
        ..since
    };
    assert_eq!(ids(store, of_a, 9).await, [(1, 2)]);
}

pub(super) async fn an_event_is_committed_with_its_change_or_not_at_all(harness: &impl Harness) {
    let store = harness.store();
    let status = key(&dataset("a"), AspectName::STATUS);
    for abort in [true, false] {
        let status = status.clone();
        let result = transact::<(), Stopped, _>(store, move |tx| {
            let status = status.clone();
            Box::pin(async move {
                let new = new_aspect("{}", Derived::default(), NOON);
                let write = version::put(status, None, new);
                tx.write(write.as_slice()).await?;
                tx.audit(&record(NOON, 1, &["a"])).await?;
                if abort {
                    return Err(Stopped::Decided("after the event"));
                }
                Ok(())
            })
        })
        .await;
        assert_eq!(result.is_err(), abort);
        let found = ids(store, EVERYTHING, 9).await.len();
        assert_eq!(found, usize::from(!abort));
    }
    assert!(read(store, &status).await.is_some());
}

pub(super) async fn old_events_are_deleted_with_their_items(harness: &impl Harness) {
    let store = harness.store();
    for time in 0..5 {
        add(store, vec![record(NOON + time, time, &["a", "b"])]).await;
    }
    assert_eq!(store.audit_prune(NOON + 3, 2).await.unwrap(), 2);
    assert_eq!(store.audit_prune(NOON + 3, 2).await.unwrap(), 1);
    assert_eq!(store.audit_prune(NOON + 3, 2).await.unwrap(), 0);
    assert_eq!(ids(store, EVERYTHING, 9).await, [(4, 4), (3, 3)]);
    let a = dataset("a").to_string();
    let of_a = AuditRange {
        entity: Some(&a),
        ..EVERYTHING
    };
    assert_eq!(ids(store, of_a, 9).await, [(4, 4), (3, 3)]);
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

pub(super) async fn events_are_exported_imported_and_backed_up<H: Harness>(harness: &H) {
    let store = harness.store();
    let records = vec![
        record(NOON, 1, &["a", "b"]),
        record(NOON, 2, &[]),
        denied(NOON + 1),
    ];
    add(store, records.clone()).await;
    assert_eq!(store.export_count().await.unwrap(), 3);
    let first = store.audit_export(None, 2).await.unwrap();
    assert_eq!(first, records[..2]);
    let last = first.last().map(|record| record.event.key);
    let rest = store.audit_export(last, 2).await.unwrap();
    assert_eq!(rest, records[2..]);
    let other = H::fresh().await;
    other.store().audit_import(records.clone()).await.unwrap();
    assert_eq!(other.store().audit_export(None, 9).await.unwrap(), records);
    let backup = harness.scratch().join("audit.backup");
    store.backup(&backup, Box::new(|_, _| {})).await.unwrap();
    let restored = H::restored(&backup).await;
    let restored = restored.store();
    assert_eq!(restored.audit_export(None, 9).await.unwrap(), records);
    assert_eq!(restored.check().await.unwrap(), Vec::<String>::new());
}
