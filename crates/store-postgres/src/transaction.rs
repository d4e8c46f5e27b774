//! A transaction as the work sees it.
//!
//! The work reads, decides, and hands over its writes. The first read locks the entities that are
//! about to be written, in the same round trip; the writes are collected and sent with the commit.
//! So a write takes two round trips:
//!
//! 1. `BEGIN`, lock, read;
//! 2. lock what else is written, check that rows read without a lock are unchanged, write, log,
//!    `COMMIT`.
//!
//! If a check fails or a lock cannot be waited for, the work is retried ([`crate::run`]), and the
//! first read of the retry takes all locks that the attempt needed.
//!
//! The locks ([`locks::LockSet`]):
//! - the row of the key aspect of each written entity, in URN order, and behind it the written
//!   rows, for entities without a key aspect: writers of an entity are serialized;
//! - the row of the key aspect of each entity that was only found to exist, in the mode of a
//!   foreign key: it cannot be deleted;
//! - a whole tree of domains, for work that reads or changes placements, or another name. Those are
//!   locked before rows: a transaction that holds a row never waits for them.
//!
//! Row locks are stored in the rows, in any number; advisory locks share a small table. The
//! isolation level is "read committed", where each statement sees what was committed before it.
//! "Serializable" was the losing option: it detects conflicts by index page, so that transactions
//! on neighboring entities would fail all the time.

mod locks;
mod reads;
mod statements;
mod writes;

use std::collections::{BTreeSet, HashSet};

use async_trait::async_trait;
use docent_model::{AspectName, Registry, Urn, has_hierarchy, is_hierarchy_aspect};
use docent_store::audit::expected_rows;
use docent_store::version::logical_version_in;
use docent_store::{
    AspectKey, AspectWrite, AuditRecord, Effect, LogicalVersion, PointRange, RelatedEntity,
    StoreError, StoredAspect, Transaction,
};
use tokio_postgres::Row;

use crate::audit_log::AuditRows;
use crate::error::EngineError;
use crate::pool::{Lease, Step};
use crate::read::{self, index_at, key_arrays};
use crate::values::{aspect_name, count_at, stored_aspect};
use crate::versions;
use crate::{points, trees};

pub(crate) use locks::LockRequest;
use locks::{LockSet, LockStep, Strength};
use reads::ReadSet;
pub(crate) use statements::{
    EXPECT_UNCHANGED, GET, LOCK, LOCK_EXISTENCE, LOCK_FOR_DELETION, LOCK_NOWAIT, LOCK_TREE,
    LOCK_TREE_NOWAIT, NAMES, RETIRED, ROWS_COUNT, VERSIONS,
};
use writes::PendingWrites;

/// The result of a transaction.
#[derive(Debug)]
pub(crate) enum Committed {
    /// Nothing was written.
    Nothing,
    /// The transaction number, if anything was logged, and the entity types of the changes.
    Written(Option<i64>, BTreeSet<String>),
}

/// Whether the work can be retried after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Transient,
    Permanent,
}

pub(crate) struct PostgresTransaction<'l> {
    lease: &'l Lease,
    /// `BEGIN` was sent.
    is_open: bool,
    locks: LockSet,
    reads: ReadSet,
    writes: PendingWrites,
    /// Sent with the commit.
    audit: AuditRows,
    /// A statement failed. Such a transaction is rolled back, even if the work ignores the error.
    pub(crate) failure: Option<Failure>,
}

impl<'l> PostgresTransaction<'l> {
    /// Starts a transaction that takes the locks of an earlier attempt first. Sends nothing yet.
    pub(crate) fn new(lease: &'l Lease, locks: LockRequest) -> Self {
        Self {
            lease,
            is_open: false,
            locks: LockSet::new(locks),
            reads: ReadSet::default(),
            writes: PendingWrites::default(),
            audit: AuditRows::default(),
            failure: None,
        }
    }

    /// The locks that this attempt needed.
    pub(crate) fn needed_locks(&self) -> LockRequest {
        self.locks.needed()
    }

    /// Sends the pending writes and commits.
    pub(crate) async fn commit(&mut self) -> Result<Committed, EngineError> {
        if self.writes.is_empty() && self.audit.is_empty() && !self.reads.has_written() {
            if self.is_open {
                // Releases the locks; a commit would wait for the disk.
                self.lease.execute("ROLLBACK").await?;
                self.lease.mark_idle();
            }
            return Ok(Committed::Nothing);
        }
        let log = std::mem::take(&mut self.writes.log);
        let (mut steps, _) = self.flush_steps(|_| true);
        std::mem::take(&mut self.audit).steps(&mut steps);
        let types = log.types();
        let number_step = (!log.is_empty()).then_some(steps.len());
        if number_step.is_some() {
            steps.extend(log.steps());
        }
        steps.push(Step::plain("COMMIT"));
        let results = self.lease.pipeline(&steps).await?;
        self.lease.mark_idle();
        let number = number_step.and_then(|index| results.get(index)?.first());
        Ok(Committed::Written(
            number.map(|row| row.try_get(0)).transpose()?,
            types,
        ))
    }

