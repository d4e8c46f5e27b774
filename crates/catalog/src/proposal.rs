//! Changes on their way to [`crate::Catalog::apply`].

use std::fmt;
use std::sync::Arc;

use docent_model::aspects::{AuditStamp, Stamped};
use docent_model::patch::Patch;
use docent_model::{AspectName, EpochMillis, SystemMetadata, Urn};
use docent_store::{LogicalVersion, PointRange};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{ConflictReason, Error};

/// One wanted change to one entity. A list of them is carried out whole or not at all.
#[derive(Debug, Clone)]
pub struct Proposal {
    pub urn: Urn,
    pub change: Change,
    /// What the ingestion client says about the write; `None` for edits through our own API.
    pub system_metadata: Option<SystemMetadata>,
    /// What must hold for this change to be made.
    pub requirements: Vec<Requirement>,
    /// A creation of what is there already is left out instead of failing.
    pub skip_existing: bool,
    /// Which item of a client's list it comes from, for error messages.
    pub position: Option<usize>,
}

#[derive(Debug, Clone)]
pub enum Change {
    /// The aspect becomes this JSON text, whatever it was. Creates the entity if it is new.
    Upsert { aspect: AspectName, text: String },
    /// Like an upsert, but only where the aspect is not there yet.
    Create { aspect: AspectName, text: String },
    /// Like an upsert, but only where the entity is not there yet.
    CreateEntity { aspect: AspectName, text: String },
    /// The aspect becomes what a client's patch makes of it, inside the transaction. Creates the entity if it is new.
    Patch {
        aspect: AspectName,
        patch: Arc<Patch>,
    },
    /// The aspect becomes what a function makes of it, inside the transaction.
    Edit { aspect: AspectName, edit: Edit },
    /// The aspect goes, with its history; its key aspect stands for the whole entity.
    DeleteAspect { aspect: AspectName },
    /// What an ingestion run wrote about the entity is taken back, as the stored state is inside the transaction: each of
    /// its aspects becomes what it was before, or goes if the run made it. An entity that the run made goes as a whole
    /// if nobody else has written to it, or if `all` may go.
    TakeBack {
        run: String,
        all: bool,
        /// Only say what would be done.
        dry_run: bool,
    },
    /// The aspect becomes what it is without any relationship with an entity; it goes if it is nothing without.
    TakeOut { aspect: AspectName, target: Urn },
    /// The server notes something beside the value of the aspect, where there is one: no version, no entry in the log.
    Note {
        aspect: AspectName,
        property: &'static str,
        value: String,
    },
    /// Points of a time series go.
    DeletePoints {
        aspect: AspectName,
        range: PointRange,
    },
    /// All aspects but the key go, with their histories and points, save those that hold secrets.
    Clear,
    /// The entity goes, with everything about it; what pointed at it is mended where we know how.
    DeleteEntity,
}

impl Change {
    pub fn aspect(&self) -> Option<AspectName> {
        match self {
            Self::Upsert { aspect, .. }
            | Self::Create { aspect, .. }
            | Self::CreateEntity { aspect, .. }
            | Self::Patch { aspect, .. }
            | Self::Edit { aspect, .. }
            | Self::TakeOut { aspect, .. }
            | Self::Note { aspect, .. }
            | Self::DeletePoints { aspect, .. }
            | Self::DeleteAspect { aspect } => Some(*aspect),
            Self::TakeBack { .. } | Self::Clear | Self::DeleteEntity => None,
        }
    }
}

/// From the current JSON text of an aspect, if there is one, to the next; `None` if it is to stay as it is. It may be
/// called again when the engine retries, so it must not have effects of its own.
#[derive(Clone)]
pub struct Edit(Arc<EditFn>);

type EditFn = dyn Fn(Option<&str>, &AuditStamp) -> Result<Option<String>, Error> + Send + Sync;

impl Edit {
    pub(crate) fn run(
        &self,
        current: Option<&str>,
        stamp: &AuditStamp,
    ) -> Result<Option<String>, Error> {
        (self.0)(current, stamp)
    }
}

