//! Changes for [`crate::Catalog::apply`].

use std::fmt;
use std::sync::Arc;

use docent_model::aspects::{AuditStamp, Stamped};
use docent_model::patch::Patch;
use docent_model::{AspectName, EpochMillis, Registry, SystemMetadata, Urn};
use docent_store::{AspectKey, LogicalVersion, PointRange};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::privilege::Privilege;
use crate::request_demands::Demands;
use crate::{ConflictReason, Error, ErrorSubject};

/// One change to one entity. A list of proposals is applied as a whole or not at all.
#[derive(Debug, Clone)]
pub struct Proposal {
    pub urn: Urn,
    pub change: Change,
    /// What the ingestion client says about the write; `None` for edits through our own API.
    pub system_metadata: Option<SystemMetadata>,
    /// Conditions for the change.
    pub requirements: Vec<Requirement>,
    /// Skips a creation if the aspect or entity exists, instead of failing.
    pub skip_existing: bool,
    /// The index in the client's list, for error messages.
    pub position: Option<usize>,
    /// The privileges of which the caller needs one.
    pub(crate) privileges: Privileges,
    /// The entities that the change refers to, such as added tags, for policies that constrain
    /// them; `None` if a policy with constraints does not allow the change.
    pub(crate) references: Option<Arc<[Urn]>>,
    /// Whether the client says who wrote the links. Edits otherwise stamp them with the caller.
    pub(crate) names_authors: bool,
}

/// The privileges that allow a change.
#[derive(Debug, Clone, Default)]
pub(crate) enum Privileges {
    /// Those of the entity type and the aspect ([`crate::access::demand`]).
    #[default]
    OfChange,
    /// The same, or one of these.
    OfChangeOr(&'static [Privilege]),
    /// These, which the change needed when it was proposed.
    AnyOf {
        privileges: Arc<[Privilege]>,
        if_new: Arc<[Privilege]>,
    },
    /// Those of all changes of an action request, which the caller decides about.
    OfOthers(Arc<Demands>),
    /// The use case has decided already.
    Authorized,
}

#[derive(Debug, Clone)]
pub enum Change {
    /// Replaces the aspect with this JSON text. Creates a missing entity.
    Upsert { aspect: AspectName, text: String },
    /// Like an upsert, but fails if the aspect exists.
    Create { aspect: AspectName, text: String },
    /// Like an upsert, but fails if the entity exists.
    CreateEntity { aspect: AspectName, text: String },
    /// Applies a client's patch to the aspect. Creates a missing entity.
    Patch {
        aspect: AspectName,
        patch: Arc<Patch>,
    },
    /// Applies a function to the aspect.
    Edit { aspect: AspectName, edit: Edit },
    /// Deletes the aspect with its history; for the key aspect, the whole entity.
    DeleteAspect { aspect: AspectName },
    /// Rolls back what an ingestion run wrote about the entity: restores the version before it of
    /// each aspect, or deletes the aspect if the run created it. Deletes an entity that the run
    /// created if nobody else has written to it, or if `hard`.
    RollbackRun {
        run_id: String,
        hard: bool,
        /// Only reports what would be done.
        dry_run: bool,
    },
    /// Removes all references to an entity from the aspect; deletes the aspect if nothing is left.
    RemoveReferences { aspect: AspectName, target: Urn },
    /// Sets a property of the aspect's system metadata, if the aspect exists: no new version, no
    /// log entry.
    SetSystemProperty {
        aspect: AspectName,
        property: &'static str,
        value: String,
    },
    /// Replaces a property of the aspect's system metadata, or fails if it has another value than
    /// expected, or the aspect is missing.
    ReplaceSystemProperty {
        aspect: AspectName,
        property: &'static str,
        expected: String,
        value: String,
    },
    /// Sets a property of the aspect's system metadata to a time, unless it has that time or a
    /// later one.
    RaiseSystemTime {
        aspect: AspectName,
        property: &'static str,
        time_ms: EpochMillis,
    },
    /// Deletes points of a time series.
    DeletePoints {
        aspect: AspectName,
        range: PointRange,
    },
    /// Deletes all aspects but the key and secrets, with their histories and points.
    Clear,
    /// Deletes the entity with all its aspects, and removes references to it where we know how.
    /// With a user go the user's sessions and tokens.
    DeleteEntity,
    /// Ends the expired sessions of a user, and the oldest others until at most so many are left.
    EndSessions { keep: usize },
    /// Fails if a user has so many tokens already; expired ones do not count.
    LimitTokens { max: usize },
    /// Ends all sessions of a user and revokes all tokens.
    RevokeAccess,
}

impl Change {
    /// Whether the change deletes the entity on purpose; a rollback may do it, too.
    pub(crate) fn deletes_entity(&self, urn: &Urn) -> bool {
        match self {
            Self::DeleteEntity => true,
            Self::DeleteAspect { aspect } => Registry::get().is_key_aspect(urn, *aspect),
            _ => false,
        }
    }

