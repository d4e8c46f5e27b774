//! A transaction as a piece of work sees it.
//!
//! Work reads without locks, decides, and hands over its writes; those are gathered and sent together with the commit, in
//! one round trip: lock what is written, make sure that nothing of what was read has changed, write, log, commit. If
//! something has changed, the work is run again ([`crate::run`]), and then it has the locks from the start, so that it is
//! its turn sooner or later. So a write that nobody disturbs takes two round trips, and one that is disturbed waits like
//! in a queue.
//!
//! What is locked:
//! - the row of the key aspect of each entity that is written, in URN order: writers of an entity come one after the
//!   other; and behind it the latest rows that are written, for entities without a key aspect;
//! - that row of each entity that was only found to exist, in a way that keeps it from being deleted and nothing else, as
//!   foreign keys do it;
//! - the tree of a kind as a whole, for work that asks about placements or changes one: who stands where is a question
//!   about many entities. Trees come before rows: who holds a row does not wait for a tree, but runs again and asks for
//!   it first.
//!
//! Locks of rows live in the rows: there may be any number of them, where advisory locks share a small table. Isolation
//! is "read committed", where each statement sees what was committed before it; "serializable" was the losing option,
//! because its conflicts are those of pages of an index: in a small catalog, and wherever an ingestion writes neighbours,
//! everybody would conflict with everybody.

mod locks;
mod statements;

use std::collections::{BTreeSet, HashMap, HashSet};

use async_trait::async_trait;
use docent_model::{AspectName, Registry, Urn, has_tree, places};
use docent_store::audit::expected;
use docent_store::{
    AspectKey, AspectWrite, Effect, LogicalVersion, PointRange, Related, StoreError, StoredAspect,
    Transaction,
};

use tokio_postgres::Row;

use crate::contended::Contended;
use crate::error::EngineError;
use crate::pool::{Lease, Step};
use crate::read::{self, key_arrays, place_at};
use crate::segment::{LogEntries, Segment};
use crate::values::{aspect_name, count_at, stored_aspect};
use crate::{points, trees};

use locks::Locking;
pub(crate) use locks::Locks;
pub(crate) use statements::{
    EXPECT, GET, LOCK, LOCK_AT_ONCE, LOCK_EXISTENCE, LOCK_FOR_DELETION, LOCK_TREE,
    LOCK_TREE_AT_ONCE, NAMES, RETIRED, ROWS_COUNT,
};

/// What a transaction came to.
#[derive(Debug)]
pub(crate) enum Committed {
    /// Nothing was written.
    Nothing,
    /// The number in the log, if anything was logged, and the types of the entities.
    Written(Option<i64>, BTreeSet<String>),
}

/// What must not have changed when writes are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// Before the end it is enough to look at what is lost from sight now.
    WhatIsWritten,
    Everything,
}

/// What an error means for the work that got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Running the work again may help.
    Passing,
    Lasting,
}

pub(crate) struct PostgresTransaction<'l> {
    lease: &'l Lease,
    contended: &'l Contended,
    begun: bool,
    /// Whether it has its locks from the start, and so waits for them.
    is_patient: bool,
    /// What the work will ask for first, read together with the locks.
    ahead: Option<(Vec<AspectKey>, Vec<Row>)>,
    /// What was read, with the mark of each row; `None` for what was not there.
    seen: HashMap<AspectKey, Option<String>>,
    /// The versions that are remembered of what was not there.
    retired: HashMap<AspectKey, Option<LogicalVersion>>,
    /// What this transaction has written itself, and what of it has not been sent yet.
    own: HashSet<AspectKey>,
    writing: HashSet<AspectKey>,
    /// Those of them that are inserted: should they be there by then, that fails by itself.
    inserting: HashSet<AspectKey>,
    held: Locks,
    /// What would be locked if it were there: it may be when the work runs again.
    wanted: BTreeSet<AspectKey>,
    /// Those of `held` to which nothing can be attached any more.
    held_for_deletion: HashSet<AspectKey>,
    /// The rows of entities that only have to stay, as far as they are locked.
    held_in_place: HashSet<AspectKey>,
    /// Not sent yet.
    pending: Vec<Segment>,
    to_lock: Locks,
    logged: LogEntries,
    wrote: bool,
    /// A statement failed. Such a transaction is never kept, whatever the work makes of the error.
    pub(crate) failure: Option<Failure>,
}

