//! Ingestion runs: their list, their aspects, and rollback.
//!
//! A run has the aspects whose latest version it wrote or confirmed. A rollback covers only what it
//! wrote: it restores the version before, or deletes the aspect; it deletes an entity that the run
//! created. If others have written to that entity since, only the run's own aspects are rolled
//! back, unless the rollback is hard.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use docent_model::{AspectName, NO_RUN_ID, Registry, Urn};
use docent_store::{AspectKey, PointRange, ReadRequest, version};

use crate::access::{child_aspects, parent_in, parent_key};
use crate::{Applied, Caller, Catalog, Change, Error, Proposal};

pub use docent_store::{RunAspect, RunSummary};

/// How many aspects of a run one transaction rolls back.
const CHUNK: usize = 1000;
/// How many points of time series one transaction deletes, unless one series alone has more.
const MAX_POINTS: u64 = 100_000;
/// A rollback repeats as long as it finds something to do; a client that keeps writing under the
/// run's id must not keep it going.
const MAX_PASSES: usize = 10;
/// The most chunks of a pass: runs have millions of aspects, not billions.
const MAX_CHUNKS: usize = 100_000;
/// How many aspects and entities the summary lists.
const MAX_LISTED: usize = 100;
const MAX_PAGE: usize = 10_000;
/// The most levels of a hierarchy that a rollback tells apart.
const MAX_LEVELS: usize = 100;

/// The result of a rollback, or of a dry run.
#[derive(Debug, Default)]
pub struct RolledBack {
    /// Aspects of the run that are rolled back.
    pub aspects_reverted: u64,
    /// Aspects and points of others on entities that the run created.
    pub aspects_affected: u64,
    /// Entities that the run created and that are deleted.
    pub entities_affected: u64,
    /// Entities that the run created and that others have written to.
    pub unsafe_entities: u64,
    /// The first of them.
    pub named_unsafe_entities: Vec<Urn>,
    /// The first of the rolled back aspects.
    pub aspects: Vec<RunAspect>,
    /// Points of time series.
    pub points: u64,
}

/// The result for one entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityRollback {
    pub urn: Urn,
    /// The aspects of the run that are rolled back.
    pub aspects: Vec<RunAspect>,
    /// The run created the entity.
    pub created: bool,
    /// The entity is deleted.
    pub deleted: bool,
    /// How many aspects and points others wrote to an entity that the run created.
    pub foreign: u64,
}

/// The parameters of a rollback.
#[derive(Clone, Copy)]
struct RollbackRequest<'a> {
    run_id: &'a str,
    hard: bool,
    dry_run: bool,
}

/// The rows of a chunk, and the pass that it belongs to.
#[derive(Clone, Copy)]
struct RolledBackChunk<'a> {
    rows: &'a [RunAspect],
    dry_run: bool,
    is_first_pass: bool,
}

impl RollbackRequest<'_> {
    fn proposals<'u>(self, urns: impl IntoIterator<Item = &'u Urn>) -> Vec<Proposal> {
        let change = Change::RollbackRun {
            run_id: self.run_id.to_owned(),
            hard: self.hard,
            dry_run: self.dry_run,
        };
        let urns = urns.into_iter();
        urns.map(|urn| Proposal::new(urn.clone(), change.clone()))
            .collect()
    }
}

impl Catalog {
    /// The runs, the most recently active first.
    pub async fn runs(
        &self,
        include_removed: bool,
        start: usize,
        count: usize,
    ) -> Result<Vec<RunSummary>, Error> {
        self.check_sees_everything("listing ingestion runs").await?;
        let count = count.min(MAX_PAGE);
        Ok(self
            .store()
            .runs_list(include_removed, start, count)
            .await?)
    }

    /// The aspects that a run wrote or confirmed last.
    pub async fn run_aspects(
        &self,
        run: &str,
        include_removed: bool,
        start: usize,
        count: usize,
    ) -> Result<Vec<RunAspect>, Error> {
        self.check_sees_everything("listing what an ingestion run wrote")
            .await?;
        let store = self.store();
        let mut aspects = store
            .run_aspects(run, include_removed, start, count.min(MAX_PAGE))
            .await?;
        let hidden = self.hidden_among(aspects.iter().map(|it| &it.key.urn));
        let hidden = hidden.await?;
        aspects.retain(|it| !hidden.contains(&it.key.urn));
        Ok(aspects)
    }

    /// Rolls back what a run wrote. `hard` also deletes entities of the run that others have
    /// written to. Works in chunks, one transaction each; after a failure, the same call continues.
    /// Each decision is made in the transaction that applies it, and once before the first one:
    /// what the caller may not roll back as a whole is not rolled back in part.
    pub async fn roll_back(
        &self,
        caller: &Caller,
        run_id: &str,
        dry_run: bool,
        hard: bool,
    ) -> Result<RolledBack, Error> {
        self.check_sees_everything("rolling back an ingestion run")
            .await?;
        if run_id.is_empty() || run_id == NO_RUN_ID {
            return Err(Error::invalid(
                "the id of the run to roll back is missing: the list of runs has the ids",
            ));
        }
        let mut summary = RolledBack {
            points: self.store().run_points_count(run_id).await?,
            ..RolledBack::default()
        };
        let request = RollbackRequest {
            run_id,
            hard,
            dry_run,
        };
        if !dry_run {
            let rehearsal = RollbackRequest {
                dry_run: true,
                ..request
            };
            self.all_passes(caller, rehearsal, &mut RolledBack::default())
                .await?;
        }
        self.all_passes(caller, request, &mut summary).await?;
        if !dry_run {
            self.delete_points_of(caller, run_id).await?;
        }
        self.hide_in(&mut summary).await?;
        Ok(summary)
    }

