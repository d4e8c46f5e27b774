//! Reading: aspects, the rows derived from them, and the change log.

use std::slice;

use async_trait::async_trait;
use docent_model::{AspectName, EpochMillis, Urn};

use crate::{
    AspectKey, AspectRow, AuditEvent, AuditItem, AuditKey, AuditRange, BrowsedEntry, CommitStamp,
    EntityTexts, ListPage, LogEntry, LogKey, LogPosition, PointKey, PointRange, PointSize,
    RelatedEntity, RowVersion, RunAspect, RunSummary, StoreError, StoredAspect, TimeseriesRow,
    VersionKey,
};

/// How much a short read returns.
pub const SHORT_READ_BYTES: u64 = 1024 * 1024;

/// The input of [`StoreReader::read`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadRequest<'r> {
    /// Aspects whose latest version is read.
    pub rows: &'r [AspectKey],
    /// Key aspects of entities that are checked for existence. Every entity has its key aspect, so
    /// an engine may skip the check when it has found another aspect of the entity.
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

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.exists.is_empty() && self.entities.is_empty()
    }
}

/// All latest aspects of an entity, in the order of their names, without those that the registry
/// does not know.
pub type EntityAspects = Vec<(AspectName, StoredAspect)>;

/// The result of a [`ReadRequest`], each list in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadReply {
    pub rows: Vec<AspectRow>,
    pub exists: Vec<bool>,
    pub entities: Vec<EntityAspects>,
}

impl ReadReply {
    /// How many bytes the values have, with their system metadata.
    pub fn value_bytes(&self) -> u64 {
        let rows = self.rows.iter().flatten().map(|row| row.value_bytes());
        let entities = self.entities.iter().flatten();
        rows.chain(entities.map(|(_, row)| row.value_bytes())).sum()
    }

    /// The first row, which is the only one of a request by [`ReadRequest::row`].
    pub fn into_row(self) -> AspectRow {
        self.rows.into_iter().next().flatten()
    }
}

#[async_trait]
pub trait StoreReader: Send + Sync {
    /// Reads latest versions, existence checks and whole entities from one snapshot, in as few
    /// round trips as possible.
    async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, StoreError>;

    /// Returns how many bytes the values have that [`StoreReader::read`] would return, with their
    /// system metadata.
    async fn read_bytes(&self, rows: &[AspectKey], entities: &[Urn]) -> Result<u64, StoreError>;

    /// Reads like [`StoreReader::read`], or returns `None` if the values have more than
    /// [`SHORT_READ_BYTES`] together. Values that are not returned take little memory, or for a
    /// moment.
    async fn read_if_short(
        &self,
        request: ReadRequest<'_>,
    ) -> Result<Option<ReadReply>, StoreError>;

    /// Returns the row with this version.
    async fn aspect_read_version(
        &self,
        key: &AspectKey,
        version: RowVersion,
    ) -> Result<Option<StoredAspect>, StoreError>;

    /// Returns rows by their logical versions, in the order of the keys; `None` for versions that
    /// are no longer retained. The list ends after the row with which the values, with their system
    /// metadata, have `max_bytes`: the rest is for the next call.
    async fn versions_read(
        &self,
        keys: &[VersionKey],
        max_bytes: u64,
    ) -> Result<Vec<Option<StoredAspect>>, StoreError>;

