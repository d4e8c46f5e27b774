//! The statements about the audit log.

use docent_model::EpochMillis;
use docent_store::audit_log::{
    changes_text, policies_text, stored_changes, stored_outcome, stored_policies, within_items,
};
use docent_store::{
    AuditEvent, AuditItem, AuditKey, AuditRange, AuditRecord, EXPORT_PAGE_ITEMS, PRUNED_ITEMS,
};
use rusqlite::{Connection, Row, TransactionBehavior, params};

use crate::error::EngineError;
use crate::read::{as_limit, unsigned_at};

/// The columns of [`event_at`].
macro_rules! select_events {
    ($rest:literal) => {
        concat!(
            "SELECT e.time_ms,e.id,e.actor,e.address,e.credential,e.operation,e.outcome,e.policies,\
             e.reason,e.dropped,e.entities FROM ",
            $rest
        )
    };
}

pub(crate) fn insert(connection: &Connection, record: &AuditRecord) -> Result<(), EngineError> {
    let AuditRecord { event, items } = record;
    let AuditKey { time_ms, id } = event.key;
    connection
        .prepare_cached(
            "INSERT INTO audit_event (time_ms,id,actor,address,credential,operation,outcome,\
             policies,reason,dropped,entities) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
        )?
        .execute(params![
            time_ms,
            id,
            event.actor,
            event.address,
            event.credential,
            event.operation,
            event.outcome.name(),
            policies_text(&event.policies)?,
            event.reason,
            i64::try_from(event.dropped).unwrap_or(i64::MAX),
            as_limit(items.len())
        ])?;
    let mut statement = connection.prepare_cached(
        "INSERT INTO audit_item (time_ms,event,urn,changes) VALUES (?1,?2,?3,?4)",
    )?;
    for item in items {
        statement.execute(params![time_ms, id, item.urn, changes_text(&item.changes)?])?;
    }
    Ok(())
}

/// Events of a range, newest first.
pub(crate) fn events(
    connection: &Connection,
    range: AuditRange<'_>,
    limit: usize,
) -> Result<Vec<AuditEvent>, EngineError> {
    let (since_ms, AuditKey { time_ms, id }) = (range.since_ms, range.before);
    let limit = as_limit(limit);
    let Some(entity) = range.entity else {
        let mut statement = connection.prepare_cached(select_events!(
            "audit_event e WHERE e.time_ms>=?1 AND (e.time_ms,e.id)<(?2,?3) \
             ORDER BY e.time_ms DESC,e.id DESC LIMIT ?4"
        ))?;
        return collect(&mut statement.query(params![since_ms, time_ms, id, limit])?);
    };
    let mut statement = connection.prepare_cached(select_events!(
        "audit_item i CROSS JOIN audit_event e ON e.time_ms=i.time_ms AND e.id=i.event \
         WHERE i.urn=?5 AND i.time_ms>=?1 AND (i.time_ms,i.event)<(?2,?3) \
         ORDER BY i.time_ms DESC,i.event DESC LIMIT ?4"
    ))?;
    collect(&mut statement.query(params![since_ms, time_ms, id, limit, entity])?)
}

/// Up to `limit` items of each event.
pub(crate) fn items(
    connection: &Connection,
    events: &[AuditKey],
    entity: Option<&str>,
    limit: usize,
) -> Result<Vec<Vec<AuditItem>>, EngineError> {
    let mut statement = connection.prepare_cached(
        "SELECT urn,changes FROM audit_item WHERE time_ms=?1 AND event=?2 \
         AND (?3 IS NULL OR urn=?3) ORDER BY urn LIMIT ?4",
    )?;
    let mut lists = Vec::with_capacity(events.len());
    for key in events {
        let mut rows = statement.query(params![key.time_ms, key.id, entity, as_limit(limit)])?;
        let mut items = Vec::new();
        while let Some(row) = rows.next()? {
            let changes: String = row.get(1)?;
            items.push(AuditItem {
                urn: row.get(0)?,
                changes: stored_changes(*key, &changes)?,
            });
        }
        lists.push(items);
    }
    Ok(lists)
}

