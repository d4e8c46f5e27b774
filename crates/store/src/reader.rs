//! Reading: aspects, the rows derived from them, and the change log.

use std::slice;

use async_trait::async_trait;
use docent_model::{AspectName, Urn};

use crate::{
    AspectKey, Change, CommitStamp, EntityTexts, LogPosition, Page, PointRange, Related, Row,
    RowVersion, Run, RunAspect, StoreError, StoredAspect, TimeseriesRow,
};

/// What [`StoreReader::read`] is to return, all of it from one snapshot.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadRequest<'r> {
    /// Aspects whose latest version is read.
    pub rows: &'r [AspectKey],
    /// Key aspects of entities that are checked for existence. Every entity has its key aspect, so an engine may skip
    /// the check when it has found another aspect of the entity.
    pub exists: &'r [AspectKey],
    /// Entities of which all latest aspects are read.
    pub entities: &'r [Urn],
}

impl<'r> ReadRequest<'r> {
    pub fn row(key: &'r AspectKey) -> Self {
        Self::rows(slice::from_ref(key))
    }

    pub fn rows(keys: &'r [AspectKey]) -> Self {
        Self {
            rows: keys,
            ..Self::default()
        }
    }

    pub fn exists(keys: &'r [AspectKey]) -> Self {
        Self {
            exists: keys,
            ..Self::default()
        }
    }

    pub fn entities(urns: &'r [Urn]) -> Self {
        Self {
            entities: urns,
            ..Self::default()
        }
    }
}

/// All latest aspects of an entity, in the order of their names, without those that the registry does not know.
pub type EntityAspects = Vec<(AspectName, StoredAspect)>;

/// The result of a [`ReadRequest`], each list in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadReply {
    pub rows: Vec<Row>,
    pub exists: Vec<bool>,
    pub entities: Vec<EntityAspects>,
}

impl ReadReply {
    /// The first row, which is the only one of a request by [`ReadRequest::row`].
    pub fn into_row(self) -> Row {
        self.rows.into_iter().next().flatten()
    }
}

#[async_trait]
pub trait StoreReader: Send + Sync {
    /// Latest versions, existence checks and whole entities from one snapshot. An engine makes as few round trips as it
    /// can: one, where a read is one.
    async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, StoreError>;

    /// One row by its row version (0 is the latest).
    async fn aspect_read_version(
        &self,
        key: &AspectKey,
        version: RowVersion,
    ) -> Result<Option<StoredAspect>, StoreError>;

    /// All versions of each aspect that are kept, the oldest first and the latest last, from one snapshot.
    async fn histories_read(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Vec<StoredAspect>>, StoreError>;

    /// URNs that have the aspect, in URN order, behind `after`. Given an entity's key aspect it lists the
    /// entities of that type.
    async fn urns_list(
        &self,
        entity_type: &str,
        aspect: AspectName,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError>;

    /// The texts of all latest aspects of each entity of a type, in URN order, behind `after`: a scan of one range, for
    /// callers that read everything.
    async fn entities_list(
        &self,
        entity_type: &str,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<EntityTexts>, StoreError>;

    /// The entities that stand directly below `parent` (below no parent if `None`) in the tree of their kind,
    /// newest first; `total` counts all of them.
    async fn placements_list(
        &self,
        kind: &str,
        parent: Option<&Urn>,
        start: usize,
        limit: usize,
    ) -> Result<Page<Urn>, StoreError>;

    /// For each URN the chain of its parents, nearest first, at most `max` long; cycles end the chain.
    async fn placement_ancestors(
        &self,
        urns: &[Urn],
        max: usize,
    ) -> Result<Vec<Vec<Urn>>, StoreError>;

    /// For each URN the entities that it points at (`outgoing`) or that point at it, by relationship and URN; each
    /// has a page of its own, all from one snapshot. An empty list of relationships means all of them.
    async fn edges_list(
        &self,
        urns: &[Urn],
        outgoing: bool,
        relationships: &[&str],
        start: usize,
        limit: usize,
    ) -> Result<Vec<Page<Related>>, StoreError>;

    /// Points of a time series in a range, newest or oldest first, behind the first `start`.
    async fn timeseries_list(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<TimeseriesRow>, StoreError>;

    /// The newest point of each time series, in the order of the keys, from one snapshot.
    async fn timeseries_latest(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<TimeseriesRow>>, StoreError>;

    /// The ingestion runs that some aspect's latest version is of, the one that was active last first. Aspects of
    /// soft-deleted entities count only if asked for; a run that has none then is left out.
    async fn runs_list(
        &self,
        include_removed: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<Run>, StoreError>;

    /// The aspects whose latest version is of this run, in the order in which it observed them.
    async fn run_aspects(
        &self,
        run: &str,
        include_removed: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<RunAspect>, StoreError>;

    /// The time series that have points of this run, with how many.
    async fn run_timeseries(
        &self,
        run: &str,
        limit: usize,
    ) -> Result<Vec<(AspectKey, u64)>, StoreError>;

    /// How many points of time series are of this run.
    async fn run_points_count(&self, run: &str) -> Result<u64, StoreError>;

    /// How many entities have the aspect; `urn_like` is a pattern in which `%` stands for any text and `_` for any
    /// character. Counting takes as long as there are entities.
    async fn aspects_count(
        &self,
        aspect: AspectName,
        urn_like: Option<&str>,
    ) -> Result<u64, StoreError>;

    /// Committed changes behind a position of the log, in commit order.
    async fn changes_read(
        &self,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<Change>, StoreError>;

    /// The newest entry of the log; `None` if nothing was ever written.
    async fn change_newest(&self) -> Result<Option<Change>, StoreError>;

    /// A number that differs from the one before whenever anything was committed in between, by this process
    /// or by another. Cheap enough to ask on every request. Where other servers use the same database, what they
    /// committed may show up to a second late.
    fn commit_stamp(&self) -> Result<CommitStamp, StoreError>;

    /// Like [`StoreReader::commit_stamp`], restricted to entities of these types: engines where a recheck costs a round
    /// trip keep the stamp when only other types changed. Comparable only with stamps of this method for these types.
    fn commit_stamp_of(&self, entity_types: &[&str]) -> Result<CommitStamp, StoreError>;

    /// Like [`StoreReader::commit_stamp`], but covers every commit before the call, by any server. Comparable only with
    /// stamps of this method; changes that are not logged need not move it.
    async fn commit_stamp_exact(&self) -> Result<CommitStamp, StoreError>;
}
