//! Ingestion runs: which there are, what each wrote, and taking it back.
//!
//! A run has the aspects whose latest version it wrote, or found as it is. Only what it wrote is taken back: an aspect
//! becomes what it was before, or goes; an entity that the run made goes as a whole. Of an entity that others have
//! written to since, only the run's own aspects go, unless the caller says that all of it may.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use docent_model::{AspectName, NO_RUN_ID, Registry, Urn};
use docent_store::{AspectKey, PointRange, ReadRequest, version};

use crate::{Applied, Caller, Catalog, Change, Error, Proposal};

pub use docent_store::{RunAspect, RunSummary};

/// How many aspects of a run are looked at in one go: a piece of a rollback is one transaction.
const PIECE: usize = 1000;
/// How many points of time series go in one transaction, unless one series alone has more.
const MAX_POINTS: u64 = 100_000;
/// A rollback begins anew as long as it finds something to do; somebody who keeps writing under the run's name must not
/// keep it going for ever.
const MAX_PASSES: usize = 10;
/// How many pieces a pass has at most: runs have millions of aspects, not billions.
const MAX_PIECES: usize = 100_000;
/// How many rows and entities the summary of a rollback names.
const MAX_NAMED: usize = 100;
const MAX_PAGE: usize = 10_000;
const DOMAIN: &str = "domain";

/// What a rollback does, or would do.
#[derive(Debug, Default)]
pub struct RolledBack {
    /// Aspects that the run wrote and that are taken back.
    pub aspects_reverted: u64,
    /// Aspects and points of others on entities that the run made.
    pub aspects_affected: u64,
    /// Entities that the run made and that go.
    pub entities_affected: u64,
    /// Entities that the run made and that others have written to.
    pub unsafe_entities: u64,
    /// The first of them.
    pub named_unsafe_entities: Vec<Urn>,
    /// The first of the aspects that are taken back.
    pub aspects: Vec<RunAspect>,
    /// Points of time series.
    pub points: u64,
}

/// What became of one entity in a rollback, or would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenBack {
    pub urn: Urn,
    /// The aspects that the run wrote and that are taken back.
    pub aspects: Vec<RunAspect>,
    /// The run made the entity.
    pub made: bool,
    /// The entity goes as a whole.
    pub gone: bool,
    /// How many aspects and points an entity that the run made has from others.
    pub foreign: u64,
}

/// A rollback as it is asked for.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    run: &'a str,
    all: bool,
    dry_run: bool,
}

/// What a pass has come to.
#[derive(Clone, Copy)]
struct Piece<'a> {
    rows: &'a [RunAspect],
    dry_run: bool,
    is_first_pass: bool,
}

impl Wanted<'_> {
    fn proposals<'u>(self, urns: impl IntoIterator<Item = &'u Urn>) -> Vec<Proposal> {
        let change = Change::TakeBack {
            run: self.run.to_owned(),
            all: self.all,
            dry_run: self.dry_run,
        };
        let urns = urns.into_iter();
        urns.map(|urn| Proposal::new(urn.clone(), change.clone()))
            .collect()
    }
}

impl Catalog {
    /// The runs, the one that was active last first.
    pub async fn runs(
        &self,
        _caller: &Caller,
        include_removed: bool,
        start: usize,
        count: usize,
    ) -> Result<Vec<RunSummary>, Error> {
        let count = count.min(MAX_PAGE);
        Ok(self
            .store()
            .runs_list(include_removed, start, count)
            .await?)
    }

    /// The aspects that a run wrote or confirmed last.
    pub async fn run_aspects(
        &self,
        _caller: &Caller,
        run: &str,
        include_removed: bool,
        start: usize,
        count: usize,
    ) -> Result<Vec<RunAspect>, Error> {
        let store = self.store();
        Ok(store
            .run_aspects(run, include_removed, start, count.min(MAX_PAGE))
            .await?)
    }

    /// Takes back what a run wrote. `all` also removes entities of the run that others have written to. It is done in
    /// pieces, each whole or not at all; should one fail, doing it again goes on where it stopped. What is to be done
    /// about an entity is decided in the transaction that does it.
    pub async fn roll_back(
        &self,
        caller: &Caller,
        run: &str,
        dry_run: bool,
        all: bool,
    ) -> Result<RolledBack, Error> {
        if run.is_empty() || run == NO_RUN_ID {
            return Err(Error::invalid(
                "say which run is to be rolled back: runId is one of those that action=list gives",
            ));
        }
        let mut summary = RolledBack {
            points: self.store().run_points_count(run).await?,
            ..RolledBack::default()
        };
        let wanted = Wanted { run, all, dry_run };
        let mut domains = BTreeSet::new();
        for pass in 0..MAX_PASSES {
            let done = self
                .pass(caller, wanted, pass == 0, &mut domains, &mut summary)
                .await?;
            if dry_run || !done {
                break;
            }
        }
        self.take_back_domains(caller, wanted, domains, &mut summary)
            .await?;
        if !dry_run {
            self.delete_points_of(caller, run).await?;
        }
        Ok(summary)
    }

