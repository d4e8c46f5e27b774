//! The history of one description or assignment, from the stored versions of its aspect.
//!
//! One aspect holds many values; versions in which the subject did not change are left out.
//! [`crate::timeline`] has the history of an entity as a whole.
//!
//! To add a subject: add a variant of [`Subject`], its aspect ([`Subject::aspect`]), and how to
//! read it ([`Subject::value`]).

use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{AspectKey, LogicalVersion, StoredAspect, version};
use serde_json::Value;
use tokio::sync::SemaphorePermit;

use crate::long_work::{self, LONG_TEXT_BYTES};
use crate::{Catalog, Error, descriptions};

/// How many histories are in memory at a time. Each may have twenty versions of the largest aspect.
pub(crate) const MAX_HISTORIES: usize = 4;

/// The value whose history is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The user-edited description of an entity or a column.
    Description { column: Option<String> },
    /// The ingested description of an entity or a column.
    IngestedDescription { column: Option<String> },
    /// The domain of an entity.
    Domain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// Whether it goes back to the first version.
    pub is_complete: bool,
    /// Newest first.
    pub changes: Vec<Change>,
}

/// A change of the subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub version: LogicalVersion,
    pub time_ms: EpochMillis,
    pub actor: String,
    /// The text or the URN; `None` if it was removed, or the caller may not see the entity.
    pub value: Option<String>,
}

/// All versions of an aspect, oldest first.
#[derive(Debug)]
pub(crate) struct Versions<'c> {
    pub(crate) rows: Vec<StoredAspect>,
    _permit: Option<SemaphorePermit<'c>>,
}

impl Versions<'_> {
    /// Whether parsing them takes milliseconds.
    pub(crate) fn are_long(&self) -> bool {
        let bytes: usize = self.rows.iter().map(|row| row.metadata.len()).sum();
        bytes > LONG_TEXT_BYTES
    }
}

impl Catalog {
    pub(crate) async fn versions_of(&self, key: &AspectKey) -> Result<Versions<'_>, Error> {
        // Fails only if the semaphore is closed, which it never is.
        let permit = self.inner.histories.acquire().await.ok();
        let reader = self.reader();
        let mut histories = reader.histories_read(std::slice::from_ref(key)).await?;
        Ok(Versions {
            rows: histories.pop().unwrap_or_default(),
            _permit: permit,
        })
    }

    /// The changes of a subject; none for a missing entity.
    pub async fn history(&self, urn: &Urn, subject: &Subject) -> Result<History, Error> {
        let aspect = subject.aspect(urn)?;
        let versions = self.versions_of(&AspectKey::new(urn, aspect)).await?;
        let rows = &versions.rows;
        let is_complete = rows
            .first()
            .is_none_or(|row| version::logical_version_of(row) <= LogicalVersion::FIRST);
        let mut changes: Vec<Change> = Vec::new();
        let compare = || {
            for row in rows {
                let stored: Value = serde_json::from_str(&row.metadata).unwrap_or_default();
                let value = subject.value(urn, &stored);
                // A missing value before the first text is no change, unless older versions are
                // pruned.
                let before = changes.last().map(|change| change.value.as_deref());
                let is_same = match before {
                    Some(before) => before == value.as_deref(),
                    None => is_complete && value.is_none(),
                };
                if !is_same {
                    changes.push(Change {
                        version: version::logical_version_of(row),
                        time_ms: row.created_on_ms,
                        actor: row.created_by.clone(),
                        value,
                    });
                }
            }
        };
        long_work::run(versions.are_long(), compare).await;
        changes.reverse();
        if matches!(subject, Subject::Domain) {
            self.hide_domains(&mut changes).await?;
        }
        Ok(History {
            is_complete,
            changes,
        })
    }

    /// Removes the URNs of domains that the caller may not see.
    async fn hide_domains(&self, changes: &mut [Change]) -> Result<(), Error> {
        let domain = |change: &Change| Urn::parse(change.value.as_deref()?).ok();
        let domains: Vec<Urn> = changes.iter().filter_map(domain).collect();
        let hidden = self.hidden_among(&domains).await?;
        for change in changes {
            if domain(change).is_some_and(|domain| hidden.contains(&domain)) {
                change.value = None;
            }
        }
        Ok(())
    }
}

impl Subject {
    /// The aspect that stores the subject.
    fn aspect(&self, urn: &Urn) -> Result<AspectName, Error> {
        let entity = Registry::get().check_urn(urn)?;
        let name = match self {
            Self::Description { column: Some(_) } => Some("editableSchemaMetadata"),
            Self::Description { column: None } => {
                descriptions::description_path(entity.name).map(|(aspect, _)| aspect)
            }
            Self::IngestedDescription { column: Some(_) } => Some("schemaMetadata"),
            Self::IngestedDescription { column: None } => ingested(entity.name),
            Self::Domain => Some("domains"),
        };
        name.and_then(|name| Registry::get().aspect(name))
            .filter(|aspect| entity.has_aspect(*aspect))
            .ok_or_else(|| {
                Error::invalid(format!(
                    "{urn} has no such history: its entity type has no aspect for it"
                ))
            })
    }

    /// The value of the subject in a version; empty texts count as missing.
    fn value(&self, urn: &Urn, stored: &Value) -> Option<String> {
        let found = match self {
            Self::Description { column: None } => {
                let (_, path) = descriptions::description_path(urn.entity_type())?;
                path.split('.')
                    .try_fold(stored, |value, step| value.get(step))
            }
            Self::IngestedDescription { column: None } => stored.get("description"),
            Self::Description {
                column: Some(column),
            } => of_column(stored.get("editableSchemaFieldInfo"), column),
            Self::IngestedDescription {
                column: Some(column),
            } => of_column(stored.get("fields"), column),
            Self::Domain => stored.get("domains").and_then(|domains| domains.get(0)),
        };
        let text = found.and_then(Value::as_str)?;
        (!text.is_empty()).then(|| text.to_owned())
    }
}

/// The aspect of the ingested description, for types whose user-edited one is elsewhere.
fn ingested(entity_type: &str) -> Option<&'static str> {
    match entity_type {
        "dataset" => Some("datasetProperties"),
        "container" => Some("containerProperties"),
        "dashboard" => Some("dashboardInfo"),
        "chart" => Some("chartInfo"),
        "dataFlow" => Some("dataFlowInfo"),
        "dataJob" => Some("dataJobInfo"),
        _ => None,
    }
}

fn of_column<'a>(columns: Option<&'a Value>, path: &str) -> Option<&'a Value> {
    let mut columns = columns?.as_array()?.iter();
    columns
        .find(|column| column.get("fieldPath").and_then(Value::as_str) == Some(path))?
        .get("description")
}
