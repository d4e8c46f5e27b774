//! What the entities of a level need from the store.

use std::collections::HashMap;

use docent_catalog::AspectKey;
use docent_model::{AspectName, Urn};

use super::loaded::Slot;

/// The store reads of a level.
#[derive(Default)]
pub(super) struct LevelRequest<'s> {
    pub(super) rows: KeyList<'s>,
    /// Existence checks.
    pub(super) exists: KeyList<'s>,
    /// Slots that need all aspects of their entity.
    pub(super) entities: Vec<usize>,
}

#[derive(Default)]
pub(super) struct KeyList<'s> {
    pub(super) keys: Vec<AspectKey>,
    /// Pairs of a key and a cell for its result.
    pub(super) cells: Vec<(usize, usize)>,
    indexes: HashMap<(&'s str, AspectName), usize>,
}

impl<'s> LevelRequest<'s> {
    pub(super) fn new(slots: &'s [Slot<'_>], first: usize) -> Self {
        let mut request = Self::default();
        let needs = slots.iter().map(|slot| slot.plan.needs.len()).sum();
        request.rows.keys.reserve(needs);
        request.rows.cells.reserve(needs);
        // The slots of one plan are different entities; only different plans can need the same row.
        let may_repeat = slots
            .iter()
            .any(|slot| !std::ptr::eq(slot.plan, slots[0].plan));
        for (index, slot) in slots.iter().enumerate() {
            if slot.plan.needs_all {
                request.entities.push(first + index);
                continue;
            }
            for (number, need) in slot.plan.needs.iter().enumerate() {
                let keys = if need.exists_only {
                    &mut request.exists
                } else {
                    &mut request.rows
                };
                keys.add(&slot.urn, need.aspect, slot.first_cell + number, may_repeat);
            }
        }
        request
    }
}

impl<'s> KeyList<'s> {
    fn add(&mut self, urn: &'s Urn, aspect: AspectName, cell: usize, may_repeat: bool) {
        let mut index = self.keys.len();
        if may_repeat {
            index = *self.indexes.entry((urn.as_str(), aspect)).or_insert(index);
        }
        if index == self.keys.len() {
            self.keys.push(AspectKey::new(urn, aspect));
        }
        self.cells.push((index, cell));
    }
}