    /// Goes over the aspects of the run once, domains aside; says whether anything was done.
    async fn pass(
        &self,
        caller: &Caller,
        wanted: Wanted<'_>,
        is_first_pass: bool,
        domains: &mut BTreeSet<Urn>,
        summary: &mut RolledBack,
    ) -> Result<bool, Error> {
        let mut done = false;
        let mut start = 0;
        for _ in 0..MAX_PIECES {
            let rows = self
                .store()
                .run_aspects(wanted.run, true, start, PIECE)
                .await?;
            if rows.is_empty() {
                return Ok(done);
            }
            let urns: BTreeSet<&Urn> = rows.iter().map(|row| &row.key.urn).collect();
            // Only a domain without children can go, so they come when everything else is gone.
            let (of_domains, others): (Vec<&Urn>, Vec<&Urn>) = urns
                .into_iter()
                .partition(|urn| urn.entity_type() == DOMAIN);
            domains.extend(of_domains.into_iter().cloned());
            let applied = self.ingest(caller, wanted.proposals(others)).await?;
            let piece = Piece {
                rows: &rows,
                dry_run: wanted.dry_run,
                is_first_pass,
            };
            summary.add(&applied, Some(piece));
            let left = if wanted.dry_run {
                rows.len()
            } else {
                self.count_left(caller, wanted.run, &rows).await?
            };
            done |= left < rows.len();
            start += left;
        }
        Err(Error::unavailable(format!(
            "the run {} has more than {} aspects; what is done stays done, and rolling it back again goes on",
            wanted.run,
            PIECE * MAX_PIECES
        )))
    }

    /// How many of the aspects are still of the run.
    async fn count_left(
        &self,
        caller: &Caller,
        run: &str,
        rows: &[RunAspect],
    ) -> Result<usize, Error> {
        let keys: Vec<AspectKey> = rows.iter().map(|row| row.key.clone()).collect();
        let rows = self.read(caller, ReadRequest::rows(&keys)).await?.rows;
        let of_run = rows.iter().flatten();
        Ok(of_run
            .filter(|row| version::system_metadata_of(row).run_id == run)
            .count())
    }

    /// Takes back what the run wrote about domains, those that stand deepest first.
    async fn take_back_domains(
        &self,
        caller: &Caller,
        wanted: Wanted<'_>,
        domains: BTreeSet<Urn>,
        summary: &mut RolledBack,
    ) -> Result<(), Error> {
        let domains: Vec<Urn> = domains.into_iter().collect();
        let above = self
            .store()
            .placement_ancestors(&domains, crate::domains::MAX_DEPTH)
            .await?;
        let mut by_depth: Vec<(usize, Urn)> = above
            .into_iter()
            .map(|chain| chain.len())
            .zip(domains)
            .collect();
        by_depth.sort_unstable_by_key(|(depth, _)| Reverse(*depth));
        for some in by_depth.chunks(PIECE) {
            let proposals = wanted.proposals(some.iter().map(|(_, urn)| urn));
            let applied = self.ingest(caller, proposals).await?;
            summary.add(&applied, None);
        }
        Ok(())
    }

    async fn delete_points_of(&self, caller: &Caller, run: &str) -> Result<(), Error> {
        for _ in 0..MAX_PIECES {
            let mut series = self.store().run_timeseries(run, PIECE).await?;
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
            self.ingest(caller, proposals.collect()).await?;
        }
        Err(Error::unavailable(format!(
            "points are written under the name of the run {run} as fast as they are deleted: stop the run, and roll it \
             back again"
        )))
    }
}

impl RolledBack {
    /// Counts what was done in a piece; domains come in none. An entity that stays comes with each piece and each pass
    /// that has some of its aspects, and so do all of them in a dry run: then only the aspects of the piece count, and
    /// the entity itself with its key.
    fn add(&mut self, applied: &Applied, piece: Option<Piece<'_>>) {
        let in_order = piece.map_or(&[][..], |piece| piece.rows);
        let listed: HashSet<&AspectKey> = in_order.iter().map(|row| &row.key).collect();
        let is_whole = piece.is_none_or(|piece| !piece.dry_run);
        let is_first_pass = piece.is_none_or(|piece| piece.is_first_pass);
        let mut taken = HashSet::new();
        // What takes several transactions comes with each of them.
        let mut counted = HashSet::new();
        for entity in &applied.taken_back {
            let key_aspect = |name: AspectName| Registry::get().is_key_aspect(&entity.urn, name);
            let counts = |key: &AspectKey| is_whole || listed.contains(key);
            let own = entity.aspects.iter().map(|row| &row.key);
            taken.extend(own.filter(|key| counts(key)));
            let has_key = in_order
                .iter()
                .any(|row| row.key.urn == entity.urn && key_aspect(row.key.aspect));
            let comes_once = piece.is_none() || (is_whole && entity.gone);
            if entity.made
                && (comes_once || (is_first_pass && has_key))
                && counted.insert(&entity.urn)
            {
                self.add_entity(entity);
            }
        }
        self.aspects_reverted += taken.len() as u64;
        // In the order in which the run wrote them, as far as it is known.
        let listed_rows = in_order.iter().filter(|row| taken.contains(&row.key));
        let others = applied.taken_back.iter().flat_map(|it| &it.aspects);
        let others = others.filter(|row| taken.contains(&row.key) && !listed.contains(&row.key));
        let room = MAX_NAMED.saturating_sub(self.aspects.len());
        self.aspects
            .extend(listed_rows.chain(others).take(room).cloned());
    }

    /// Counts an entity that the run made.
    fn add_entity(&mut self, entity: &TakenBack) {
        self.entities_affected += u64::from(entity.gone);
        if entity.foreign > 0 {
            self.aspects_affected += entity.foreign;
            self.unsafe_entities += 1;
            if self.named_unsafe_entities.len() < MAX_NAMED {
                self.named_unsafe_entities.push(entity.urn.clone());
            }
        }
    }
}
