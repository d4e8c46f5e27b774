//! The change log for programs that are not DataHub's: as [CloudEvents](https://cloudevents.io), or
//! as the messages of DataHub's topics without their envelope.

use docent_model::{LogicalVersion, Urn};
use docent_store::{CommitStamp, LogEntry, LogEntryKind, LogPosition, StoredAspect, version};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{
    EventFilter, EventPosition, EventVersions, PageLimits, Topic, change_log_event, platform_events,
};
use crate::times::{iso, parse_iso};
use crate::{Caller, Catalog, Error};

/// Where events come from, as `source` of a `CloudEvent`.
const SOURCE: &str = "urn:docent:catalog";
const JSON: &str = "application/json";

/// The form of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventFormat {
    #[default]
    CloudEvents,
    /// The messages of DataHub's topics.
    DataHub,
}

impl EventFormat {
    pub fn parse(name: &str) -> Result<Self, Error> {
        match name {
            "cloudevents" => Ok(Self::CloudEvents),
            "datahub" => Ok(Self::DataHub),
            other => Err(Error::invalid(format!(
                "there is no format '{other}': use cloudevents or datahub"
            ))),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::CloudEvents => "cloudevents",
            Self::DataHub => "datahub",
        }
    }

    /// The form with this media type.
    pub(crate) fn of_content_type(name: &str) -> Option<Self> {
        let mut formats = [Self::CloudEvents, Self::DataHub].into_iter();
        formats.find(|format| format.content_type() == name)
    }

    /// The media type of one event.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::CloudEvents => "application/cloudevents+json",
            Self::DataHub => JSON,
        }
    }
}

/// What a reader of the feed follows.
#[derive(Debug, Clone)]
pub struct FeedQuery {
    pub topic: Topic,
    pub format: EventFormat,
    pub filter: EventFilter,
}

/// An event of the feed.
#[derive(Debug)]
pub struct FeedEvent {
    /// The position of the change.
    pub position: EventPosition,
    /// Identifies the event. A change may have several.
    pub id: String,
    /// Whether the change has no further event.
    pub is_last: bool,
    /// JSON.
    pub text: String,
}

/// A page of the feed.
#[derive(Debug)]
pub struct FeedPage {
    pub events: Vec<FeedEvent>,
    /// Where the next page begins.
    pub next: EventPosition,
}

impl Catalog {
    /// Fails unless the caller may read the feed. Entity change events name other entities, such as
    /// domains, so they are for callers who see all of them.
    pub async fn authorize_feed(&self, caller: &Caller, topic: Topic) -> Result<(), Error> {
        match topic {
            Topic::PlatformEvents => self.authorize_events(caller, topic).await,
            Topic::ChangeLog => self.authorize(caller, &topic.readers(), None).await,
        }
    }

    /// Changes with every commit, see [`docent_store::StoreReader::commit_stamp`].
    pub fn commit_stamp(&self) -> Result<CommitStamp, Error> {
        Ok(self.store().commit_stamp()?)
    }

    /// Where a reader begins: behind the change with this position, or with the first change since
    /// a time. Fails if the log does not have the position.
    pub async fn feed_start(&self, text: &str) -> Result<EventPosition, Error> {
        if let Some(time_ms) = parse_iso(text) {
            return self.last_event_before(time_ms).await;
        }
        let position = EventPosition::parse(text).ok_or_else(|| {
            Error::invalid(format!(
                "'{text}' is not a position: use the 'next' of the previous response, a time such as 2026-01-31T12:00:00Z, or 0 for the first change"
            ))
        })?;
        self.changes_behind(position, 0).await?;
        Ok(position)
    }

    /// The events behind a position, up to the limits, unless one change has more. A page without
    /// events whose `next` is further on is not the end.
    pub async fn feed_after(
        &self,
        caller: &Caller,
        query: &FeedQuery,
        after: EventPosition,
        limits: PageLimits,
    ) -> Result<FeedPage, Error> {
        let mut events = Vec::new();
        let take = |position, entry: &LogEntry, before, after| {
            let made = render(query, position, entry, before, after);
            let count = made.len();
            events.extend(made);
            count
        };
        let next = self.visit_changes(caller, &query.filter, after, limits, take);
        let next = next.await?;
        Ok(FeedPage { events, next })
    }
}

/// Changes of the log that a reader follows, without their values.
#[derive(Debug, Default)]
pub(crate) struct FollowedChanges {
    pub(crate) changes: Vec<(LogPosition, Urn)>,
    /// The last change that was examined.
    pub(crate) last: Option<EventPosition>,
    pub(crate) is_end: bool,
}

impl Catalog {
    /// The changes among the next ones behind a position that the caller of this catalog may see
    /// and the filter accepts.
    pub(crate) async fn followed_after(
        &self,
        filter: &EventFilter,
        after: EventPosition,
        examined: usize,
    ) -> Result<FollowedChanges, Error> {
        let (log, mut entries) = self.changes_behind(after, examined).await?;
        let is_end = entries.len() < examined;
        let last = entries.last().map(|entry| log.position(entry));
        self.retain_followed(filter, &mut entries).await?;
        let changes = entries.into_iter();
        Ok(FollowedChanges {
            changes: changes.map(|it| (it.position, it.key.urn)).collect(),
            last,
            is_end,
        })
    }

