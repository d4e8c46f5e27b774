//! What a write does to the versions of an aspect: the same for every engine.
//!
//! Row 0 is always the latest. Its logical version stands in its system metadata: 1 for the first write, one
//! more for each change of content. A changed write keeps the former row 0 under its logical version, so
//! history reads 1, 2, 3 … from the oldest on. Writing the same content again changes nothing but what an
//! ingestion client wants to have noted.
//!
//! Taking back what a run wrote uses no number twice: what the aspect was before gets the next one, and an aspect that goes
//! goes on from there should it be made again. Otherwise a client that read version 3 could overwrite another version 3
//! that it has never seen. Only an aspect that somebody deletes begins anew at 1, as clients expect.

use docent_model::aspects::{AuditStamp, SYSTEM_ACTOR};
use docent_model::{Derived, LogicalVersion, NO_RUN_ID, SystemMetadata, derive};
use serde_json::{Map, Value};

use crate::{AspectKey, AspectWrite, Effect, RowVersion, StoredAspect};

/// How many versions of an aspect are kept, the latest included.
pub const RETAINED_VERSIONS: i64 = 20;

/// The property of system metadata that says that a write found the value as it is.
const NO_CHANGE: &str = "isNoOp";

/// A value on its way into the store.
#[derive(Debug, Clone)]
pub struct NewAspect {
    /// The JSON text to store.
    pub metadata: String,
    /// What the ingestion client said about it; `None` for edits through our own API.
    pub system_metadata: Option<SystemMetadata>,
    /// Who writes, and when.
    pub stamp: AuditStamp,
    pub derived: Derived,
    /// The last version of the aspect before a rollback deleted it. Used only if there is no previous version.
    pub retired_version: Option<LogicalVersion>,
}

/// The write that brings an aspect from `previous` to `new`; `None` if there is nothing to do.
pub fn put(key: AspectKey, previous: Option<&StoredAspect>, new: NewAspect) -> Option<AspectWrite> {
    let noted = previous.map(noted_of);
    if let (Some(previous), Some(noted)) = (previous, &noted)
        && same_content(&previous.metadata, &new.metadata)
    {
        let touched = touch(noted, observed(new.system_metadata?, &new.stamp));
        return Some(AspectWrite {
            key,
            effect: Effect::Touch {
                system_metadata: to_json(&touched),
            },
        });
    }
    let former_version = noted.as_ref().map(logical_version);
    let logical_version = former_version
        .or(new.retired_version)
        .map_or(LogicalVersion::FIRST, LogicalVersion::next);
    let mut system_metadata = observed(new.system_metadata.unwrap_or_default(), &new.stamp);
    system_metadata.version = Some(logical_version.to_string());
    if let Some(schema_version) = key.aspect.schema_version() {
        system_metadata.schema_version = Some(schema_version);
    }
    if new.stamp.actor.as_str() != SYSTEM_ACTOR {
        system_metadata.aspect_modified = Some(new.stamp.clone());
    }
    system_metadata.aspect_created = match &noted {
        Some(noted) => noted.aspect_created.clone(),
        None => system_metadata.aspect_modified.clone(),
    };
    let history = previous.map(|previous| StoredAspect {
        version: former_version.unwrap_or(LogicalVersion::FIRST).into(),
        ..previous.clone()
    });
    Some(AspectWrite {
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
            prune_through: Some(RowVersion::new(logical_version.get() - RETAINED_VERSIONS))
                .filter(|version| version.is_history()),
            derived: new.derived,
            logical_version,
        },
    })
}

/// The write that removes an aspect. `retired` is what it is until then, if its versions are to go on from there should
/// it be made again.
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

/// The write that notes a property beside a value, which stays as it is.
pub fn note(key: AspectKey, current: &StoredAspect, property: &str, value: &str) -> AspectWrite {
    let mut noted = noted_of(current);
    let properties = noted.properties.get_or_insert_with(Map::new);
    properties.insert(property.to_owned(), Value::from(value));
    AspectWrite {
        key,
        effect: Effect::Touch {
            system_metadata: to_json(&noted),
        },
    }
}

/// What a client noted. One that does not say when it observed the value observed it now.
pub fn observed(mut noted: SystemMetadata, stamp: &AuditStamp) -> SystemMetadata {
    if noted.last_observed == 0 {
        noted.last_observed = stamp.time;
    }
    noted
}

