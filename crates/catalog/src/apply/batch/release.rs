//! Taking something that is about to be deleted out of the aspects that refer to it, a bounded number at once.

use docent_model::{AspectName, Registry, Urn};
use docent_store::AspectKey;

use super::Batch;
use crate::proposal::{Change, Proposal};
use crate::{ConflictReason, Error};

/// How many references one transaction takes out; others wait for it.
const RELEASED_AT_ONCE: usize = 1000;
/// How many are read at once.
const LOADED_AT_ONCE: usize = 100;

impl Batch<'_> {
    /// Edits one aspect of all who refer to `target` by it; says whether none are left. `edit` must take the reference
    /// out.
    pub(super) async fn release(
        &mut self,
        target: &Urn,
        aspect: AspectName,
        edit: impl Fn(&Urn) -> Proposal + Sync,
    ) -> Result<bool, Error> {
        let room = RELEASED_AT_ONCE.saturating_sub(self.released);
        let mut holders = self.tx.edges_into(target, aspect, room + 1).await?;
        let mut is_done = holders.len() <= room;
        holders.truncate(room);
        let before = self.budget.produced();
        for (number, some) in holders.chunks(LOADED_AT_ONCE).enumerate() {
            if number > 0 && self.budget.is_half_used() {
                is_done = false;
                break;
            }
            // Whoever writes an aspect looks whether the entity is there.
            let own = some
                .iter()
                .filter_map(|holder| AspectKey::of_entity(&holder.urn));
            let keys = some
                .iter()
                .map(|holder| AspectKey::new(&holder.urn, aspect))
                .chain(own);
            self.load(keys).await?;
            for holder in some {
                let proposal = edit(&holder.urn);
                let Change::Edit { aspect, edit } = &proposal.change else {
                    continue;
                };
                let entity = Registry::get().check_urn(&proposal.urn)?;
                self.edit(&proposal, entity, *aspect, edit).await?;
            }
            self.released += some.len();
        }
        if !is_done && room > 0 && self.budget.produced() == before {
            let message = format!(
                "{target} cannot be taken out of the {aspect} of some entities, so it stays: write those aspects anew \
                 without it"
            );
            return Err(Error::conflict(ConflictReason::InUse, message).naming(target));
        }
        Ok(is_done)
    }

    /// What to do with an entity that still has references when the transaction has done enough.
    pub(super) fn go_on_later(&mut self, urn: &Urn) -> Result<bool, Error> {
        if !self.is_resumable {
            let message = format!(
                "more than {RELEASED_AT_ONCE} entities refer to {urn} and to what the list deletes before it, so that takes \
                 several transactions: delete it in a request of its own"
            );
            return Err(Error::too_large(message).naming(urn));
        }
        self.applied.unfinished = true;
        Ok(false)
    }
}