impl<'l> PostgresTransaction<'l> {
    /// Begins with the locks of an earlier attempt; if there are none, nothing is sent yet.
    pub(crate) async fn begin(
        lease: &'l Lease,
        contended: &'l Contended,
        locks: Locks,
    ) -> Result<Self, EngineError> {
        let mut transaction = Self {
            lease,
            contended,
            begun: false,
            is_patient: false,
            ahead: None,
            seen: HashMap::new(),
            retired: HashMap::new(),
            own: HashSet::new(),
            writing: HashSet::new(),
            inserting: HashSet::new(),
            held: Locks::default(),
            wanted: BTreeSet::new(),
            held_for_deletion: HashSet::new(),
            held_in_place: HashSet::new(),
            pending: Vec::new(),
            to_lock: Locks::default(),
            logged: LogEntries::default(),
            wrote: false,
            failure: None,
        };
        if !locks.rows.is_empty() || !locks.trees.is_empty() {
            transaction.is_patient = true;
            if let Err(error) = transaction.wait_for(locks).await {
                // Whoever had to give way keeps the connection.
                transaction.roll_back().await;
                return Err(error);
            }
        }
        Ok(transaction)
    }

    /// Begins with all locks that are known to be needed, and reads in the same round trip.
    async fn wait_for(&mut self, locks: Locks) -> Result<(), EngineError> {
        let read = locks.read.clone();
        self.wanted.clone_from(&locks.rows);
        let mut steps = self.opening();
        let locking = self.lock_steps(locks, &mut steps);
        steps.push(on_keys(GET, &read));
        let mut answers = self.lease.pipeline(&steps).await?;
        self.hold_what_is_there(&locking, &answers)?;
        self.ahead = answers.pop().map(|rows| (read, rows));
        Ok(())
    }

    /// What this attempt locked or would have locked.
    pub(crate) fn locks(&self) -> Locks {
        let mut locks = self.held.clone();
        locks.rows.extend(self.wanted.iter().cloned());
        locks.trees.extend(self.to_lock.trees.iter().cloned());
        locks
    }

    /// Sends what is pending and makes all of it durable.
    pub(crate) async fn commit(&mut self) -> Result<Committed, EngineError> {
        if !self.begun && self.pending.is_empty() {
            return Ok(Committed::Nothing);
        }
        if !self.wrote {
            // Nothing came of what was read.
            self.seen.clear();
        }
        let (mut steps, _) = self.flush_steps(Expected::Everything);
        let logged = std::mem::take(&mut self.logged);
        let types = logged.types();
        let numbered = (!logged.is_empty()).then_some(steps.len());
        if numbered.is_some() {
            steps.extend(logged.steps());
        }
        steps.push(Step::plain("COMMIT"));
        let answers = self.lease.pipeline(&steps).await?;
        self.lease.mark_idle();
        if !self.wrote {
            return Ok(Committed::Nothing);
        }
        let number = numbered.and_then(|at| answers.get(at)?.first());
        Ok(Committed::Written(
            number.map(|row| row.try_get(0)).transpose()?,
            types,
        ))
    }

    /// Gives everything up. A connection on which that fails is not used again.
    pub(crate) async fn roll_back(self) {
        if self.begun && !self.lease.is_lost() {
            match self.lease.execute("ROLLBACK").await {
                Ok(()) => self.lease.mark_idle(),
                Err(error) => tracing::debug!(%error, "a transaction ends with its connection"),
            }
        }
    }

    /// `BEGIN`, if that has not been sent.
    fn opening(&mut self) -> Vec<Step> {
        if std::mem::replace(&mut self.begun, true) {
            return Vec::new();
        }
        self.lease.mark_in_transaction();
        vec![Step::plain("BEGIN")]
    }