    /// The events of the change at a position, if the caller of this catalog still sees its entity.
    /// One with more text than `max_bytes` is without the values.
    pub(crate) async fn feed_at(
        &self,
        caller: &Caller,
        query: &FeedQuery,
        position: LogPosition,
        max_bytes: usize,
    ) -> Result<Vec<FeedEvent>, Error> {
        let mut entries = self.store().log_read(position.minus(1), 1).await?;
        entries.retain(|entry| entry.position == position);
        self.retain_followed(&EventFilter::default(), &mut entries)
            .await?;
        let shows_recipes = self.is_executor(caller).await?;
        let mut versions = EventVersions::of(self, entries.iter(), shows_recipes);
        let Some(entry) = entries.first() else {
            return Ok(Vec::new());
        };
        let (before, after) = versions.take(entry).await?;
        let position = self.event_log().await?.position(entry);
        let mut events = render(query, position, entry, before, after);
        if query.topic == Topic::ChangeLog && events.iter().any(|it| it.text.len() > max_bytes) {
            events = render(query, position, entry, None, None);
        }
        Ok(events)
    }
}

/// The events of a change.
fn render(
    query: &FeedQuery,
    position: EventPosition,
    entry: &LogEntry,
    before: Option<StoredAspect>,
    after: Option<StoredAspect>,
) -> Vec<FeedEvent> {
    let texts = match (query.topic, query.format) {
        (Topic::ChangeLog, EventFormat::DataHub) => {
            vec![change_log_event(entry, before, after).to_string()]
        }
        (Topic::ChangeLog, EventFormat::CloudEvents) => {
            vec![aspect_event(
                position,
                entry,
                before.as_ref(),
                after.as_ref(),
            )]
        }
        (Topic::PlatformEvents, format) => {
            let events = platform_events(entry, before.as_ref(), after.as_ref());
            let numbered = events.iter().enumerate();
            let text = |(number, event): (usize, &Value)| match format {
                EventFormat::DataHub => event.to_string(),
                EventFormat::CloudEvents => entity_event(position, entry, number, event),
            };
            numbered.map(text).collect()
        }
    };
    let count = texts.len();
    let event = |(number, text)| FeedEvent {
        position,
        id: event_id(position, number),
        is_last: number + 1 == count,
        text,
    };
    texts.into_iter().enumerate().map(event).collect()
}

/// The id of an event: the position of its change, and its number if it is not the first.
fn event_id(position: EventPosition, number: usize) -> String {
    match number {
        0 => position.to_string(),
        number => format!("{position}-{number}"),
    }
}

#[derive(Serialize)]
struct CloudEvent<'e, D> {
    specversion: &'static str,
    id: String,
    source: &'static str,
    r#type: &'static str,
    subject: &'e Urn,
    time: String,
    datacontenttype: &'static str,
    // Extensions, so that brokers can route events without their data.
    entitytype: &'e str,
    aspect: &'static str,
    actor: &'e str,
    data: D,
}

impl<'e, D: Serialize> CloudEvent<'e, D> {
    fn text(id: String, entry: &'e LogEntry, r#type: &'static str, data: D) -> String {
        let event = Self {
            specversion: "1.0",
            id,
            source: SOURCE,
            r#type,
            subject: &entry.key.urn,
            time: iso(entry.time_ms),
            datacontenttype: JSON,
            entitytype: entry.key.urn.entity_type(),
            aspect: entry.key.aspect.as_str(),
            actor: &entry.actor,
            data,
        };
        serde_json::to_string(&event).unwrap_or_default()
    }
}

/// The data of a changed aspect. Values are as they are stored.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AspectData<'e> {
    entity_urn: &'e Urn,
    entity_type: &'e str,
    aspect: &'static str,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_value: Option<Box<RawValue>>,
}

fn aspect_event(
    position: EventPosition,
    entry: &LogEntry,
    before: Option<&StoredAspect>,
    after: Option<&StoredAspect>,
) -> String {
    let (r#type, change) = match entry.kind {
        LogEntryKind::Put => ("docent.aspect.changed", "UPSERT"),
        LogEntryKind::Delete => ("docent.aspect.deleted", "DELETE"),
    };
    let raw = |row: Option<&StoredAspect>| RawValue::from_string(row?.metadata.clone()).ok();
    let run = after.and_then(|row| {
        let system_metadata = version::system_metadata_of(row);
        system_metadata.run().map(ToOwned::to_owned)
    });
    let data = AspectData {
        entity_urn: &entry.key.urn,
        entity_type: entry.key.urn.entity_type(),
        aspect: entry.key.aspect.as_str(),
        change,
        version: entry.logical_version.map(LogicalVersion::get),
        run_id: run,
        value: raw(after),
        previous_value: raw(before),
    };
    CloudEvent::text(event_id(position, 0), entry, r#type, data)
}

/// An entity change event: its payload is the data.
fn entity_event(position: EventPosition, entry: &LogEntry, number: usize, event: &Value) -> String {
    let payload = event["payload"]["value"].as_str().unwrap_or_default();
    let data = RawValue::from_string(payload.to_owned()).ok();
    let id = event_id(position, number);
    CloudEvent::text(id, entry, "docent.entity.changed", data)
}
