//! The audit log: which caller did what, and what was denied.
//!
//! An event is a request, and its items are the entities that it changed: one row per event and one
//! per entity, however many aspects. So bulk writes cost little, and the events of an entity are
//! found by an index. Rows are only added; [`crate::StoreMaintenance::audit_prune`] deletes the
//! oldest.

use std::fmt::{self, Display, Formatter};

use docent_model::{EpochMillis, LogicalVersion};

use crate::StoreError;

/// The key of an event, and the order of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AuditKey {
    pub time_ms: EpochMillis,
    /// Distinguishes events of the same time.
    pub id: i64,
}

impl AuditKey {
    /// After every event.
    pub const END: Self = Self::before(EpochMillis::MAX);

    /// Reads the form of [`Display`].
    pub fn parse(text: &str) -> Option<Self> {
        let (time_ms, id) = text.split_once('-')?;
        Some(Self {
            time_ms: time_ms.parse().ok()?,
            id: id.parse().ok()?,
        })
    }

    /// Before every event of this time.
    pub const fn before(time_ms: EpochMillis) -> Self {
        Self {
            time_ms,
            id: i64::MIN,
        }
    }
}

/// The id in every API: the time and the id, separated by a hyphen.
impl Display for AuditKey {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.time_ms, self.id)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditOutcome {
    Allowed,
    Denied,
}

impl AuditOutcome {
    /// The name in the tables and in every API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allowed => "ALLOWED",
            Self::Denied => "DENIED",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        [Self::Allowed, Self::Denied]
            .into_iter()
            .find(|outcome| outcome.name() == name)
    }
}

/// An event without its items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    pub key: AuditKey,
    /// The URN of the user; `None` if it is unknown, as after a failed sign-in.
    pub actor: Option<String>,
    /// The network address of the client.
    pub address: Option<String>,
    /// The kind and the start of the id of the token or session.
    pub credential: Option<String>,
    /// A GraphQL mutation, a REST route or a command.
    pub operation: String,
    pub outcome: AuditOutcome,
    /// The URNs of the policies that allowed it.
    pub policies: Vec<String>,
    /// Why it was denied.
    pub reason: Option<String>,
    /// How many events this one stands for in addition: those of a flood are not stored one by one.
    pub dropped: u64,
    /// The number of items.
    pub entities: u64,
}

/// An entity that an event changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditItem {
    pub urn: String,
    pub changes: Vec<AspectChange>,
}

/// A changed aspect. Points of time series have no versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AspectChange {
    pub aspect: String,
    /// `None` if the aspect was created.
    pub before: Option<LogicalVersion>,
    /// `None` if the aspect was deleted.
    pub after: Option<LogicalVersion>,
}

/// An event with its items, each with another URN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    pub event: AuditEvent,
    pub items: Vec<AuditItem>,
}

/// Which part of the log to read, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditRange<'r> {
    /// The first time.
    pub since_ms: EpochMillis,
    /// Only events before this one.
    pub before: AuditKey,
    /// Only events that changed this entity.
    pub entity: Option<&'r str>,
}

/// The stored form of a change: aspect, version before, version after.
type StoredChange = (String, Option<i64>, Option<i64>);

/// The text in which engines store the changes of an item.
pub fn changes_text(changes: &[AspectChange]) -> Result<String, StoreError> {
    let number = |version: Option<LogicalVersion>| version.map(LogicalVersion::get);
    let stored: Vec<(&str, Option<i64>, Option<i64>)> = changes
        .iter()
        .map(|it| (it.aspect.as_str(), number(it.before), number(it.after)))
        .collect();
    serde_json::to_string(&stored).map_err(StoreError::other)
}

/// Reads [`changes_text`].
pub fn stored_changes(key: AuditKey, text: &str) -> Result<Vec<AspectChange>, StoreError> {
    let stored: Vec<StoredChange> = serde_json::from_str(text)
        .map_err(|error| corrupt(ITEMS, "changes", key, error.to_string()))?;
    let change = |(aspect, before, after): StoredChange| AspectChange {
        aspect,
        before: before.map(LogicalVersion::new),
        after: after.map(LogicalVersion::new),
    };
    Ok(stored.into_iter().map(change).collect())
}

/// The text in which engines store policies; `None` for none.
pub fn policies_text(policies: &[String]) -> Result<Option<String>, StoreError> {
    (!policies.is_empty())
        .then(|| serde_json::to_string(policies))
        .transpose()
        .map_err(StoreError::other)
}

/// Reads [`policies_text`].
pub fn stored_policies(key: AuditKey, text: Option<&str>) -> Result<Vec<String>, StoreError> {
    let parsed = text.map(serde_json::from_str).transpose();
    let parsed = parsed.map_err(|error| corrupt(EVENTS, "policies", key, error.to_string()))?;
    Ok(parsed.unwrap_or_default())
}

pub fn stored_outcome(key: AuditKey, name: &str) -> Result<AuditOutcome, StoreError> {
    AuditOutcome::parse(name).ok_or_else(|| corrupt(EVENTS, "outcome", key, format!("'{name}'")))
}

/// The finding of a check.
pub fn wrong_items(key: AuditKey, expected: i64, found: i64) -> String {
    format!("the audit event {key} has {found} items instead of {expected}")
}

const EVENTS: &str = "audit_event";
const ITEMS: &str = "audit_item";

fn corrupt(table: &'static str, column: &'static str, key: AuditKey, reason: String) -> StoreError {
    StoreError::Corrupt {
        table,
        column,
        key: key.to_string(),
        reason,
    }
}

/// The events at the start of a list that have at most `max` items together, and at least one.
pub fn within_items(events: &[AuditEvent], max: u64) -> &[AuditEvent] {
    let mut items = 0;
    let fits = |event: &&AuditEvent| {
        items += event.entities;
        items <= max
    };
    let count = events.iter().take_while(fits).count().max(1);
    &events[..count.min(events.len())]
}