    /// The statements that carry out what is pending, and what of them locks rows.
    fn flush_steps(&mut self, expected: Expected) -> (Vec<Step>, Locking) {
        let mut steps = self.opening();
        let locks = std::mem::take(&mut self.to_lock);
        let existing: Vec<AspectKey> = self
            .seen
            .iter()
            .filter(|(key, mark)| {
                mark.is_some()
                    && Registry::get().is_key_aspect(&key.urn, key.aspect)
                    && !locks.rows.contains(key)
                    && !self.held.rows.contains(key)
                    && !self.held_in_place.contains(key)
            })
            .map(|(key, _)| key.clone())
            .collect();
        let locking = self.lock_steps(locks, &mut steps);
        Locking::push(LOCK_EXISTENCE, existing.clone(), &mut steps);
        self.held_in_place.extend(existing);
        steps.extend(self.expectation(expected));
        for segment in std::mem::take(&mut self.pending) {
            segment.steps(&mut steps);
        }
        (steps, locking)
    }

    /// Looks whether what was read is still the same. What this transaction wrote since is its own business; rows that
    /// were not there and are inserted now tell by themselves.
    fn expectation(&mut self, expected: Expected) -> Option<Step> {
        let (mut urns, mut aspects, mut marks) = (Vec::new(), Vec::new(), Vec::new());
        for (key, mark) in &self.seen {
            let asked = expected == Expected::Everything || self.writing.contains(key);
            if asked && !self.inserting.contains(key) {
                urns.push(key.urn.to_string());
                aspects.push(key.aspect.as_str());
                marks.push(mark.clone());
            }
        }
        self.inserting.clear();
        for key in self.writing.drain() {
            self.seen.remove(&key);
            self.own.insert(key);
        }
        (!urns.is_empty()).then(|| {
            Step::new(
                EXPECT,
                vec![Box::new(urns), Box::new(aspects), Box::new(marks)],
            )
        })
    }

