//! Loaded entities, rows and results of resolvers.

use std::hash::BuildHasher as _;
use std::sync::Arc;

use docent_catalog::view::RESTRICTED;
use docent_catalog::{LoadedBytes, StoredAspect};
use docent_model::{AspectName, EntitySpec, Urn};
use foldhash::HashMap;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use serde_json::Value;

use crate::error::Failure;
use crate::json::{Parsed, View};
use crate::plan::{ObjectPlan, ValuePlan};

/// An entity loaded for an [`ObjectPlan`]. An entity has one slot per plan, however often it
/// occurs.
#[derive(Debug)]
pub(crate) struct Slot<'p> {
    pub(crate) urn: Urn,
    pub(crate) plan: &'p ObjectPlan,
    /// The index of the cell of its first need.
    pub(crate) first_cell: usize,
    /// The index of the outcome of its first call.
    pub(crate) first_outcome: usize,
    /// All rows, if the plan needs all aspects.
    pub(crate) all_rows: Vec<(AspectName, usize)>,
    /// Set if its level could not be read.
    pub(crate) failure: Option<Failure>,
}

/// An aspect of an entity.
#[derive(Debug, Default)]
pub(crate) struct Cell {
    /// The row, if the entity has the aspect.
    pub(crate) row: Option<usize>,
    /// Whether the aspect exists, if its row was not requested.
    pub(crate) exists: bool,
    pub(crate) content: Content,
}

#[derive(Debug, Default)]
pub(crate) enum Content {
    /// The aspect is missing, or no field reads it.
    #[default]
    Empty,
    Parsed(Parsed),
    /// The stored text is not JSON.
    Corrupt,
}

impl Slot<'_> {
    /// Whether it stands for an entity that the caller may not see.
    pub(crate) fn is_stand_in(&self) -> bool {
        let is_of_type = |entity: &EntitySpec| entity.name == self.urn.entity_type();
        self.urn.entity_type() == RESTRICTED && !self.plan.ty.entity().is_some_and(is_of_type)
    }
}

/// The result of a batch resolver for one object.
pub(crate) type Outcome = Result<Box<Value>, Failure>;

/// Identifies a resolver call for a plain object: the field, the owner, and the value in the owner.
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
    /// Results of resolvers for plain objects.
    pub(crate) plain_outcomes: HashMap<CallKey, Outcome>,
    /// The memory of the rows.
    pub(crate) bytes: LoadedBytes,
    /// The URNs that text fields show for what the caller may not see.
    stand_ins: HashMap<Urn, Urn>,
    /// The slots of all plans, by [`Reference::hash`].
    index: HashTable<Reference>,
    hashing: RandomState,
}

/// An entity as a plan refers to it.
#[derive(Debug)]
struct Reference {
    /// The address of the plan.
    plan: usize,
    urn: Urn,
    slot: usize,
}

impl Reference {
    fn hash(plan: usize, urn: &str, hashing: &RandomState) -> u64 {
        hashing.hash_one((plan, urn))
    }

    fn is(&self, plan: usize, urn: &str) -> bool {
        self.plan == plan && self.urn.as_str() == urn
    }
}

impl<'p> Loaded<'p> {
    /// The slot of an entity for a plan.
    pub(crate) fn find(&self, plan: &ObjectPlan, urn: &str) -> Option<usize> {
        let plan = address(plan);
        let hash = Reference::hash(plan, urn, &self.hashing);
        let found = self.index.find(hash, |reference| reference.is(plan, urn));
        found.map(|reference| reference.slot)
    }

    /// Adds an entity unless it has a slot, under another URN if there is one.
    pub(crate) fn add(&mut self, plan: &'p ObjectPlan, urn: Urn, shown: Option<Urn>) {
        let (at, hashing) = (address(plan), &self.hashing);
        let entry = self.index.entry(
            Reference::hash(at, urn.as_str(), hashing),
            |reference| reference.is(at, urn.as_str()),
            |reference| Reference::hash(reference.plan, reference.urn.as_str(), hashing),
        );
        if let Entry::Vacant(entry) = entry {
            let shown = shown.unwrap_or_else(|| urn.clone());
            entry.insert(Reference {
                plan: at,
                urn,
                slot: self.slots.len(),
            });
            self.slots.push(Slot {
                urn: shown,
                plan,
                first_cell: 0,
                first_outcome: 0,
                all_rows: Vec::new(),
                failure: None,
            });
        }
    }

    /// Shows another URN in text fields.
    pub(crate) fn hide(&mut self, urn: Urn, shown: Urn) {
        self.stand_ins.insert(urn, shown);
    }

    /// The URN that a text field shows, if it is another one.
    pub(crate) fn stand_in(&self, text: &str) -> Option<&Urn> {
        if self.stand_ins.is_empty() {
            return None;
        }
        self.stand_ins.get(&Urn::parse(text).ok()?)
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

    /// Whether an entity exists; false if its plan has no existence check.
    pub(crate) fn exists(&self, slot: usize) -> bool {
        let slot = &self.slots[slot];
        slot.plan.key.is_some_and(|key| {
            let cell = &self.cells[slot.first_cell + key];
            cell.exists || cell.row.is_some()
        })
    }
}

fn address(plan: &ObjectPlan) -> usize {
    std::ptr::from_ref(plan) as usize
}
