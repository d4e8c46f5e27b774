//! How a description or an assignment became what it is, from the versions of its aspect that are kept.
//!
//! One aspect holds many things; a version in which the one that is asked about stayed the same is left out. What happened to
//! an entity as a whole is [`crate::timeline`].
//!
//! To add a subject: a case of [`Subject`], where it is kept ([`Subject::place`]), and how it is read from the aspect
//! ([`Subject::value`]).

use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{AspectKey, LogicalVersion, version};
use serde_json::Value;

use crate::{Caller, Catalog, Error, descriptions};

/// What is looked back on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// What people said about an entity or a column.
    Description { column: Option<String> },
    /// What ingestion said about an entity or a column.
    IngestedDescription { column: Option<String> },
    /// The domain that an entity is in.
    Domain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// Whether it goes back to the beginning.
    pub is_complete: bool,
    /// The newest first.
    pub changes: Vec<Change>,
}

/// What the subject became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub version: LogicalVersion,
    pub time_ms: EpochMillis,
    pub actor: String,
    /// The text or the URN; `None` if there was none then.
    pub value: Option<String>,
}

impl Catalog {
    /// The changes of a subject. An entity that does not exist has none.
    pub async fn history(
        &self,
        _caller: &Caller,
        urn: &Urn,
        subject: &Subject,
    ) -> Result<History, Error> {
        let aspect = subject.place(urn)?;
        let key = AspectKey::new(urn, aspect);
        let versions = self.store().histories_read(&[key]).await?.pop();
        let versions = versions.unwrap_or_default();
        let is_complete = versions
            .first()
            .is_none_or(|row| version::logical_version_of(row) <= LogicalVersion::FIRST);
        let mut changes: Vec<Change> = Vec::new();
        for row in &versions {
            let stored: Value = serde_json::from_str(&row.metadata).unwrap_or_default();
            let value = subject.value(urn, &stored);
            // Nothing before the first text is no change, unless what came before it is not known.
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
        changes.reverse();
        Ok(History {
            is_complete,
            changes,
        })
    }
}

impl Subject {
    /// The aspect in which the subject is kept.
    fn place(&self, urn: &Urn) -> Result<AspectName, Error> {
        let entity = Registry::get().check_urn(urn)?;
        let name = match self {
            Self::Description { column: Some(_) } => Some("editableSchemaMetadata"),
            Self::Description { column: None } => {
                descriptions::place_of(entity.name).map(|(aspect, _)| aspect)
            }
            Self::IngestedDescription { column: Some(_) } => Some("schemaMetadata"),
            Self::IngestedDescription { column: None } => ingested(entity.name),
            Self::Domain => Some("domains"),
        };
        name.and_then(|name| Registry::get().aspect(name))
            .filter(|aspect| entity.has_aspect(*aspect))
            .ok_or_else(|| {
                Error::invalid(format!(
                    "{urn} has no such thing to look back on: its kind has no aspect for it"
                ))
            })
    }

    /// What a version says about the subject; empty texts are none.
    fn value(&self, urn: &Urn, stored: &Value) -> Option<String> {
        let found = match self {
            Self::Description { column: None } => {
                let (_, path) = descriptions::place_of(urn.entity_type())?;
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

/// Where ingestion describes an entity of a type, if people describe it elsewhere.
fn ingested(entity_type: &str) -> Option<&'static str> {
    match entity_type {
        "dataset" => Some("datasetProperties"),
        "container" => Some("containerProperties"),
        _ => None,
    }
}

fn of_column<'a>(columns: Option<&'a Value>, path: &str) -> Option<&'a Value> {
    let mut columns = columns?.as_array()?.iter();
    columns
        .find(|column| column.get("fieldPath").and_then(Value::as_str) == Some(path))?
        .get("description")
}