    /// Returns all retained versions of each aspect, oldest first, from one snapshot.
    async fn histories_read(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Vec<StoredAspect>>, StoreError>;

    /// Lists the URNs of a type that have the aspect, in URN order, after `after`. With the key
    /// aspect of the type these are all its entities.
    async fn urns_list(
        &self,
        entity_type: &str,
        aspect: AspectName,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError>;

    /// Lists the entities of a type with the texts of their latest aspects, in URN order, after
    /// `after`. A range scan, for callers that read everything.
    ///
    /// A URN without the key aspect of its type is not an entity: it is not listed and does not
    /// count towards `limit`. Internal types are listed like all others. A type that is missing
    /// from the registry has no entities.
    async fn entities_list(
        &self,
        entity_type: &str,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<EntityTexts>, StoreError>;

    /// Lists the children of `parent` in the tree of a kind, newest first; `None` lists the roots.
    async fn placements_list(
        &self,
        kind: &str,
        parent: Option<&Urn>,
        start: usize,
        limit: usize,
    ) -> Result<ListPage<Urn>, StoreError>;

    /// Returns the ancestors of each URN, nearest first, at most `max` each; a cycle ends the list.
    async fn placement_ancestors(
        &self,
        urns: &[Urn],
        max: usize,
    ) -> Result<Vec<Vec<Urn>>, StoreError>;

    /// Lists the targets of each URN's edges (`outgoing`) or the sources of edges to it, ordered by
    /// relationship and URN. Each URN has its own page, all from one snapshot. No relationships
    /// means all of them. Entities of the excluded types are neither listed nor counted.
    async fn edges_list(
        &self,
        urns: &[Urn],
        outgoing: bool,
        relationships: &[&str],
        excluded_types: &[&str],
        start: usize,
        limit: usize,
    ) -> Result<Vec<ListPage<RelatedEntity>>, StoreError>;

    /// Lists the points of a time series in a range, newest or oldest first.
    async fn timeseries_list(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<TimeseriesRow>, StoreError>;

    /// Returns how many bytes each point has that [`StoreReader::timeseries_list`] would return,
    /// with its system metadata.
    async fn timeseries_bytes(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<u64>, StoreError>;

    /// Lists the points of a time series aspect of all entities, newest first, behind `after`. Does
    /// not read values. The run of the range does not filter.
    async fn points_list(
        &self,
        aspect: AspectName,
        range: &PointRange,
        after: Option<&PointKey>,
        limit: usize,
    ) -> Result<Vec<PointSize>, StoreError>;

    /// Returns points of a time series aspect in the order of the keys; `None` for missing ones.
    async fn points_read(
        &self,
        aspect: AspectName,
        keys: &[PointKey],
    ) -> Result<Vec<Option<TimeseriesRow>>, StoreError>;

    /// Returns the newest point of each time series, in the order of the keys, from one snapshot.
    async fn timeseries_latest(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<TimeseriesRow>>, StoreError>;

    /// Lists the ingestion runs that wrote or confirmed the latest version of an aspect, most
    /// recent first. Without `include_removed`, aspects of soft-deleted entities do not count.
    async fn runs_list(
        &self,
        include_removed: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<RunSummary>, StoreError>;

    /// Lists the aspects whose latest version this run wrote or confirmed, in the order of
    /// observation.
    async fn run_aspects(
        &self,
        run: &str,
        include_removed: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<RunAspect>, StoreError>;

    /// Lists the time series with points of this run, and how many each has.
    async fn run_timeseries(
        &self,
        run: &str,
        limit: usize,
    ) -> Result<Vec<(AspectKey, u64)>, StoreError>;

    /// Counts the time series points of this run.
    async fn run_points_count(&self, run: &str) -> Result<u64, StoreError>;

    /// Counts the entities that have the aspect, except for those of the excluded types. In
    /// `urn_like`, `%` matches any text and `_` any character. Takes time linear in the number of
    /// entities.
    async fn aspects_count(
        &self,
        aspect: AspectName,
        urn_like: Option<&str>,
        excluded_types: &[&str],
    ) -> Result<u64, StoreError>;

    /// Reads the change log after a position, in commit order.
    async fn log_read(&self, after: LogPosition, limit: usize)
    -> Result<Vec<LogEntry>, StoreError>;

    /// Returns the newest entry of the change log.
    async fn log_newest(&self) -> Result<Option<LogEntry>, StoreError>;

    /// Lists entries of the change log before one, newest first. With `edits_only`, leaves out
    /// those of ingestion runs, of the server, and about its own state
    /// ([`crate::change_log::is_internal`]).
    async fn log_browse(
        &self,
        before: LogKey,
        edits_only: bool,
        limit: usize,
    ) -> Result<Vec<BrowsedEntry>, StoreError>;

    /// Counts the entries of the change log about the server's own state
    /// ([`crate::change_log::is_internal`]), from one time until before another.
    async fn log_count_internal(
        &self,
        from_ms: EpochMillis,
        until_ms: EpochMillis,
    ) -> Result<u64, StoreError>;

    /// Lists up to `limit` events of the audit log, newest first.
    async fn audit_events(
        &self,
        range: AuditRange<'_>,
        limit: usize,
    ) -> Result<Vec<AuditEvent>, StoreError>;

    /// Lists up to `limit` items of each event, in URN order; only that of `entity`, if given.
    async fn audit_items(
        &self,
        events: &[AuditKey],
        entity: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Vec<AuditItem>>, StoreError>;

    /// Returns a stamp that changes with every commit, by this process or another. Cheap enough for
    /// every request. Commits of other servers may show up to a second late.
    fn commit_stamp(&self) -> Result<CommitStamp, StoreError>;

    /// Like [`StoreReader::commit_stamp`], for entities of these types: engines where a recheck
    /// costs a round trip keep the stamp when only other types changed. Comparable only with stamps
    /// of this method for the same types.
    fn commit_stamp_of(&self, entity_types: &[&str]) -> Result<CommitStamp, StoreError>;

    /// Like [`StoreReader::commit_stamp`], but includes every commit before the call, by any
    /// server. Comparable only with stamps of this method; writes that are not logged need not
    /// change it.
    async fn commit_stamp_exact(&self) -> Result<CommitStamp, StoreError>;
}
