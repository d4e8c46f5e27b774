//! Maintenance and transfer: export, import, rebuild, backup, check.

use std::path::Path;

use async_trait::async_trait;
use docent_model::EpochMillis;

use crate::{
    AuditKey, AuditRecord, RawAspect, RawPoint, RawRetiredVersion, StoreError, StoreMeasurements,
};

/// A page of an export ends with the row that brings its values to this size: single aspects may
/// have megabytes.
pub const EXPORT_PAGE_BYTES: usize = 32 * 1024 * 1024;
/// A page of exported audit events has at most this many items, unless it is a single event.
pub const EXPORT_PAGE_ITEMS: u64 = 50_000;
/// How many items of audit events one call deletes, unless they are those of a single event.
pub const PRUNED_ITEMS: u64 = 20_000;

#[async_trait]
pub trait StoreMaintenance: Send + Sync {
    /// The name of the engine, for administrators.
    fn engine(&self) -> &'static str;

    /// How many bytes the database takes on the disk, including free pages.
    async fn size_bytes(&self) -> Result<u64, StoreError>;

    /// What the engine has counted since the store was opened. Reads no data.
    fn measurements(&self) -> StoreMeasurements;

    /// Counts the rows of the exports. Takes time linear in the number of rows.
    async fn export_count(&self) -> Result<u64, StoreError>;

    /// Exports the aspect table after a row, ordered by URN, aspect and version, including aspects
    /// that the registry does not know. A page of large rows has fewer than `limit`
    /// ([`EXPORT_PAGE_BYTES`]); only the end is empty.
    async fn aspects_export(
        &self,
        after: Option<&RawAspect>,
        limit: usize,
    ) -> Result<Vec<RawAspect>, StoreError>;

    /// Exports time series points after one, ordered by URN, aspect, time and id, with the same
    /// page size.
    async fn points_export(
        &self,
        after: Option<&RawPoint>,
        limit: usize,
    ) -> Result<Vec<RawPoint>, StoreError>;

    /// Exports the versions of aspects that a rollback deleted, after one, ordered by URN and
    /// aspect.
    async fn retired_versions_export(
        &self,
        after: Option<&RawRetiredVersion>,
        limit: usize,
    ) -> Result<Vec<RawRetiredVersion>, StoreError>;

    /// Imports such versions, in one transaction.
    async fn retired_versions_import(
        &self,
        retired: Vec<RawRetiredVersion>,
    ) -> Result<(), StoreError>;

    /// Exports audit events after one, oldest first; a page of large events has fewer than `limit`
    /// ([`EXPORT_PAGE_ITEMS`]).
    async fn audit_export(
        &self,
        after: Option<AuditKey>,
        limit: usize,
    ) -> Result<Vec<AuditRecord>, StoreError>;

    /// Imports audit events, in one transaction.
    async fn audit_import(&self, records: Vec<AuditRecord>) -> Result<(), StoreError>;

    /// Deletes up to `limit` audit events from before a time, the oldest first, in one transaction;
    /// fewer if they are large ([`PRUNED_ITEMS`]). Returns how many.
    async fn audit_prune(&self, before_ms: EpochMillis, limit: usize) -> Result<u64, StoreError>;

    /// Imports rows unchanged, in one transaction. Latest versions are logged; their derived rows
    /// are made by [`StoreMaintenance::rebuild`].
    async fn import(
        &self,
        aspects: Vec<RawAspect>,
        points: Vec<RawPoint>,
    ) -> Result<(), StoreError>;

    /// Recomputes every derived row from the aspects. `progress` gets (done, total).
    async fn rebuild(
        &self,
        progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<RebuildReport, StoreError>;

    /// Writes a consistent copy of the database to a new file while the store is in use.
    async fn backup(
        &self,
        target: &Path,
        progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<(), StoreError>;

    /// Checks for damage: the engine's own integrity check, and the invariants between the tables.
    /// Returns one sentence per finding.
    async fn check(&self) -> Result<Vec<String>, StoreError>;
}

/// The result of [`StoreMaintenance::rebuild`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RebuildReport {
    /// Aspects read.
    pub aspects: u64,
    /// Aspects whose derived rows were wrong.
    pub repaired: u64,
    /// Derived rows without an aspect, which were deleted.
    pub orphans: u64,
    /// Aspects that are not valid JSON, and were skipped.
    pub unreadable: u64,
}
