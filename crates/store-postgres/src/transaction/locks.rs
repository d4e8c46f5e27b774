//! The locks of a transaction.

use std::collections::{BTreeSet, HashMap, HashSet};

use docent_model::{Registry, Urn};
use docent_store::AspectKey;
use tokio_postgres::Row;

use super::{
    LOCK, LOCK_EXISTENCE, LOCK_FOR_DELETION, LOCK_NOWAIT, LOCK_TREE, LOCK_TREE_NOWAIT, is_in_tree,
    keys_step,
};
use crate::error::EngineError;
use crate::pool::Step;
use crate::read::index_at;

/// Rows and trees to lock.
#[derive(Debug, Default, Clone)]
pub(crate) struct LockRequest {
    pub(super) rows: BTreeSet<AspectKey>,
    pub(super) trees: BTreeSet<String>,
}

impl LockRequest {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.trees.is_empty()
    }
}

/// How strong the lock of a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Keeps the entity from being deleted.
    Existence,
    /// Excludes other writers of the entity.
    Write,
    /// Also excludes transactions that attach something to the entity.
    Deletion,
}

impl Strength {
    fn statement(self) -> &'static str {
        match self {
            Self::Existence => LOCK_EXISTENCE,
            Self::Write => LOCK,
            Self::Deletion => LOCK_FOR_DELETION,
        }
    }
}

/// The rows that a step of a pipeline locks. Its result says which of them exist and are therefore
/// locked.
#[derive(Debug)]
pub(super) struct LockStep {
    index: usize,
    strength: Strength,
    rows: Vec<AspectKey>,
}

impl LockStep {
    /// Adds a step that locks one row and waits for it.
    pub(super) fn of_row(row: AspectKey, strength: Strength, steps: &mut Vec<Step>) -> Self {
        Self::push(strength.statement(), strength, vec![row], steps)
    }

    /// Adds a step, if there are rows. All transactions lock in the order of URNs, and the key
    /// aspect of an entity first, because many lock that row alone before they know what else they
    /// need.
    fn push(
        sql: &'static str,
        strength: Strength,
        mut rows: Vec<AspectKey>,
        steps: &mut Vec<Step>,
    ) -> Self {
        rows.sort_by_cached_key(|row| {
            let is_other = !Registry::get().is_key_aspect(&row.urn, row.aspect);
            (row.urn.clone(), is_other, row.aspect)
        });
        let index = steps.len();
        if !rows.is_empty() {
            steps.push(keys_step(sql, &rows));
        }
        Self {
            index,
            strength,
            rows,
        }
    }
}

/// What a transaction has locked, and what a retry has to lock first.
#[derive(Debug, Default)]
pub(super) struct LockSet {
    rows: HashMap<AspectKey, Strength>,
    /// The last entity in URN order with a locked row.
    last: Option<Urn>,
    trees: BTreeSet<String>,
    /// Known from an earlier attempt, and requested before anything else.
    initial: LockRequest,
    /// To be locked when the pending writes are sent.
    pending: LockRequest,
    /// Everything that this attempt locked or tried to lock, including rows that do not exist yet.
    needed: LockRequest,
}

impl LockSet {
    /// Starts with the locks that an earlier attempt needed.
    pub(super) fn new(initial: LockRequest) -> Self {
        Self {
            needed: initial.clone(),
            initial,
            ..Self::default()
        }
    }

    /// The locks for the next attempt.
    pub(super) fn needed(&self) -> LockRequest {
        self.needed.clone()
    }

    pub(super) fn holds(&self, row: &AspectKey, strength: Strength) -> bool {
        self.rows.get(row).is_some_and(|held| *held >= strength)
    }

    /// Whether no other transaction can write the aspect: its row, or that of its entity's key
    /// aspect, is locked.
    pub(super) fn excludes_writers_of(&self, key: &AspectKey) -> bool {
        self.holds(key, Strength::Write)
            || AspectKey::of_entity(&key.urn).is_some_and(|own| self.holds(&own, Strength::Write))
    }

    /// Adds a row to lock with the pending writes.
    pub(super) fn add_row(&mut self, row: AspectKey, exists: bool) {
        // A missing row cannot be locked; inserting it has the same effect.
        if exists {
            self.pending.rows.insert(row.clone());
        }
        self.needed.rows.insert(row);
    }

    /// Adds a tree to lock with the pending writes.
    pub(super) fn add_tree(&mut self, kind: &str) {
        self.pending.trees.insert(kind.to_owned());
        self.needed.trees.insert(kind.to_owned());
    }