/// Events with all items, oldest first.
pub(crate) fn export(
    connection: &Connection,
    after: Option<AuditKey>,
    limit: usize,
) -> Result<Vec<AuditRecord>, EngineError> {
    let after = after.unwrap_or(AuditKey::before(EpochMillis::MIN));
    let events = oldest(connection, after, EpochMillis::MAX, limit)?;
    let page = within_items(&events, EXPORT_PAGE_ITEMS);
    let keys: Vec<AuditKey> = page.iter().map(|event| event.key).collect();
    let items = items(connection, &keys, None, usize::MAX)?;
    let records = page.iter().cloned().zip(items);
    Ok(records
        .map(|(event, items)| AuditRecord { event, items })
        .collect())
}

pub(crate) fn import(
    connection: &mut Connection,
    records: &[AuditRecord],
) -> Result<(), EngineError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for record in records {
        insert(&transaction, record)?;
    }
    Ok(transaction.commit()?)
}

/// Deletes the oldest events from before a time; returns how many.
pub(crate) fn prune(
    connection: &mut Connection,
    before_ms: EpochMillis,
    limit: usize,
) -> Result<u64, EngineError> {
    let start = AuditKey::before(EpochMillis::MIN);
    let events = oldest(connection, start, before_ms, limit)?;
    let pruned = within_items(&events, PRUNED_ITEMS);
    let Some(last) = pruned.last() else {
        return Ok(0);
    };
    let AuditKey { time_ms, id } = last.key;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for sql in [
        "DELETE FROM audit_item WHERE (time_ms,event)<=(?1,?2)",
        "DELETE FROM audit_event WHERE (time_ms,id)<=(?1,?2)",
    ] {
        transaction.prepare_cached(sql)?.execute([time_ms, id])?;
    }
    transaction.commit()?;
    Ok(u64::try_from(pruned.len()).unwrap_or_default())
}

/// Violations of the invariants, one sentence each.
pub(crate) fn check(connection: &Connection, max: usize) -> Result<Vec<String>, EngineError> {
    let mut statement = connection.prepare(
        "SELECT time_ms,id,entities,(SELECT count(*) FROM audit_item i \
             WHERE i.time_ms=e.time_ms AND i.event=e.id) AS found \
         FROM audit_event e WHERE entities<>found \
         UNION ALL SELECT DISTINCT time_ms,event,0,count(*) FROM audit_item i WHERE NOT EXISTS \
             (SELECT 1 FROM audit_event e WHERE e.time_ms=i.time_ms AND e.id=i.event) \
             GROUP BY time_ms,event LIMIT ?1",
    )?;
    let mut rows = statement.query([as_limit(max)])?;
    let mut findings = Vec::new();
    while let Some(row) = rows.next()? {
        let key = AuditKey {
            time_ms: row.get(0)?,
            id: row.get(1)?,
        };
        let (expected, found): (i64, i64) = (row.get(2)?, row.get(3)?);
        findings.push(docent_store::audit_log::wrong_items(key, expected, found));
    }
    Ok(findings)
}

fn oldest(
    connection: &Connection,
    after: AuditKey,
    before_ms: EpochMillis,
    limit: usize,
) -> Result<Vec<AuditEvent>, EngineError> {
    let mut statement = connection.prepare_cached(select_events!(
        "audit_event e WHERE (e.time_ms,e.id)>(?1,?2) AND e.time_ms<?3 \
         ORDER BY e.time_ms,e.id LIMIT ?4"
    ))?;
    collect(&mut statement.query(params![after.time_ms, after.id, before_ms, as_limit(limit)])?)
}

fn collect(rows: &mut rusqlite::Rows<'_>) -> Result<Vec<AuditEvent>, EngineError> {
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(event_at(row)?);
    }
    Ok(events)
}

fn event_at(row: &Row<'_>) -> Result<AuditEvent, EngineError> {
    let key = AuditKey {
        time_ms: row.get(0)?,
        id: row.get(1)?,
    };
    let (outcome, policies): (String, Option<String>) = (row.get(6)?, row.get(7)?);
    Ok(AuditEvent {
        key,
        actor: row.get(2)?,
        address: row.get(3)?,
        credential: row.get(4)?,
        operation: row.get(5)?,
        outcome: stored_outcome(key, &outcome)?,
        policies: stored_policies(key, policies.as_deref())?,
        reason: row.get(8)?,
        dropped: unsigned_at(row, 9)?,
        entities: unsigned_at(row, 10)?,
    })
}
