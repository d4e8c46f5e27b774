//! The decisions about a list that depend on stored data.

use docent_model::Urn;
use docent_store::{AspectKey, AspectRow};

use super::{Batch, Prepared};
use crate::Error;
use crate::access::{AspectSource, read_resource};
use crate::apply::authorization::{Authorization, Check, may_move};
use crate::apply::prepare::about_proposal;

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
    /// Decides about a change before it happens, or returns the decision that must wait.
    pub(super) async fn authorize<'p>(
        &mut self,
        authorization: &Authorization,
        item: &'p Prepared,
        check: &'p Check,
    ) -> Result<Option<Deferred<'p>>, Error> {
        let urn = &item.proposal.urn;
        let is_new = !self.exists(urn, item.entity).await? || self.created.contains(urn);
        if !is_new {
            let resource = read_resource(self, urn, check.fields).await?;
            let references = item.proposal.references.as_deref();
            authorization.decide(urn, &check.privileges, &resource, references)?;
        }
        let waits = is_new || may_move(&item.proposal.change);
        Ok(waits.then_some(Deferred {
            item,
            check,
            is_new,
        }))
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
            authorization
                .decide(
                    urn,
                    privileges,
                    &resource,
                    item.proposal.references.as_deref(),
                )
                .map_err(|error| about_proposal(error, &item.proposal))?;
        }
        Ok(())
    }
}
