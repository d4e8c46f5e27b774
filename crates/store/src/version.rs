//! The effect of a write on the versions of an aspect, the same for every engine.
//!
//! Row 0 is always the latest. Its system metadata has its logical version: 1 for the first write,
//! one more for each change of content. A write that changes the content moves the previous row 0
//! into the history, under its logical version. Writing the same content again updates only the
//! system metadata of the ingestion client.
//!
//! A rollback never reuses a version: the restored content gets the next one, and an aspect that
//! the rollback deletes continues from there when it is created again. Otherwise a client that read
//! version 3 could overwrite a different version 3. Only an aspect that is deleted on request
//! starts again at 1, as clients expect.

use docent_model::aspects::{AuditStamp, SYSTEM_ACTOR};
use docent_model::{Derived, LogicalVersion, NO_RUN_ID, SystemMetadata, derive};
use serde_json::{Map, Value};

use crate::{AspectKey, AspectWrite, Effect, RowVersion, StoredAspect};

/// The number of versions of an aspect that are retained, including the latest.
pub const RETAINED_VERSIONS: i64 = 20;

/// States of running programs, which report often and at length. Only the latest is retained.
const WITHOUT_HISTORY: [&str; 4] = [
    "dataHubActionStatus",
    "dataHubExecutionRequestResult",
    "dataHubRemoteExecutorStatus",
    "docentWebhookInfo",
];

/// The property of the system metadata that marks a write which did not change the content.
const NO_CHANGE: &str = "isNoOp";
/// The property of the system metadata with the id of the request that wrote or confirmed the
/// value.
const TRACE_ID: &str = "telemetryTraceId";

/// A value to write.
#[derive(Debug, Clone)]
pub struct NewAspect {
    /// The JSON text to store.
    pub metadata: String,
    /// System metadata from the ingestion client; `None` for edits through our own API.
    pub system_metadata: Option<SystemMetadata>,
    /// The author and time of the write.
    pub stamp: AuditStamp,
    pub derived: Derived,
    /// The last version of the aspect before a rollback deleted it. Used only if there is no
    /// previous version.
    pub retired_version: Option<LogicalVersion>,
}

/// Returns the write that replaces `previous` by `new`; `None` if nothing changes.
pub fn put(key: AspectKey, previous: Option<&StoredAspect>, new: NewAspect) -> Option<AspectWrite> {
    match previous {
        Some(previous) if same_content(&previous.metadata, &new.metadata) => {
            confirm(key, previous, new.system_metadata, &new.stamp)
        }
        _ => Some(replace(key, previous, new)),
    }
}

/// Returns the write for a value that equals the latest version: it only records the ingestion run.
/// `None` for edits through our own API, which record nothing.
pub fn confirm(
    key: AspectKey,
    latest: &StoredAspect,
    system_metadata: Option<SystemMetadata>,
    stamp: &AuditStamp,
) -> Option<AspectWrite> {
    let observed = with_observation_time(system_metadata?, stamp);
    let touched = confirmed(&system_metadata_of(latest), observed);
    Some(AspectWrite {
        key,
        effect: Effect::Touch {
            system_metadata: to_json(&touched),
        },
    })
}

