//! A list of proposals inside its transaction.
//!
//! Each item sees what the items before it did. Aspects are looked up among those that the list has changed;
//! questions that only the store can answer (children, members, names, counts) come after [`Batch::flush`].

mod budget;
mod columns;
mod conditions;
mod delete;
mod domains;
mod labels;
mod release;
mod revert;
mod standing;
mod take_back;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use budget::Budget;
use columns::KnownColumns;
use docent_model::aspects::AuditStamp;
use docent_model::patch::Patch;
use docent_model::{AspectName, EntitySpec, Registry, SystemMetadata, Urn, defaults, point_id};
use docent_store::version::{self, NewAspect};
use docent_store::{
    AspectKey, AspectWrite, Effect, LogicalVersion, RowVersion, StoredAspect, TimeseriesRow,
    Transaction,
};
use serde_json::Value;

use super::Applied;
use super::prepare::{Payload, Prepared, about_proposal};
use crate::proposal::{Change, Edit, Proposal, Requirement, unreadable};
use crate::{ConflictReason, Error, ErrorSubject, hooks};

/// Patches add to what is there, so the bound on a request's body alone would not hold: this is the same.
const MAX_PATCHED_BYTES: usize = 16 * 1024 * 1024;
/// How many aspects are read at once: they may be large, and [`Budget`] has its say after each of these.
const LOADED_AT_ONCE: usize = 500;

pub(super) struct Batch<'t> {
    tx: &'t mut dyn Transaction,
    /// Aspects as the list leaves them so far; read from the store on first sight.
    known: HashMap<AspectKey, Option<Arc<StoredAspect>>>,
    /// The last versions of aspects that were taken back before, or are by the list.
    retired: HashMap<AspectKey, LogicalVersion>,
    /// Aspects that the list itself writes: no defaults are made for them.
    proposed: HashSet<AspectKey>,
    /// Entities that did not exist before the list.
    created: HashSet<Urn>,
    columns: KnownColumns,
    /// Not yet carried out.
    writes: Vec<AspectWrite>,
    budget: Budget,
    is_resumable: bool,
    /// How many references to deleted entities were taken out.
    released: usize,
    /// Entities that a dry run would delete.
    would_go: HashSet<Urn>,
    stamp: AuditStamp,
    applied: Applied,
}

impl<'t> Batch<'t> {
    pub(super) async fn run(
        tx: &'t mut dyn Transaction,
        prepared: &[Prepared],
        stamp: AuditStamp,
    ) -> Result<Applied, Error> {
        let mut batch = Self {
            tx,
            known: HashMap::with_capacity(prepared.len() * 2),
            retired: HashMap::new(),
            proposed: prepared
                .iter()
                .filter_map(|item| {
                    let aspect = item.proposal.change.aspect()?;
                    Some(AspectKey::new(&item.proposal.urn, aspect))
                })
                .collect(),
            created: HashSet::new(),
            columns: KnownColumns::default(),
            writes: Vec::with_capacity(prepared.len() * 2),
            budget: Budget::default(),
            is_resumable: is_resumable(prepared),
            released: 0,
            would_go: HashSet::new(),
            stamp,
            applied: Applied::default(),
        };
        batch.load(prepared.iter().flat_map(touched_keys)).await?;
        for item in prepared {
            batch
                .item(item)
                .await
                .map_err(|error| about_proposal(error, &item.proposal))?;
        }
        batch.flush().await?;
        Ok(batch.applied)
    }

    /// Carries out what has been decided so far, so that the transaction's own reads see it.
    async fn flush(&mut self) -> Result<(), Error> {
        if !self.writes.is_empty() {
            self.tx.write(&self.writes).await?;
            self.writes.clear();
            self.budget.flushed();
        }
        Ok(())
    }

    /// Decides about a write. It is carried out with the others; before that if they are many bytes by now.
    async fn push(&mut self, write: AspectWrite) -> Result<(), Error> {
        let is_full = self.budget.produce(&write)?;
        self.writes.push(write);
        if is_full {
            self.flush().await?;
        }
        Ok(())
    }

