//! Maintenance and transfer: export, import, rebuild, backup, check.

use std::path::Path;

use async_trait::async_trait;

use crate::{RawAspect, RawPoint, RawRetired, StoreError};

/// A page of an export ends with the row that brings its values to this size; single aspects may have megabytes.
pub const EXPORTED_BYTES: usize = 32 * 1024 * 1024;

#[async_trait]
pub trait StoreMaintenance: Send + Sync {
    /// How many rows the three exports have together. Counting takes as long as there are rows.
    async fn export_count(&self) -> Result<u64, StoreError>;

    /// All rows of the aspect table behind one, in the order of URN, aspect and version; those that the registry does not
    /// know are among them. Large ones are fewer than `limit` ([`EXPORTED_BYTES`]), and there are none only at the end.
    async fn aspects_export(
        &self,
        after: Option<&RawAspect>,
        limit: usize,
    ) -> Result<Vec<RawAspect>, StoreError>;

    /// All points of time series behind one, in the order of URN, aspect, time and id; as many as of aspects.
    async fn points_export(
        &self,
        after: Option<&RawPoint>,
        limit: usize,
    ) -> Result<Vec<RawPoint>, StoreError>;

    /// The versions that aspects had before they were taken back, behind one, in the order of URN and aspect.
    async fn retired_export(
        &self,
        after: Option<&RawRetired>,
        limit: usize,
    ) -> Result<Vec<RawRetired>, StoreError>;

    /// Takes such versions over, in one transaction.
    async fn retired_import(&self, retired: Vec<RawRetired>) -> Result<(), StoreError>;

    /// Takes rows over as they are, in one transaction. The latest version of each aspect is logged; what follows from
    /// it is made by [`StoreMaintenance::rebuild`].
    async fn import(
        &self,
        aspects: Vec<RawAspect>,
        points: Vec<RawPoint>,
    ) -> Result<(), StoreError>;

    /// Recomputes every derived row from the aspects; says how many differed. `progress` is told (done, total).
    async fn rebuild(
        &self,
        progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<RebuildReport, StoreError>;

    /// Writes a consistent copy of everything to a new file while the store stays in use.
    async fn backup(
        &self,
        target: &Path,
        progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<(), StoreError>;

    /// Looks for damage: the engine's own integrity check, and invariants between the tables. Each finding is
    /// one sentence; none means healthy.
    async fn check(&self) -> Result<Vec<String>, StoreError>;
}

/// What [`StoreMaintenance::rebuild`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RebuildReport {
    /// Aspects read.
    pub aspects: u64,
    /// Aspects whose derived rows were not what the aspect says, now mended.
    pub mended: u64,
    /// Derived rows without an aspect, now removed.
    pub orphans: u64,
    /// Aspects that cannot be read: nothing is known of what follows from them, and they were passed over.
    pub unreadable: u64,
}
