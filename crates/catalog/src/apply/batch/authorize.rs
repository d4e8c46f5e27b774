//! The decisions about a list that depend on stored data.

use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, AspectRow};

use super::{Batch, Prepared};
use crate::access::{AspectSource, denied, read_resource};
use crate::apply::authorization::{Authorization, Check, may_move};
use crate::apply::prepare::about_proposal;
use crate::privilege::EDIT_ENTITY;
use crate::proposal::{Change, Proposal, Requirement};
use crate::{Error, ErrorSubject};

/// What is decided before a change.
pub(super) enum Decision<'p> {
    Allowed,
    Waits(Deferred<'p>),
    /// The caller may neither change nor see the entity. The change is left out, like that of a
    /// missing entity; if it would create one, the list fails at its end.
    Hidden(Option<Error>),
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
        self.hidden.contains(urn) && !self.created.contains(urn)
    }

    /// Fails like a change of a missing entity, if the change needs one that the caller may not
    /// see. This comes before the decision about the change: a denial would tell that there is
    /// something.
    pub(super) fn check_visible(&self, item: &Prepared) -> Result<(), Error> {
        let Proposal { urn, change, .. } = &item.proposal;
        if !self.hides(urn) {
            return Ok(());
        }
        for requirement in &item.proposal.requirements {
            if let Requirement::Exists {
                urn: required,
                otherwise,
                ..
            } = requirement
                && required == urn
            {
                let subject = ErrorSubject::entity(urn);
                return Err(Error::no_entity(otherwise.as_str()).about(subject));
            }
        }
        if let Change::Edit { edit, .. } = change {
            edit.run(None, &self.stamp)?;
        }
        Ok(())
    }

    /// Decides about a change before it happens, or returns the decision that must wait.
    pub(super) async fn authorize<'p>(
        &mut self,
        authorization: &Authorization,
        item: &'p Prepared,
        check: &'p Check,
    ) -> Result<Decision<'p>, Error> {
        let urn = &item.proposal.urn;
        let is_new = !self.exists(urn, item.entity).await? || self.created.contains(urn);
        if !is_new {
            let resource = read_resource(self, urn, check.fields).await?;
            let references = item.proposal.references.as_deref();
            let decision = authorization.decide(urn, &check.privileges, &resource, references);
            if decision.is_err() && self.hides(urn) {
                let creates = item.proposal.change.may_create();
                let denial = creates
                    .then(|| denied(&authorization.actor, &check.privileges_if_new, Some(urn)));
                return Ok(Decision::Hidden(denial));
            }
            self.trail.allowed_by(decision?);
        }
        if !is_new && !may_move(&item.proposal.change) {
            return Ok(Decision::Allowed);
        }
        Ok(Decision::Waits(Deferred {
            item,
            check,
            is_new,
        }))
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

    /// Decides about new and moved entities, after the whole list.
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
                .map_err(|error| about_proposal(error, &item.proposal))?;
            self.trail.allowed_by(policy);
        }
        Ok(())
    }
}
