//! Events for programs that follow what changes: the change log in the form of DataHub's topics, or
//! as [`feed`] for other programs.
//!
//! A reader keeps its own position, so nothing is stored about it. What the caller may not see is
//! left out, and so are secrets; [`filter`] leaves out what the reader does not follow, and
//! [`change_event`] says what a change means to users.

mod change_event;
pub mod feed;
mod filter;
mod position;

use std::collections::VecDeque;

use docent_model::{AspectName, EpochMillis, LogicalVersion, Registry};
use docent_store::{LogEntry, LogEntryKind, StoredAspect, VersionKey, version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::privilege::{
    GET_METADATA_CHANGE_LOG_EVENTS, GET_PLATFORM_EVENTS, GET_TOPIC_EVENTS, Privilege,
};
use crate::{Caller, Catalog, Error, redaction};
use change_event::AspectDifference;
pub use filter::EventFilter;
pub(crate) use position::EventLog;
pub use position::EventPosition;

/// The most entries of the log that one page examines.
const MAX_EXAMINED: usize = 5_000;
/// How many entries of the log are read at once.
const MIN_CHUNK: usize = 100;
const MAX_CHUNK: usize = 1_000;
/// A page with more text ends.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// How many versions are read at once, and their bytes.
const VERSIONS_AT_ONCE: usize = 400;
const READ_BYTES: u64 = 8 * 1024 * 1024;
const DAY_MS: EpochMillis = 24 * 60 * 60 * 1000;

/// What a reader follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Topic {
    /// Changes as users see them.
    #[serde(rename = "PlatformEvent_v1")]
    PlatformEvents,
    /// Changes of aspects.
    #[serde(rename = "MetadataChangeLog_Versioned_v1")]
    ChangeLog,
}

impl Topic {
    /// The topic with DataHub's name.
    pub fn parse(name: &str) -> Result<Self, Error> {
        match name {
            "PlatformEvent_v1" => Ok(Self::PlatformEvents),
            "MetadataChangeLog_Versioned_v1" => Ok(Self::ChangeLog),
            "MetadataChangeLog_Timeseries_v1" => Err(Error::invalid(
                "time series are not part of the change log, so they have no topic: read them with getTimeseriesAspectValues of /aspects",
            )),
            other => Err(Error::invalid(format!(
                "there is no topic '{other}': use PlatformEvent_v1 or MetadataChangeLog_Versioned_v1"
            ))),
        }
    }

    /// The privileges of which one is enough to read it; the second is the one for it alone.
    pub(crate) fn readers(self) -> [Privilege; 2] {
        match self {
            Self::PlatformEvents => [GET_TOPIC_EVENTS, GET_PLATFORM_EVENTS],
            Self::ChangeLog => [GET_TOPIC_EVENTS, GET_METADATA_CHANGE_LOG_EVENTS],
        }
    }
}

/// Where a page of events ends.
#[derive(Debug, Clone, Copy)]
pub struct PageLimits {
    /// After so many events.
    pub events: usize,
    /// After changes with so much text.
    pub bytes: usize,
}

/// A page of events.
#[derive(Debug)]
pub struct EventPage {
    pub events: Vec<Value>,
    /// Where the next page begins.
    pub next: EventPosition,
}

impl Catalog {
    /// Fails unless the caller may read the events of a topic.
    pub async fn authorize_events(&self, caller: &Caller, topic: Topic) -> Result<(), Error> {
        self.check_sees_everything("reading events").await?;
        self.authorize(caller, &topic.readers(), None).await
    }

    /// Where a new reader begins: at the end, or so many days ago.
    pub async fn first_event(&self, days_ago: Option<i64>) -> Result<EventPosition, Error> {
        match days_ago.filter(|days| *days > 0) {
            Some(days) => {
                let since = self.now_ms().saturating_sub(days.saturating_mul(DAY_MS));
                self.last_event_before(since).await
            }
            None => self.newest_event().await,
        }
    }