    async fn item(&mut self, item: &Prepared) -> Result<(), Error> {
        let requirements = &item.proposal.requirements;
        for requirement in requirements {
            self.require(item, requirement).await?;
        }
        let guard = |requirement: &Requirement| match requirement {
            Requirement::SameStanding { has_tokens } => Some(*has_tokens),
            _ => None,
        };
        match requirements.iter().find_map(guard) {
            Some(has_tokens) => self.change_but_standing(item, has_tokens).await,
            None => self.change(item).await,
        }
    }

    async fn change(&mut self, item: &Prepared) -> Result<(), Error> {
        let Proposal { urn, change, .. } = &item.proposal;
        match change {
            Change::Upsert { aspect, .. } => self.put(item, *aspect).await,
            Change::Patch { aspect, patch } => self.patch(item, *aspect, patch).await,
            Change::Create { aspect, .. } => {
                if *aspect != item.entity.key_aspect && self.get(urn, *aspect).await?.is_some() {
                    if item.proposal.skip_existing {
                        return Ok(());
                    }
                    let message = format!(
                        "Cannot perform CREATE since the aspect already exists. ({urn} {aspect})"
                    );
                    return Err(already_exists(message).naming(urn));
                }
                self.put(item, *aspect).await
            }
            Change::CreateEntity { aspect, .. } => {
                if self.exists(urn, item.entity).await? && !self.created.contains(urn) {
                    if item.proposal.skip_existing {
                        return Ok(());
                    }
                    let message = format!(
                        "Cannot perform CREATE_ENTITY if not exists since the entity key already exists. ({urn})"
                    );
                    return Err(already_exists(message).naming(urn));
                }
                self.put(item, *aspect).await
            }
            Change::Edit { aspect, edit } => {
                self.edit(&item.proposal, item.entity, *aspect, edit).await
            }
            Change::DeleteAspect { aspect } if *aspect == item.entity.key_aspect => {
                self.delete_entity(urn, false).await.map(drop)
            }
            Change::DeleteAspect { aspect } => self.delete_aspect(urn, *aspect).await,
            Change::Clear => {
                for aspect in self.cleared(item).await? {
                    self.delete_aspect(urn, aspect).await?;
                }
                Ok(())
            }
            Change::TakeBack { run, all, dry_run } => {
                self.take_back(item, run, *all, *dry_run).await
            }
            Change::TakeOut { aspect, target } => self.take_out(item, *aspect, target).await,
            Change::Note {
                aspect,
                property,
                value,
            } => self.note(urn, *aspect, property, value).await,
            Change::DeletePoints { aspect, range } => self.delete_points(urn, *aspect, range).await,
            Change::DeleteEntity => self.delete_entity(urn, false).await.map(drop),
        }
    }

    async fn require(&mut self, item: &Prepared, requirement: &Requirement) -> Result<(), Error> {
        let urn = &item.proposal.urn;
        match requirement {
            Requirement::Version { .. }
            | Requirement::ModifiedSince { .. }
            | Requirement::UnmodifiedSince { .. } => {
                for subject in self.subjects(item).await? {
                    let row = self.get(urn, subject).await?;
                    conditions::check(requirement, subject, row.as_deref())?;
                }
            }
            Requirement::Exists {
                urn,
                otherwise,
                position,
            } => {
                let entity = Registry::get().check_urn(urn)?;
                if !self.exists(urn, entity).await? {
                    let subject = ErrorSubject::entity(urn).at(*position);
                    return Err(Error::no_entity(otherwise.as_str()).about(subject));
                }
            }
            Requirement::IsNew { otherwise } => {
                let entity = Registry::get().check_urn(urn)?;
                if self.exists(urn, entity).await? {
                    return Err(already_exists(otherwise.clone()));
                }
            }
            Requirement::HasColumns {
                dataset,
                field_paths,
            } => {
                let schema = self.get(dataset, AspectName::SCHEMA_METADATA).await?;
                self.columns.check(dataset, schema.as_ref(), field_paths)?;
            }
            // Looked at when the new value is known.
            Requirement::UniqueSiblingName { .. } | Requirement::SameStanding { .. } => {}
        }
        Ok(())
    }