impl fmt::Debug for Edit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Edit")
    }
}

/// How clients write the version of an aspect that is not there.
pub const NOT_THERE: i64 = -1;

/// A condition on the stored state. All but the last two are looked at before the change, in order.
#[derive(Debug, Clone)]
pub enum Requirement {
    /// The entity exists; `otherwise` is the error message if not.
    Exists {
        urn: Urn,
        otherwise: String,
        /// The index of the item in the client's list that refers to the entity.
        position: Option<usize>,
    },
    /// The entity does not exist yet; `otherwise` is said if it does.
    IsNew { otherwise: String },
    /// The aspect that the change is about has this logical version; `None` if it must not be there. Like the next two,
    /// of an entity's deletion it asks for the key aspect, and of [`Change::Clear`] for each aspect that would go.
    Version { expected: Option<LogicalVersion> },
    /// The aspect was written after this time.
    ModifiedSince { time_ms: EpochMillis },
    /// The aspect was not written after this time; one that is not there never was.
    UnmodifiedSince { time_ms: EpochMillis },
    /// The dataset has a schema with these columns.
    HasColumns {
        dataset: Urn,
        field_paths: Vec<String>,
    },
    /// The new name of a placed entity is not taken by another one below the same parent. Looked at after the
    /// change, and only if name or parent have changed.
    UniqueSiblingName { otherwise: fn(&str) -> String },
    /// A user who is suspended stays so, and nobody else becomes it; whoever is let in here is neither removed nor
    /// brought back. Looked at after the change.
    SameStanding { has_tokens: bool },
}

impl Requirement {
    pub fn exists(urn: &Urn, otherwise: impl Into<String>) -> Self {
        Self::Exists {
            urn: urn.clone(),
            otherwise: otherwise.into(),
            position: None,
        }
    }

    /// Whether it is a condition that a client sets.
    pub(crate) fn is_condition(&self) -> bool {
        matches!(
            self,
            Self::Version { .. } | Self::ModifiedSince { .. } | Self::UnmodifiedSince { .. }
        )
    }
}

impl Proposal {
    pub fn new(urn: Urn, change: Change) -> Self {
        Self {
            urn,
            change,
            system_metadata: None,
            requirements: Vec::new(),
            skip_existing: false,
            position: None,
        }
    }

    pub fn upsert(urn: Urn, aspect: AspectName, text: String) -> Self {
        Self::new(urn, Change::Upsert { aspect, text })
    }

    /// An edit in terms of the aspect's struct. `edit` is given the current value, or `None` if the entity
    /// does not have the aspect, and the stamp of this write.
    pub fn edit<T, F>(urn: Urn, aspect: AspectName, edit: F) -> Self
    where
        T: Serialize + DeserializeOwned,
        F: Fn(Option<T>, &AuditStamp) -> Result<T, Error> + Send + Sync + 'static,
    {
        Self::edit_if(urn, aspect, move |current, stamp| {
            edit(current, stamp).map(Some)
        })
    }

    /// An edit that only takes away: where the entity does not have the aspect, there is nothing to do.
    pub fn edit_present<T, F>(urn: Urn, aspect: AspectName, edit: F) -> Self
    where
        T: Serialize + DeserializeOwned,
        F: Fn(T, &AuditStamp) -> Result<T, Error> + Send + Sync + 'static,
    {
        Self::edit_if(urn, aspect, move |current, stamp| {
            let current: Option<T> = current;
            current.map(|current| edit(current, stamp)).transpose()
        })
    }