/// Whether a row says which version it is; rows of old servers may not.
pub fn is_numbered(row: &StoredAspect) -> bool {
    noted_of(row).logical_version().is_some()
}

/// A latest row that does not say which version it is, as the one behind `newest`, the newest of its history.
pub fn numbered(row: &StoredAspect, newest: RowVersion) -> StoredAspect {
    let mut noted = noted_of(row);
    noted.version = Some(LogicalVersion::new(newest.get()).next().to_string());
    StoredAspect {
        system_metadata: Some(to_json(&noted)),
        ..row.clone()
    }
}

/// The logical version of a stored row.
pub fn logical_version_of(row: &StoredAspect) -> LogicalVersion {
    logical_version(&noted_of(row))
}

/// The system metadata of a row; rows of old servers may have none or something else there.
pub fn noted_of(row: &StoredAspect) -> SystemMetadata {
    row.system_metadata
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

pub(crate) fn logical_version(noted: &SystemMetadata) -> LogicalVersion {
    let first = LogicalVersion::FIRST;
    noted.logical_version().unwrap_or(first).max(first)
}

fn touch(noted: &SystemMetadata, new: SystemMetadata) -> SystemMetadata {
    let mut touched = noted.clone();
    // A run that says the same twice is still the one that wrote it, and can be rolled back.
    let by_its_writer = wrote(noted, &new.run_id);
    touched.last_run_id = std::mem::replace(&mut touched.run_id, new.run_id);
    touched.last_observed = new.last_observed;
    if !by_its_writer {
        touched
            .properties
            .get_or_insert_with(Map::new)
            .insert(NO_CHANGE.to_owned(), Value::from("true"));
    }
    touched
}

/// Whether the ingestion run is the one that wrote the value, and not one that found it as it is.
pub fn wrote(noted: &SystemMetadata, run: &str) -> bool {
    let confirmed = noted
        .properties
        .as_ref()
        .and_then(|properties| properties.get(NO_CHANGE))
        .is_some_and(|flag| flag == "true");
    noted.run_id == run && run != NO_RUN_ID && !confirmed
}

/// The write that takes back what a run wrote: the aspect becomes again what it was before, or goes if it was not
/// there. `None` if the run did not write the latest version. `history` is newest first.
pub fn revert(
    key: AspectKey,
    latest: &StoredAspect,
    history: Vec<StoredAspect>,
    run: &str,
    stamp: &AuditStamp,
) -> Option<AspectWrite> {
    if !wrote(&noted_of(latest), run) {
        return None;
    }
    let Some(former) = before_run(history, run) else {
        return Some(delete(key, Some(latest), stamp));
    };
    let value: Value = serde_json::from_str(&former.metadata).unwrap_or_default();
    let logical_version = logical_version_of(latest).next();
    let mut noted = noted_of(&former);
    noted.version = Some(logical_version.to_string());
    Some(AspectWrite {
        effect: Effect::Revert {
            keep_through: former.version,
            logical_version,
            derived: derive(&key.urn, key.aspect, &value),
            row: StoredAspect {
                version: RowVersion::LATEST,
                system_metadata: Some(to_json(&noted)),
                created_on_ms: stamp.time,
                created_by: stamp.actor.to_string(),
                ..former
            },
        },
        key,
    })
}

/// The newest former version that the run did not write. `history` is newest first.
pub fn before_run(history: Vec<StoredAspect>, run: &str) -> Option<StoredAspect> {
    let mut history = history.into_iter();
    history.find(|former| !wrote(&noted_of(former), run))
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
    // Strings, numbers and maps with string keys always serialise.
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
    fn each_change_of_content_is_one_version_and_keeps_the_former_row() {
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
    fn the_same_content_in_other_words_is_no_change() {
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
    fn a_client_that_does_not_say_when_it_observed_a_value_observed_it_at_the_time_of_the_write() {
        let silent = Some(SystemMetadata::default());
        let put = put(key(), None, new("1", silent.clone())).unwrap();
        let Effect::Put { row, .. } = put.effect else {
            panic!()
        };
        assert_eq!(noted_of(&row).last_observed, 7);
        let touched = super::put(key(), Some(&row), new("1", silent)).unwrap();
        let Effect::Touch { system_metadata } = touched.effect else {
            panic!()
        };
        assert!(
            system_metadata.contains(r#""lastObserved":7"#),
            "{system_metadata}"
        );
    }

    #[test]
    fn twenty_versions_are_kept() {
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
