//! Moves within hierarchies: each needs the right on both sides.

use docent_model::Urn;

use super::{Batch, Prepared};
use crate::access::resource::Fields;
use crate::access::{Place, denied, parent_aspect, read_move, read_parent};
use crate::apply::authorization::Authorization;
use crate::privilege::Privilege;
use crate::proposal::Proposal;
use crate::{Error, ErrorSubject};

impl Batch<'_> {
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
            let named = self.first_visible(parent.into_iter().collect()).await?;
            let scope = rights.limiting_scope(privileges, Some(&resource));
            let actor = &authorization.actor;
            let error = denied(actor, scope.as_deref(), privileges, named.as_ref());
            return Err(match named {
                Some(_) => error,
                None => error.about(ErrorSubject::entity(urn)),
            });
        }
        Ok(())
    }
}
