//! Removes references to an entity that is about to be deleted, a bounded number per transaction.

use docent_model::{AspectName, Registry, Urn};
use docent_store::AspectKey;

use super::{Batch, Prepared};
use crate::proposal::{Change, Proposal};
use crate::{ConflictReason, Error, external_record};

/// How many references a list removes that must be one transaction.
pub(super) const MAX_REMOVED: usize = 1000;
/// How many each of several transactions removes. Other writers wait for one of them, which takes
/// some ten milliseconds.
const REMOVED_AT_ONCE: usize = 200;
/// How many aspects one call reads: all of them may be as large as a request.
const LOADED_AT_ONCE: usize = 10;

impl Batch<'_> {
    /// Edits one aspect of all entities that refer to `target` by it; returns whether none are
    /// left. `edit` must remove the reference.
    pub(super) async fn release(
        &mut self,
        target: &Urn,
        aspect: AspectName,
        edit: impl Fn(&Urn) -> Proposal + Sync,
    ) -> Result<bool, Error> {
        let room = self.removable();
        let mut holders = self.tx.edges_into(target, aspect, room + 1).await?;
        let mut is_done = holders.len() <= room;
        holders.truncate(room);
        let before = self.budget.changes();
        'holders: for some in holders.chunks(LOADED_AT_ONCE) {
            // A write to an aspect checks that its entity exists.
            let own = some
                .iter()
                .filter_map(|holder| AspectKey::of_entity(&holder.urn));
            let keys = some
                .iter()
                .map(|holder| AspectKey::new(&holder.urn, aspect))
                .chain(own);
            self.load(keys).await?;
            for holder in some {
                let has_removed = self.budget.changes() > before;
                if has_removed && self.is_resumable && self.budget.is_chunk_full() {
                    is_done = false;
                    break 'holders;
                }
                let proposal = edit(&holder.urn);
                let entity = Registry::get().check_urn(&proposal.urn)?;
                match &proposal.change {
                    Change::Edit { aspect, edit } => {
                        self.edit(&proposal, entity, *aspect, edit).await?;
                    }
                    Change::RemoveReferences { aspect, target } => {
                        self.remove_references(&proposal, *aspect, target).await?;
                    }
                    _ => {}
                }
                self.released += 1;
            }
        }
        if !is_done && room > 0 && self.budget.changes() == before {
            let message = format!(
                "{target} cannot be removed from the {aspect} of some entities, so it was not deleted: rewrite \
                 those aspects without it"
            );
            return Err(Error::conflict(ConflictReason::InUse, message).naming(target));
        }
        Ok(is_done)
    }

    /// Removes all references to an entity from these aspects; returns whether none are left. So
    /// the children of a container or glossary node move to the root: they must not have a parent
    /// that does not exist, nor be those of another entity of the same name.
    pub(super) async fn release_from(
        &mut self,
        target: &Urn,
        aspects: &[AspectName],
    ) -> Result<bool, Error> {
        for aspect in aspects.iter().copied() {
            let edit = |holder: &Urn| {
                let target = target.clone();
                Proposal::new(holder.clone(), Change::RemoveReferences { aspect, target })
            };
            if !self.release(target, aspect, edit).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How many more references the transaction may remove.
    pub(super) fn removable(&self) -> usize {
        let limit = if self.is_resumable {
            REMOVED_AT_ONCE
        } else {
            MAX_REMOVED
        };
        limit.saturating_sub(self.released)
    }

    /// Leaves an entity with remaining references to the next transaction, if the list may have
    /// one.
    pub(super) fn continue_later(&mut self, urn: &Urn) -> Result<bool, Error> {
        if !self.is_resumable {
            let message = format!(
                "more than {MAX_REMOVED} entities refer to {urn} and to other entities that the list deletes, which \
                 takes several transactions: delete it in a request of its own"
            );
            return Err(Error::too_large(message).naming(urn));
        }
        self.applied.unfinished = true;
        Ok(false)
    }
}

/// Whether the list may run in several transactions, each continuing where the one before stopped.
/// A list of different changes may not: it promises all or nothing. The records of external users
/// do not count, because they are about the user whom the other change deletes.
pub(super) fn is_resumable(prepared: &[Prepared]) -> bool {
    let is_rollback = |item: &Prepared| matches!(item.proposal.change, Change::RollbackRun { .. });
    let is_counted = |item: &&Prepared| item.entity.name != external_record::ENTITY;
    prepared.iter().filter(is_counted).count() == 1 || prepared.iter().all(is_rollback)
}
