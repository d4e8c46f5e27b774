//! The statements about the audit log.

use docent_model::EpochMillis;
use docent_store::audit_log::{
    changes_text, policies_text, stored_changes, stored_outcome, stored_policies, within_items,
};
use docent_store::{
    AuditEvent, AuditItem, AuditKey, AuditRange, AuditRecord, EXPORT_PAGE_ITEMS, PRUNED_ITEMS,
    StoreError,
};
use tokio_postgres::Row;

use crate::error::EngineError;
use crate::pool::{Connections, Step};
use crate::read::index_at;
use crate::values::{as_limit, count_at, storable};

/// The columns of [`event_at`].
macro_rules! select_events {
    ($rest:literal) => {
        concat!(
            "SELECT e.time_ms, e.id, e.actor, e.address, e.credential, e.operation, e.outcome, \
             e.policies, e.reason, e.dropped, e.entities FROM ",
            $rest
        )
    };
}

pub(crate) const INSERT_EVENTS: &str = "INSERT INTO audit_event \
     (time_ms, id, actor, address, credential, operation, outcome, policies, reason, dropped, entities) \
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], \
     $7::text[], $8::text[], $9::text[], $10::bigint[], $11::bigint[])";

pub(crate) const INSERT_ITEMS: &str = "INSERT INTO audit_item (time_ms, event, urn, changes) \
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[])";

pub(crate) const EVENTS: &str = select_events!(
    "audit_event e WHERE e.time_ms >= $1 AND (e.time_ms, e.id) < ($2, $3) \
     ORDER BY e.time_ms DESC, e.id DESC LIMIT $4"
);

pub(crate) const EVENTS_OF_ENTITY: &str = select_events!(
    "(SELECT i.time_ms, i.event FROM audit_item i \
         WHERE i.urn = $5 AND i.time_ms >= $1 AND (i.time_ms, i.event) < ($2, $3) \
         ORDER BY i.time_ms DESC, i.event DESC LIMIT $4) AS i \
     CROSS JOIN LATERAL (SELECT * FROM audit_event e \
         WHERE e.time_ms = i.time_ms AND e.id = i.event OFFSET 0) AS e \
     ORDER BY e.time_ms DESC, e.id DESC"
);

pub(crate) const ITEMS: &str = "SELECT k.ordinal, i.urn, i.changes \
     FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS k (time_ms, event, ordinal) \
     CROSS JOIN LATERAL (SELECT i.urn, i.changes FROM audit_item i \
         WHERE i.time_ms = k.time_ms AND i.event = k.event AND ($3::text IS NULL OR i.urn = $3) \
         ORDER BY i.urn LIMIT $4) AS i ORDER BY k.ordinal, i.urn";

pub(crate) const OLDEST: &str = select_events!(
    "audit_event e WHERE (e.time_ms, e.id) > ($1, $2) AND e.time_ms < $3 \
     ORDER BY e.time_ms, e.id LIMIT $4"
);

pub(crate) const DELETE_ITEMS: &str =
    "DELETE FROM audit_item WHERE (time_ms, event) <= ($1::bigint, $2::bigint)";

pub(crate) const DELETE_EVENTS: &str =
    "DELETE FROM audit_event WHERE (time_ms, id) <= ($1::bigint, $2::bigint)";

/// Rows as column arrays.
#[derive(Debug, Default)]
pub(crate) struct AuditRows {
    times: Vec<i64>,
    ids: Vec<i64>,
    actors: Vec<Option<String>>,
    addresses: Vec<Option<String>>,
    credentials: Vec<Option<String>>,
    operations: Vec<String>,
    outcomes: Vec<&'static str>,
    policies: Vec<Option<String>>,
    reasons: Vec<Option<String>>,
    dropped: Vec<i64>,
    entities: Vec<i64>,
    items: ItemRows,
}

#[derive(Debug, Default)]
struct ItemRows {
    times: Vec<i64>,
    events: Vec<i64>,
    urns: Vec<String>,
    changes: Vec<String>,
}

