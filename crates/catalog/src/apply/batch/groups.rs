//! Removes deleted users and groups from what they own, and groups from their members.

use docent_model::aspects::Ownership;
use docent_model::{AspectName, Urn, remove_references};
use serde_json::Value;

use super::Batch;
use crate::proposal::Proposal;
use crate::{Error, owners};

impl Batch<'_> {
    /// Removes all members from a group: they must not be those of another group of the same name.
    /// Then removes it from owners. Returns whether none are left.
    pub(super) async fn release_group(&mut self, group: &Urn) -> Result<bool, Error> {
        for aspect in [
            AspectName::NATIVE_GROUP_MEMBERSHIP,
            AspectName::GROUP_MEMBERSHIP,
        ] {
            let edit = |member: &Urn| {
                let group = group.clone();
                Proposal::edit_present::<Value, _>(member.clone(), aspect, move |mut value, _| {
                    remove_references(aspect, &mut value, group.as_str());
                    Ok(value)
                })
            };
            if !self.release(group, aspect, edit).await? {
                return Ok(false);
            }
        }
        self.release_owner(group).await
    }

    /// Removes a user or group from all owners: policies for owners must not be for another one of
    /// the same name. Returns whether it owns nothing any more.
    pub(super) async fn release_owner(&mut self, owner: &Urn) -> Result<bool, Error> {
        let aspect = AspectName::OWNERSHIP;
        let edit = |owned: &Urn| {
            let owner = owner.clone();
            Proposal::edit_present::<Ownership, _>(owned.clone(), aspect, move |current, _| {
                Ok(owners::without(current, &owner))
            })
        };
        self.release(owner, aspect, edit).await
    }

    /// Removes an ownership type from all owners, who stay. Returns whether none has it any more.
    pub(super) async fn release_ownership_type(&mut self, kind: &Urn) -> Result<bool, Error> {
        let aspect = AspectName::OWNERSHIP;
        let edit = |owned: &Urn| {
            let kind = kind.clone();
            Proposal::edit_present::<Ownership, _>(owned.clone(), aspect, move |current, _| {
                Ok(owners::without_type(current, &kind))
            })
        };
        self.release(kind, aspect, edit).await
    }
}