/// Returns the write of a new version, whose value differs from `previous`.
pub fn replace(key: AspectKey, previous: Option<&StoredAspect>, new: NewAspect) -> AspectWrite {
    let previous_metadata = previous.map(system_metadata_of);
    let previous_version = previous_metadata.as_ref().map(logical_version);
    let logical_version = previous_version
        .or(new.retired_version)
        .map_or(LogicalVersion::FIRST, LogicalVersion::next);
    let mut system_metadata =
        with_observation_time(new.system_metadata.unwrap_or_default(), &new.stamp);
    system_metadata.version = Some(logical_version.to_string());
    if let Some(schema_version) = key.aspect.schema_version() {
        system_metadata.schema_version = Some(schema_version);
    }
    if new.stamp.actor.as_str() != SYSTEM_ACTOR {
        system_metadata.aspect_modified = Some(new.stamp.clone());
    }
    system_metadata.aspect_created = match &previous_metadata {
        Some(previous_metadata) => previous_metadata.aspect_created.clone(),
        None => system_metadata.aspect_modified.clone(),
    };
    let history = previous.map(|previous| StoredAspect {
        version: previous_version.unwrap_or(LogicalVersion::FIRST).into(),
        ..previous.clone()
    });
    let retained = if WITHOUT_HISTORY.contains(&key.aspect.as_str()) {
        1
    } else {
        RETAINED_VERSIONS
    };
    AspectWrite {
        key,
        effect: Effect::Put {
            row: StoredAspect {
                version: RowVersion::LATEST,
                metadata: new.metadata,
                system_metadata: Some(to_json(&system_metadata)),
                created_on_ms: new.stamp.time,
                created_by: new.stamp.actor.to_string(),
                created_for: None,
            },
            history,
            prune_through: Some(RowVersion::new(logical_version.get() - retained))
                .filter(|version| version.is_history()),
            derived: new.derived,
            logical_version,
            run: run_in(&system_metadata),
        },
    }
}

/// Returns the write that deletes an aspect. With `retired`, its latest row, a later write
/// continues from its version.
pub fn delete(key: AspectKey, retired: Option<&StoredAspect>, stamp: &AuditStamp) -> AspectWrite {
    AspectWrite {
        key,
        effect: Effect::Delete {
            retired_version: retired.map(logical_version_of),
            time_ms: stamp.time,
            actor: stamp.actor.to_string(),
        },
    }
}

/// Returns the write that sets a property of the system metadata, and keeps the value.
pub fn set_property(
    key: AspectKey,
    current: &StoredAspect,
    property: &str,
    value: &str,
) -> AspectWrite {
    let mut system_metadata = system_metadata_of(current);
    let properties = system_metadata.properties.get_or_insert_with(Map::new);
    properties.insert(property.to_owned(), Value::from(value));
    AspectWrite {
        key,
        effect: Effect::Touch {
            system_metadata: to_json(&system_metadata),
        },
    }
}

/// Sets the observation time to that of the write if the client sent none.
pub fn with_observation_time(
    mut system_metadata: SystemMetadata,
    stamp: &AuditStamp,
) -> SystemMetadata {
    if system_metadata.last_observed == 0 {
        system_metadata.last_observed = stamp.time;
    }
    system_metadata
}

/// Whether a row has a logical version; rows of old servers may not.
pub fn has_logical_version(row: &StoredAspect) -> bool {
    system_metadata_of(row).logical_version().is_some()
}

/// Returns a latest row with the version after `newest`, the newest of its history.
pub fn with_version_after(row: &StoredAspect, newest: RowVersion) -> StoredAspect {
    let mut system_metadata = system_metadata_of(row);
    let version = LogicalVersion::new(newest.get()).next();
    system_metadata.version = Some(version.to_string());
    StoredAspect {
        system_metadata: Some(to_json(&system_metadata)),
        ..row.clone()
    }
}

/// The logical version of a stored row.
pub fn logical_version_of(row: &StoredAspect) -> LogicalVersion {
    logical_version(&system_metadata_of(row))
}

/// The logical version in the text of system metadata.
pub fn logical_version_in(system_metadata: Option<&str>) -> LogicalVersion {
    logical_version(&parse_system_metadata(system_metadata))
}

/// The system metadata of a row; in rows of old servers it may be missing or invalid.
pub fn system_metadata_of(row: &StoredAspect) -> SystemMetadata {
    parse_system_metadata(row.system_metadata.as_deref())
}