impl AuditRows {
    pub(crate) fn push(&mut self, record: &AuditRecord) -> Result<(), StoreError> {
        let AuditRecord { event, items } = record;
        let text = |text: &Option<String>| text.as_deref().map(storable);
        self.times.push(event.key.time_ms);
        self.ids.push(event.key.id);
        self.actors.push(text(&event.actor));
        self.addresses.push(text(&event.address));
        self.credentials.push(text(&event.credential));
        self.operations.push(storable(&event.operation));
        self.outcomes.push(event.outcome.name());
        self.policies.push(policies_text(&event.policies)?);
        self.reasons.push(text(&event.reason));
        self.dropped
            .push(i64::try_from(event.dropped).unwrap_or(i64::MAX));
        self.entities.push(as_limit(items.len()));
        for item in items {
            self.items.times.push(event.key.time_ms);
            self.items.events.push(event.key.id);
            self.items.urns.push(storable(&item.urn));
            self.items.changes.push(changes_text(&item.changes)?);
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The statements for these rows.
    pub(crate) fn steps(self, steps: &mut Vec<Step>) {
        if self.is_empty() {
            return;
        }
        steps.push(Step::new(
            INSERT_EVENTS,
            vec![
                Box::new(self.times),
                Box::new(self.ids),
                Box::new(self.actors),
                Box::new(self.addresses),
                Box::new(self.credentials),
                Box::new(self.operations),
                Box::new(self.outcomes),
                Box::new(self.policies),
                Box::new(self.reasons),
                Box::new(self.dropped),
                Box::new(self.entities),
            ],
        ));
        let items = self.items;
        if !items.urns.is_empty() {
            steps.push(Step::new(
                INSERT_ITEMS,
                vec![
                    Box::new(items.times),
                    Box::new(items.events),
                    Box::new(items.urns),
                    Box::new(items.changes),
                ],
            ));
        }
    }
}

/// Events of a range, newest first.
pub(crate) async fn events(
    connections: &Connections,
    range: AuditRange<'_>,
    limit: usize,
) -> Result<Vec<AuditEvent>, EngineError> {
    let AuditKey { time_ms, id } = range.before;
    let limit = as_limit(limit);
    let rows = match range.entity {
        Some(entity) => {
            let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                [&range.since_ms, &time_ms, &id, &limit, &entity];
            connections.query(EVENTS_OF_ENTITY, &parameters).await?
        }
        None => {
            connections
                .query(EVENTS, &[&range.since_ms, &time_ms, &id, &limit])
                .await?
        }
    };
    rows.iter().map(event_at).collect()
}

/// Up to `limit` items of each event.
pub(crate) async fn items(
    connections: &Connections,
    events: &[AuditKey],
    entity: Option<&str>,
    limit: usize,
) -> Result<Vec<Vec<AuditItem>>, EngineError> {
    let times: Vec<i64> = events.iter().map(|key| key.time_ms).collect();
    let ids: Vec<i64> = events.iter().map(|key| key.id).collect();
    let rows = connections
        .query(ITEMS, &[&times, &ids, &entity, &as_limit(limit)])
        .await?;
    let mut lists = vec![Vec::new(); events.len()];
    for row in &rows {
        let index = index_at(row)?;
        lists[index].push(AuditItem {
            urn: row.try_get(1)?,
            changes: stored_changes(events[index], row.try_get(2)?)?,
        });
    }
    Ok(lists)
}

/// Events with all items, oldest first.
pub(crate) async fn export(
    connections: &Connections,
    after: Option<AuditKey>,
    limit: usize,
) -> Result<Vec<AuditRecord>, EngineError> {
    let after = after.unwrap_or(AuditKey::before(EpochMillis::MIN));
    let rows = connections
        .query(
            OLDEST,
            &[
                &after.time_ms,
                &after.id,
                &EpochMillis::MAX,
                &as_limit(limit),
            ],
        )
        .await?;
    let events = rows.iter().map(event_at).collect::<Result<Vec<_>, _>>()?;
    let page = within_items(&events, EXPORT_PAGE_ITEMS);
    let keys: Vec<AuditKey> = page.iter().map(|event| event.key).collect();
    let items = items(connections, &keys, None, usize::MAX).await?;
    let records = page.iter().cloned().zip(items);
    Ok(records
        .map(|(event, items)| AuditRecord { event, items })
        .collect())
}

pub(crate) async fn import(
    connections: &Connections,
    records: &[AuditRecord],
) -> Result<(), EngineError> {
    let mut rows = AuditRows::default();
    for record in records {
        rows.push(record)?;
    }
    let mut steps = vec![Step::plain("BEGIN")];
    rows.steps(&mut steps);
    steps.push(Step::plain("COMMIT"));
    let lease = connections.lease().await?;
    lease.mark_in_transaction();
    lease.pipeline(&steps).await?;
    lease.mark_idle();
    Ok(())
}

/// Deletes the oldest events from before a time; returns how many.
pub(crate) async fn prune(
    connections: &Connections,
    before_ms: EpochMillis,
    limit: usize,
) -> Result<u64, EngineError> {
    let start = AuditKey::before(EpochMillis::MIN);
    let rows = connections
        .query(
            OLDEST,
            &[&start.time_ms, &start.id, &before_ms, &as_limit(limit)],
        )
        .await?;
    let events = rows.iter().map(event_at).collect::<Result<Vec<_>, _>>()?;
    let pruned = within_items(&events, PRUNED_ITEMS);
    let Some(last) = pruned.last() else {
        return Ok(0);
    };
    let AuditKey { time_ms, id } = last.key;
    let delete = |sql| Step::new(sql, vec![Box::new(time_ms), Box::new(id)]);
    let steps = [
        Step::plain("BEGIN"),
        delete(DELETE_ITEMS),
        delete(DELETE_EVENTS),
        Step::plain("COMMIT"),
    ];
    let lease = connections.lease().await?;
    lease.mark_in_transaction();
    lease.pipeline(&steps).await?;
    lease.mark_idle();
    Ok(u64::try_from(pruned.len()).unwrap_or_default())
}

fn event_at(row: &Row) -> Result<AuditEvent, EngineError> {
    let key = AuditKey {
        time_ms: row.try_get(0)?,
        id: row.try_get(1)?,
    };
    Ok(AuditEvent {
        key,
        actor: row.try_get(2)?,
        address: row.try_get(3)?,
        credential: row.try_get(4)?,
        operation: row.try_get(5)?,
        outcome: stored_outcome(key, row.try_get(6)?)?,
        policies: stored_policies(key, row.try_get(7)?)?,
        reason: row.try_get(8)?,
        dropped: count_at(row, 9)?,
        entities: count_at(row, 10)?,
    })
}
