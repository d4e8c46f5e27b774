//! The audit log: who did what, from where, and what was denied.
//!
//! [`Catalog::apply`] writes the event of a change in its transaction. A denial has no transaction:
//! [`Catalog::audited`] writes it on its own, and [`flood`] limits how many. The event says who, by
//! the caller, and from where and in which operation, by the caller's origin, which the API sets.
//! It has URNs, names of aspects and versions, never values.
//!
//! A change that stores nothing new, such as adding a tag twice, is not an event, nor is a read,
//! except for [`Catalog::record_read`].

mod flood;
mod read;

use std::sync::atomic::{AtomicI64, Ordering};

use docent_model::{EpochMillis, Urn};
use docent_store::{
    AspectChange, AuditEvent, AuditItem, AuditKey, AuditOutcome, AuditRecord, transact,
};

use crate::caller::Origin;
use crate::secret::random;
use crate::{Caller, Catalog, Error, ErrorKind};
use flood::{Flood, Source};
pub use read::{AUDIT_PRIVILEGES, AuditPage, AuditQuery, MAX_COUNT, MAX_ITEMS};

/// Longer reasons are cut off.
const MAX_REASON_CHARS: usize = 500;
/// How many events one transaction of [`Catalog::prune_audit_log`] deletes.
const PRUNED_AT_ONCE: usize = 500;

/// The state of the audit log in this process.
#[derive(Debug)]
pub(crate) struct AuditLog {
    /// Ids grow from a random one, so that events of the same time are in order and those of other
    /// servers have other ids.
    next_id: AtomicI64,
    flood: Flood,
}

impl Default for AuditLog {
    fn default() -> Self {
        // Without random numbers the server can do nothing else either.
        let start = random().map_or(0, i64::from_le_bytes) & (i64::MAX >> 1);
        Self {
            next_id: AtomicI64::new(start),
            flood: Flood::default(),
        }
    }
}

impl Catalog {
    /// The event of a change that a caller is about to make; `None` if it is not audited.
    pub(crate) fn audit_event(
        &self,
        caller: &Caller,
        time_ms: EpochMillis,
        policies: &[Urn],
    ) -> Option<AuditEvent> {
        let origin = caller.origin();
        origin.is_audited.then(|| {
            let granted = origin.policies();
            let all = granted.iter().chain(policies.iter());
            AuditEvent {
                policies: all.map(ToString::to_string).collect(),
                ..self.new_event(Some(caller.actor()), origin, AuditOutcome::Allowed, time_ms)
            }
        })
    }

    /// Returns the result of an operation, after recording it if it was denied.
    pub(crate) async fn audited<T>(
        &self,
        caller: &Caller,
        result: Result<T, Error>,
    ) -> Result<T, Error> {
        self.audited_for(Some(caller.actor()), caller.origin(), result)
            .await
    }

    /// Like [`Catalog::audited`], for requests whose user may be unknown.
    pub(crate) async fn audited_for<T>(
        &self,
        actor: Option<&Urn>,
        origin: &Origin,
        result: Result<T, Error>,
    ) -> Result<T, Error> {
        if let Err(error) = &result
            && error.kind() == ErrorKind::Forbidden
        {
            let subject = error.subject();
            let item = subject.urn.as_ref().map(|urn| AuditItem {
                urn: urn.clone(),
                changes: subject
                    .aspect
                    .as_deref()
                    .map(denied_change)
                    .into_iter()
                    .collect(),
            });
            let items = item.into_iter().collect();
            self.record_denial(actor, origin, error.message(), items)
                .await;
        }
        result
    }