fn parse_system_metadata(text: Option<&str>) -> SystemMetadata {
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

pub(crate) fn logical_version(system_metadata: &SystemMetadata) -> LogicalVersion {
    let first = LogicalVersion::FIRST;
    system_metadata
        .logical_version()
        .unwrap_or(first)
        .max(first)
}

/// The system metadata after a run has confirmed the value.
fn confirmed(current: &SystemMetadata, new: SystemMetadata) -> SystemMetadata {
    let mut confirmed = current.clone();
    // A run that writes the same value twice is still its author, and can be rolled back.
    let is_author = was_written_by(current, &new.run_id);
    if let Some(trace) = trace_of(&new) {
        set_trace(&mut confirmed, trace);
    }
    confirmed.last_run_id = std::mem::replace(&mut confirmed.run_id, new.run_id);
    confirmed.last_observed = new.last_observed;
    if !is_author {
        confirmed
            .properties
            .get_or_insert_with(Map::new)
            .insert(NO_CHANGE.to_owned(), Value::from("true"));
    }
    confirmed
}

/// Whether the ingestion run wrote the value, rather than confirmed it.
pub fn was_written_by(system_metadata: &SystemMetadata, run: &str) -> bool {
    system_metadata.run_id == run && run != NO_RUN_ID && !is_confirmed(system_metadata)
}

/// Whether the last write of an aspect did not change its value.
pub fn is_confirmed(system_metadata: &SystemMetadata) -> bool {
    property(system_metadata, NO_CHANGE).is_some_and(|flag| flag == "true")
}

/// The id of the request that wrote or confirmed the value last, if it had one.
pub fn trace_of(system_metadata: &SystemMetadata) -> Option<&str> {
    property(system_metadata, TRACE_ID)?.as_str()
}

/// Sets the id of the request that writes an aspect.
pub fn set_trace(system_metadata: &mut SystemMetadata, trace: &str) {
    let properties = system_metadata.properties.get_or_insert_with(Map::new);
    properties.insert(TRACE_ID.to_owned(), Value::from(trace));
}

fn property<'m>(system_metadata: &'m SystemMetadata, name: &str) -> Option<&'m Value> {
    system_metadata.properties.as_ref()?.get(name)
}

/// The ingestion run that a row names; `None` if it belongs to none.
pub fn run_of(row: &StoredAspect) -> Option<String> {
    run_in(&system_metadata_of(row))
}

/// The ingestion run that system metadata names; `None` if it names none.
pub fn run_in(system_metadata: &SystemMetadata) -> Option<String> {
    let run = &system_metadata.run_id;
    // Clients send any text, and not every database stores this character.
    (!run.is_empty() && run != NO_RUN_ID).then(|| run.replace('\0', ""))
}

/// Returns the write that rolls back a run: the previous content, or a deletion if there was none.
/// `None` if the run did not write the latest version. `history` is newest first.
pub fn revert(
    key: AspectKey,
    latest: &StoredAspect,
    history: Vec<StoredAspect>,
    run: &str,
    stamp: &AuditStamp,
) -> Option<AspectWrite> {
    if !was_written_by(&system_metadata_of(latest), run) {
        return None;
    }
    let Some(previous) = latest_before_run(history, run) else {
        return Some(delete(key, Some(latest), stamp));
    };
    let value: Value = serde_json::from_str(&previous.metadata).unwrap_or_default();
    let logical_version = logical_version_of(latest).next();
    let mut system_metadata = system_metadata_of(&previous);
    system_metadata.version = Some(logical_version.to_string());
    Some(AspectWrite {
        effect: Effect::Revert {
            keep_through: previous.version,
            logical_version,
            derived: derive(&key.urn, key.aspect, &value),
            row: StoredAspect {
                version: RowVersion::LATEST,
                system_metadata: Some(to_json(&system_metadata)),
                created_on_ms: stamp.time,
                created_by: stamp.actor.to_string(),
                ..previous
            },
        },
        key,
    })
}

/// The newest version of the history that the run did not write. `history` is newest first.
pub fn latest_before_run(history: Vec<StoredAspect>, run: &str) -> Option<StoredAspect> {
    let mut history = history.into_iter();
    history.find(|row| !was_written_by(&system_metadata_of(row), run))
}

