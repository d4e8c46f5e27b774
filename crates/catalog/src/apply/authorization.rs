//! Whether the caller may apply a list of proposals.
//!
//! Most lists are decided before the transaction, by the policies alone. The rest depends on stored
//! data, such as owners and domains, and is decided inside the transaction:
//!
//! - A change of an existing entity is decided before it happens.
//! - An entity that the list creates, or moves to another domain or container, is decided by its
//!   state after the list. So a move needs the right on both sides, and stewards of a domain may
//!   create what belongs to it.
//! - A domain, container, glossary node or term that moves needs the right on both parents too,
//!   because it is inside itself.

use std::collections::HashSet;
use std::sync::Arc;

use docent_model::Urn;
use docent_store::AspectKey;

use super::prepare::{Prepared, about_proposal};
use crate::Error;
use crate::access::resource::{Fields, Resource};
use crate::access::rights::Preliminary;
use crate::access::scope::CallerRights;
use crate::access::{demand, denied, resource_keys};
use crate::caller::add_policy;
use crate::privilege::{CREATE_ENTITY, Privilege};
use crate::proposal::{Change, Privileges, Proposal};
use crate::view::{VIEW_PRIVILEGES, View};

/// What the caller of a list may not see.
#[derive(Debug, Default)]
pub(super) struct Visibility {
    /// Entities that the list names: for the caller they do not exist.
    pub(super) hidden: HashSet<Urn>,
    /// Decides about others; `None` if the caller sees everything.
    pub(super) view: Option<Arc<View>>,
    /// Whether there are entities that the caller may not create.
    pub(super) is_creation_limited: bool,
}

/// The checks that are left for the transaction.
#[derive(Debug)]
pub(super) struct Authorization {
    pub(super) actor: Urn,
    pub(super) rights: CallerRights,
    /// One per proposal; `None` where nothing is left to check.
    pub(super) checks: Vec<Option<Check>>,
    pub(super) visibility: Arc<Visibility>,
    /// The policies that allowed the others.
    pub(super) policies: Vec<Urn>,
}

/// A decision that depends on stored data.
#[derive(Debug, Clone, Default)]
pub(super) struct Check {
    /// The caller needs one of these,
    pub(super) privileges: Vec<Privilege>,
    /// or of these if the entity is new.
    pub(super) privileges_if_new: Vec<Privilege>,
    /// What they depend on.
    pub(super) fields: Fields,
}

impl Authorization {
    /// Decides what the policies alone decide. Fails if one of the proposals is denied.
    pub(super) fn prepare(
        actor: &Urn,
        rights: CallerRights,
        prepared: &[Prepared],
        visibility: Arc<Visibility>,
    ) -> Result<Self, Error> {
        let mut policies = Vec::new();
        let checks = prepared
            .iter()
            .map(|item| {
                check_of(actor, &rights, &item.proposal, &mut policies)
                    .map_err(|error| about_proposal(error, &item.proposal))
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            actor: actor.clone(),
            rights,
            checks,
            visibility,
            policies,
        })
    }

    /// The aspects that the checks read, as far as they are known in advance.
    pub(super) fn keys(&self, prepared: &[Prepared]) -> Vec<AspectKey> {
        let checks = prepared.iter().zip(&self.checks);
        checks
            .filter_map(|(item, check)| Some((item, check.as_ref()?)))
            .flat_map(|(item, check)| resource_keys(&item.proposal.urn, check.fields))
            .collect()
    }

    /// The error for creating an entity that exists, and that the caller may not see. A caller who
    /// may not create entities there gets the error for a missing one.
    pub(super) fn denied_hidden(&self, urn: &Urn, check: Option<&Check>) -> Error {
        let privileges = check.map(|check| check.privileges_if_new.as_slice());
        let missing = privileges.filter(|it| self.rights.everywhere(it).is_none());
        let missing = missing.unwrap_or(VIEW_PRIVILEGES);
        let scope = self.rights.limiting_scope(missing, None);
        denied(&self.actor, scope.as_deref(), missing, Some(urn))
    }

    /// The policy that grants one of the privileges on the resource; fails if none does.
    pub(super) fn decide(
        &self,
        urn: &Urn,
        privileges: &[Privilege],
        resource: &Resource,
        references: Option<&[Urn]>,
    ) -> Result<&Urn, Error> {
        let references: Option<Vec<Resource>> =
            references.map(|urns| urns.iter().map(Resource::new).collect());
        let policy = self
            .rights
            .granted_by(privileges, resource, references.as_deref());
        policy.map(|policy| &policy.urn).ok_or_else(|| {
            let scope = self.rights.limiting_scope(privileges, Some(resource));
            denied(&self.actor, scope.as_deref(), privileges, Some(urn))
        })
    }
}

fn check_of(
    actor: &Urn,
    rights: &CallerRights,
    proposal: &Proposal,
    policies: &mut Vec<Urn>,
) -> Result<Option<Check>, Error> {
    let Proposal { urn, change, .. } = proposal;
    if *urn == *actor && demand::is_profile(change.aspect()) && !rights.is_narrowed() {
        return Ok(None);
    }
    match &proposal.privileges {
        Privileges::Authorized => return Ok(None),
        // They are about other entities than the proposal.
        Privileges::OfOthers(_) => return Ok(Some(Check::default())),
        _ => {}
    }
    let privileges = privileges_of(proposal);
    if let Some(policy) = rights.everywhere(&privileges) {
        add_policy(policies, &policy.urn);
        return Ok(None);
    }
    let privileges_if_new = privileges_if_new(proposal);
    match rights.preliminary(&privileges_if_new) {
        Preliminary::Denied => {
            let scope = rights.limiting_scope(&privileges_if_new, None);
            Err(denied(actor, scope.as_deref(), &privileges, Some(urn)))
        }
        Preliminary::Allowed | Preliminary::Depends(_) => {
            let fields = rights.fields_of(&privileges_if_new).unwrap_or_default();
            Ok(Some(Check {
                privileges,
                privileges_if_new,
                fields,
            }))
        }
    }
}

/// The privileges of which the caller needs one; none if the use case has decided already.
pub(super) fn privileges_of(proposal: &Proposal) -> Vec<Privilege> {
    let Proposal { urn, change, .. } = proposal;
    match &proposal.privileges {
        Privileges::Authorized | Privileges::OfOthers(_) => Vec::new(),
        Privileges::OfChange => demand::of_change(urn, change),
        Privileges::OfChangeOr(others) => {
            let mut of_change = demand::of_change(urn, change);
            of_change.retain(|privilege| !others.contains(privilege));
            others.iter().copied().chain(of_change).collect()
        }
        Privileges::AnyOf { privileges, .. } => privileges.to_vec(),
    }
}

/// The privileges of which the caller needs one if the entity is new.
pub(super) fn privileges_if_new(proposal: &Proposal) -> Vec<Privilege> {
    let Proposal { urn, change, .. } = proposal;
    if let Privileges::AnyOf { if_new, .. } = &proposal.privileges {
        return if_new.to_vec();
    }
    let mut privileges = privileges_of(proposal);
    let is_ingestion = matches!(
        change,
        Change::Upsert { .. }
            | Change::Create { .. }
            | Change::CreateEntity { .. }
            | Change::Patch { .. }
    );
    if is_ingestion && !demand::is_managed_change(urn, change) {
        privileges.push(CREATE_ENTITY);
    }
    privileges
}
