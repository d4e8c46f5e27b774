//! [`StoreMaintenance`] on SQLite: long reads on a blocking thread, imports and rebuilds on the
//! writer.

use std::path::Path;

use async_trait::async_trait;
use docent_model::EpochMillis;
use docent_store::{
    AuditKey, AuditRecord, RawAspect, RawPoint, RawRetiredVersion, RebuildReport, StoreError,
    StoreMaintenance, StoreMeasurements,
};

use crate::connection::SMALL_CACHE_KIB;
use crate::readers::ReadLength;
use crate::{SqliteStore, audit_log, backup, blocking, check, connection, rebuild, transfer};

const SIZE: &str = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";

#[async_trait]
impl StoreMaintenance for SqliteStore {
    fn engine(&self) -> &'static str {
        "SQLite"
    }

    async fn size_bytes(&self) -> Result<u64, StoreError> {
        self.read_snapshot(ReadLength::Short, |connection| {
            let bytes: i64 = connection.query_row(SIZE, (), |row| row.get(0))?;
            Ok(bytes.cast_unsigned())
        })
        .await
    }

    fn measurements(&self) -> StoreMeasurements {
        StoreMeasurements {
            writer: Some(self.writer.measurements()),
            pool: None,
        }
    }

    async fn export_count(&self) -> Result<u64, StoreError> {
        self.read_snapshot(ReadLength::Scan, transfer::count).await
    }

    async fn aspects_export(
        &self,
        after: Option<&RawAspect>,
        limit: usize,
    ) -> Result<Vec<RawAspect>, StoreError> {
        let after = after.cloned();
        self.read_snapshot(ReadLength::Long, move |connection| {
            transfer::aspects(connection, after.as_ref(), limit)
        })
        .await
    }

    async fn points_export(
        &self,
        after: Option<&RawPoint>,
        limit: usize,
    ) -> Result<Vec<RawPoint>, StoreError> {
        let after = after.cloned();
        self.read_snapshot(ReadLength::Long, move |connection| {
            transfer::points(connection, after.as_ref(), limit)
        })
        .await
    }

    async fn retired_versions_export(
        &self,
        after: Option<&RawRetiredVersion>,
        limit: usize,
    ) -> Result<Vec<RawRetiredVersion>, StoreError> {
        let after = after.cloned();
        self.read_snapshot(ReadLength::Long, move |connection| {
            transfer::retired(connection, after.as_ref(), limit)
        })
        .await
    }

    async fn retired_versions_import(
        &self,
        retired: Vec<RawRetiredVersion>,
    ) -> Result<(), StoreError> {
        self.writer
            .run_exclusive(move |connection| transfer::import_retired(connection, &retired))
            .await
    }

    async fn audit_export(
        &self,
        after: Option<AuditKey>,
        limit: usize,
    ) -> Result<Vec<AuditRecord>, StoreError> {
        self.read_snapshot(ReadLength::Long, move |connection| {
            audit_log::export(connection, after, limit)
        })
        .await
    }

    async fn audit_import(&self, records: Vec<AuditRecord>) -> Result<(), StoreError> {
        self.writer
            .run_exclusive(move |connection| audit_log::import(connection, &records))
            .await
    }

    async fn audit_prune(&self, before_ms: EpochMillis, limit: usize) -> Result<u64, StoreError> {
        self.writer
            .run_exclusive(move |connection| audit_log::prune(connection, before_ms, limit))
            .await
    }

    async fn import(
        &self,
        aspects: Vec<RawAspect>,
        points: Vec<RawPoint>,
    ) -> Result<(), StoreError> {
        self.writer
            .run_exclusive(move |connection| transfer::import(connection, &aspects, &points))
            .await
    }

    async fn rebuild(
        &self,
        mut progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<RebuildReport, StoreError> {
        self.writer
            .run_exclusive(move |connection| rebuild::rebuild(connection, &mut *progress))
            .await
    }

    async fn backup(
        &self,
        target: &Path,
        mut progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<(), StoreError> {
        let (source, target) = (self.path.clone(), target.to_owned());
        blocking(move || backup::backup(&source, &target, &mut *progress)).await
    }

    async fn check(&self) -> Result<Vec<String>, StoreError> {
        let path = self.path.clone();
        blocking(move || check::check(&connection::open_reader(&path, SMALL_CACHE_KIB)?)).await
    }
}