fn same_content(stored: &str, new: &str) -> bool {
    if stored == new {
        return true;
    }
    let parse = |text| serde_json::from_str::<Value>(text).ok();
    match (parse(stored), parse(new)) {
        (Some(stored), Some(new)) => stored == new,
        _ => false,
    }
}

fn to_json(system_metadata: &SystemMetadata) -> String {
    // Strings, numbers and maps with string keys always serialize.
    serde_json::to_string(system_metadata).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_model::{AspectName, Urn};

    fn key() -> AspectKey {
        AspectKey::new(
            &Urn::parse("urn:li:domain:a").unwrap(),
            AspectName::DOMAIN_PROPERTIES,
        )
    }

    fn new(metadata: &str, system_metadata: Option<SystemMetadata>) -> NewAspect {
        NewAspect {
            metadata: metadata.to_owned(),
            system_metadata,
            stamp: AuditStamp::new(&Urn::parse("urn:li:corpuser:a").unwrap(), 7),
            derived: Derived::default(),
            retired_version: None,
        }
    }

    fn row_after(previous: Option<&StoredAspect>, metadata: &str) -> StoredAspect {
        match put(key(), previous, new(metadata, None)).unwrap().effect {
            Effect::Put { row, .. } => row,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_content_change_adds_a_version_and_a_history_row() {
        let first = row_after(None, r#"{"name":"a"}"#);
        assert_eq!(logical_version_of(&first), LogicalVersion::FIRST);
        let write = put(key(), Some(&first), new(r#"{"name":"b"}"#, None)).unwrap();
        let Effect::Put {
            row,
            history,
            prune_through,
            logical_version,
            ..
        } = write.effect
        else {
            panic!()
        };
        let second = LogicalVersion::new(2);
        assert_eq!(
            (logical_version, logical_version_of(&row)),
            (second, second)
        );
        assert_eq!(prune_through, None);
        let history = history.unwrap();
        assert_eq!(history.version, RowVersion::new(1));
        assert_eq!(history.metadata, first.metadata);
    }

    #[test]
    fn reformatted_content_is_no_change() {
        let first = row_after(None, r#"{"name":"a","description":"d"}"#);
        let again = new(r#"{ "description": "d", "name": "a" }"#, None);
        assert_eq!(put(key(), Some(&first), again), None);
        let ingested = SystemMetadata {
            run_id: "run-2".to_owned(),
            last_observed: 9,
            ..SystemMetadata::default()
        };
        let write = put(key(), Some(&first), new(&first.metadata, Some(ingested))).unwrap();
        let Effect::Touch { system_metadata } = write.effect else {
            panic!()
        };
        assert!(
            system_metadata.contains(r#""runId":"run-2""#),
            "{system_metadata}"
        );
        assert!(
            system_metadata.contains(r#""isNoOp":"true""#),
            "{system_metadata}"
        );
        assert!(
            system_metadata.contains(r#""version":"1""#),
            "{system_metadata}"
        );
    }

    #[test]
    fn observation_time_defaults_to_the_time_of_the_write() {
        let without_time = Some(SystemMetadata::default());
        let put = put(key(), None, new("1", without_time.clone())).unwrap();
        let Effect::Put { row, .. } = put.effect else {
            panic!()
        };
        assert_eq!(system_metadata_of(&row).last_observed, 7);
        let touched = super::put(key(), Some(&row), new("1", without_time)).unwrap();
        let Effect::Touch { system_metadata } = touched.effect else {
            panic!()
        };
        assert!(
            system_metadata.contains(r#""lastObserved":7"#),
            "{system_metadata}"
        );
    }

    #[test]
    fn twenty_versions_are_retained() {
        let mut row = row_after(None, "0");
        for number in 1..=20 {
            let write = put(key(), Some(&row), new(&number.to_string(), None)).unwrap();
            let Effect::Put {
                row: next,
                prune_through,
                ..
            } = write.effect
            else {
                panic!()
            };
            assert_eq!(prune_through, (number == 20).then_some(RowVersion::new(1)));
            row = next;
        }
    }
}