    async fn flush(&mut self) -> Result<(), EngineError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let (steps, locking) = self.flush_steps(Expected::WhatIsWritten);
        let answers = self.lease.pipeline(&steps).await?;
        self.hold_what_is_there(&locking, &answers)
    }

    async fn get(&mut self, keys: &[AspectKey]) -> Result<Vec<Option<StoredAspect>>, EngineError> {
        self.flush().await?;
        let mut found = vec![None; keys.len()];
        if keys.is_empty() {
            return Ok(found);
        }
        let rows = match self.ahead.take() {
            Some((read, rows)) if read == keys => rows,
            _ => self.fetch(keys).await?,
        };
        if self.held.read.is_empty() {
            self.held.read = keys.to_vec();
        }
        let mut marks: Vec<Option<String>> = vec![None; keys.len()];
        let mut retired = vec![None; keys.len()];
        for row in &rows {
            let place = place_at(row)?;
            marks[place] = row.try_get(7)?;
            if marks[place].is_some() {
                found[place] = Some(stored_aspect(row, 1)?);
            }
            retired[place] = row.try_get::<_, Option<_>>(8)?.map(LogicalVersion::new);
        }
        for ((key, mark), retired) in keys.iter().zip(marks).zip(retired) {
            if !self.own.contains(key) {
                if mark.is_none() {
                    self.retired.entry(key.clone()).or_insert(retired);
                }
                // If it has changed since it was read first, the first mark tells.
                self.seen.entry(key.clone()).or_insert(mark);
            }
        }
        Ok(found)
    }

    /// Reads; of entities for which writers meet, together with the locks that a write will need. Later locks
    /// are not waited for, so nobody waits for each other because of these. Those that stand in a tree are left out:
    /// its lock would come too late.
    async fn fetch(&mut self, keys: &[AspectKey]) -> Result<Vec<Row>, EngineError> {
        let locks: BTreeSet<AspectKey> = if self.begun {
            BTreeSet::new()
        } else {
            let urns = self.contended.among(keys.iter().map(|key| &key.urn));
            urns.into_iter()
                .filter(|urn| !is_in_tree(urn))
                .filter_map(AspectKey::of_entity)
                .collect()
        };
        if locks.is_empty() {
            let (urns, aspects) = key_arrays(keys.iter());
            return self.lease.query(GET, &[&urns, &aspects]).await;
        }
        let mut steps = self.opening();
        let locking = Locking::push(LOCK, locks.into_iter().collect(), &mut steps);
        steps.push(on_keys(GET, keys));
        let mut answers = self.lease.pipeline(&steps).await?;
        self.hold_what_is_there(&locking, &answers)?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// What was not read before is asked for now.
    async fn retired(
        &mut self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<LogicalVersion>>, EngineError> {
        let known: Option<Vec<_>> = keys
            .iter()
            .map(|key| self.retired.get(key).copied())
            .collect();
        if let Some(known) = known {
            return Ok(known);
        }
        self.flush().await?;
        let mut versions = vec![None; keys.len()];
        let (urns, aspects) = key_arrays(keys.iter());
        for row in &self.lease.query(RETIRED, &[&urns, &aspects]).await? {
            versions[place_at(row)?] = Some(LogicalVersion::new(row.try_get(1)?));
        }
        Ok(versions)
    }

    fn add(&mut self, write: &AspectWrite) {
        let key = &write.key;
        let absent = matches!(self.seen.get(key), Some(None));
        let first = self.writing.insert(key.clone());
        let retired = self.retired.remove(key);
        let is_fresh = first && absent;
        if is_fresh && matches!(write.effect, Effect::Put { .. }) {
            self.inserting.insert(key.clone());
        }
        if self
            .pending
            .last()
            .is_none_or(|segment| segment.conflicts_with(write))
        {
            self.pending.push(Segment::default());
        }
        if let Some(segment) = self.pending.last_mut() {
            segment.push(write, is_fresh, retired.flatten());
        }
        self.logged.push(write);
        self.wrote = true;
        self.wanted.insert(key.clone());
        // A row that is not there cannot be locked; inserting it is the lock.
        if !absent {
            self.to_lock.rows.insert(key.clone());
        }
        if let Some(own) = AspectKey::of_entity(&key.urn) {
            self.wanted.insert(own.clone());
            if !matches!(self.seen.get(&own), Some(None)) {
                self.to_lock.rows.insert(own);
            }
        }
        if changes_tree(write) {
            self.to_lock.trees.insert(key.urn.entity_type().to_owned());
        }
    }

    /// Remembers what an error means for the transaction.
    fn note<T>(&mut self, result: Result<T, EngineError>) -> Result<T, StoreError> {
        result.map_err(|error| {
            self.failure = Some(match error {
                EngineError::Conflict | EngineError::Lost(_) => Failure::Passing,
                EngineError::Store(_) => Failure::Lasting,
            });
            error.into()
        })
    }
}

#[async_trait]
impl Transaction for PostgresTransaction<'_> {
    async fn aspects_get(
        &mut self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<StoredAspect>>, StoreError> {
        let got = self.get(keys).await;
        self.note(got)
    }

    async fn aspect_names(&mut self, urn: &Urn) -> Result<Vec<AspectName>, StoreError> {
        let ask = async |lease: &Lease| {
            let rows = lease.query(NAMES, &[&urn.as_str()]).await?;
            let mut names = Vec::with_capacity(rows.len());
            for row in &rows {
                names.extend(aspect_name(row, 0)?);
            }
            Ok(names)
        };
        let names = self.ask_about(urn, LOCK, Vec::is_empty, ask).await;
        self.note(names)
    }

    async fn rows_count(
        &mut self,
        urn: &Urn,
        aspect: Option<AspectName>,
    ) -> Result<(u64, u64), StoreError> {
        let aspect = aspect.map(AspectName::as_str);
        let ask = async |lease: &Lease| {
            let rows = lease.query(ROWS_COUNT, &[&urn.as_str(), &aspect]).await?;
            match rows.first() {
                Some(row) => Ok((count_at(row, 0)?, count_at(row, 1)?)),
                None => Ok((0, 0)),
            }
        };
        let is_none = |counts: &(u64, u64)| *counts == (0, 0);
        let counts = self.ask_about(urn, LOCK, is_none, ask).await;
        self.note(counts)
    }

    async fn aspect_history(&mut self, key: &AspectKey) -> Result<Vec<StoredAspect>, StoreError> {
        let ask = async |lease: &Lease| {
            let (urn, aspect) = (key.urn.as_str(), key.aspect.as_str());
            let rows = lease.query(read::HISTORY, &[&urn, &aspect]).await?;
            rows.iter().map(|row| stored_aspect(row, 0)).collect()
        };
        let history = self.ask_about(&key.urn, LOCK, Vec::is_empty, ask).await;
        self.note(history)
    }

    async fn retired_versions(
        &mut self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<LogicalVersion>>, StoreError> {
        let versions = self.retired(keys).await;
        self.note(versions)
    }

    async fn points_count(
        &mut self,
        key: &AspectKey,
        range: &PointRange,
    ) -> Result<u64, StoreError> {
        let ask = async |lease: &Lease| points::count(lease, key, range).await;
        let is_none = |count: &u64| *count == 0;
        let count = self.ask_about(&key.urn, LOCK, is_none, ask).await;
        self.note(count)
    }

    async fn placement_parent(&mut self, urn: &Urn) -> Result<Option<Option<Urn>>, StoreError> {
        let parent = async {
            self.hold_tree(urn.entity_type()).await?;
            trees::parent(self.lease, urn).await
        }
        .await;
        self.note(parent)
    }

    async fn placements_named(
        &mut self,
        kind: &str,
        parent: Option<&Urn>,
        name: &str,
    ) -> Result<Vec<Urn>, StoreError> {
        let named = async {
            self.hold_tree(kind).await?;
            trees::named(self.lease, kind, parent, name).await
        }
        .await;
        self.note(named)
    }

    async fn placement_children(
        &mut self,
        kind: &str,
        parents: &[Urn],
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError> {
        let children = async {
            self.hold_tree(kind).await?;
            trees::children(self.lease, kind, parents, limit).await
        }
        .await;
        self.note(children)
    }

    async fn edges_into(
        &mut self,
        destination: &Urn,
        aspect: AspectName,
        limit: usize,
    ) -> Result<Vec<Related>, StoreError> {
        let ask = async |lease: &Lease| trees::edges_into(lease, destination, aspect, limit).await;
        let related = self
            .ask_about(destination, LOCK_FOR_DELETION, Vec::is_empty, ask)
            .await;
        self.note(related)
    }

    async fn write(&mut self, writes: &[AspectWrite]) -> Result<(), StoreError> {
        for write in writes {
            self.add(write);
        }
        Ok(())
    }
}

fn on_keys(sql: &'static str, keys: &[AspectKey]) -> Step {
    let urns: Vec<String> = keys.iter().map(|key| key.urn.to_string()).collect();
    let aspects: Vec<&'static str> = keys.iter().map(|key| key.aspect.as_str()).collect();
    Step::new(sql, vec![Box::new(urns), Box::new(aspects)])
}

/// Whether entities of the type stand in a tree.
fn is_in_tree(urn: &Urn) -> bool {
    let entity = Registry::get().entity(urn.entity_type());
    entity.is_some_and(has_tree)
}

/// Whether a write may change where its entity stands in a tree, or what it is called there.
fn changes_tree(write: &AspectWrite) -> bool {
    let AspectKey { urn, aspect } = &write.key;
    if !places(*aspect) || matches!(write.effect, Effect::Touch { .. }) {
        return false;
    }
    let Effect::Put {
        derived,
        history: Some(former),
        ..
    } = &write.effect
    else {
        return true;
    };
    let before = expected(urn.as_str(), aspect.as_str(), &former.metadata);
    let before = before.and_then(|before| before.placement);
    match (&before, &derived.placement) {
        (Some(before), Some(after)) => before.parent != after.parent || before.name != after.name,
        (before, after) => before.is_some() || after.is_some(),
    }
}