    /// A whole aspect, sent directly.
    async fn put(&mut self, item: &Prepared, aspect: AspectName) -> Result<(), Error> {
        let Some(payload) = &item.payload else {
            return Ok(());
        };
        let urn = &item.proposal.urn;
        let noted = item.proposal.system_metadata.as_ref();
        self.ensure_entity(urn, item.entity, noted).await?;
        if aspect == item.entity.key_aspect {
            return Ok(());
        }
        if Registry::get().is_timeseries(aspect) {
            let row = timeseries_row(payload, noted, &self.stamp);
            let write = AspectWrite {
                key: AspectKey::new(urn, aspect),
                effect: Effect::Timeseries(row),
            };
            return self.push(write).await;
        }
        self.store(&item.proposal, aspect, payload, true).await
    }

    async fn edit(
        &mut self,
        proposal: &Proposal,
        entity: &'static EntitySpec,
        aspect: AspectName,
        edit: &Edit,
    ) -> Result<(), Error> {
        let current = self.get(&proposal.urn, aspect).await?;
        self.budget.parse(current.as_deref())?;
        let current = current.as_ref().map(|row| row.metadata.as_str());
        let Some(text) = edit.run(current, &self.stamp)? else {
            return Ok(());
        };
        let payload = Payload::parse(proposal, entity, aspect, &text)?;
        self.ensure_entity(&proposal.urn, entity, proposal.system_metadata.as_ref())
            .await?;
        self.store(proposal, aspect, &payload, false).await
    }

    /// A part of an aspect, sent directly.
    async fn patch(
        &mut self,
        item: &Prepared,
        aspect: AspectName,
        patch: &Patch,
    ) -> Result<(), Error> {
        let Prepared {
            proposal, entity, ..
        } = item;
        let current = self.get(&proposal.urn, aspect).await?;
        if current.is_none() && patch.only_removes() {
            return Ok(());
        }
        self.budget.parse(current.as_deref())?;
        let current = current
            .map(|row| serde_json::from_str::<Value>(&row.metadata))
            .transpose()
            .map_err(|error| unreadable(aspect, &error))?;
        let value = patch.apply(aspect, current, &self.stamp)?;
        let payload = Payload::check(proposal, entity, aspect, value, None)?;
        if payload.text.len() > MAX_PATCHED_BYTES {
            return Err(Error::invalid_aspect(format!(
                "{aspect} would have {} bytes after the patch, and {MAX_PATCHED_BYTES} are the most",
                payload.text.len()
            )));
        }
        self.ensure_entity(&proposal.urn, entity, proposal.system_metadata.as_ref())
            .await?;
        self.store(proposal, aspect, &payload, true).await
    }

    /// The last steps of every value: hooks, checks on the result, versions.
    async fn store(
        &mut self,
        proposal: &Proposal,
        aspect: AspectName,
        payload: &Payload,
        direct: bool,
    ) -> Result<(), Error> {
        let urn = &proposal.urn;
        let current = self.get(urn, aspect).await?;
        let stored = current.as_ref().map(|row| row.metadata.as_str());
        let normalised = hooks::normalise(urn, aspect, direct, stored, &payload.value)?;
        let normalised = normalised.map(|value| Payload::of(urn, aspect, value));
        let payload = normalised.as_ref().unwrap_or(payload);
        if aspect == AspectName::DOMAIN_PROPERTIES {
            self.check_domain(proposal, stored, &payload.value).await?;
        }
        self.write(urn, aspect, payload, proposal.system_metadata.clone())
            .await
    }

