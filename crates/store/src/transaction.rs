//! Work inside one transaction.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use docent_model::{AspectName, LogicalVersion, Urn};
use futures_util::future::BoxFuture;

use crate::{AspectKey, AspectWrite, PointRange, Related, StoreError, StoreWriter, StoredAspect};

/// The database as a piece of work sees it. Written rows are not visible to the reads of the same transaction until
/// [`Transaction::write`] has been called.
///
/// What work may build on until its end, on every engine: an aspect that it has read and writes has not changed in
/// between; an entity that it found to exist (by its key aspect) is not deleted; and what it asked about a tree, or about
/// the edges into or all rows of an entity that exists, stays answered. An aspect of another entity that is only read is
/// still the same when the writes are handed over, but may change while they are committed: of two pieces of work that
/// each read what the other writes, both may go through where an engine has many writers.
#[async_trait]
pub trait Transaction: Send {
    /// The latest version of each aspect, in the order of the keys.
    async fn aspects_get(
        &mut self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<StoredAspect>>, StoreError>;

    /// The names of all aspects that an entity has, time series included, in the order of the names.
    async fn aspect_names(&mut self, urn: &Urn) -> Result<Vec<AspectName>, StoreError>;

    /// How many rows an entity has, of one aspect or of all, history included: (versioned, time series).
    async fn rows_count(
        &mut self,
        urn: &Urn,
        aspect: Option<AspectName>,
    ) -> Result<(u64, u64), StoreError>;

    /// The former versions of an aspect, newest first; the latest is not among them.
    async fn aspect_history(&mut self, key: &AspectKey) -> Result<Vec<StoredAspect>, StoreError>;

    /// The version that was remembered of each of these aspects when it was deleted.
    async fn retired_versions(
        &mut self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<LogicalVersion>>, StoreError>;

    /// How many points of a time series stand in a range.
    async fn points_count(
        &mut self,
        key: &AspectKey,
        range: &PointRange,
    ) -> Result<u64, StoreError>;

    /// The parent of a placed entity: `None` if it is not placed, `Some(None)` if it stands at the root.
    async fn placement_parent(&mut self, urn: &Urn) -> Result<Option<Option<Urn>>, StoreError>;

    /// The entities of that name directly below `parent` in the tree of their kind.
    async fn placements_named(
        &mut self,
        kind: &str,
        parent: Option<&Urn>,
        name: &str,
    ) -> Result<Vec<Urn>, StoreError>;

    /// The entities directly below any of `parents` in the tree of their kind, at most so many, in no order.
    async fn placement_children(
        &mut self,
        kind: &str,
        parents: &[Urn],
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError>;

    /// Who points at `destination` from the given aspect, at most so many.
    async fn edges_into(
        &mut self,
        destination: &Urn,
        aspect: AspectName,
        limit: usize,
    ) -> Result<Vec<Related>, StoreError>;

    /// Carries out the writes, with history, derived rows and log.
    async fn write(&mut self, writes: &[AspectWrite]) -> Result<(), StoreError>;
}

/// Something to do in one transaction. It may be run again from the start when the engine has to retry.
#[async_trait]
pub trait Work: Send {
    async fn run(&mut self, tx: &mut dyn Transaction) -> Result<(), Aborted>;
}

/// Why a piece of work ended without a commit.
#[derive(Debug)]
pub enum Aborted {
    /// The work itself decided so; it has kept the reason.
    ByWork,
    /// The database failed; the engine may retry.
    ByStore(StoreError),
}

impl From<StoreError> for Aborted {
    fn from(error: StoreError) -> Self {
        Self::ByStore(error)
    }
}

/// Runs `work` in one transaction of the store and returns what it returned. An error of the work rolls
/// everything back; so does an error of the store.
pub async fn transact<T, E, F>(store: &dyn StoreWriter, work: F) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
    F: for<'t> FnMut(&'t mut dyn Transaction) -> BoxFuture<'t, Result<T, E>> + Send + 'static,
{
    let outcome = Arc::new(Mutex::new(None));
    let adapter = Adapter {
        work,
        outcome: Arc::clone(&outcome),
    };
    let ran = store.run(Box::new(adapter)).await;
    let outcome = outcome
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    match (ran, outcome) {
        // A work that failed has its own words for it, whatever the engine says about the rollback.
        (_, Some(Err(error))) => Err(error),
        (Ok(()), Some(Ok(value))) => Ok(value),
        (Err(error), _) => Err(error.into()),
        (Ok(()), None) => Err(StoreError::other("the work was committed but never ran").into()),
    }
}

struct Adapter<T, E, F> {
    work: F,
    outcome: Arc<Mutex<Option<Result<T, E>>>>,
}

#[async_trait]
impl<T, E, F> Work for Adapter<T, E, F>
where
    T: Send,
    E: Send,
    F: for<'t> FnMut(&'t mut dyn Transaction) -> BoxFuture<'t, Result<T, E>> + Send,
{
    async fn run(&mut self, tx: &mut dyn Transaction) -> Result<(), Aborted> {
        let result = (self.work)(tx).await;
        let verdict = if result.is_ok() {
            Ok(())
        } else {
            Err(Aborted::ByWork)
        };
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        verdict
    }
}