    /// At most `limit` events behind a position, unless one change has more. A page without events
    /// whose `next` is further on is not the end.
    pub async fn events_after(
        &self,
        caller: &Caller,
        topic: Topic,
        after: EventPosition,
        limit: usize,
    ) -> Result<EventPage, Error> {
        let mut events = Vec::new();
        let limits = PageLimits {
            events: limit,
            bytes: MAX_BYTES,
        };
        let everything = EventFilter::default();
        let take = |_, entry: &LogEntry, before, after| {
            let made = match topic {
                Topic::ChangeLog => vec![change_log_event(entry, before, after)],
                Topic::PlatformEvents => platform_events(entry, before.as_ref(), after.as_ref()),
            };
            let count = made.len();
            events.extend(made);
            count
        };
        let next = self.visit_changes(caller, &everything, after, limits, take);
        let next = next.await?;
        Ok(EventPage { events, next })
    }

    /// Calls `take` with each change behind a position that the caller of this catalog may see and
    /// the filter accepts, with the versions before and after it, as far as they are retained.
    /// `take` returns how many events it has made of the change. Returns where to continue.
    async fn visit_changes(
        &self,
        caller: &Caller,
        filter: &EventFilter,
        after: EventPosition,
        limits: PageLimits,
        mut take: impl FnMut(
            EventPosition,
            &LogEntry,
            Option<StoredAspect>,
            Option<StoredAspect>,
        ) -> usize
        + Send,
    ) -> Result<EventPosition, Error> {
        let shows_recipes = self.is_executor(caller).await?;
        let mut next = after;
        let chunk = limits.events.clamp(MIN_CHUNK, MAX_CHUNK);
        let (mut examined, mut events, mut bytes) = (0, 0, 0);
        while examined < MAX_EXAMINED {
            let (log, mut entries) = self.changes_behind(next, chunk).await?;
            let is_end = entries.len() < chunk;
            examined += entries.len();
            let last = entries.last().map_or(next, |entry| log.position(entry));
            self.retain_followed(filter, &mut entries).await?;
            let mut versions = EventVersions::of(self, entries.iter(), shows_recipes);
            for entry in &entries {
                if events >= limits.events || bytes >= limits.bytes {
                    return Ok(next);
                }
                next = log.position(entry);
                let (before, after) = versions.take(entry).await?;
                let text =
                    |row: &Option<StoredAspect>| row.as_ref().map_or(0, |row| row.metadata.len());
                bytes += text(&before) + text(&after);
                events += take(next, entry, before, after);
            }
            next = last;
            if is_end {
                break;
            }
        }
        Ok(next)
    }

    /// Leaves out the entries that are no events, that the caller of this catalog may not see, or
    /// that the filter does not accept.
    async fn retain_followed(
        &self,
        filter: &EventFilter,
        entries: &mut Vec<LogEntry>,
    ) -> Result<(), Error> {
        entries.retain(|entry| {
            Registry::get()
                .entity(entry.key.urn.entity_type())
                .is_some()
                && !Self::is_secret(entry.key.aspect)
                && filter.accepts(entry)
        });
        let hidden = self.hidden_among(entries.iter().map(|entry| &entry.key.urn));
        let hidden = hidden.await?;
        entries.retain(|entry| !hidden.contains(&entry.key.urn));
        self.retain_in_filter(filter, entries).await
    }
}

/// The versions before and after each change of a list, read many at once.
struct EventVersions<'c> {
    catalog: &'c Catalog,
    /// What is not read yet.
    keys: VecDeque<VersionKey>,
    rows: VecDeque<Option<StoredAspect>>,
    shows_recipes: bool,
}

