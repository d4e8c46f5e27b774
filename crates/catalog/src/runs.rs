//! Ingestion runs: which there are, what each wrote, and taking it back.
//!
//! A run has the aspects whose latest version it wrote, or found as it is. Only what it wrote is taken back: an aspect
//! becomes what it was before, or goes; an entity that the run made goes as a whole. Of an entity that others have
//! written to since, only the run's own aspects go, unless the caller says that all of it may.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use docent_model::{AspectName, NO_RUN_ID, Registry, SystemMetadata, Urn};
use docent_store::{AspectKey, PointRange, version};

use crate::{Caller, Catalog, Change, Error, Proposal};

pub use docent_store::{Run, RunAspect};

/// How many aspects of a run are looked at in one go: a piece of a rollback is one transaction.
const PIECE: usize = 1000;
/// A rollback begins anew as long as it finds something to do; somebody who keeps writing under the run's name must not
/// keep it going for ever.
const MAX_PASSES: usize = 10;
/// How many rows and entities the summary of a rollback names.
const MAX_NAMED: usize = 100;
const MAX_PAGE: usize = 10_000;
const DOMAIN: &str = "domain";

/// What a rollback does, or would do.
#[derive(Debug, Default)]
pub struct RolledBack {
    /// Aspects that the run wrote and that are taken back.
    pub aspects_reverted: u64,
    /// Aspects of others on entities that the run made.
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

/// What to do about some aspects of a run.
#[derive(Default)]
struct Piece {
    proposals: Vec<Proposal>,
    /// Domains that go when everything else is gone: only those without children can.
    domains: BTreeSet<Urn>,
    /// How many of the aspects stay in the list of the run.
    left: usize,
}

/// What becomes of an entity that the run made.
#[derive(Clone, Copy)]
struct Made {
    goes: bool,
    /// How many aspects it has from others.
    foreign: u64,
}

impl Catalog {
    /// The runs, the one that was active last first.
    pub async fn runs(
        &self,
        _caller: &Caller,
        include_removed: bool,
        start: usize,
        count: usize,
    ) -> Result<Vec<Run>, Error> {
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
    /// pieces, each whole or not at all; should one fail, doing it again goes on where it stopped.
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
        let mut summary = RolledBack::default();
        let mut start = 0;
        loop {
            let rows = self.store().run_aspects(run, true, start, PIECE).await?;
            self.plan(caller, run, all, &rows, Some(&mut summary))
                .await?;
            start += rows.len();
            if rows.len() < PIECE {
                break;
            }
        }
        for (_, points) in self.store().run_timeseries(run, usize::MAX).await? {
            summary.points += points;
        }
        if dry_run {
            return Ok(summary);
        }
        let mut domains = BTreeSet::new();
        for _ in 0..MAX_PASSES {
            if !self.pass(caller, run, all, &mut domains).await? {
                break;
            }
        }
        self.delete_domains(caller, domains).await?;
        loop {
            let series = self.store().run_timeseries(run, PIECE).await?;
            if series.is_empty() {
                return Ok(summary);
            }
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
    }

    /// Goes over the aspects of the run once; says whether anything was done.
    async fn pass(
        &self,
        caller: &Caller,
        run: &str,
        all: bool,
        domains: &mut BTreeSet<Urn>,
    ) -> Result<bool, Error> {
        let mut done = false;
        let mut start = 0;
        loop {
            let rows = self.store().run_aspects(run, true, start, PIECE).await?;
            if rows.is_empty() {
                return Ok(done);
            }
            let piece = self.plan(caller, run, all, &rows, None).await?;
            start += piece.left;
            domains.extend(piece.domains);
            done |= !piece.proposals.is_empty();
            self.ingest(caller, piece.proposals).await?;
        }
    }

    /// Decides about some aspects of the run, and adds what is decided to the summary.
    async fn plan(
        &self,
        caller: &Caller,
        run: &str,
        all: bool,
        rows: &[RunAspect],
        mut summary: Option<&mut RolledBack>,
    ) -> Result<Piece, Error> {
        let made = self.made_by(caller, run, all, rows).await?;
        let mut piece = Piece::default();
        let mut gone = BTreeSet::new();
        for row in rows {
            let AspectKey { urn, aspect } = &row.key;
            let is_key = Registry::get().is_key_aspect(urn, *aspect);
            let entity = made.get(urn);
            if is_key
                && let Some(entity) = entity
                && let Some(summary) = summary.as_deref_mut()
            {
                summary.add(urn, *entity);
            }
            let goes = entity.is_some_and(|entity| entity.goes);
            if !noted(row).is_some_and(|noted| version::wrote(&noted, run)) || (is_key && !goes) {
                piece.left += 1;
                continue;
            }
            if let Some(summary) = summary.as_deref_mut() {
                summary.aspects_reverted += 1;
                if summary.aspects.len() < MAX_NAMED {
                    summary.aspects.push(row.clone());
                }
            }
            if !goes {
                let (aspect, run) = (*aspect, run.to_owned());
                piece
                    .proposals
                    .push(Proposal::new(urn.clone(), Change::Revert { aspect, run }));
            } else if urn.entity_type() == DOMAIN {
                piece.domains.insert(urn.clone());
                piece.left += 1;
            } else if gone.insert(urn) {
                piece
                    .proposals
                    .push(Proposal::new(urn.clone(), Change::DeleteEntity));
            }
        }
        Ok(piece)
    }

    /// Those of the entities that the run made.
    async fn made_by(
        &self,
        caller: &Caller,
        run: &str,
        all: bool,
        rows: &[RunAspect],
    ) -> Result<BTreeMap<Urn, Made>, Error> {
        let urns: BTreeSet<&Urn> = rows.iter().map(|row| &row.key.urn).collect();
        let urns: Vec<Urn> = urns.into_iter().cloned().collect();
        let entities = self.read_entities(caller, &urns).await?;
        let mut made = BTreeMap::new();
        for (urn, aspects) in urns.into_iter().zip(entities) {
            let by_run = |row| version::wrote(&version::noted_of(row), run);
            let (keys, others): (Vec<_>, Vec<_>) = aspects
                .iter()
                .partition(|(aspect, _)| Registry::get().is_key_aspect(&urn, *aspect));
            if !keys.iter().any(|(_, row)| by_run(row)) {
                continue;
            }
            // Whether an entity is removed is no information about it that could be lost with it.
            let mut foreign = others
                .iter()
                .filter(|(aspect, row)| *aspect != AspectName::STATUS && !by_run(row))
                .count() as u64;
            foreign += self.foreign_points(&urn, run).await?;
            if urn.entity_type() == DOMAIN {
                foreign += self.foreign_children(caller, &urn, run).await?;
            }
            let goes = all || foreign == 0;
            made.insert(urn, Made { goes, foreign });
        }
        Ok(made)
    }

    /// How many points of time series an entity has that are not of the run. They would go with the entity.
    async fn foreign_points(&self, urn: &Urn, run: &str) -> Result<u64, Error> {
        let registry = Registry::get();
        let series = registry.check_urn(urn)?.aspects.iter();
        let mut foreign = 0;
        for aspect in series.filter(|aspect| registry.is_timeseries(**aspect)) {
            let key = AspectKey::new(urn, *aspect);
            let points = self
                .store()
                .timeseries_list(&key, &PointRange::default(), true, 0, MAX_PAGE)
                .await?;
            let of_run = |text: &String| {
                serde_json::from_str(text)
                    .is_ok_and(|noted: SystemMetadata| noted.run_id == run && run != NO_RUN_ID)
            };
            let others = points
                .iter()
                .filter(|point| !point.system_metadata.as_ref().is_some_and(of_run));
            foreign += others.count() as u64;
            // What was not looked at may be anybody's.
            foreign += u64::from(points.len() == MAX_PAGE);
        }
        Ok(foreign)
    }

    /// How many domains stand below one that the run did not make.
    async fn foreign_children(
        &self,
        caller: &Caller,
        domain: &Urn,
        run: &str,
    ) -> Result<u64, Error> {
        let children = self
            .store()
            .placements_list(DOMAIN, Some(domain), 0, MAX_PAGE)
            .await?;
        let key_aspect = Registry::get().check_urn(domain)?.key_aspect;
        let keys: Vec<AspectKey> = children
            .items
            .iter()
            .map(|child| AspectKey::new(child, key_aspect))
            .collect();
        let rows = self.read(caller, &keys).await?;
        let by_run = |row: &crate::Row| {
            row.as_deref()
                .is_some_and(|row| version::wrote(&version::noted_of(row), run))
        };
        Ok(rows.iter().filter(|row| !by_run(row)).count() as u64)
    }

    /// Deletes domains, those that stand deepest first.
    async fn delete_domains(&self, caller: &Caller, domains: BTreeSet<Urn>) -> Result<(), Error> {
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
            let proposals = some
                .iter()
                .map(|(_, urn)| Proposal::new(urn.clone(), Change::DeleteEntity));
            self.ingest(caller, proposals.collect()).await?;
        }
        Ok(())
    }
}

impl RolledBack {
    /// Counts an entity that the run made.
    fn add(&mut self, urn: &Urn, entity: Made) {
        self.entities_affected += u64::from(entity.goes);
        if entity.foreign > 0 {
            self.aspects_affected += entity.foreign;
            self.unsafe_entities += 1;
            if self.named_unsafe_entities.len() < MAX_NAMED {
                self.named_unsafe_entities.push(urn.clone());
            }
        }
    }
}

fn noted(row: &RunAspect) -> Option<SystemMetadata> {
    serde_json::from_str(&row.system_metadata).ok()
}