    pub fn aspect(&self) -> Option<AspectName> {
        match self {
            Self::Upsert { aspect, .. }
            | Self::Create { aspect, .. }
            | Self::CreateEntity { aspect, .. }
            | Self::Patch { aspect, .. }
            | Self::Edit { aspect, .. }
            | Self::RemoveReferences { aspect, .. }
            | Self::SetSystemProperty { aspect, .. }
            | Self::ReplaceSystemProperty { aspect, .. }
            | Self::RaiseSystemTime { aspect, .. }
            | Self::DeletePoints { aspect, .. }
            | Self::DeleteAspect { aspect } => Some(*aspect),
            Self::RollbackRun { .. }
            | Self::Clear
            | Self::DeleteEntity
            | Self::EndSessions { .. }
            | Self::LimitTokens { .. }
            | Self::RevokeAccess => None,
        }
    }
}

/// Maps the current value of an aspect, if there is one, to the next; `None` leaves it unchanged.
/// The engine may call it again in a retry, so it must not have side effects.
#[derive(Clone)]
pub struct Edit(Arc<EditFn>);

type EditFn = dyn Fn(Option<&Value>, &AuditStamp) -> Result<Option<Value>, Error> + Send + Sync;

impl Edit {
    pub(crate) fn run(
        &self,
        current: Option<&Value>,
        stamp: &AuditStamp,
    ) -> Result<Option<Value>, Error> {
        (self.0)(current, stamp)
    }
}

impl fmt::Debug for Edit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Edit")
    }
}

/// A check of the current value of an aspect, if there is one. Like an [`Edit`] it may be called
/// several times.
#[derive(Clone)]
pub struct Check(Arc<CheckFn>);

type CheckFn = dyn Fn(Option<&Value>) -> Result<(), Error> + Send + Sync;

impl Check {
    pub(crate) fn run(&self, current: Option<&Value>) -> Result<(), Error> {
        (self.0)(current)
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Check")
    }
}

/// How clients write the version of a missing aspect.
pub const MISSING_VERSION: i64 = -1;

/// A condition on the stored state. All but the last two are checked before the change, in order.
#[derive(Debug, Clone)]
pub enum Requirement {
    /// The entity exists; `otherwise` is the error message if not.
    Exists {
        urn: Urn,
        otherwise: String,
        /// The index of the item in the client's list that refers to the entity.
        position: Option<usize>,
    },
    /// Each of the entities exists, or the stored aspect names it already; `otherwise` is the error
    /// message about one that does neither.
    ExistOrNamed {
        urns: Vec<Urn>,
        by: AspectKey,
        otherwise: fn(&Urn) -> String,
    },
    /// The entity does not exist; `otherwise` is the error message if it does.
    IsNew { otherwise: String },
    /// The check accepts the current value of this aspect.
    Holds { key: AspectKey, check: Check },
    /// The aspect has this logical version; `None` if it must be missing. Like the next two, it
    /// refers to the key aspect when an entity is deleted, and to each deleted aspect of
    /// [`Change::Clear`].
    Version { expected: Option<LogicalVersion> },
    /// The aspect was written after this time.
    ModifiedSince { time_ms: EpochMillis },
    /// The aspect was not written after this time; a missing one was not.
    UnmodifiedSince { time_ms: EpochMillis },
    /// The new parent is neither the entity nor inside it; `otherwise` is the error message. The
    /// aspect names parents at the JSON pointer `at`.
    NotInside {
        parent: Urn,
        aspect: AspectName,
        at: &'static str,
        otherwise: &'static str,
    },
    /// The dataset has a schema with these columns.
    HasColumns {
        dataset: Urn,
        field_paths: Vec<String>,
    },
    /// No other entity with the same parent has the new name. Checked after the change, and only if
    /// name or parent have changed.
    UniqueSiblingName { otherwise: fn(&str) -> String },
    /// The change neither suspends nor resumes a user, and neither removes nor restores an account:
    /// one with rights, or who can sign in or has tokens. Checked after the change.
    AccountStatusUnchanged {
        /// Whether others give rights to the user, such as policies.
        has_grants: bool,
    },
}

