//! What has been loaded so far.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use docent_catalog::StoredAspect;
use docent_model::{AspectName, Urn};
use serde_json::Value;

use crate::error::Failure;
use crate::json::{Parsed, View};
use crate::plan::{ObjectPlan, ValuePlan};

/// So few entities are looked through faster than hashed.
const FEW: usize = 12;

/// An entity at a place of the query. The same entity at the same place is one slot, however often it occurs.
#[derive(Debug)]
pub(crate) struct Slot<'p> {
    pub(crate) urn: Urn,
    pub(crate) plan: &'p ObjectPlan,
    /// Its needs are the cells from here on.
    pub(crate) first_cell: usize,
    /// The results of its calls are the outcomes from here on.
    pub(crate) first_outcome: usize,
    /// All its rows, if the plan needs all.
    pub(crate) all_rows: Vec<(AspectName, usize)>,
    /// Its level could not be read.
    pub(crate) failure: Option<Failure>,
    /// The slot with the same hash before this one.
    previous: Option<usize>,
}

/// An aspect of an entity.
#[derive(Debug, Default)]
pub(crate) struct Cell {
    /// The row, if the entity has the aspect.
    pub(crate) row: Option<usize>,
    /// The aspect is there, though its row was not asked for.
    pub(crate) witnessed: bool,
    pub(crate) content: Content,
}

#[derive(Debug, Default)]
pub(crate) enum Content {
    /// Nothing is there, or nothing of it is wanted.
    #[default]
    Nothing,
    Parsed(Parsed),
    /// The stored text is not JSON.
    Damaged,
}

/// What a batch resolver gave for one object.
pub(crate) type Outcome = Result<Box<Value>, Failure>;

/// Names one call of a resolver on a plain object: the field, the owner, and which of the owner's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    field: usize,
    owner: usize,
    value: usize,
}

impl CallKey {
    pub(crate) fn new(plan: &ValuePlan, owner: usize, value: View<'_>) -> Self {
        Self {
            field: std::ptr::from_ref(plan) as usize,
            owner,
            value: value.address(),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Loaded<'p> {
    pub(crate) slots: Vec<Slot<'p>>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) rows: Vec<Arc<StoredAspect>>,
    pub(crate) outcomes: Vec<Outcome>,
    /// What resolvers gave for plain objects.
    pub(crate) plain_outcomes: HashMap<CallKey, Outcome>,
    /// The latest slot by hash; empty as long as there are few.
    index: HashMap<u64, usize>,
    hasher: RandomState,
}

impl<'p> Loaded<'p> {
    /// The slot of an entity at the place of a plan.
    pub(crate) fn find(&self, plan: &ObjectPlan, urn: &str) -> Option<usize> {
        let is_it = |slot: &Slot<'_>| std::ptr::eq(slot.plan, plan) && slot.urn.as_str() == urn;
        if self.index.is_empty() {
            return self.slots.iter().position(is_it);
        }
        let mut next = self.index.get(&self.hash(plan, urn)).copied();
        while let Some(index) = next {
            let slot = &self.slots[index];
            if is_it(slot) {
                return Some(index);
            }
            next = slot.previous;
        }
        None
    }

    /// Adds an entity unless it is there.
    pub(crate) fn add(&mut self, plan: &'p ObjectPlan, urn: Urn) {
        if self.find(plan, urn.as_str()).is_some() {
            return;
        }
        self.slots.push(Slot {
            urn,
            plan,
            first_cell: 0,
            first_outcome: 0,
            all_rows: Vec::new(),
            failure: None,
            previous: None,
        });
        if !self.index.is_empty() {
            self.note(self.slots.len() - 1);
        } else if self.slots.len() > FEW {
            for index in 0..self.slots.len() {
                self.note(index);
            }
        }
    }

    fn note(&mut self, index: usize) {
        let slot = &self.slots[index];
        let hash = self.hash(slot.plan, slot.urn.as_str());
        self.slots[index].previous = self.index.insert(hash, index);
    }

    fn hash(&self, plan: &ObjectPlan, urn: &str) -> u64 {
        self.hasher
            .hash_one((std::ptr::from_ref(plan) as usize, urn))
    }

    /// The rows of an entity that its plan needs.
    pub(crate) fn rows_of(&self, slot: usize) -> Vec<(AspectName, &StoredAspect)> {
        let slot = &self.slots[slot];
        if slot.plan.needs_all {
            return slot
                .all_rows
                .iter()
                .map(|(aspect, row)| (*aspect, &*self.rows[*row]))
                .collect();
        }
        let cells = &self.cells[slot.first_cell..];
        slot.plan
            .needs
            .iter()
            .zip(cells)
            .filter_map(|(need, cell)| Some((need.aspect, &*self.rows[cell.row?])))
            .collect()
    }

    /// Whether an entity exists; only known if its plan wants to know.
    pub(crate) fn exists(&self, slot: usize) -> bool {
        let slot = &self.slots[slot];
        slot.plan.key.is_some_and(|key| {
            let cell = &self.cells[slot.first_cell + key];
            cell.witnessed || cell.row.is_some()
        })
    }
}
