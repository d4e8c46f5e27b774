//! The target of an operation: an entity, or one column of a dataset.

use docent_model::aspects::{AuditStamp, EditableSchemaFieldInfo, EditableSchemaMetadata, Stamped};
use docent_model::{AspectName, Registry, Urn, UrnError};
use serde_json::{Map, Value, json};

use crate::error::{Error, ErrorSubject};
use crate::proposal::{Proposal, Requirement};

/// How many labels or owners one call adds or removes.
const MAX_ATTACHED: usize = 1000;

/// Fails for more labels or owners than one call may change; `what` is their name in the message.
pub(crate) fn expect_few(what: &str, count: usize) -> Result<(), Error> {
    if count <= MAX_ATTACHED {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{count} {what} are given: at most {MAX_ATTACHED} are allowed at once, send them in parts"
    )))
}

/// An entity, or a column of a dataset by its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub urn: Urn,
    pub column: Option<String>,
    /// The index among several targets.
    position: Option<usize>,
}

impl Target {
    pub fn entity(urn: Urn) -> Self {
        Self::new(urn, None)
    }

    pub fn new(urn: Urn, column: Option<String>) -> Self {
        Self {
            urn,
            column,
            position: None,
        }
    }

    /// The same target with its index, for error messages.
    #[must_use]
    pub fn at(mut self, position: usize) -> Self {
        self.position = Some(position);
        self
    }

    fn subject(&self) -> ErrorSubject {
        ErrorSubject::entity(&self.urn).at(self.position)
    }

    /// Fails unless the target's entity can have the aspect, as [`expect_aspect`].
    pub(crate) fn expect_aspect(&self, aspect: AspectName, what: &str) -> Result<(), Error> {
        expect_aspect(&self.urn, aspect, what).map_err(|error| error.about(self.subject()))
    }

    /// Fails unless the target is a dataset: nothing else has columns.
    pub(crate) fn expect_columns(&self) -> Result<(), Error> {
        if self.urn.entity_type() == "dataset" {
            return Ok(());
        }
        let message = format!("{} has no columns: only datasets have them", self.urn);
        Err(Error::invalid(message).about(self.subject()))
    }

    /// Requires that the entity exists, and the column if one is named.
    pub(crate) fn required_by(&self, proposal: Proposal, missing: String) -> Proposal {
        let proposal = proposal.requires(Requirement::Exists {
            urn: self.urn.clone(),
            otherwise: missing,
            position: self.position,
        });
        match &self.column {
            None => proposal,
            Some(column) => proposal.requires(Requirement::HasColumns {
                dataset: self.urn.clone(),
                field_paths: vec![column.clone()],
            }),
        }
    }
}

/// Fails unless entities of this type have the aspect; `what` is its content in the message.
pub(crate) fn expect_aspect(urn: &Urn, aspect: AspectName, what: &str) -> Result<(), Error> {
    let entity = Registry::get().check_urn(urn)?;
    if entity.has_aspect(aspect) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{urn} cannot have {what}: entities of type {} have none",
        entity.name
    )))
}

/// An edit of the user-edited metadata of one column. `edit` returns whether it changed anything;
/// only then a column without an entry gets one.
pub(crate) fn edit_column<F>(dataset: &Urn, column: &str, edit: F) -> Proposal
where
    F: Fn(&mut EditableSchemaFieldInfo, &AuditStamp) -> Result<bool, Error> + Send + Sync + 'static,
{
    let field_path = column.to_owned();
    Proposal::edit_if::<EditableSchemaMetadata, _>(
        dataset.clone(),
        AspectName::EDITABLE_SCHEMA_METADATA,
        move |current, stamp| {
            let is_there = current.is_some();
            let mut columns = current.unwrap_or_default();
            let before = columns.editable_schema_field_info.len();
            if edit(columns.field_mut(&field_path), stamp)? {
                columns.stamp(stamp);
            } else {
                columns.editable_schema_field_info.truncate(before);
                if !is_there {
                    return Ok(None);
                }
            }
            Ok(Some(columns))
        },
    )
}

/// An edit of members of an aspect that must exist: each gets its value, or is removed if it has
/// none.
pub(crate) fn edit_members(
    urn: &Urn,
    aspect: AspectName,
    members: Vec<(&'static str, Option<Value>)>,
) -> Proposal {
    let missing =
        format!("Failed to update {urn}. It has no {aspect} aspect yet: ingest that first.");
    Proposal::edit::<Map<String, Value>, _>(urn.clone(), aspect, move |current, _| {
        let mut value = current.ok_or_else(|| Error::invalid(missing.clone()))?;
        for (member, new) in &members {
            match new {
                Some(new) => drop(value.insert((*member).to_owned(), new.clone())),
                None => drop(value.remove(*member)),
            }
        }
        Ok(value)
    })
}

/// An edit of a list in an aspect. One without effect writes nothing.
pub(crate) fn edit_list<F>(urn: &Urn, aspect: AspectName, member: &'static str, edit: F) -> Proposal
where
    F: Fn(&mut Vec<Value>, &AuditStamp) + Send + Sync + 'static,
{
    Proposal::edit_if::<Map<String, Value>, _>(urn.clone(), aspect, move |current, stamp| {
        let mut value = current.unwrap_or_default();
        let list = value.entry(member).or_insert_with(|| json!([]));
        let Value::Array(list) = list else {
            return Ok(None);
        };
        let before = list.clone();
        edit(list, stamp);
        let has_changed = *list != before;
        Ok(has_changed.then_some(value))
    })
}

/// A column as an entity of its own.
pub(crate) fn column_urn(dataset: &Urn, column: &str) -> Result<Urn, UrnError> {
    Urn::new("schemaField", &format!("({dataset},{column})"))
}

/// The dataset of a column, and its path there.
pub(crate) fn column_of(urn: &Urn) -> Option<(Urn, String)> {
    let parts = urn.key_parts();
    let [dataset, path] = parts[..] else {
        return None;
    };
    let dataset = Urn::parse(dataset).ok()?;
    (dataset.entity_type() == "dataset").then(|| (dataset, path.to_owned()))
}
