//! The decisions about a list that depend on stored data.

use std::collections::HashSet;

use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, AspectRow};

use super::{Batch, Prepared, conditions};
use crate::access::demand::is_move;
use crate::access::{AspectSource, denied, holder_of, read_resource};
use crate::action_requests::fields_of;
use crate::apply::authorization::{Authorization, Check};
use crate::apply::prepare::about_proposal;
use crate::privilege::EDIT_ENTITY;
use crate::proposal::{Change, Privileges, Proposal, Requirement};
use crate::request_demands::Demands;
use crate::{Error, ErrorSubject};

/// What a caller who may change an entity where it is, but not where it would be, must know.
const BOTH_SIDES: &str = "It is allowed as the entity is now, but not as it would be after the change: a move, for \
                          example to another domain, needs the privilege on both sides.";

/// What is decided before a change.
pub(super) enum Decision<'p> {
    Allowed,
    Waits(Deferred<'p>),
}

/// A decision that waits for the end of the list.
pub(super) struct Deferred<'p> {
    item: &'p Prepared,
    check: &'p Check,
    is_new: bool,
}

impl AspectSource for Batch<'_> {
    async fn rows(&mut self, keys: Vec<AspectKey>) -> Result<Vec<AspectRow>, Error> {
        self.load(keys.iter().cloned()).await?;
        let row = |key: &AspectKey| self.known.get(key).cloned().flatten();
        Ok(keys.iter().map(row).collect())
    }
}

