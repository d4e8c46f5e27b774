//! Moves within hierarchies: each needs the right on both sides.

use std::collections::HashSet;

use docent_model::Urn;

use super::{Batch, Prepared};
use crate::access::resource::Fields;
use crate::access::{Place, denied, member_aspects, parent_aspect, read_move, read_parent};
use crate::apply::authorization::Authorization;
use crate::privilege::Privilege;
use crate::proposal::Proposal;
use crate::{Error, ErrorSubject};

/// What a caller who creates the parent of stored entities must know.
const ADOPTS: &str = "It does not exist yet, but stored entities are already inside it: creating it inside \
                      another one moves them too, and needs the privilege on all entities of its type.";

impl Batch<'_> {
    /// Notes the missing entities of a list that have stored entities inside. Creating one below a
    /// parent moves those, so it counts as a move from the root. Runs before the list: what the
    /// list itself stores inside is decided on its own.
    pub(super) async fn note_adoptions(
        &mut self,
        authorization: &Authorization,
        prepared: &[Prepared],
    ) -> Result<(), Error> {
        let checked = prepared.iter().zip(&authorization.checks);
        let urns: HashSet<&Urn> = checked
            .filter(|(_, check)| check.is_some())
            .map(|(item, _)| &item.proposal.urn)
            .filter(|urn| parent_aspect(urn.entity_type()).is_some())
            .collect();
        for urn in urns {
            if !self.is_stored(urn).await? && self.has_members(urn).await? {
                self.places.insert(urn.clone(), None);
                self.adopting.insert(urn.clone());
            }
        }
        Ok(())
    }

    async fn has_members(&mut self, urn: &Urn) -> Result<bool, Error> {
        for aspect in member_aspects(urn.entity_type()).iter().copied() {
            if !self.tx.edges_into(urn, aspect, 1).await?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Notes the parent of an entity before a change that may move it. A deletion may: the list may
    /// create the entity again.
    pub(super) async fn note_place(&mut self, item: &Prepared, is_new: bool) -> Result<(), Error> {
        let Proposal { urn, change, .. } = &item.proposal;
        let Some(with_parent) = parent_aspect(urn.entity_type()) else {
            return Ok(());
        };
        let may_move = |aspect| aspect == with_parent || aspect == item.entity.key_aspect;
        if is_new || self.places.contains_key(urn) || !change.aspect().is_none_or(may_move) {
            return Ok(());
        }
        let parent = read_parent(self, urn).await?;
        self.places.insert(urn.clone(), parent);
        Ok(())
    }

    /// Fails for an entity that the list has moved, unless the caller has one of the privileges on
    /// both places.
    pub(super) async fn authorize_place(
        &mut self,
        authorization: &Authorization,
        urn: &Urn,
        privileges: &[Privilege],
        fields: Fields,
    ) -> Result<(), Error> {
        let Some(before) = self.places.get(urn).cloned() else {
            return Ok(());
        };
        let rights = &authorization.rights;
        for Place { parent, resource } in read_move(self, urn, before, fields).await? {
            if let Some(policy) = rights.granted_by(privileges, &resource, None) {
                self.trail.allowed_by(&policy.urn);
                continue;
            }
            let named = self.first_visible(parent.iter().cloned().collect()).await?;
            let scope = rights.limiting_scope(privileges, Some(&resource));
            let actor = &authorization.actor;
            let error = denied(actor, scope.as_deref(), privileges, named.as_ref());
            let is_adoption = parent.is_none() && self.adopting.contains(urn);
            let error = match named {
                Some(_) => error,
                None => error.about(ErrorSubject::entity(urn)),
            };
            return Err(if is_adoption {
                error.adding(ADOPTS)
            } else {
                error
            });
        }
        Ok(())
    }
}