    /// Like [`Proposal::edit`]; where `edit` returns `None`, the aspect stays as it is, or away.
    pub fn edit_if<T, F>(urn: Urn, aspect: AspectName, edit: F) -> Self
    where
        T: Serialize + DeserializeOwned,
        F: Fn(Option<T>, &AuditStamp) -> Result<Option<T>, Error> + Send + Sync + 'static,
    {
        let on_text = move |current: Option<&str>, stamp: &AuditStamp| {
            let current = current
                .map(serde_json::from_str::<T>)
                .transpose()
                .map_err(|error| unreadable(aspect, &error))?;
            let next = edit(current, stamp)?;
            next.map(|next| serde_json::to_string(&next))
                .transpose()
                .map_err(|error| unreadable(aspect, &error))
        };
        Self::new(
            urn,
            Change::Edit {
                aspect,
                edit: Edit(Arc::new(on_text)),
            },
        )
    }

    /// An edit of an aspect that says when it was edited: only an edit that changes something is noted, so that one
    /// that changes nothing writes nothing.
    pub fn edit_stamped<T, F>(urn: Urn, aspect: AspectName, edit: F) -> Self
    where
        T: Stamped + Clone + Default + PartialEq + Serialize + DeserializeOwned,
        F: Fn(&mut T, &AuditStamp) -> Result<(), Error> + Send + Sync + 'static,
    {
        Self::edit_if::<T, _>(urn, aspect, move |current, stamp| {
            let before = current.unwrap_or_default();
            let mut after = before.clone();
            edit(&mut after, stamp)?;
            if after == before {
                return Ok(None);
            }
            after.stamp(stamp);
            Ok(Some(after))
        })
    }

    #[must_use]
    pub fn requires(mut self, requirement: Requirement) -> Self {
        self.requirements.push(requirement);
        self
    }

    /// Requires before everything else that the entity to change is there.
    #[must_use]
    pub fn requires_target(mut self) -> Self {
        let exists = Requirement::exists(&self.urn, missing_target(&self.urn));
        self.requirements.insert(0, exists);
        self
    }

    /// Requires that `urn` exists, and says `otherwise` if it does not.
    #[must_use]
    pub fn requires_existing(self, urn: &Urn, otherwise: impl Into<String>) -> Self {
        self.requires(Requirement::exists(urn, otherwise))
    }

    #[must_use]
    pub fn with_system_metadata(mut self, system_metadata: Option<SystemMetadata>) -> Self {
        self.system_metadata = system_metadata;
        self
    }
}

/// Requires of a whole list that these exist, before anything else; each is asked for once, with the first change.
pub(crate) fn require_all(
    proposals: &mut [Proposal],
    required: impl IntoIterator<Item = Requirement>,
) {
    if let Some(first) = proposals.first_mut() {
        first.requirements.splice(0..0, required);
    }
}

/// Says that the entity to change is not there.
pub(crate) fn missing_target(urn: &Urn) -> String {
    format!("Failed to update {urn}. {urn} does not exist.")
}

/// The stored aspect is not of the shape that the registry promises: written by another program, or damaged.
pub(crate) fn unreadable(aspect: AspectName, error: &serde_json::Error) -> Error {
    Error::conflict(
        ConflictReason::UnexpectedValue,
        format!(
            "the stored {aspect} aspect cannot be edited, because it is not of the expected shape ({error}); \
             write the whole aspect to replace it"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_list_requires_is_asked_for_once_and_first() {
        let urn = |name: &str| Urn::new("tag", name).unwrap();
        let exists = |name: &str| Requirement::exists(&urn(name), "");
        let proposal = Proposal::new(urn("t"), Change::DeleteEntity).requires_target();
        let mut list = vec![proposal; 3];
        require_all(&mut list, [exists("a"), exists("b")]);
        let required = |proposal: &Proposal| -> Vec<String> {
            let requirements = proposal.requirements.iter();
            requirements
                .map(|it| match it {
                    Requirement::Exists { urn, .. } => urn.key().to_owned(),
                    _ => String::new(),
                })
                .collect()
        };
        let found: Vec<_> = list.iter().map(required).collect();
        assert_eq!(found, [vec!["a", "b", "t"], vec!["t"], vec!["t"]]);
        require_all(&mut [], [exists("a")]);
    }
}
