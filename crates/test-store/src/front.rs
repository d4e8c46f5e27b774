//! A store in front of another one, for tests that count calls, change what is answered, or let something fail.
//!
//! To alter one more call: a method of [`Front`] that passes it on, and its name in [`InFront`].

use std::fmt::Debug;
use std::ops::Deref;
use std::path::Path;

use async_trait::async_trait;
use docent_model::{AspectName, Urn};
use docent_store::{
    AspectKey, Change, Page, PointRange, RawAspect, RawPoint, RawRetired, RebuildReport, Related,
    Row, Run, RunAspect, Store, StoreError, StoredAspect, TimeseriesRow, Work,
};

/// The calls that a test may alter. Those that it does not are passed on.
#[async_trait]
pub trait Front: Debug + Send + Sync {
    fn behind(&self) -> &dyn Store;

    async fn aspects_read(&self, keys: &[AspectKey]) -> Result<Vec<Row>, StoreError> {
        self.behind().aspects_read(keys).await
    }

    async fn entities_read(
        &self,
        urns: &[Urn],
    ) -> Result<Vec<Vec<(AspectName, StoredAspect)>>, StoreError> {
        self.behind().entities_read(urns).await
    }

    async fn urns_list(
        &self,
        entity_type: &str,
        aspect: AspectName,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError> {
        let list = self.behind().urns_list(entity_type, aspect, after, limit);
        list.await
    }

    async fn edges_list(
        &self,
        urns: &[Urn],
        outgoing: bool,
        relationships: &[&str],
        start: usize,
        limit: usize,
    ) -> Result<Vec<Page<Related>>, StoreError> {
        let behind = self.behind();
        let list = behind.edges_list(urns, outgoing, relationships, start, limit);
        list.await
    }

    async fn changes_read(&self, after: i64, limit: usize) -> Result<Vec<Change>, StoreError> {
        self.behind().changes_read(after, limit).await
    }

    async fn change_newest(&self) -> Result<Option<Change>, StoreError> {
        self.behind().change_newest().await
    }
}

/// A [`Front`] as a store.
#[derive(Debug)]
pub struct InFront<F>(pub F);

impl<F> Deref for InFront<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.0
    }
}

#[async_trait]
impl<F: Front> Store for InFront<F> {
    async fn aspects_read(&self, keys: &[AspectKey]) -> Result<Vec<Row>, StoreError> {
        self.0.aspects_read(keys).await
    }

    async fn aspect_read_version(
        &self,
        key: &AspectKey,
        version: i64,
    ) -> Result<Option<StoredAspect>, StoreError> {
        self.0.behind().aspect_read_version(key, version).await
    }

    async fn histories_read(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Vec<StoredAspect>>, StoreError> {
        self.0.behind().histories_read(keys).await
    }

    async fn entities_read(
        &self,
        urns: &[Urn],
    ) -> Result<Vec<Vec<(AspectName, StoredAspect)>>, StoreError> {
        self.0.entities_read(urns).await
    }

    async fn urns_list(
        &self,
        entity_type: &str,
        aspect: AspectName,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError> {
        self.0.urns_list(entity_type, aspect, after, limit).await
    }

    async fn placements_list(
        &self,
        kind: &str,
        parent: Option<&Urn>,
        start: usize,
        limit: usize,
    ) -> Result<Page<Urn>, StoreError> {
        self.0
            .behind()
            .placements_list(kind, parent, start, limit)
            .await
    }

    async fn placement_ancestors(
        &self,
        urns: &[Urn],
        max: usize,
    ) -> Result<Vec<Vec<Urn>>, StoreError> {
        self.0.behind().placement_ancestors(urns, max).await
    }

    async fn edges_list(
        &self,
        urns: &[Urn],
        outgoing: bool,
        relationships: &[&str],
        start: usize,
        limit: usize,
    ) -> Result<Vec<Page<Related>>, StoreError> {
        self.0
            .edges_list(urns, outgoing, relationships, start, limit)
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
            .behind()
            .timeseries_list(key, range, newest_first, start, limit)
            .await
    }

    async fn timeseries_latest(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<TimeseriesRow>>, StoreError> {
        self.0.behind().timeseries_latest(keys).await
    }

    async fn runs_list(
        &self,
        include_removed: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<Run>, StoreError> {
        self.0
            .behind()
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
            .behind()
            .run_aspects(run, include_removed, start, limit)
            .await
    }

    async fn run_timeseries(
        &self,
        run: &str,
        limit: usize,
    ) -> Result<Vec<(AspectKey, u64)>, StoreError> {
        self.0.behind().run_timeseries(run, limit).await
    }

    async fn run_points_count(&self, run: &str) -> Result<u64, StoreError> {
        self.0.behind().run_points_count(run).await
    }

    async fn aspects_count(
        &self,
        aspect: AspectName,
        urn_like: Option<&str>,
    ) -> Result<u64, StoreError> {
        self.0.behind().aspects_count(aspect, urn_like).await
    }

    async fn changes_read(&self, after: i64, limit: usize) -> Result<Vec<Change>, StoreError> {
        self.0.changes_read(after, limit).await
    }

    async fn change_newest(&self) -> Result<Option<Change>, StoreError> {
        self.0.change_newest().await
    }

    fn commit_stamp(&self) -> Result<u64, StoreError> {
        self.0.behind().commit_stamp()
    }

    async fn commit_stamp_exact(&self) -> Result<u64, StoreError> {
        self.0.behind().commit_stamp_exact().await
    }

    async fn run(&self, work: Box<dyn Work>) -> Result<(), StoreError> {
        self.0.behind().run(work).await
    }

    async fn export_count(&self) -> Result<u64, StoreError> {
        self.0.behind().export_count().await
    }

    async fn aspects_export(
        &self,
        after: Option<&RawAspect>,
        limit: usize,
    ) -> Result<Vec<RawAspect>, StoreError> {
        self.0.behind().aspects_export(after, limit).await
    }

    async fn points_export(
        &self,
        after: Option<&RawPoint>,
        limit: usize,
    ) -> Result<Vec<RawPoint>, StoreError> {
        self.0.behind().points_export(after, limit).await
    }

    async fn retired_export(
        &self,
        after: Option<&RawRetired>,
        limit: usize,
    ) -> Result<Vec<RawRetired>, StoreError> {
        self.0.behind().retired_export(after, limit).await
    }

    async fn retired_import(&self, retired: Vec<RawRetired>) -> Result<(), StoreError> {
        self.0.behind().retired_import(retired).await
    }

    async fn import(
        &self,
        aspects: Vec<RawAspect>,
        points: Vec<RawPoint>,
    ) -> Result<(), StoreError> {
        self.0.behind().import(aspects, points).await
    }

    async fn rebuild(
        &self,
        progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<RebuildReport, StoreError> {
        self.0.behind().rebuild(progress).await
    }

    async fn backup(
        &self,
        target: &Path,
        progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<(), StoreError> {
        self.0.behind().backup(target, progress).await
    }

    async fn check(&self) -> Result<Vec<String>, StoreError> {
        self.0.behind().check().await
    }
}