impl Requirement {
    pub fn exists(urn: &Urn, otherwise: impl Into<String>) -> Self {
        Self::Exists {
            urn: urn.clone(),
            otherwise: otherwise.into(),
            position: None,
        }
    }

    /// The entities that it requires to exist.
    pub(crate) fn entities(&self) -> &[Urn] {
        match self {
            Self::Exists { urn, .. } => std::slice::from_ref(urn),
            Self::ExistOrNamed { urns, .. } => urns,
            _ => &[],
        }
    }

    /// Whether it is a precondition that a client sets.
    pub(crate) fn is_condition(&self) -> bool {
        matches!(
            self,
            Self::Version { .. } | Self::ModifiedSince { .. } | Self::UnmodifiedSince { .. }
        )
    }
}

impl Proposal {
    /// Whether the change must not alter the status of an account.
    pub(crate) fn keeps_account_status(&self) -> bool {
        self.account_grants().is_some()
    }

    /// Whether others give rights to the user whose status must not be altered.
    pub(crate) fn account_grants(&self) -> Option<bool> {
        self.requirements.iter().find_map(|it| match it {
            Requirement::AccountStatusUnchanged { has_grants } => Some(*has_grants),
            _ => None,
        })
    }

    /// The part of the request that errors and warnings about the change name.
    pub(crate) fn subject(&self) -> ErrorSubject {
        ErrorSubject::entity(&self.urn)
            .with_aspect(self.change.aspect())
            .at(self.position)
    }

    /// The size of the JSON text that the change has to parse.
    pub(crate) fn text_bytes(&self) -> usize {
        match &self.change {
            Change::Upsert { text, .. }
            | Change::Create { text, .. }
            | Change::CreateEntity { text, .. } => text.len(),
            _ => 0,
        }
    }

    pub fn new(urn: Urn, change: Change) -> Self {
        Self {
            urn,
            change,
            system_metadata: None,
            requirements: Vec::new(),
            skip_existing: false,
            position: None,
            privileges: Privileges::default(),
            references: None,
            names_authors: false,
        }
    }

    /// Says that the client names the authors of links, which only callers who may ingest can.
    #[must_use]
    pub(crate) fn naming_authors(mut self) -> Self {
        self.names_authors = true;
        self
    }

    /// Accepts these privileges too: the change means less than its aspect.
    #[must_use]
    pub(crate) fn also_allowed_by(mut self, privileges: &'static [Privilege]) -> Self {
        self.privileges = Privileges::OfChangeOr(privileges);
        self
    }

    /// Sets the entities that the change refers to.
    #[must_use]
    pub(crate) fn referring_to(mut self, references: Arc<[Urn]>) -> Self {
        self.references = Some(references);
        self
    }

    /// Whether it requires an entity to exist.
    pub(crate) fn requires_entity(&self, urn: &Urn) -> bool {
        let mut required = self.requirements.iter().flat_map(Requirement::entities);
        required.any(|required| required == urn)
    }

    /// Requires no privilege, because the use case has decided already.
    #[must_use]
    pub(crate) fn authorized(mut self) -> Self {
        self.privileges = Privileges::Authorized;
        self
    }

    pub fn upsert(urn: Urn, aspect: AspectName, text: String) -> Self {
        Self::new(urn, Change::Upsert { aspect, text })
    }