    /// Processes the aspects of the run until none are left that can be rolled back.
    async fn all_passes(
        &self,
        caller: &Caller,
        request: RollbackRequest<'_>,
        summary: &mut RolledBack,
    ) -> Result<(), Error> {
        let mut parents = BTreeSet::new();
        for pass in 0..MAX_PASSES {
            let done = self
                .pass(caller, request, pass == 0, &mut parents, summary)
                .await?;
            if request.dry_run || !done {
                break;
            }
        }
        self.roll_back_parents(caller, request, parents, summary)
            .await
    }

    /// Removes what the caller may not see from the lists of a summary; its totals have everything.
    async fn hide_in(&self, summary: &mut RolledBack) -> Result<(), Error> {
        let RolledBack {
            aspects,
            named_unsafe_entities: entities,
            ..
        } = summary;
        let listed = aspects.iter().map(|it| &it.key.urn).chain(&*entities);
        let hidden = self.hidden_among(listed).await?;
        aspects.retain(|it| !hidden.contains(&it.key.urn));
        entities.retain(|urn| !hidden.contains(urn));
        Ok(())
    }

    /// Processes the aspects of the run once, except for those of domains, containers and glossary
    /// nodes; returns whether anything was done.
    async fn pass(
        &self,
        caller: &Caller,
        request: RollbackRequest<'_>,
        is_first_pass: bool,
        parents: &mut BTreeSet<Urn>,
        summary: &mut RolledBack,
    ) -> Result<bool, Error> {
        let mut done = false;
        let mut start = 0;
        for _ in 0..MAX_CHUNKS {
            let rows = self
                .store()
                .run_aspects(request.run_id, true, start, CHUNK)
                .await?;
            if rows.is_empty() {
                return Ok(done);
            }
            let urns: BTreeSet<&Urn> = rows.iter().map(|row| &row.key.urn).collect();
            // Parents come last: only a domain without children can be deleted, and the deletion of
            // a container changes what is inside.
            let (of_parents, others): (Vec<&Urn>, Vec<&Urn>) =
                urns.into_iter().partition(|urn| is_parent(urn));
            parents.extend(of_parents.into_iter().cloned());
            let applied = self
                .roll_back_some(caller, request.proposals(others))
                .await?;
            let chunk = RolledBackChunk {
                rows: &rows,
                dry_run: request.dry_run,
                is_first_pass,
            };
            summary.add(&applied, Some(chunk));
            let left = if request.dry_run {
                rows.len()
            } else {
                self.count_left(request.run_id, &rows).await?
            };
            done |= left < rows.len();
            start += left;
        }
        Err(Error::unavailable(format!(
            "the run {} has more than {} aspects; the rollback is committed so far, and continues when it is repeated",
            request.run_id,
            CHUNK * MAX_CHUNKS
        )))
    }

    /// Applies proposals that the caller did not name, so that errors must not name what the caller
    /// may not see.
    async fn roll_back_some(
        &self,
        caller: &Caller,
        proposals: Vec<Proposal>,
    ) -> Result<Applied, Error> {
        let urns: Vec<Urn> = proposals.iter().map(|it| it.urn.clone()).collect();
        let applied = self.ingest(caller, proposals).await;
        let Err(error) = &applied else {
            return applied;
        };
        let hidden = self.hidden_among(&urns).await?;
        let is_named = |urn: &Urn| {
            let subject = error.subject().urn.as_deref();
            subject == Some(urn.as_str()) || error.message().contains(urn.as_str())
        };
        if !hidden.iter().any(is_named) {
            return applied;
        }
        Err(Error::forbidden(
            "Unauthorized to perform this action: the run also wrote entities that only those who manage them may \
             see and change, such as ingestion sources. Ask an administrator to roll it back.",
        ))
    }

    /// How many of the aspects still belong to the run.
    async fn count_left(&self, run: &str, rows: &[RunAspect]) -> Result<usize, Error> {
        let keys: Vec<AspectKey> = rows.iter().map(|row| row.key.clone()).collect();
        // Unfiltered, because a run may have written secret aspects.
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let of_run = rows.iter().flatten();
        Ok(of_run
            .filter(|row| version::system_metadata_of(row).run_id == run)
            .count())
    }