impl Batch<'_> {
    /// Whether the entity does not exist for the caller.
    pub(super) fn hides(&self, urn: &Urn) -> bool {
        self.visibility.hidden.contains(urn) && !self.created.contains(urn)
    }

    /// Whether the change is one of a stored entity that the caller may not see. Fails like a
    /// change of a missing entity, if the change needs one. This comes before the decision about
    /// the change: a denial would tell that there is something.
    pub(super) async fn changes_hidden(&mut self, item: &Prepared) -> Result<bool, Error> {
        let Proposal { urn, change, .. } = &item.proposal;
        if !self.hides(urn) {
            return Ok(false);
        }
        for requirement in &item.proposal.requirements {
            match requirement {
                Requirement::Exists {
                    urn: required,
                    otherwise,
                    ..
                } if self.hides(required) => {
                    let subject = ErrorSubject::entity(required);
                    return Err(Error::no_entity(otherwise.as_str()).about(subject));
                }
                // Clearing a missing entity finds no aspect that a condition could be about.
                condition if condition.is_condition() && !matches!(change, Change::Clear) => {
                    let subject = change.aspect().unwrap_or(item.entity.key_aspect);
                    conditions::check(condition, subject, None)?;
                }
                _ => {}
            }
        }
        let is_decided = matches!(
            item.proposal.privileges,
            Privileges::Authorized | Privileges::OfOthers(_)
        );
        if is_decided {
            return Ok(false);
        }
        // A column that is not stored would tell whether its dataset is.
        Ok(self.exists(urn, item.entity).await? || self.is_stored(&holder_of(urn)).await?)
    }

    /// Whether the change would create its entity if that were missing.
    pub(super) fn would_create(&self, item: &Prepared) -> Result<bool, Error> {
        Ok(match &item.proposal.change {
            Change::Upsert { .. } | Change::Create { .. } | Change::CreateEntity { .. } => true,
            Change::Patch { patch, .. } => !patch.only_removes(),
            Change::Edit { edit, .. } => edit.run(None, &self.stamp)?.is_some(),
            _ => false,
        })
    }

    /// Decides about a change before it happens, or returns the decision that must wait.
    pub(super) async fn authorize<'p>(
        &mut self,
        authorization: &Authorization,
        item: &'p Prepared,
        check: &'p Check,
    ) -> Result<Decision<'p>, Error> {
        if let Privileges::OfOthers(demands) = &item.proposal.privileges {
            self.authorize_on_others(authorization, demands).await?;
            return Ok(Decision::Allowed);
        }
        let Proposal { urn, change, .. } = &item.proposal;
        let is_new = self.is_new(urn).await?;
        // What is not stored may still be referred to, and its deletion removes the references.
        let is_decided = !is_new || change.deletes_entity(urn);
        if is_decided {
            let resource = read_resource(self, urn, check.fields).await?;
            let references = item.proposal.references.as_deref();
            let policy = authorization.decide(urn, &check.privileges, &resource, references)?;
            self.trail.allowed_by(policy);
        }
        self.note_place(item, is_new).await?;
        if is_decided && !is_move(change) {
            return Ok(Decision::Allowed);
        }
        Ok(Decision::Waits(Deferred {
            item,
            check,
            is_new,
        }))
    }

    /// Whether an entity did not exist before the list. A column counts as its dataset.
    async fn is_new(&mut self, urn: &Urn) -> Result<bool, Error> {
        let holder = holder_of(urn);
        Ok(!self.is_stored(&holder).await? || self.created.contains(&holder))
    }

    pub(super) async fn is_stored(&mut self, urn: &Urn) -> Result<bool, Error> {
        let Some(key) = AspectKey::of_entity(urn) else {
            return Ok(false);
        };
        Ok(self.get(urn, key.aspect).await?.is_some())
    }

    /// Fails unless the caller meets the demands on other entities.
    pub(super) async fn authorize_on_others(
        &mut self,
        authorization: &Authorization,
        demands: &Demands,
    ) -> Result<(), Error> {
        let rights = &authorization.rights;
        let fields = fields_of(rights, std::slice::from_ref(demands));
        let mut existing = HashSet::new();
        for urn in demands.urns() {
            if self.is_stored(urn).await? {
                existing.insert(urn.clone());
            }
        }
        let unmet = demands.unmet(rights, self, &existing, fields).await?;
        let Some(demand) = unmet else {
            return Ok(());
        };
        let privileges = &demand.privileges_if_new;
        let scope = rights.limiting_scope(privileges, None);
        let actor = &authorization.actor;
        Err(denied(
            actor,
            scope.as_deref(),
            privileges,
            Some(&demand.urn),
        ))
    }

    /// Whether the caller is the author of the links in a direct write: one who may only edit links
    /// cannot add them in the name of others.
    pub(super) async fn signs_links(
        &mut self,
        authorization: &Authorization,
        item: &Prepared,
    ) -> Result<bool, Error> {
        let Proposal { urn, change, .. } = &item.proposal;
        if change.aspect() != Some(AspectName::INSTITUTIONAL_MEMORY) {
            return Ok(false);
        }
        let rights = &authorization.rights;
        let privileges = [EDIT_ENTITY];
        if rights.everywhere(&privileges).is_some() {
            return Ok(false);
        }
        let Some(fields) = rights.fields_of(&privileges) else {
            return Ok(true);
        };
        let resource = read_resource(self, urn, fields).await?;
        let granted = rights.granted_by(&privileges, &resource, Some(&[]));
        Ok(granted.is_none())
    }

    /// Decides about new and moved entities, and about logical parents and
    /// version sets, after the whole list.
    pub(super) async fn authorize_deferred(
        &mut self,
        authorization: &Authorization,
        deferred: Vec<Deferred<'_>>,
    ) -> Result<(), Error> {
        for Deferred {
            item,
            check,
            is_new,
        } in deferred
        {
            let urn: &Urn = &item.proposal.urn;
            if !self.exists(urn, item.entity).await? {
                // Nothing was created, or it was deleted again.
                continue;
            }
            let mut resource = read_resource(self, urn, check.fields).await?;
            let privileges = if is_new {
                // Otherwise everyone could create what they call their own.
                resource.forget_owners();
                &check.privileges_if_new
            } else {
                &check.privileges
            };
            let references = item.proposal.references.as_deref();
            let policy = authorization
                .decide(urn, privileges, &resource, references)
                .map_err(|error| {
                    if is_new {
                        error
                    } else {
                        error.adding(BOTH_SIDES)
                    }
                })
                .map_err(|error| about_proposal(error, &item.proposal))?;
            self.trail.allowed_by(policy);
            self.authorize_place(authorization, urn, privileges, check.fields)
                .await
                .map_err(|error| about_proposal(error, &item.proposal))?;
        }
        self.authorize_other_targets(authorization).await
    }
}