    /// Records a request that was denied, unless there are too many. A failure to do so is logged:
    /// the request was denied either way.
    pub(crate) async fn record_denial(
        &self,
        actor: Option<&Urn>,
        origin: &Origin,
        reason: &str,
        items: Vec<AuditItem>,
    ) {
        self.inner.counters.denials.increment();
        let now_ms = self.now_ms();
        let source = Source {
            actor: actor.cloned(),
            address: origin.address,
            operation: origin.operation.clone(),
        };
        let is_stored = self.inner.audit.flood.admit(&source, now_ms);
        let mut records = self.ended_floods(now_ms);
        if is_stored {
            let event = AuditEvent {
                reason: Some(reason.chars().take(MAX_REASON_CHARS).collect()),
                entities: items.len() as u64,
                ..self.new_event(actor, origin, AuditOutcome::Denied, now_ms)
            };
            records.push(AuditRecord { event, items });
        }
        self.store_events(records).await;
    }

    /// Records how many denials were dropped in the minutes that are over. The server calls this
    /// now and then.
    pub async fn store_dropped_denials(&self) {
        let records = self.ended_floods(self.now_ms());
        self.store_events(records).await;
    }

    /// Deletes the events from before a time, in small transactions; returns how many.
    pub async fn prune_audit_log(&self, before_ms: EpochMillis) -> Result<u64, Error> {
        let mut deleted = 0;
        loop {
            let some = self.store().audit_prune(before_ms, PRUNED_AT_ONCE).await?;
            deleted += some;
            if some == 0 {
                return Ok(deleted);
            }
        }
    }

    /// Records a read that returns what no other one does. Fails if it cannot be recorded.
    pub(crate) async fn record_read(
        &self,
        caller: &Caller,
        items: Vec<AuditItem>,
    ) -> Result<(), Error> {
        let Some(event) = self.audit_event(caller, self.now_ms(), &[]) else {
            return Ok(());
        };
        let event = AuditEvent {
            entities: items.len() as u64,
            ..event
        };
        self.try_store_events(vec![AuditRecord { event, items }])
            .await
    }

    fn new_event(
        &self,
        actor: Option<&Urn>,
        origin: &Origin,
        outcome: AuditOutcome,
        time_ms: EpochMillis,
    ) -> AuditEvent {
        AuditEvent {
            key: AuditKey {
                time_ms,
                id: self.inner.audit.next_id.fetch_add(1, Ordering::Relaxed),
            },
            actor: actor.map(ToString::to_string),
            address: origin.address.map(|address| address.to_string()),
            credential: origin.credential.map(|it| it.to_string()),
            operation: origin.operation.clone().into_owned(),
            outcome,
            policies: Vec::new(),
            reason: None,
            dropped: 0,
            entities: 0,
        }
    }

    /// One event for each source that was dropped, for the minutes that are over.
    fn ended_floods(&self, now_ms: EpochMillis) -> Vec<AuditRecord> {
        let ended = self.inner.audit.flood.take_ended(now_ms);
        let record = |(source, dropped): (Option<Source>, u64)| {
            let source = source.unwrap_or_else(|| Source {
                actor: None,
                address: None,
                operation: "several".into(),
            });
            let origin = Origin::new(source.address, source.operation);
            let reason = format!("{dropped} more requests were denied within a minute");
            let outcome = AuditOutcome::Denied;
            let event = AuditEvent {
                reason: Some(reason),
                dropped,
                ..self.new_event(source.actor.as_ref(), &origin, outcome, now_ms)
            };
            let items = Vec::new();
            AuditRecord { event, items }
        };
        ended.into_iter().map(record).collect()
    }

    async fn store_events(&self, records: Vec<AuditRecord>) {
        if records.is_empty() {
            return;
        }
        if let Err(error) = self.try_store_events(records).await {
            tracing::warn!(%error, "cannot record a denied request in the audit log ({error})");
        }
    }

    async fn try_store_events(&self, records: Vec<AuditRecord>) -> Result<(), Error> {
        transact::<(), Error, _>(self.store(), move |tx| {
            let records = records.clone();
            Box::pin(async move {
                for record in &records {
                    tx.audit(record).await?;
                }
                Ok(())
            })
        })
        .await
    }
}

fn denied_change(aspect: &str) -> AspectChange {
    AspectChange {
        aspect: aspect.to_owned(),
        before: None,
        after: None,
    }
}