impl<'c> EventVersions<'c> {
    fn of<'e>(
        catalog: &'c Catalog,
        entries: impl Iterator<Item = &'e LogEntry>,
        shows_recipes: bool,
    ) -> Self {
        let keys = entries.flat_map(|entry| {
            let numbers = version_numbers(entry).into_iter().flatten();
            numbers.map(|version| VersionKey {
                key: entry.key.clone(),
                version,
            })
        });
        Self {
            catalog,
            keys: keys.collect(),
            rows: VecDeque::new(),
            shows_recipes,
        }
    }

    /// The versions before and after the next change, as far as they are retained.
    async fn take(
        &mut self,
        entry: &LogEntry,
    ) -> Result<(Option<StoredAspect>, Option<StoredAspect>), Error> {
        let mut rows = [None, None];
        for (row, number) in rows.iter_mut().zip(version_numbers(entry)) {
            if number.is_some() {
                *row = self.next().await?;
            }
        }
        let is_recipe = entry.key.aspect == AspectName::EXECUTION_REQUEST_INPUT;
        if !(is_recipe && self.shows_recipes) {
            for row in rows.iter_mut().flatten() {
                redaction::redact(entry.key.aspect, row);
            }
        }
        let [before, after] = rows;
        Ok((before, after))
    }

    async fn next(&mut self) -> Result<Option<StoredAspect>, Error> {
        if self.rows.is_empty() {
            let count = self.keys.len().min(VERSIONS_AT_ONCE);
            let keys = &self.keys.make_contiguous()[..count];
            let store = self.catalog.store();
            self.rows = store.versions_read(keys, READ_BYTES).await?.into();
            self.keys.drain(..self.rows.len());
        }
        Ok(self.rows.pop_front().flatten())
    }
}

/// The versions before and after a change.
fn version_numbers(entry: &LogEntry) -> [Option<LogicalVersion>; 2] {
    let after = entry.logical_version;
    let continued = after.filter(|version| *version > LogicalVersion::FIRST);
    let before = continued.map(|version| LogicalVersion::new(version.get() - 1));
    [before, after]
}

/// A change in the form of DataHub's `MetadataChangeLog`.
fn change_log_event(
    entry: &LogEntry,
    before: Option<StoredAspect>,
    after: Option<StoredAspect>,
) -> Value {
    let change = match entry.kind {
        LogEntryKind::Put => "UPSERT",
        LogEntryKind::Delete => "DELETE",
    };
    let mut event = json!({
        "entityType": entry.key.urn.entity_type(),
        "entityUrn": entry.key.urn,
        "changeType": change,
        "aspectName": entry.key.aspect.as_str(),
        "created": {"time": entry.time_ms, "actor": entry.actor},
    });
    for (row, aspect, metadata) in [
        (after, "aspect", "systemMetadata"),
        (before, "previousAspectValue", "previousSystemMetadata"),
    ] {
        if let Some(row) = row {
            event[metadata] = json!(version::system_metadata_of(&row));
            event[aspect] = json!({"contentType": "application/json", "value": row.metadata});
        }
    }
    event
}

/// The entity change events of a change, in the form of DataHub's `PlatformEvent`.
fn platform_events(
    entry: &LogEntry,
    before: Option<&StoredAspect>,
    after: Option<&StoredAspect>,
) -> Vec<Value> {
    let value = |row: Option<&StoredAspect>| {
        let parsed = row.map(|row| serde_json::from_str(&row.metadata).unwrap_or_default());
        parsed.unwrap_or(Value::Null)
    };
    let is_deletion = entry.kind == LogEntryKind::Delete;
    let is_key = Registry::get().is_key_aspect(&entry.key.urn, entry.key.aspect);
    // The values of what is deleted meanwhile are unknown. That of a key does not matter.
    let before = if is_deletion {
        json!({})
    } else {
        value(before)
    };
    let after = match (is_deletion, is_key) {
        (true, _) => Value::Null,
        (false, true) => json!({}),
        (false, false) => value(after),
    };
    let is_unknown = !is_deletion && after.is_null();
    let is_continued = entry.logical_version > Some(LogicalVersion::FIRST);
    // Without the version before, it is unknown what changed.
    if is_unknown || (!is_deletion && is_continued && before.is_null()) {
        return Vec::new();
    }
    let events = change_event::change_events(&AspectDifference {
        urn: &entry.key.urn,
        aspect: entry.key.aspect,
        before: &before,
        after: &after,
        actor: &entry.actor,
        time_ms: entry.time_ms,
    });
    let wrap = |event: Value| {
        json!({
            "header": {"timestampMillis": entry.time_ms},
            "name": "entityChangeEvent",
            "payload": {"contentType": "application/json", "value": event.to_string()},
        })
    };
    events.into_iter().map(wrap).collect()
}
