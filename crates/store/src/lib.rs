//! The border between Docent and its databases.
//!
//! [`Store`] is what an engine offers: reads of aspects, of the rows derived from them and of the change log,
//! and [`transact`], which runs a piece of [`Work`] in one transaction. Work sees the database through
//! [`Transaction`]: it reads (and thereby locks) what it needs, decides, and hands over one list of
//! [`AspectWrite`]s. So an engine speaks SQL and decides nothing, and the catalog decides and speaks no SQL.
//!
//! What a write does to versions and history is engine-independent too: [`version`]; so is what must hold between the
//! rows: [`audit`].
//!
//! To add an engine: implement the two traits, run the conformance suite (`suite`, behind the feature of the
//! same name) over it, and name it in the binary. To add a query: a method here, a test in the suite, and the
//! SQL in each engine.

pub mod audit;
mod error;
mod rows;
#[cfg(feature = "suite")]
pub mod suite;
mod transaction;
pub mod version;

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use docent_model::{AspectName, Registry, Urn};

pub use error::StoreError;
pub use rows::{
    AspectKey, AspectWrite, Change, ChangeKind, Effect, EntityTexts, MixedRows, Page, PointRange,
    RawAspect, RawPoint, RawRetired, Related, Row, Run, RunAspect, StoredAspect, TimeseriesRow,
};
pub use transaction::{Aborted, Transaction, Work, transact};

/// A page of an export ends with the row that makes its values this long together; aspects may have megabytes.
pub const EXPORTED_BYTES: usize = 32 * 1024 * 1024;

/// An engine. All reads see the last committed write.
#[async_trait]
pub trait Store: Send + Sync + Debug {
    /// The latest version of each aspect asked for, in the order of the keys, from one consistent snapshot.
    async fn aspects_read(&self, keys: &[AspectKey]) -> Result<Vec<Row>, StoreError>;

    /// Like [`Store::aspects_read`] of `keys`, and whether there are any of `witnesses`, from the same snapshot. A
    /// witness is the key aspect of an entity that must be known to exist: every entity has one, so an engine need
    /// not look for it when it has found another aspect of the entity.
    async fn aspects_read_witnessed(
        &self,
        keys: &[AspectKey],
        witnesses: &[AspectKey],
    ) -> Result<(Vec<Row>, Vec<bool>), StoreError> {
        let all: Vec<AspectKey> = keys.iter().chain(witnesses).cloned().collect();
        let mut rows = self.aspects_read(&all).await?;
        let exist = rows.split_off(keys.len());
        Ok((rows, exist.iter().map(Option::is_some).collect()))
    }

    /// One row by its row version (0 is the latest).
    async fn aspect_read_version(
        &self,
        key: &AspectKey,
        version: i64,
    ) -> Result<Option<StoredAspect>, StoreError>;

    /// All versions of each aspect that are kept, the oldest first and the latest last, from one snapshot.
    async fn histories_read(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Vec<StoredAspect>>, StoreError>;

    /// All latest aspects of each entity, in the order of the URNs.
    async fn entities_read(
        &self,
        urns: &[Urn],
    ) -> Result<Vec<Vec<(AspectName, StoredAspect)>>, StoreError>;

    /// What [`Store::aspects_read_witnessed`] and [`Store::entities_read`] say, from the same snapshot.
    async fn mixed_read(
        &self,
        keys: &[AspectKey],
        witnesses: &[AspectKey],
        urns: &[Urn],
    ) -> Result<MixedRows, StoreError> {
        // Correct on every engine; one that can read less at once has its own.
        let asked = keys.iter().chain(witnesses).map(|key| &key.urn);
        let all: Vec<Urn> = urns.iter().chain(asked).cloned().collect();
        let mut entities = self.entities_read(&all).await?;
        let mut singles = entities.split_off(urns.len()).into_iter();
        let mut pick = |key: &AspectKey| {
            let mut aspects = singles.next().into_iter().flatten();
            aspects.find(|(aspect, _)| *aspect == key.aspect)
        };
        Ok(MixedRows {
            rows: keys
                .iter()
                .map(|key| pick(key).map(|(_, row)| Arc::new(row)))
                .collect(),
            exist: witnesses.iter().map(|key| pick(key).is_some()).collect(),
            entities,
        })
    }

    /// URNs that have the aspect, in URN order, behind `after`. Given an entity's key aspect it lists the
    /// entities of that type.
    async fn urns_list(
        &self,
        entity_type: &str,
        aspect: AspectName,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError>;

    /// The texts of all latest aspects of each entity of a type, in URN order, behind `after`. For those who read
    /// everything: an engine reads one range.
    async fn entities_list(
        &self,
        entity_type: &str,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<EntityTexts>, StoreError> {
        let Some(spec) = Registry::get().entity(entity_type) else {
            return Ok(Vec::new());
        };
        let urns = self
            .urns_list(entity_type, spec.key_aspect, after, limit)
            .await?;
        let entities = self.entities_read(&urns).await?;
        let texts = |rows: Vec<(AspectName, StoredAspect)>| {
            let texts = rows.into_iter().map(|(name, row)| (name, row.metadata));
            texts.collect()
        };
        Ok(urns
            .into_iter()
            .zip(entities)
            .map(|(urn, rows)| EntityTexts {
                urn,
                aspects: texts(rows),
            })
            .collect())
    }

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
    async fn changes_read(&self, after: i64, limit: usize) -> Result<Vec<Change>, StoreError>;

    /// The newest entry of the log; `None` if nothing was ever written.
    async fn change_newest(&self) -> Result<Option<Change>, StoreError>;

    /// A number that differs from the one before whenever anything was committed in between, by this process
    /// or by another. Cheap enough to ask on every request. Where other servers use the same database, what they
    /// committed may show up to a second late.
    fn commit_stamp(&self) -> Result<u64, StoreError>;

    /// Like [`Store::commit_stamp`] for whoever only cares about entities of these types: an engine for which looking
    /// again is dear leaves the answer as it is when others were changed. Only comparable with its own answers.
    fn commit_stamp_of(&self, entity_types: &[&str]) -> Result<u64, StoreError> {
        let _ = entity_types;
        self.commit_stamp()
    }

    /// Like [`Store::commit_stamp`], but nothing that was committed before the question is missing from the answer,
    /// whoever committed it. Only comparable with its own answers; changes that are not logged need not move it.
    async fn commit_stamp_exact(&self) -> Result<u64, StoreError> {
        self.commit_stamp()
    }

    /// Whether it can be written to. A database may be there only to be read, for a while or for good.
    async fn is_writable(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Runs the work in one transaction: all of it is committed durably, or nothing. Work that aborts by its
    /// own decision is rolled back and is no error of the store. Use [`transact`].
    async fn run(&self, work: Box<dyn Work>) -> Result<(), StoreError>;

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
    /// it is made by [`Store::rebuild`].
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

/// What [`Store::rebuild`] did.
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
