//! Reading aspects into a batch, each once.

use std::sync::Arc;

use docent_model::{AspectName, EntitySpec, Registry, Urn};
use docent_store::{AspectKey, StoredAspect};

use super::assertion_summaries::summary_key;
use super::create::platform_of;
use super::incident_summaries::incident_keys;
use super::new_references::target_key;
use super::siblings::sibling_keys;
use super::versions::version_keys;
use super::{Batch, Prepared};
use crate::Error;
use crate::access::holder_of;
use crate::proposal::{Change, Requirement};
use crate::structured_properties::properties_in;

/// How many aspects one call reads: they may be large, and the budget is checked after each call.
const LOADED_AT_ONCE: usize = 500;

impl Batch<'_> {
    pub(in crate::apply) async fn exists(
        &mut self,
        urn: &Urn,
        entity: &EntitySpec,
    ) -> Result<bool, Error> {
        Ok(self.get(urn, entity.key_aspect).await?.is_some())
    }

    pub(super) async fn get(
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

    /// Reads what the list needs, as far as it is known in advance, and these aspects.
    pub(super) async fn load_touched(
        &mut self,
        prepared: &[Prepared],
        more: impl Iterator<Item = AspectKey>,
    ) -> Result<(), Error> {
        let touched = prepared.iter().flat_map(touched_keys);
        self.load(touched.chain(more)).await?;
        // What was read says which tables belong to dbt sources, which versions are the latest, and
        // which assets incidents were about.
        let siblings = self.stored_sibling_keys(prepared);
        let versions = self.stored_version_keys(prepared);
        let incidents = self.stored_incident_keys(prepared);
        let more = siblings.into_iter().chain(versions).chain(incidents);
        self.load(more).await
    }

    /// Reads the aspects that are not known yet, in one call.
    pub(super) async fn load(
        &mut self,
        keys: impl Iterator<Item = AspectKey>,
    ) -> Result<(), Error> {
        let mut unknown: Vec<AspectKey> =
            keys.filter(|key| !self.known.contains_key(key)).collect();
        // One order for all writers prevents deadlocks.
        unknown.sort_unstable();
        unknown.dedup();
        if unknown.is_empty() {
            return Ok(());
        }
        let mut missing = Vec::new();
        for some in unknown.chunks(LOADED_AT_ONCE) {
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

/// The aspects that a proposal reads, as far as they are known in advance.
fn touched_keys(item: &Prepared) -> Vec<AspectKey> {
    let urn = &item.proposal.urn;
    let mut keys = vec![AspectKey::new(urn, item.entity.key_aspect)];
    let versioned = |aspect: &AspectName| !Registry::get().is_timeseries(*aspect);
    if let Some(aspect) = item.proposal.change.aspect().filter(versioned) {
        keys.push(AspectKey::new(urn, aspect));
        let value = item.payload.as_ref().map(|payload| &payload.value);
        keys.extend(sibling_keys(urn, aspect, value));
    }
    if let Some(payload) = &item.payload
        && item.proposal.change.aspect() == Some(AspectName::STRUCTURED_PROPERTIES)
    {
        let properties = properties_in(&payload.value);
        keys.extend(properties.map(|it| AspectKey::new(&it, AspectName::PROPERTY_DEFINITION)));
    }
    if let (Some(payload), Some(aspect)) = (&item.payload, item.proposal.change.aspect()) {
        keys.extend(target_key(aspect, &payload.value));
        keys.extend(version_keys(urn, aspect, &payload.value));
        keys.extend(summary_key(urn, aspect));
        keys.extend(incident_keys(aspect, &payload.value));
    }
    if let Change::Upsert { .. }
    | Change::Create { .. }
    | Change::CreateEntity { .. }
    | Change::Patch { .. } = &item.proposal.change
        && let Some(platform) = platform_of(urn)
    {
        // The defaults of a new dataset depend on it.
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
            Requirement::ExistOrNamed { urns, by, .. } => {
                let stored = urns.iter().map(holder_of);
                keys.extend(stored.filter_map(|urn| AspectKey::of_entity(&urn)));
                keys.push(by.clone());
            }
            Requirement::Holds { key, .. } => keys.push(key.clone()),
            Requirement::IsNew { .. }
            | Requirement::UniqueSiblingName { .. }
            | Requirement::AccountStatusUnchanged { .. }
            | Requirement::Version { .. }
            | Requirement::ModifiedSince { .. }
            | Requirement::UnmodifiedSince { .. } => {}
            Requirement::NotInside { parent, aspect, .. } => {
                keys.push(AspectKey::new(parent, *aspect));
            }
        }
    }
    keys
}
