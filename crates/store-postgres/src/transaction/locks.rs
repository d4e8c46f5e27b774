//! What a transaction locks, and what it holds of that.

use std::collections::{BTreeSet, HashSet};

use docent_model::{Registry, Urn};
use docent_store::AspectKey;
use tokio_postgres::Row;

use super::{
    LOCK, LOCK_AT_ONCE, LOCK_FOR_DELETION, LOCK_TREE, LOCK_TREE_AT_ONCE, PostgresTransaction,
    is_in_tree, on_keys,
};
use crate::error::EngineError;
use crate::pool::{Lease, Step};
use crate::read::place_at;

/// What a piece of work will need: known when it is run again.
#[derive(Debug, Default, Clone)]
pub(crate) struct Locks {
    pub(super) rows: BTreeSet<AspectKey>,
    pub(super) trees: BTreeSet<String>,
    /// What it reads first.
    pub(super) read: Vec<AspectKey>,
}

impl Locks {
    fn of_tree(kind: &str) -> Self {
        Self {
            trees: BTreeSet::from([kind.to_owned()]),
            ..Self::default()
        }
    }

    /// The entities that are written, each as often as it has rows.
    pub(crate) fn urns(&self) -> impl Iterator<Item = &Urn> {
        self.rows.iter().map(|key| &key.urn)
    }
}

/// The rows that a step locks: only its answer says which of them are held.
#[derive(Debug, Default)]
pub(super) struct Locking {
    step: usize,
    rows: Vec<AspectKey>,
}

impl Locking {
    /// Adds such a step. One order for everybody: that of the URNs, and of an entity the key first, because many lock
    /// that one alone before they know what else they need.
    pub(super) fn push(sql: &'static str, mut rows: Vec<AspectKey>, steps: &mut Vec<Step>) -> Self {
        rows.sort_by_cached_key(|row| {
            let is_other = !Registry::get().is_key_aspect(&row.urn, row.aspect);
            (row.urn.clone(), is_other, row.aspect)
        });
        let step = steps.len();
        if !rows.is_empty() {
            steps.push(on_keys(sql, &rows));
        }
        Self { step, rows }
    }
}

impl<'l> PostgresTransaction<'l> {
    /// Locks what is not held yet: trees first, then rows, each in their order. Until the answer is there everything
    /// counts as held, because it will be asked for when the work runs again.
    pub(super) fn lock_steps(&mut self, locks: Locks, steps: &mut Vec<Step>) -> Locking {
        let holds_rows = !self.held.rows.is_empty() || !self.held_in_place.is_empty();
        for tree in locks.trees {
            if self.held.trees.insert(tree.clone()) {
                let sql = if holds_rows {
                    LOCK_TREE_AT_ONCE
                } else {
                    LOCK_TREE
                };
                steps.push(Step::new(sql, vec![Box::new(tree)]));
            }
        }
        let rows: Vec<AspectKey> = locks
            .rows
            .into_iter()
            .filter(|row| self.held.rows.insert(row.clone()))
            .collect();
        let sql = if self.is_patient { LOCK } else { LOCK_AT_ONCE };
        Locking::push(sql, rows, steps)
    }

    /// Of rows that were to be locked, those are held that were there; what is made of the others from now on is not.
    pub(super) fn hold_what_is_there(
        &mut self,
        locking: &Locking,
        answers: &[Vec<Row>],
    ) -> Result<(), EngineError> {
        if locking.rows.is_empty() {
            return Ok(());
        }
        let locked = answers.get(locking.step).into_iter().flatten();
        let places = locked.map(place_at);
        let places = places.collect::<Result<HashSet<usize>, EngineError>>()?;
        for (place, row) in locking.rows.iter().enumerate() {
            if places.contains(&place) {
                self.held.rows.insert(row.clone());
            } else {
                self.held.rows.remove(row);
            }
        }
        Ok(())
    }

    /// Holds an entity for the rest of the transaction, so that questions about all of it stay answered. Who asks them is
    /// about to remove something, so the tree in which it stands is held, too: later it would have to be asked for
    /// behind the row.
    async fn hold(&mut self, urn: &Urn, sql: &'static str) -> Result<(), EngineError> {
        self.flush().await?;
        let mut steps = self.opening();
        // Who deletes an entity asks about it once for every aspect that may refer to it.
        let key = AspectKey::of_entity(urn).filter(|key| !self.holds(key, sql));
        if key.is_some() && is_in_tree(urn) {
            self.lock_steps(Locks::of_tree(urn.entity_type()), &mut steps);
        }
        self.wanted.extend(key.iter().cloned());
        let locking = Locking::push(sql, key.iter().cloned().collect(), &mut steps);
        if steps.is_empty() {
            return Ok(());
        }
        let answers = self.lease.pipeline(&steps).await?;
        self.hold_what_is_there(&locking, &answers)?;
        if let Some(key) = key
            && sql == LOCK_FOR_DELETION
            && self.held.rows.contains(&key)
        {
            self.held_for_deletion.insert(key);
        }
        Ok(())
    }

    fn holds(&self, key: &AspectKey, sql: &'static str) -> bool {
        if sql == LOCK_FOR_DELETION {
            self.held_for_deletion.contains(key)
        } else {
            self.held.rows.contains(key)
        }
    }

    /// Holds an entity and asks about it. If there was nothing to hold, and something when it was asked, somebody has
    /// made it in between: it is held now, and asked again. (An entity without a key aspect cannot be held.)
    pub(super) async fn ask_about<T, F>(
        &mut self,
        urn: &Urn,
        sql: &'static str,
        is_none: impl Fn(&T) -> bool,
        ask: impl Fn(&'l Lease) -> F,
    ) -> Result<T, EngineError>
    where
        F: Future<Output = Result<T, EngineError>>,
    {
        self.hold(urn, sql).await?;
        let answer = ask(self.lease).await?;
        let is_held = AspectKey::of_entity(urn).is_none_or(|key| self.holds(&key, sql));
        if is_held || is_none(&answer) {
            return Ok(answer);
        }
        self.hold(urn, sql).await?;
        ask(self.lease).await
    }

    pub(super) async fn hold_tree(&mut self, kind: &str) -> Result<(), EngineError> {
        self.flush().await?;
        let mut steps = self.opening();
        self.lock_steps(Locks::of_tree(kind), &mut steps);
        self.lease.pipeline(&steps).await.map(drop)
    }
}