    /// An edit in terms of the aspect's struct. `edit` gets the current value, or `None` if the
    /// aspect is missing, and the stamp of this write.
    pub fn edit<T, F>(urn: Urn, aspect: AspectName, edit: F) -> Self
    where
        T: Serialize + DeserializeOwned,
        F: Fn(Option<T>, &AuditStamp) -> Result<T, Error> + Send + Sync + 'static,
    {
        Self::edit_if(urn, aspect, move |current, stamp| {
            edit(current, stamp).map(Some)
        })
    }

    /// An edit that only removes: a missing aspect stays missing.
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

    /// Like [`Proposal::edit`]; where `edit` returns `None`, the aspect stays unchanged or missing.
    pub fn edit_if<T, F>(urn: Urn, aspect: AspectName, edit: F) -> Self
    where
        T: Serialize + DeserializeOwned,
        F: Fn(Option<T>, &AuditStamp) -> Result<Option<T>, Error> + Send + Sync + 'static,
    {
        let on_value = move |current: Option<&Value>, stamp: &AuditStamp| {
            let next = edit(typed(aspect, current)?, stamp)?;
            next.map(serde_json::to_value)
                .transpose()
                .map_err(|error| unreadable(aspect, &error))
        };
        Self::new(
            urn,
            Change::Edit {
                aspect,
                edit: Edit(Arc::new(on_value)),
            },
        )
    }

    /// An edit of an aspect that records its editor. Only an effective edit is stamped, so an edit
    /// without effect writes nothing.
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

    /// Requires that `check` accepts the current value of an aspect, of this entity or another.
    #[must_use]
    pub(crate) fn requires_value<T, F>(self, urn: &Urn, aspect: AspectName, check: F) -> Self
    where
        T: DeserializeOwned,
        F: Fn(Option<T>) -> Result<(), Error> + Send + Sync + 'static,
    {
        let on_value = move |current: Option<&Value>| check(typed(aspect, current)?);
        self.requires(Requirement::Holds {
            key: AspectKey::new(urn, aspect),
            check: Check(Arc::new(on_value)),
        })
    }

    /// Requires before everything else that the entity to change exists.
    #[must_use]
    pub fn requires_target(mut self) -> Self {
        let exists = Requirement::exists(&self.urn, missing_target(&self.urn));
        self.requirements.insert(0, exists);
        self
    }

    /// Requires that `urn` exists; `otherwise` is the error message.
    #[must_use]
    pub fn requires_existing(self, urn: &Urn, otherwise: impl Into<String>) -> Self {
        self.requires(Requirement::exists(urn, otherwise))
    }

    /// Sets the index in the client's list.
    #[must_use]
    pub fn at(mut self, position: usize) -> Self {
        self.position = Some(position);
        self
    }

    #[must_use]
    pub fn with_system_metadata(mut self, system_metadata: Option<SystemMetadata>) -> Self {
        self.system_metadata = system_metadata;
        self
    }
}

/// Adds requirements to a whole list: they are checked once and first, with the first change.
pub(crate) fn require_all(
    proposals: &mut [Proposal],
    required: impl IntoIterator<Item = Requirement>,
) {
    if let Some(first) = proposals.first_mut() {
        first.requirements.splice(0..0, required);
    }
}

/// The error message for a change of a missing entity.
pub(crate) fn missing_target(urn: &Urn) -> String {
    format!("Failed to update {urn}. {urn} does not exist.")
}

/// The value as the aspect's struct.
fn typed<T: DeserializeOwned>(
    aspect: AspectName,
    value: Option<&Value>,
) -> Result<Option<T>, Error> {
    value
        .map(T::deserialize)
        .transpose()
        .map_err(|error| unreadable(aspect, &error))
}

/// The error for a stored aspect without the shape that the registry defines: written by another
/// program, or damaged.
pub(crate) fn unreadable(aspect: AspectName, error: &serde_json::Error) -> Error {
    Error::conflict(
        ConflictReason::UnexpectedValue,
        format!(
            "the stored {aspect} aspect cannot be edited because it has an unexpected shape ({error}); \
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
