//! Removes deleted groups from their members.

use docent_model::{AspectName, Urn, remove_references};
use serde_json::Value;

use super::Batch;
use crate::Error;
use crate::proposal::Proposal;

impl Batch<'_> {
    /// Removes all members from a group: they must not be those of another group of the same name.
    /// Returns whether none are left.
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
        Ok(true)
    }
}