    /// The locks of a read: the entities that are about to be written.
    ///
    /// These are the entities whose key aspect is read together with another aspect. An aspect
    /// alone is read to make a decision: of the platform of a dataset, for example, which many
    /// transactions read and none of them writes.
    pub(super) fn for_read(&mut self, keys: &[AspectKey]) -> LockRequest {
        let mut request = std::mem::take(&mut self.initial);
        let registry = Registry::get();
        let is_key = |key: &AspectKey| registry.is_key_aspect(&key.urn, key.aspect);
        let of_entities: HashSet<&Urn> = keys
            .iter()
            .filter(|key| is_key(key))
            .map(|key| &key.urn)
            .collect();
        let of_aspects: HashSet<&Urn> = keys
            .iter()
            .filter(|key| !is_key(key))
            .map(|key| &key.urn)
            .collect();
        let rows = keys
            .iter()
            .filter(|key| of_entities.contains(&key.urn) && of_aspects.contains(&key.urn));
        request.rows.extend(rows.cloned());
        self.needed.rows.extend(request.rows.iter().cloned());
        request
    }

    /// The locks of the pending writes.
    pub(super) fn for_writes(&mut self) -> LockRequest {
        let mut request = std::mem::take(&mut self.initial);
        let pending = std::mem::take(&mut self.pending);
        request.rows.extend(pending.rows);
        request.trees.extend(pending.trees);
        request
    }

    pub(super) fn for_tree(&mut self, kind: &str) -> LockRequest {
        let mut request = std::mem::take(&mut self.initial);
        request.trees.insert(kind.to_owned());
        self.needed.trees.insert(kind.to_owned());
        request
    }

    /// The locks of a query about a whole entity. It precedes a removal, so the tree of the
    /// entity is included.
    pub(super) fn for_entity(&mut self, key: &AspectKey) -> LockRequest {
        self.needed.rows.insert(key.clone());
        if is_in_tree(&key.urn) {
            self.for_tree(key.urn.entity_type())
        } else {
            std::mem::take(&mut self.initial)
        }
    }

    /// Adds the steps that lock what is not locked yet: trees, then rows, each in their order.
    ///
    /// A transaction that waits for a lock out of this order could deadlock. So it fails instead,
    /// and the next attempt requests all its locks first.
    pub(super) fn steps(&mut self, request: LockRequest, steps: &mut Vec<Step>) -> LockStep {
        let tree_sql = if self.rows.is_empty() {
            LOCK_TREE
        } else {
            LOCK_TREE_NOWAIT
        };
        for tree in request.trees {
            if self.trees.insert(tree.clone()) {
                steps.push(Step::new(tree_sql, vec![Box::new(tree)]));
            }
        }
        let rows: Vec<AspectKey> = request
            .rows
            .into_iter()
            .filter(|row| !self.holds(row, Strength::Write))
            .collect();
        let first = rows.iter().map(|row| &row.urn).min();
        let is_in_order = self.last.is_none() || self.last.as_ref() < first;
        let sql = if is_in_order { LOCK } else { LOCK_NOWAIT };
        LockStep::push(sql, Strength::Write, rows, steps)
    }

    /// Adds the step that keeps entities from being deleted.
    pub(super) fn existence_step(&mut self, mut rows: Vec<AspectKey>, steps: &mut Vec<Step>) {
        rows.retain(|row| !self.holds(row, Strength::Existence));
        let step = LockStep::push(LOCK_EXISTENCE, Strength::Existence, rows, steps);
        // Whether they still exist is checked behind it.
        for row in step.rows {
            self.insert(row, Strength::Existence);
        }
    }

    /// Records which rows a step has locked. Others may create the missing ones at any time.
    pub(super) fn confirm(
        &mut self,
        step: LockStep,
        results: &[Vec<Row>],
    ) -> Result<(), EngineError> {
        if step.rows.is_empty() {
            return Ok(());
        }
        let locked = results.get(step.index).into_iter().flatten();
        let locked = locked.map(index_at);
        let locked = locked.collect::<Result<HashSet<usize>, EngineError>>()?;
        for (index, row) in step.rows.into_iter().enumerate() {
            if locked.contains(&index) {
                self.insert(row, step.strength);
            }
        }
        Ok(())
    }

    fn insert(&mut self, row: AspectKey, strength: Strength) {
        if self.last.as_ref() < Some(&row.urn) {
            self.last = Some(row.urn.clone());
        }
        let held = self.rows.entry(row).or_insert(strength);
        *held = strength.max(*held);
    }
}
