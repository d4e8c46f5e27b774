//! Transactions.

use async_trait::async_trait;
use docent_model::{AspectName, LogicalVersion, Urn};

use crate::{
    AspectKey, AspectWrite, AuditRecord, PointRange, RelatedEntity, StoreError, StoredAspect,
};

/// The database inside a transaction. Reads see the rows of earlier calls of
/// [`Transaction::write`].
///
/// Guarantees until the commit, on every engine:
///
/// - An aspect that the transaction has read and writes has not changed in between.
/// - An entity that it found to exist, by its key aspect, is not deleted.
/// - Results about a tree, about the edges to an existing entity or about all its rows stay valid.
///
/// An aspect of another entity that is only read is unchanged when the writes are sent, but may
/// change until the commit: with concurrent writers, two transactions that each read what the other
/// writes may both commit (write skew).
#[async_trait]
pub trait Transaction: Send {
    /// Returns the latest version of each aspect, in the order of the keys.
    async fn aspects_get(
        &mut self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<StoredAspect>>, StoreError>;

    /// Lists the names of all aspects of an entity, time series included, in order.
    async fn aspect_names(&mut self, urn: &Urn) -> Result<Vec<AspectName>, StoreError>;

    /// Returns the logical version of each latest aspect of an entity.
    async fn latest_versions(
        &mut self,
        urn: &Urn,
    ) -> Result<Vec<(AspectName, LogicalVersion)>, StoreError>;

    /// Counts the rows of an entity, of one aspect or of all, history included: (versioned, time
    /// series).
    async fn rows_count(
        &mut self,
        urn: &Urn,
        aspect: Option<AspectName>,
    ) -> Result<(u64, u64), StoreError>;

    /// Returns the history of an aspect, newest first, without the latest version.
    async fn aspect_history(&mut self, key: &AspectKey) -> Result<Vec<StoredAspect>, StoreError>;

    /// Returns the version that was stored for each of these aspects when a rollback deleted it.
    async fn retired_versions(
        &mut self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<LogicalVersion>>, StoreError>;

    /// Counts the points of a time series in a range.
    async fn points_count(
        &mut self,
        key: &AspectKey,
        range: &PointRange,
    ) -> Result<u64, StoreError>;

    /// Returns the parent of an entity in its tree: `None` if it is in no tree, `Some(None)` if it
    /// is a root.
    async fn placement_parent(&mut self, urn: &Urn) -> Result<Option<Option<Urn>>, StoreError>;

    /// Lists the children of `parent` with this name in the tree of a kind.
    async fn placements_named(
        &mut self,
        kind: &str,
        parent: Option<&Urn>,
        name: &str,
    ) -> Result<Vec<Urn>, StoreError>;

    /// Lists up to `limit` children of any of `parents` in the tree of a kind, in no particular
    /// order.
    async fn placement_children(
        &mut self,
        kind: &str,
        parents: &[Urn],
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError>;

    /// Lists up to `limit` edges to `destination` that are derived from this aspect.
    async fn edges_into(
        &mut self,
        destination: &Urn,
        aspect: AspectName,
        limit: usize,
    ) -> Result<Vec<RelatedEntity>, StoreError>;

    /// Lists the latest texts of an aspect, of up to `limit` entities of a type in the order of
    /// URNs, from behind `after`. Others may change them until the commit, unless the transaction
    /// holds a lock that all of them take.
    async fn texts_list(
        &mut self,
        entity_type: &str,
        aspect: AspectName,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<(Urn, String)>, StoreError>;

    /// Takes the lock of this name until the commit: transactions that take it run one after the
    /// other. A transaction that takes it first waits for it; one that has read before may be
    /// retried.
    async fn lock(&mut self, name: &str) -> Result<(), StoreError>;

    /// Executes the writes, with history, derived rows and log.
    async fn write(&mut self, writes: &[AspectWrite]) -> Result<(), StoreError>;

    /// Adds an event to the audit log.
    async fn audit(&mut self, record: &AuditRecord) -> Result<(), StoreError>;
}

/// The body of a transaction. The engine may retry it from the start.
#[async_trait]
pub trait TransactionBody: Send {
    async fn run(&mut self, tx: &mut dyn Transaction) -> Result<(), AbortReason>;
}

/// Why the body of a transaction ended without a commit.
#[derive(Debug)]
pub enum AbortReason {
    /// The body decided to; it has stored the error.
    Decided,
    /// The database failed; the engine may retry.
    Failed(StoreError),
}

impl From<StoreError> for AbortReason {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}