    /// Rolls back. A connection on which that fails is not used again.
    pub(crate) async fn roll_back(self) {
        if self.is_open && !self.lease.is_lost() {
            match self.lease.execute("ROLLBACK").await {
                Ok(()) => self.lease.mark_idle(),
                Err(error) => tracing::debug!(%error, "closing a connection that cannot roll back"),
            }
        }
    }

    /// `BEGIN`, unless it was sent before.
    fn begin_steps(&mut self) -> Vec<Step> {
        if std::mem::replace(&mut self.is_open, true) {
            return Vec::new();
        }
        self.lease.mark_in_transaction();
        vec![Step::plain("BEGIN")]
    }

    /// The steps that send the pending writes. `is_checked` selects the rows whose reads are
    /// checked.
    fn flush_steps(&mut self, is_checked: impl Fn(&AspectKey) -> bool) -> (Vec<Step>, LockStep) {
        let mut steps = self.begin_steps();
        let request = self.locks.for_writes();
        let existing = self.reads.existing_entities();
        let existing = existing.filter(|key| !request.rows.contains(key));
        let existing: Vec<AspectKey> = existing.cloned().collect();
        let locked = self.locks.steps(request, &mut steps);
        self.locks.existence_step(existing, &mut steps);
        let PendingWrites {
            segments,
            keys,
            inserted,
            log,
        } = std::mem::take(&mut self.writes);
        self.writes.log = log;
        steps.extend(self.reads.check(is_checked, &inserted));
        self.reads.mark_written(keys);
        for segment in segments {
            segment.steps(&mut steps);
        }
        (steps, locked)
    }

    /// Sends the pending writes, so that later reads see them.
    async fn flush(&mut self) -> Result<(), EngineError> {
        if self.writes.is_empty() {
            return Ok(());
        }
        // The other rows are checked at the end.
        let keys: HashSet<AspectKey> = self.writes.keys.clone();
        let (steps, locked) = self.flush_steps(|key| keys.contains(key));
        let results = self.lease.pipeline(&steps).await?;
        self.locks.confirm(locked, &results)
    }

    async fn get(&mut self, keys: &[AspectKey]) -> Result<Vec<Option<StoredAspect>>, EngineError> {
        self.flush().await?;
        let mut aspects = vec![None; keys.len()];
        if keys.is_empty() {
            return Ok(aspects);
        }
        let mut xmins: Vec<Option<String>> = vec![None; keys.len()];
        let mut retired = vec![None; keys.len()];
        for row in &self.lock_and_read(keys).await? {
            let index = index_at(row)?;
            xmins[index] = row.try_get(7)?;
            if xmins[index].is_some() {
                aspects[index] = Some(stored_aspect(row, 1)?);
            }
            retired[index] = row.try_get::<_, Option<_>>(8)?.map(LogicalVersion::new);
        }
        for ((key, xmin), retired) in keys.iter().zip(xmins).zip(retired) {
            let is_locked = self.locks.excludes_writers_of(key);
            self.reads.add(key, xmin, is_locked, retired);
        }
        Ok(aspects)
    }

    /// Locks the entities that are about to be written and reads, in one round trip.
    async fn lock_and_read(&mut self, keys: &[AspectKey]) -> Result<Vec<Row>, EngineError> {
        let request = self.locks.for_read(keys);
        if request.is_empty() {
            let (urns, aspects) = key_arrays(keys.iter());
            return self.lease.query(GET, &[&urns, &aspects]).await;
        }
        let mut steps = self.begin_steps();
        let locked = self.locks.steps(request, &mut steps);
        steps.push(keys_step(GET, keys));
        let mut results = self.lease.pipeline(&steps).await?;
        self.locks.confirm(locked, &results)?;
        Ok(results.pop().unwrap_or_default())
    }

