//! Reading the audit log.

use docent_model::{EpochMillis, Urn};
use docent_store::{AuditEvent, AuditKey, AuditOutcome, AuditRange, AuditRecord};

use crate::limits::check_count;
use crate::privilege::{GET_ANALYTICS_PRIVILEGE, MANAGE_SYSTEM_OPERATIONS, Privilege};
use crate::times::check_period;
use crate::{Caller, Catalog, Error};

/// One of these allows to read the log. DataHub's audit API accepts them too.
pub const AUDIT_PRIVILEGES: &[Privilege] = &[MANAGE_SYSTEM_OPERATIONS, GET_ANALYTICS_PRIVILEGE];
/// How many events one page has at most.
pub const MAX_COUNT: usize = 1_000;
/// How many items an event has in a page at most; [`AuditEvent::entities`] counts all.
pub const MAX_ITEMS: usize = 100;
/// How many events one call examines: only time and entity have an index.
const MAX_EXAMINED: usize = 10_000;
/// How many events one call of the store reads.
const READ_AT_ONCE: usize = 500;

/// Which events to read, newest first; `None` does not filter.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    pub since_ms: Option<EpochMillis>,
    /// Only events before this time.
    pub until_ms: Option<EpochMillis>,
    /// The URNs of users; empty does not filter.
    pub actors: Vec<String>,
    /// The URN of an entity.
    pub entity: Option<String>,
    pub operation: Option<String>,
    pub outcome: Option<AuditOutcome>,
    /// How many items each event has in the page; `None` for [`MAX_ITEMS`].
    pub max_items: Option<usize>,
    /// Continues after this event.
    pub after: Option<AuditKey>,
}

/// A page of events.
#[derive(Debug, Clone, Default)]
pub struct AuditPage {
    pub records: Vec<AuditRecord>,
    /// How many events were compared with the query.
    pub examined: usize,
    /// Where to continue. A page with few events may have one: it examined its limit.
    pub next: Option<AuditKey>,
}

impl AuditQuery {
    /// Rejects a query that can find nothing by mistake. What it names need not exist: the log has
    /// deleted users and entities. Returns how many items each event has at most.
    fn check(&self, count: usize) -> Result<usize, Error> {
        check_count("count", count, MAX_COUNT)?;
        let max_items = self.max_items.unwrap_or(MAX_ITEMS);
        check_count("maxEntities", max_items, MAX_ITEMS)?;
        check_period(self.since_ms, self.until_ms)?;
        for actor in &self.actors {
            Urn::parse(actor)?.expect_type("corpuser")?;
        }
        if let Some(entity) = &self.entity {
            Urn::parse(entity)?;
        }
        Ok(max_items)
    }

    fn matches(&self, event: &AuditEvent) -> bool {
        let is_actor = |actor: &String| event.actor.as_ref() == Some(actor);
        (self.actors.is_empty() || self.actors.iter().any(is_actor))
            && self
                .operation
                .as_ref()
                .is_none_or(|operation| *operation == event.operation)
            && self.outcome.is_none_or(|outcome| outcome == event.outcome)
    }
}

impl Catalog {
    /// Reads up to `count` events.
    pub async fn audit_log(
        &self,
        caller: &Caller,
        query: &AuditQuery,
        count: usize,
    ) -> Result<AuditPage, Error> {
        self.authorize(caller, AUDIT_PRIVILEGES, None).await?;
        let max_items = query.check(count)?;
        let until = query.until_ms.map_or(AuditKey::END, AuditKey::before);
        let mut range = AuditRange {
            since_ms: query.since_ms.unwrap_or(EpochMillis::MIN),
            before: query.after.map_or(until, |after| after.min(until)),
            entity: query.entity.as_deref(),
        };
        let (mut events, mut examined, mut next) = (Vec::new(), 0, None);
        'pages: while examined < MAX_EXAMINED {
            let limit = READ_AT_ONCE.min(MAX_EXAMINED - examined);
            let some = self.store().audit_events(range, limit).await?;
            let is_end = some.len() < limit;
            for event in some {
                examined += 1;
                range.before = event.key;
                next = Some(event.key);
                if query.matches(&event) {
                    events.push(event);
                    if events.len() == count {
                        break 'pages;
                    }
                }
            }
            if is_end {
                next = None;
                break;
            }
        }
        let items = if events.is_empty() {
            Vec::new()
        } else {
            let keys: Vec<AuditKey> = events.iter().map(|event| event.key).collect();
            let store = self.store();
            store.audit_items(&keys, range.entity, max_items).await?
        };
        let records = events.into_iter().zip(items);
        Ok(AuditPage {
            records: records
                .map(|(event, items)| AuditRecord { event, items })
                .collect(),
            examined,
            next,
        })
    }
}