    async fn write(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
        payload: &Payload,
        system_metadata: Option<SystemMetadata>,
    ) -> Result<(), Error> {
        let mut current = self.get(urn, aspect).await?;
        let key = AspectKey::new(urn, aspect);
        if let Some(row) = &current
            && !version::has_logical_version(row)
        {
            // From a database that another server filled: its history goes on where it ends.
            let history = self.tx.aspect_history(&key).await?;
            let newest = history
                .first()
                .map_or(RowVersion::LATEST, |former| former.version);
            current = Some(Arc::new(version::with_version_after(row, newest)));
        }
        let new = NewAspect {
            metadata: payload.text.clone(),
            system_metadata,
            stamp: self.stamp.clone(),
            derived: payload.derived.clone(),
            retired_version: self.retired.get(&key).copied(),
        };
        if let Some(write) = version::put(key.clone(), current.as_deref(), new) {
            if let Some(row) = row_after(current.as_deref(), &write.effect) {
                self.known.insert(key, Some(Arc::new(row)));
            }
            self.push(write).await?;
        }
        Ok(())
    }

    /// Something beside the value of an aspect.
    async fn note(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
        property: &str,
        value: &str,
    ) -> Result<(), Error> {
        let Some(current) = self.get(urn, aspect).await? else {
            return Ok(());
        };
        let key = AspectKey::new(urn, aspect);
        let write = version::set_property(key.clone(), &current, property, value);
        let row = row_after(Some(&*current), &write.effect);
        self.known.insert(key, row.map(Arc::new));
        self.push(write).await
    }

    /// Makes the key aspect and the default aspects of an entity that is not there yet.
    async fn ensure_entity(
        &mut self,
        urn: &Urn,
        entity: &'static EntitySpec,
        noted: Option<&SystemMetadata>,
    ) -> Result<(), Error> {
        if self.exists(urn, entity).await? {
            return Ok(());
        }
        self.created.insert(urn.clone());
        let is_new = !self
            .retired
            .contains_key(&AspectKey::new(urn, entity.key_aspect));
        let key_value = Registry::get().key_aspect_value(urn);
        let delimiter = self.name_delimiter(urn).await?;
        let defaults = defaults::default_aspects(urn, entity, delimiter.as_deref());
        let key_aspect = key_value.map(|value| (entity.key_aspect, value));
        for (aspect, value) in key_aspect.into_iter().chain(defaults) {
            let key = AspectKey::new(urn, aspect);
            if aspect != entity.key_aspect && self.proposed.contains(&key) {
                continue;
            }
            let payload = Payload::of(urn, aspect, value);
            if is_new {
                // An entity that never was has no aspects; saying so saves a look for each default.
                self.known.insert(key, None);
            }
            self.write(urn, aspect, &payload, noted.cloned()).await?;
        }
        Ok(())
    }

    /// What separates the parts of a dataset's name on its platform.
    async fn name_delimiter(&mut self, urn: &Urn) -> Result<Option<String>, Error> {
        let Some(platform) = platform_of(urn) else {
            return Ok(None);
        };
        let info = self.get(&platform, AspectName::DATA_PLATFORM_INFO).await?;
        self.budget.parse(info.as_deref())?;
        let delimiter = info
            .and_then(|row| serde_json::from_str::<Value>(&row.metadata).ok())
            .and_then(|info| Some(info.get("datasetNameDelimiter")?.as_str()?.to_owned()));
        Ok(delimiter)
    }

    async fn exists(&mut self, urn: &Urn, entity: &EntitySpec) -> Result<bool, Error> {
        Ok(self.get(urn, entity.key_aspect).await?.is_some())
    }

    async fn get(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
    ) -> Result<Option<Arc<StoredAspect>>, Error> {
        let key = AspectKey::new(urn, aspect);
        if let Some(row) = self.known.get(&key) {
            return Ok(row.clone());
        }
        self.load(std::iter::once(key.clone())).await?;
        Ok(self.known.get(&key).cloned().flatten())
    }