    /// Rolls back what the run wrote about domains, containers and glossary nodes, the deepest
    /// first.
    async fn roll_back_parents(
        &self,
        caller: &Caller,
        request: RollbackRequest<'_>,
        parents: BTreeSet<Urn>,
        summary: &mut RolledBack,
    ) -> Result<(), Error> {
        let by_depth = self.deepest_first(parents).await?;
        for some in by_depth.chunks(CHUNK) {
            let proposals = request.proposals(some);
            let applied = self.roll_back_some(caller, proposals).await?;
            summary.add(&applied, None);
        }
        Ok(())
    }

    /// Sorts parts of hierarchies: each comes before the one above it.
    async fn deepest_first(&self, urns: BTreeSet<Urn>) -> Result<Vec<Urn>, Error> {
        let keys: Vec<AspectKey> = urns.iter().filter_map(parent_key).collect();
        let mut above: HashMap<&Urn, Urn> = HashMap::new();
        for some in keys.chunks(CHUNK) {
            let rows = self.store().read(ReadRequest::rows(some)).await?.rows;
            for (key, row) in some.iter().zip(rows) {
                if let Some(parent) = parent_in(key.aspect, &row) {
                    above.insert(&key.urn, parent);
                }
            }
        }
        let depth = |urn: &Urn| {
            let parents = std::iter::successors(above.get(urn), |parent| above.get(parent));
            parents.take(MAX_LEVELS).count()
        };
        let mut sorted: Vec<Urn> = urns.iter().cloned().collect();
        sorted.sort_by_cached_key(|urn| Reverse(depth(urn)));
        Ok(sorted)
    }

    async fn delete_points_of(&self, caller: &Caller, run: &str) -> Result<(), Error> {
        for _ in 0..MAX_CHUNKS {
            let mut series = self.store().run_timeseries(run, CHUNK).await?;
            if series.is_empty() {
                return Ok(());
            }
            let mut points = 0;
            let fitting = series.iter().take_while(|(_, count)| {
                points += count;
                points <= MAX_POINTS
            });
            let fitting = fitting.count();
            series.truncate(fitting.max(1));
            let range = PointRange {
                run: Some(run.to_owned()),
                ..PointRange::default()
            };
            let proposals = series.into_iter().map(|(key, _)| {
                let (aspect, range) = (key.aspect, range.clone());
                Proposal::new(key.urn, Change::DeletePoints { aspect, range })
            });
            self.roll_back_some(caller, proposals.collect()).await?;
        }
        Err(Error::unavailable(format!(
            "points of the run {run} are written as fast as they are deleted: stop the run, and roll it back again"
        )))
    }
}

/// Whether others may be below the entity in a hierarchy.
fn is_parent(urn: &Urn) -> bool {
    let entity_type = urn.entity_type();
    entity_type == "domain" || !child_aspects(entity_type).is_empty()
}

impl RolledBack {
    /// Adds the result of a chunk; parents have none. An entity that stays appears with each chunk
    /// and each pass that has some of its aspects, and so do all of them in a dry run: then only
    /// the aspects of the chunk count, and the entity itself with its key.
    fn add(&mut self, applied: &Applied, chunk: Option<RolledBackChunk<'_>>) {
        let in_order = chunk.map_or(&[][..], |chunk| chunk.rows);
        let listed: HashSet<&AspectKey> = in_order.iter().map(|row| &row.key).collect();
        let is_whole = chunk.is_none_or(|chunk| !chunk.dry_run);
        let is_first_pass = chunk.is_none_or(|chunk| chunk.is_first_pass);
        let mut reverted = HashSet::new();
        // A rollback in several transactions appears with each of them.
        let mut counted = HashSet::new();
        for entity in &applied.rolled_back {
            let key_aspect = |name: AspectName| Registry::get().is_key_aspect(&entity.urn, name);
            let counts = |key: &AspectKey| is_whole || listed.contains(key);
            let own = entity.aspects.iter().map(|row| &row.key);
            reverted.extend(own.filter(|key| counts(key)));
            let has_key = in_order
                .iter()
                .any(|row| row.key.urn == entity.urn && key_aspect(row.key.aspect));
            let comes_once = chunk.is_none() || (is_whole && entity.deleted);
            if entity.created
                && (comes_once || (is_first_pass && has_key))
                && counted.insert(&entity.urn)
            {
                self.add_entity(entity);
            }
        }
        self.aspects_reverted += reverted.len() as u64;
        // In the order in which the run wrote them, as far as it is known.
        let listed_rows = in_order.iter().filter(|row| reverted.contains(&row.key));
        let others = applied.rolled_back.iter().flat_map(|it| &it.aspects);
        let others = others.filter(|row| reverted.contains(&row.key) && !listed.contains(&row.key));
        let room = MAX_LISTED.saturating_sub(self.aspects.len());
        self.aspects
            .extend(listed_rows.chain(others).take(room).cloned());
    }

    /// Counts an entity that the run created.
    fn add_entity(&mut self, entity: &EntityRollback) {
        self.entities_affected += u64::from(entity.deleted);
        if entity.foreign > 0 {
            self.aspects_affected += entity.foreign;
            self.unsafe_entities += 1;
            if self.named_unsafe_entities.len() < MAX_LISTED {
                self.named_unsafe_entities.push(entity.urn.clone());
            }
        }
    }
}