    async fn retired(
        &mut self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<LogicalVersion>>, EngineError> {
        if keys.iter().all(|key| self.is_missing(key)) {
            return Ok(keys.iter().map(|key| self.reads.retired(key)).collect());
        }
        self.flush().await?;
        let mut versions = vec![None; keys.len()];
        let (urns, aspects) = key_arrays(keys.iter());
        for row in &self.lease.query(RETIRED, &[&urns, &aspects]).await? {
            versions[index_at(row)?] = Some(LogicalVersion::new(row.try_get(1)?));
        }
        Ok(versions)
    }

    fn add(&mut self, write: &AspectWrite) {
        let key = &write.key;
        self.locks.add_row(key.clone(), !self.reads.is_missing(key));
        if let Some(own) = AspectKey::of_entity(&key.urn) {
            let exists = !self.reads.is_missing(&own);
            self.locks.add_row(own, exists);
        }
        if changes_tree(write) {
            self.locks.add_tree(key.urn.entity_type());
        }
        let (is_new, retired) = (self.is_missing(key), self.reads.retired(key));
        self.writes.add(write, is_new, retired);
    }

    /// Whether the row was missing, and no pending write changes that.
    fn is_missing(&self, key: &AspectKey) -> bool {
        self.reads.is_missing(key) && !self.writes.keys.contains(key)
    }

    /// Locks an entity for the rest of the transaction, so that the result of a query on all of it
    /// stays valid.
    async fn lock_entity(&mut self, urn: &Urn, strength: Strength) -> Result<(), EngineError> {
        self.flush().await?;
        let key = AspectKey::of_entity(urn);
        let Some(key) = key.filter(|key| !self.locks.holds(key, strength)) else {
            return Ok(());
        };
        let mut steps = self.begin_steps();
        let request = self.locks.for_entity(&key);
        let others = self.locks.steps(request, &mut steps);
        let own = LockStep::of_row(key, strength, &mut steps);
        let results = self.lease.pipeline(&steps).await?;
        self.locks.confirm(others, &results)?;
        self.locks.confirm(own, &results)
    }

    /// Locks an entity and queries it. If the entity was missing when it was to be locked, but not
    /// when it was queried, it was created in between, and both are repeated. (An entity type
    /// without a key aspect cannot be locked.)
    async fn query_locked<T, F>(
        &mut self,
        urn: &Urn,
        strength: Strength,
        is_empty: impl Fn(&T) -> bool,
        query: impl Fn(&'l Lease) -> F,
    ) -> Result<T, EngineError>
    where
        F: Future<Output = Result<T, EngineError>>,
    {
        self.lock_entity(urn, strength).await?;
        let result = query(self.lease).await?;
        let key = AspectKey::of_entity(urn);
        let is_locked = key.is_none_or(|key| self.locks.holds(&key, strength));
        if is_locked || is_empty(&result) {
            return Ok(result);
        }
        self.lock_entity(urn, strength).await?;
        query(self.lease).await
    }

    async fn lock_tree(&mut self, kind: &str) -> Result<(), EngineError> {
        self.flush().await?;
        let mut steps = self.begin_steps();
        let request = self.locks.for_tree(kind);
        let locked = self.locks.steps(request, &mut steps);
        let results = self.lease.pipeline(&steps).await?;
        self.locks.confirm(locked, &results)
    }

    /// Records whether the work can be retried after an error.
    fn check<T>(&mut self, result: Result<T, EngineError>) -> Result<T, StoreError> {
        result.map_err(|error| {
            self.failure = Some(match error {
                EngineError::Conflict | EngineError::Lost(_) => Failure::Transient,
                EngineError::Store(_) => Failure::Permanent,
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
        let aspects = self.get(keys).await;
        self.check(aspects)
    }

    async fn aspect_names(&mut self, urn: &Urn) -> Result<Vec<AspectName>, StoreError> {
        let query = async |lease: &Lease| {
            let rows = lease.query(NAMES, &[&urn.as_str()]).await?;
            let mut names = Vec::with_capacity(rows.len());
            for row in &rows {
                names.extend(aspect_name(row, 0)?);
            }
            Ok(names)
        };
        let names = self
            .query_locked(urn, Strength::Write, Vec::is_empty, query)
            .await;
        self.check(names)
    }

    async fn latest_versions(
        &mut self,
        urn: &Urn,
    ) -> Result<Vec<(AspectName, LogicalVersion)>, StoreError> {
        let versions = async {
            self.flush().await?;
            let rows = self.lease.query(VERSIONS, &[&urn.as_str()]).await?;
            let mut versions = Vec::with_capacity(rows.len());
            for row in &rows {
                if let Some(aspect) = aspect_name(row, 0)? {
                    versions.push((aspect, logical_version_in(row.try_get(1)?)));
                }
            }
            Ok(versions)
        }
        .await;
        self.check(versions)
    }

    async fn rows_count(
        &mut self,
        urn: &Urn,
        aspect: Option<AspectName>,
    ) -> Result<(u64, u64), StoreError> {
        let aspect = aspect.map(AspectName::as_str);
        let query = async |lease: &Lease| {
            let rows = lease.query(ROWS_COUNT, &[&urn.as_str(), &aspect]).await?;
            match rows.first() {
                Some(row) => Ok((count_at(row, 0)?, count_at(row, 1)?)),
                None => Ok((0, 0)),
            }
        };
        let is_empty = |counts: &(u64, u64)| *counts == (0, 0);
        let counts = self
            .query_locked(urn, Strength::Write, is_empty, query)
            .await;
        self.check(counts)
    }

    async fn aspect_history(&mut self, key: &AspectKey) -> Result<Vec<StoredAspect>, StoreError> {
        let query = async |lease: &Lease| {
            let (urn, aspect) = (key.urn.as_str(), key.aspect.as_str());
            let rows = lease.query(versions::HISTORY, &[&urn, &aspect]).await?;
            rows.iter().map(|row| stored_aspect(row, 0)).collect()
        };
        let history = self
            .query_locked(&key.urn, Strength::Write, Vec::is_empty, query)
            .await;
        self.check(history)
    }

    async fn retired_versions(
        &mut self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<LogicalVersion>>, StoreError> {
        let versions = self.retired(keys).await;
        self.check(versions)
    }

    async fn points_count(
        &mut self,
        key: &AspectKey,
        range: &PointRange,
    ) -> Result<u64, StoreError> {
        let query = async |lease: &Lease| points::count(lease, key, range).await;
        let is_empty = |count: &u64| *count == 0;
        let count = self
            .query_locked(&key.urn, Strength::Write, is_empty, query)
            .await;
        self.check(count)
    }

    async fn placement_parent(&mut self, urn: &Urn) -> Result<Option<Option<Urn>>, StoreError> {
        let parent = async {
            self.lock_tree(urn.entity_type()).await?;
            trees::parent(self.lease, urn).await
        }
        .await;
        self.check(parent)
    }

    async fn placements_named(
        &mut self,
        kind: &str,
        parent: Option<&Urn>,
        name: &str,
    ) -> Result<Vec<Urn>, StoreError> {
        let named = async {
            self.lock_tree(kind).await?;
            trees::named(self.lease, kind, parent, name).await
        }
        .await;
        self.check(named)
    }

    async fn placement_children(
        &mut self,
        kind: &str,
        parents: &[Urn],
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError> {
        let children = async {
            self.lock_tree(kind).await?;
            trees::children(self.lease, kind, parents, limit).await
        }
        .await;
        self.check(children)
    }

    async fn edges_into(
        &mut self,
        destination: &Urn,
        aspect: AspectName,
        limit: usize,
    ) -> Result<Vec<RelatedEntity>, StoreError> {
        let query =
            async |lease: &Lease| trees::edges_into(lease, destination, aspect, limit).await;
        let related = self
            .query_locked(destination, Strength::Deletion, Vec::is_empty, query)
            .await;
        self.check(related)
    }

    async fn texts_list(
        &mut self,
        entity_type: &str,
        aspect: AspectName,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<(Urn, String)>, StoreError> {
        let texts = async {
            self.flush().await?;
            read::texts(self.lease, entity_type, aspect, after, limit).await
        }
        .await;
        self.check(texts)
    }

    async fn lock(&mut self, name: &str) -> Result<(), StoreError> {
        let locked = self.lock_tree(name).await;
        self.check(locked)
    }

    async fn write(&mut self, writes: &[AspectWrite]) -> Result<(), StoreError> {
        for write in writes {
            self.add(write);
        }
        Ok(())
    }

    async fn audit(&mut self, record: &AuditRecord) -> Result<(), StoreError> {
        self.audit.push(record)
    }
}

fn keys_step(sql: &'static str, keys: &[AspectKey]) -> Step {
    let urns: Vec<String> = keys.iter().map(|key| key.urn.to_string()).collect();
    let aspects: Vec<&'static str> = keys.iter().map(|key| key.aspect.as_str()).collect();
    Step::new(sql, vec![Box::new(urns), Box::new(aspects)])
}

/// Whether entities of the type form a tree.
fn is_in_tree(urn: &Urn) -> bool {
    let entity = Registry::get().entity(urn.entity_type());
    entity.is_some_and(has_hierarchy)
}

/// Whether a write may change the parent or the name of its entity in a tree.
fn changes_tree(write: &AspectWrite) -> bool {
    let AspectKey { urn, aspect } = &write.key;
    if !is_hierarchy_aspect(*aspect) || matches!(write.effect, Effect::Touch { .. }) {
        return false;
    }
    let Effect::Put {
        derived,
        history: Some(previous),
        ..
    } = &write.effect
    else {
        return true;
    };
    let before = expected_rows(urn.as_str(), aspect.as_str(), &previous.metadata);
    let before = before.and_then(|before| before.placement);
    match (&before, &derived.placement) {
        (Some(before), Some(after)) => before.parent != after.parent || before.name != after.name,
        (before, after) => before.is_some() || after.is_some(),
    }
}