    /// Reads what is not known yet, in one call.
    async fn load(&mut self, keys: impl Iterator<Item = AspectKey>) -> Result<(), Error> {
        let mut wanted: Vec<AspectKey> = keys.filter(|key| !self.known.contains_key(key)).collect();
        // One order for all writers, so that two lists never wait for each other's rows.
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.is_empty() {
            return Ok(());
        }
        let mut missing = Vec::new();
        for some in wanted.chunks(LOADED_AT_ONCE) {
            let rows = self.tx.aspects_get(some).await?;
            for (key, row) in some.iter().zip(rows) {
                match &row {
                    Some(row) => self.budget.load(row)?,
                    None => missing.push(key.clone()),
                }
                self.known.insert(key.clone(), row.map(Arc::new));
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let versions = self.tx.retired_versions(&missing).await?;
        let retired = missing.into_iter().zip(versions);
        self.retired
            .extend(retired.filter_map(|(key, version)| Some((key, version?))));
        Ok(())
    }
}

/// Whether the list may be carried out in several transactions, each going on where the one before stopped. A list of
/// different changes may not: its caller was promised all or nothing.
fn is_resumable(prepared: &[Prepared]) -> bool {
    let takes_back = |item: &Prepared| matches!(item.proposal.change, Change::TakeBack { .. });
    prepared.len() == 1 || prepared.iter().all(takes_back)
}

/// What a proposal looks at, as far as it is known before.
fn touched_keys(item: &Prepared) -> Vec<AspectKey> {
    let urn = &item.proposal.urn;
    let mut keys = vec![AspectKey::new(urn, item.entity.key_aspect)];
    let versioned = |aspect: &AspectName| !Registry::get().is_timeseries(*aspect);
    if let Some(aspect) = item.proposal.change.aspect().filter(versioned) {
        keys.push(AspectKey::new(urn, aspect));
    }
    if let Change::Upsert { .. }
    | Change::Create { .. }
    | Change::CreateEntity { .. }
    | Change::Patch { .. } = &item.proposal.change
        && let Some(platform) = platform_of(urn)
    {
        // A new dataset's defaults depend on it.
        keys.push(AspectKey::new(&platform, AspectName::DATA_PLATFORM_INFO));
    }
    for requirement in &item.proposal.requirements {
        match requirement {
            Requirement::Exists { urn, .. } => {
                keys.extend(AspectKey::of_entity(urn));
            }
            Requirement::HasColumns { dataset, .. } => {
                keys.push(AspectKey::new(dataset, AspectName::SCHEMA_METADATA));
            }
            Requirement::IsNew { .. }
            | Requirement::UniqueSiblingName { .. }
            | Requirement::SameStanding { .. }
            | Requirement::Version { .. }
            | Requirement::ModifiedSince { .. }
            | Requirement::UnmodifiedSince { .. } => {}
        }
    }
    keys
}

/// The platform of a dataset.
fn platform_of(urn: &Urn) -> Option<Urn> {
    if urn.entity_type() != "dataset" {
        return None;
    }
    Urn::parse(urn.key_parts().first()?).ok()
}

/// Row 0 as a write leaves it.
fn row_after(current: Option<&StoredAspect>, effect: &Effect) -> Option<StoredAspect> {
    match effect {
        Effect::Put { row, .. } | Effect::Revert { row, .. } => Some(row.clone()),
        Effect::Touch { system_metadata } => Some(StoredAspect {
            system_metadata: Some(system_metadata.clone()),
            ..current?.clone()
        }),
        Effect::Delete { .. } | Effect::Timeseries(_) | Effect::DeletePoints(_) => None,
    }
}

fn timeseries_row(
    payload: &Payload,
    noted: Option<&SystemMetadata>,
    stamp: &AuditStamp,
) -> TimeseriesRow {
    let noted = noted.map(|noted| version::with_observation_time(noted.clone(), stamp));
    let time = payload.value.get("timestampMillis");
    TimeseriesRow {
        time_ms: time.and_then(Value::as_i64).unwrap_or_default(),
        id: point_id(&payload.value),
        metadata: payload.text.clone(),
        system_metadata: noted.and_then(|noted| serde_json::to_string(&noted).ok()),
    }
}

fn already_exists(message: String) -> Error {
    Error::conflict(ConflictReason::AlreadyExists, message)
}
