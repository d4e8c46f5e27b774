//! A store that wraps another one, for tests that count calls, change results, or inject failures.
//!
//! To intercept one more call: a method of [`Intercept`] that forwards it, called by
//! [`InterceptedStore`].

use std::fmt::Debug;
use std::ops::Deref;
use std::path::Path;

use async_trait::async_trait;
use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::{
    AspectKey, AuditEvent, AuditItem, AuditKey, AuditRange, AuditRecord, BrowsedEntry, CommitStamp,
    EntityTexts, ListPage, LogEntry, LogKey, LogPosition, PointKey, PointRange, PointSize,
    RawAspect, RawPoint, RawRetiredVersion, ReadReply, ReadRequest, RebuildReport, RelatedEntity,
    RowVersion, RunAspect, RunSummary, SHORT_READ_BYTES, Store, StoreError, StoreMaintenance,
    StoreMeasurements, StoreReader, StoreWriter, StoredAspect, TimeseriesRow, TransactionBody,
    VersionKey,
};

/// The calls that a test may intercept; the default is to forward them.
#[async_trait]
pub trait Intercept: Debug + Send + Sync {
    fn inner(&self) -> &dyn Store;

    async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, StoreError> {
        self.inner().read(request).await
    }

    async fn entities_list(
        &self,
        entity_type: &str,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<EntityTexts>, StoreError> {
        self.inner().entities_list(entity_type, after, limit).await
    }

    async fn timeseries_list(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<TimeseriesRow>, StoreError> {
        let inner = self.inner();
        let list = inner.timeseries_list(key, range, newest_first, start, limit);
        list.await
    }

    async fn edges_list(
        &self,
        urns: &[Urn],
        outgoing: bool,
        relationships: &[&str],
        excluded_types: &[&str],
        start: usize,
        limit: usize,
    ) -> Result<Vec<ListPage<RelatedEntity>>, StoreError> {
        let inner = self.inner();
        let list = inner.edges_list(urns, outgoing, relationships, excluded_types, start, limit);
        list.await
    }

    async fn log_read(
        &self,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<LogEntry>, StoreError> {
        self.inner().log_read(after, limit).await
    }

    async fn log_newest(&self) -> Result<Option<LogEntry>, StoreError> {
        self.inner().log_newest().await
    }

    async fn run_transaction(&self, body: Box<dyn TransactionBody>) -> Result<(), StoreError> {
        self.inner().run_transaction(body).await
    }
}

/// The store that an [`Intercept`] makes of the wrapped one.
#[derive(Debug)]
pub struct InterceptedStore<I>(pub I);

impl<I> Deref for InterceptedStore<I> {
    type Target = I;

    fn deref(&self) -> &I {
        &self.0
    }
}

#[async_trait]
impl<I: Intercept> StoreReader for InterceptedStore<I> {
    async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, StoreError> {
        self.0.read(request).await
    }

    async fn aspect_read_version(
        &self,
        key: &AspectKey,
        version: RowVersion,
    ) -> Result<Option<StoredAspect>, StoreError> {
        self.0.inner().aspect_read_version(key, version).await
    }

    async fn versions_read(
        &self,
        keys: &[VersionKey],
        max_bytes: u64,
    ) -> Result<Vec<Option<StoredAspect>>, StoreError> {
        self.0.inner().versions_read(keys, max_bytes).await
    }

    async fn histories_read(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Vec<StoredAspect>>, StoreError> {
        self.0.inner().histories_read(keys).await
    }

    async fn urns_list(
        &self,
        entity_type: &str,
        aspect: AspectName,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError> {
        let inner = self.0.inner();
        inner.urns_list(entity_type, aspect, after, limit).await
    }

    async fn entities_list(
        &self,
        entity_type: &str,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<EntityTexts>, StoreError> {
        self.0.entities_list(entity_type, after, limit).await
    }

    async fn placements_list(
        &self,
        kind: &str,
        parent: Option<&Urn>,
        start: usize,
        limit: usize,
    ) -> Result<ListPage<Urn>, StoreError> {
        self.0
            .inner()
            .placements_list(kind, parent, start, limit)
            .await
    }

    async fn placement_ancestors(
        &self,
        urns: &[Urn],
        max: usize,
    ) -> Result<Vec<Vec<Urn>>, StoreError> {
        self.0.inner().placement_ancestors(urns, max).await
    }

    async fn edges_list(
        &self,
        urns: &[Urn],
        outgoing: bool,
        relationships: &[&str],
        excluded_types: &[&str],
        start: usize,
        limit: usize,
    ) -> Result<Vec<ListPage<RelatedEntity>>, StoreError> {
        self.0
            .edges_list(urns, outgoing, relationships, excluded_types, start, limit)
            .await
    }

    async fn timeseries_list(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<TimeseriesRow>, StoreError> {
        self.0
            .timeseries_list(key, range, newest_first, start, limit)
            .await
    }

    async fn timeseries_bytes(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<u64>, StoreError> {
        self.0
            .inner()
            .timeseries_bytes(key, range, newest_first, start, limit)
            .await
    }

    async fn points_list(
        &self,
        aspect: AspectName,
        range: &PointRange,
        after: Option<&PointKey>,
        limit: usize,
    ) -> Result<Vec<PointSize>, StoreError> {
        let inner = self.0.inner();
        inner.points_list(aspect, range, after, limit).await
    }

    async fn points_read(
        &self,
        aspect: AspectName,
        keys: &[PointKey],
    ) -> Result<Vec<Option<TimeseriesRow>>, StoreError> {
        self.0.inner().points_read(aspect, keys).await
    }

    async fn timeseries_latest(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<TimeseriesRow>>, StoreError> {
        self.0.inner().timeseries_latest(keys).await
    }

    async fn runs_list(
        &self,
        include_removed: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<RunSummary>, StoreError> {
        self.0
            .inner()
            .runs_list(include_removed, start, limit)
            .await
    }

    async fn run_aspects(
        &self,
        run: &str,
        include_removed: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<RunAspect>, StoreError> {
        self.0
            .inner()
            .run_aspects(run, include_removed, start, limit)
            .await
    }

    async fn run_timeseries(
        &self,
        run: &str,
        limit: usize,
    ) -> Result<Vec<(AspectKey, u64)>, StoreError> {
        self.0.inner().run_timeseries(run, limit).await
    }

    async fn run_points_count(&self, run: &str) -> Result<u64, StoreError> {
        self.0.inner().run_points_count(run).await
    }

    /// Reads with one call, so that a test sees what is read.
    async fn read_if_short(
        &self,
        request: ReadRequest<'_>,
    ) -> Result<Option<ReadReply>, StoreError> {
        let bytes = self.read_bytes(request.rows, request.entities).await?;
        if bytes > SHORT_READ_BYTES {
            return Ok(None);
        }
        self.read(request).await.map(Some)
    }

    async fn read_bytes(&self, rows: &[AspectKey], entities: &[Urn]) -> Result<u64, StoreError> {
        self.0.inner().read_bytes(rows, entities).await
    }

    async fn aspects_count(
        &self,
        aspect: AspectName,
        urn_like: Option<&str>,
        excluded_types: &[&str],
    ) -> Result<u64, StoreError> {
        let inner = self.0.inner();
        inner.aspects_count(aspect, urn_like, excluded_types).await
    }

    async fn log_read(
        &self,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<LogEntry>, StoreError> {
        self.0.log_read(after, limit).await
    }

    async fn log_newest(&self) -> Result<Option<LogEntry>, StoreError> {
        self.0.log_newest().await
    }

    async fn log_browse(
        &self,
        before: LogKey,
        edits_only: bool,
        limit: usize,
    ) -> Result<Vec<BrowsedEntry>, StoreError> {
        self.0.inner().log_browse(before, edits_only, limit).await
    }

    async fn log_count_internal(
        &self,
        from_ms: EpochMillis,
        until_ms: EpochMillis,
    ) -> Result<u64, StoreError> {
        let inner = self.0.inner();
        inner.log_count_internal(from_ms, until_ms).await
    }

    async fn audit_events(
        &self,
        range: AuditRange<'_>,
        limit: usize,
    ) -> Result<Vec<AuditEvent>, StoreError> {
        self.0.inner().audit_events(range, limit).await
    }

    async fn audit_items(
        &self,
        events: &[AuditKey],
        entity: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Vec<AuditItem>>, StoreError> {
        self.0.inner().audit_items(events, entity, limit).await
    }

    fn commit_stamp(&self) -> Result<CommitStamp, StoreError> {
        self.0.inner().commit_stamp()
    }

    fn commit_stamp_of(&self, entity_types: &[&str]) -> Result<CommitStamp, StoreError> {
        self.0.inner().commit_stamp_of(entity_types)
    }

    async fn commit_stamp_exact(&self) -> Result<CommitStamp, StoreError> {
        self.0.inner().commit_stamp_exact().await
    }
}

#[async_trait]
impl<I: Intercept> StoreWriter for InterceptedStore<I> {
    async fn is_writable(&self) -> Result<bool, StoreError> {
        self.0.inner().is_writable().await
    }

    async fn run_transaction(&self, body: Box<dyn TransactionBody>) -> Result<(), StoreError> {
        self.0.run_transaction(body).await
    }
}

#[async_trait]
impl<I: Intercept> StoreMaintenance for InterceptedStore<I> {
    fn engine(&self) -> &'static str {
        self.0.inner().engine()
    }

    fn measurements(&self) -> StoreMeasurements {
        self.0.inner().measurements()
    }

    async fn size_bytes(&self) -> Result<u64, StoreError> {
        self.0.inner().size_bytes().await
    }

    async fn export_count(&self) -> Result<u64, StoreError> {
        self.0.inner().export_count().await
    }

    async fn aspects_export(
        &self,
        after: Option<&RawAspect>,
        limit: usize,
    ) -> Result<Vec<RawAspect>, StoreError> {
        self.0.inner().aspects_export(after, limit).await
    }

    async fn points_export(
        &self,
        after: Option<&RawPoint>,
        limit: usize,
    ) -> Result<Vec<RawPoint>, StoreError> {
        self.0.inner().points_export(after, limit).await
    }

    async fn retired_versions_export(
        &self,
        after: Option<&RawRetiredVersion>,
        limit: usize,
    ) -> Result<Vec<RawRetiredVersion>, StoreError> {
        self.0.inner().retired_versions_export(after, limit).await
    }

    async fn retired_versions_import(
        &self,
        retired: Vec<RawRetiredVersion>,
    ) -> Result<(), StoreError> {
        self.0.inner().retired_versions_import(retired).await
    }

    async fn audit_export(
        &self,
        after: Option<AuditKey>,
        limit: usize,
    ) -> Result<Vec<AuditRecord>, StoreError> {
        self.0.inner().audit_export(after, limit).await
    }

    async fn audit_import(&self, records: Vec<AuditRecord>) -> Result<(), StoreError> {
        self.0.inner().audit_import(records).await
    }

    async fn audit_prune(&self, before_ms: EpochMillis, limit: usize) -> Result<u64, StoreError> {
        self.0.inner().audit_prune(before_ms, limit).await
    }

    async fn import(
        &self,
        aspects: Vec<RawAspect>,
        points: Vec<RawPoint>,
    ) -> Result<(), StoreError> {
        self.0.inner().import(aspects, points).await
    }

    async fn rebuild(
        &self,
        progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<RebuildReport, StoreError> {
        self.0.inner().rebuild(progress).await
    }

    async fn backup(
        &self,
        target: &Path,
        progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<(), StoreError> {
        self.0.inner().backup(target, progress).await
    }

    async fn check(&self) -> Result<Vec<String>, StoreError> {
        self.0.inner().check().await
    }
}
