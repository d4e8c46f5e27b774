//! A list of proposals inside its transaction.
//!
//! Each item sees what the items before it did. Aspects are looked up among those that the list has changed;
//! questions that only the store can answer (children, members, names, counts) come after [`Batch::flush`].

mod columns;
mod conditions;
mod domains;
mod labels;
mod revert;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use columns::KnownColumns;
use docent_model::aspects::AuditStamp;
use docent_model::patch::Patch;
use docent_model::{AspectName, EntitySpec, Registry, SystemMetadata, Urn, defaults};
use docent_store::version::{self, NewAspect};
use docent_store::{AspectKey, AspectWrite, Effect, StoredAspect, TimeseriesRow, Transaction};
use serde_json::Value;

use super::Applied;
use super::prepare::{Payload, Prepared};
use crate::labels::LabelKind;
use crate::proposal::{Change, Edit, Proposal, Requirement, unreadable};
use crate::{Error, hooks};

/// Patches add to what is there, so the bound on a request's body alone would not hold: this is the same.
const MAX_PATCHED_BYTES: usize = 16 * 1024 * 1024;

pub(super) struct Batch<'t> {
    tx: &'t mut dyn Transaction,
    /// Aspects as the list leaves them so far; read from the store on first sight.
    known: HashMap<AspectKey, Option<Arc<StoredAspect>>>,
    /// Aspects that the list itself writes: no defaults are made for them.
    proposed: HashSet<AspectKey>,
    /// Entities that did not exist before the list.
    created: HashSet<Urn>,
    columns: KnownColumns,
    /// Not yet carried out.
    writes: Vec<AspectWrite>,
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
            stamp,
            applied: Applied::default(),
        };
        batch.load(prepared.iter().flat_map(touched_keys)).await?;
        for item in prepared {
            batch
                .item(item)
                .await
                .map_err(|error| item.name_item(error))?;
        }
        batch.flush().await?;
        Ok(batch.applied)
    }

    /// Carries out what has been decided so far, so that the transaction's own reads see it.
    async fn flush(&mut self) -> Result<(), Error> {
        if !self.writes.is_empty() {
            self.tx.write(&self.writes).await?;
            self.writes.clear();
        }
        Ok(())
    }

    async fn item(&mut self, item: &Prepared) -> Result<(), Error> {
        let Proposal {
            urn,
            change,
            requirements,
            ..
        } = &item.proposal;
        let subject = change.aspect().unwrap_or(item.entity.key_aspect);
        for requirement in requirements {
            self.require(urn, subject, requirement).await?;
        }
        match change {
            Change::Upsert { aspect, .. } => self.put(item, *aspect).await,
            Change::Patch { aspect, patch } => self.patch(item, *aspect, patch).await,
            Change::Create { aspect, .. } => {
                if *aspect != item.entity.key_aspect && self.get(urn, *aspect).await?.is_some() {
                    if item.proposal.skip_existing {
                        return Ok(());
                    }
                    return Err(Error::Conflict(format!(
                        "Cannot perform CREATE since the aspect already exists. ({urn} {aspect})"
                    )));
                }
                self.put(item, *aspect).await
            }
            Change::CreateEntity { aspect, .. } => {
                if self.exists(urn, item.entity).await? && !self.created.contains(urn) {
                    if item.proposal.skip_existing {
                        return Ok(());
                    }
                    return Err(Error::Conflict(format!(
                        "Cannot perform CREATE_ENTITY if not exists since the entity key already exists. ({urn})"
                    )));
                }
                self.put(item, *aspect).await
            }
            Change::Edit { aspect, edit } => {
                self.edit(&item.proposal, item.entity, *aspect, edit).await
            }
            Change::DeleteAspect { aspect } if *aspect == item.entity.key_aspect => {
                self.delete_entity(urn).await
            }
            Change::DeleteAspect { aspect } => {
                self.flush().await?;
                if self.count_deleted(urn, Some(*aspect)).await? > 0 {
                    if *aspect == AspectName::DOMAIN_PROPERTIES {
                        // They say where the domain stands; without them its children hang in the air.
                        self.check_childless(urn).await?;
                    }
                    self.delete_aspect(urn, *aspect);
                }
                Ok(())
            }
            Change::Revert { aspect, run } => self.revert(&item.proposal, *aspect, run).await,
            Change::TakeOut { aspect, target } => self.take_out(item, *aspect, target).await,
            Change::DeletePoints { aspect, range } => self.delete_points(urn, *aspect, range).await,
            Change::DeleteEntity => self.delete_entity(urn).await,
        }
    }

    async fn require(
        &mut self,
        urn: &Urn,
        subject: AspectName,
        requirement: &Requirement,
    ) -> Result<(), Error> {
        match requirement {
            Requirement::Version { .. }
            | Requirement::ModifiedSince { .. }
            | Requirement::UnmodifiedSince { .. } => {
                let row = self.get(urn, subject).await?;
                conditions::check(requirement, row.as_deref())?;
            }
            Requirement::Exists { urn, otherwise } => {
                let entity = Registry::get().check_urn(urn)?;
                if !self.exists(urn, entity).await? {
                    return Err(Error::Invalid(otherwise.clone()));
                }
            }
            Requirement::IsNew { otherwise } => {
                let entity = Registry::get().check_urn(urn)?;
                if self.exists(urn, entity).await? {
                    return Err(Error::Conflict(otherwise.clone()));
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
            Requirement::UniqueSiblingName { .. } => {}
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
            self.writes.push(AspectWrite {
                key: AspectKey::new(urn, aspect),
                effect: Effect::Timeseries(timeseries_row(payload, noted)),
            });
            return Ok(());
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
        let current = current.as_ref().map(|row| row.metadata.as_str());
        let text = edit.run(current, &self.stamp)?;
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
        let current = current
            .map(|row| serde_json::from_str::<Value>(&row.metadata))
            .transpose()
            .map_err(|error| unreadable(aspect, &error))?;
        let value = patch.apply(aspect, current, &self.stamp)?;
        let payload = Payload::check(proposal, entity, aspect, value, None)?;
        if payload.text.len() > MAX_PATCHED_BYTES {
            return Err(Error::InvalidAspect(format!(
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
            && !version::is_numbered(row)
        {
            // From a database that another server filled: its history goes on where it ends.
            let history = self.tx.aspect_history(&key).await?;
            let newest = history.first().map_or(0, |former| former.version);
            current = Some(Arc::new(version::numbered(row, newest)));
        }
        let new = NewAspect {
            metadata: payload.text.clone(),
            system_metadata,
            stamp: self.stamp.clone(),
            derived: payload.derived.clone(),
        };
        if let Some(write) = version::put(key.clone(), current.as_deref(), new) {
            if let Some(row) = row_after(current.as_deref(), &write.effect) {
                self.known.insert(key, Some(Arc::new(row)));
            }
            self.writes.push(write);
        }
        Ok(())
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
            // A new entity has no other aspects; saying so saves a look for each default.
            self.known.insert(key, None);
            self.write(urn, aspect, &payload, noted.cloned()).await?;
        }
        Ok(())
    }

    /// What separates the parts of a dataset's name on its platform.
    async fn name_delimiter(&mut self, urn: &Urn) -> Result<Option<String>, Error> {
        if urn.entity_type() != "dataset" {
            return Ok(None);
        }
        let Some(Ok(platform)) = urn.key_parts().first().map(|part| Urn::parse(part)) else {
            return Ok(None);
        };
        let info = self.get(&platform, AspectName::DATA_PLATFORM_INFO).await?;
        let delimiter = info
            .and_then(|row| serde_json::from_str::<Value>(&row.metadata).ok())
            .and_then(|info| Some(info.get("datasetNameDelimiter")?.as_str()?.to_owned()));
        Ok(delimiter)
    }

    fn delete_aspect(&mut self, urn: &Urn, aspect: AspectName) {
        let key = AspectKey::new(urn, aspect);
        self.writes.push(AspectWrite {
            key: key.clone(),
            effect: Effect::Delete {
                time_ms: self.stamp.time,
                actor: self.stamp.actor.to_string(),
            },
        });
        self.known.insert(key, None);
    }

    async fn count_deleted(&mut self, urn: &Urn, aspect: Option<AspectName>) -> Result<u64, Error> {
        let (rows, timeseries_rows) = self.tx.rows_count(urn, aspect).await?;
        self.applied.deleted_rows += rows;
        self.applied.deleted_timeseries_rows += timeseries_rows;
        Ok(rows + timeseries_rows)
    }

    async fn delete_entity(&mut self, urn: &Urn) -> Result<(), Error> {
        self.flush().await?;
        if urn.entity_type() == "domain" {
            self.release_domain(urn).await?;
        }
        if let Some(kind) = LabelKind::of(urn) {
            self.release_label(urn, kind).await?;
        }
        self.count_deleted(urn, None).await?;
        let names = self.tx.aspect_names(urn).await?;
        for aspect in names {
            self.delete_aspect(urn, aspect);
        }
        self.created.remove(urn);
        Ok(())
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
        let rows = self.tx.aspects_get(&wanted).await?;
        for (key, row) in wanted.into_iter().zip(rows) {
            self.known.insert(key, row.map(Arc::new));
        }
        Ok(())
    }
}

/// What a proposal looks at, as far as it is known before.
fn touched_keys(item: &Prepared) -> Vec<AspectKey> {
    let urn = &item.proposal.urn;
    let mut keys = vec![AspectKey::new(urn, item.entity.key_aspect)];
    let versioned = |aspect: &AspectName| !Registry::get().is_timeseries(*aspect);
    if let Some(aspect) = item.proposal.change.aspect().filter(versioned) {
        keys.push(AspectKey::new(urn, aspect));
    }
    for requirement in &item.proposal.requirements {
        match requirement {
            Requirement::Exists { urn, .. } => {
                if let Some(entity) = Registry::get().entity(urn.entity_type()) {
                    keys.push(AspectKey::new(urn, entity.key_aspect));
                }
            }
            Requirement::HasColumns { dataset, .. } => {
                keys.push(AspectKey::new(dataset, AspectName::SCHEMA_METADATA));
            }
            Requirement::IsNew { .. }
            | Requirement::UniqueSiblingName { .. }
            | Requirement::Version { .. }
            | Requirement::ModifiedSince { .. }
            | Requirement::UnmodifiedSince { .. } => {}
        }
    }
    keys
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

fn timeseries_row(payload: &Payload, noted: Option<&SystemMetadata>) -> TimeseriesRow {
    let member = |name: &str| payload.value.get(name);
    let partition = payload.value.pointer("/partitionSpec/partition");
    let id = member("messageId")
        .and_then(Value::as_str)
        .or(partition.and_then(Value::as_str))
        .unwrap_or_default();
    TimeseriesRow {
        time_ms: member("timestampMillis")
            .and_then(Value::as_i64)
            .unwrap_or_default(),
        id: id.to_owned(),
        metadata: payload.text.clone(),
        system_metadata: noted.and_then(|noted| serde_json::to_string(noted).ok()),
    }
}
