//! Version sets: which version is the latest follows from what is written directly.
//!
//! Connectors write `versionProperties` of an asset alone. The set is created with its first
//! version, and a version with a higher sort id becomes the latest one, in the same transaction.
//! `isLatest` is computed here, whatever a client sends. Edits of ours have their own rules
//! ([`crate::versions`]).

use docent_model::{AspectName, Registry, Urn};
use docent_store::AspectKey;
use serde_json::{Value, json};

use super::current::Current;
use super::{Batch, Payload, Prepared};
use crate::Error;
use crate::versions::{OF_ASSET, OF_SET, SET, is_in, latest_of};

impl Batch<'_> {
    /// Changes the set of a version and its former latest one, if the version is the latest.
    /// Returns the `versionProperties` to store, if they differ.
    pub(super) async fn follow_version(
        &mut self,
        asset: &Urn,
        stored: Option<&Value>,
        proposed: &Value,
    ) -> Result<Option<Value>, Error> {
        let Some(set) = set_of(asset, proposed) else {
            return Ok(None);
        };
        let is_new = stored.and_then(|stored| set_of(asset, stored)).as_ref() != Some(&set);
        if is_new {
            self.other_targets.insert(set.clone());
        }
        let properties = self.value(&set, OF_SET).await?;
        let latest = properties.as_ref().and_then(latest_of);
        let is_latest = match latest.as_ref() {
            Some(latest) if latest == asset => true,
            // The list itself says which one is.
            _ if self.proposed.contains(&AspectKey::new(&set, OF_SET)) => false,
            None => true,
            Some(latest) => {
                let last = self.value(latest, OF_ASSET).await?;
                // One that has left the set is no longer its latest version.
                let last = last.filter(|last| is_in(last, &set));
                last.is_none_or(|last| sort_id(proposed) > sort_id(&last))
            }
        };
        if is_latest && latest.as_ref() != Some(asset) {
            let entity = Registry::get().check_urn(&set)?;
            self.ensure_entity(&set, entity, None).await?;
            let scheme = || json!({"versioningScheme": proposed["versioningScheme"]});
            let mut value = properties.unwrap_or_else(scheme);
            value["latest"] = json!(asset);
            self.overwrite(&set, OF_SET, value).await?;
            if let Some(former) = latest {
                self.mark_version(&set, &former, false).await?;
            }
            self.other_targets.insert(set);
        }
        let mut value = proposed.clone();
        value["isLatest"] = json!(is_latest);
        Ok((value != *proposed).then_some(value))
    }

    /// Marks the former and the new latest version of a set whose properties are written.
    pub(super) async fn follow_version_set(
        &mut self,
        set: &Urn,
        stored: Option<&Value>,
        proposed: &Value,
    ) -> Result<(), Error> {
        let (former, latest) = (stored.and_then(latest_of), latest_of(proposed));
        if former == latest {
            return Ok(());
        }
        if let Some(former) = former {
            self.mark_version(set, &former, false).await?;
        }
        if let Some(latest) = latest {
            self.mark_version(set, &latest, true).await?;
        }
        Ok(())
    }

    /// Stores whether a version is the latest, unless it has left the set.
    async fn mark_version(&mut self, set: &Urn, asset: &Urn, is_latest: bool) -> Result<(), Error> {
        let value = self.value(asset, OF_ASSET).await?;
        let Some(mut value) = value.filter(|value| is_in(value, set)) else {
            return Ok(());
        };
        value["isLatest"] = json!(is_latest);
        self.overwrite(asset, OF_ASSET, value).await
    }

    async fn overwrite(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
        value: Value,
    ) -> Result<(), Error> {
        let key = AspectKey::new(urn, aspect);
        let current = Current::new(self.get(urn, aspect).await?);
        self.write(&key, &Payload::of(value), None, &current).await
    }

    /// The latest versions of the sets whose new versions the list writes.
    pub(super) fn stored_version_keys(&self, prepared: &[Prepared]) -> Vec<AspectKey> {
        let latest = |item: &Prepared| {
            let payload = item.payload.as_ref()?;
            let set = match item.proposal.change.aspect()? {
                OF_ASSET => set_of(&item.proposal.urn, &payload.value)?,
                OF_SET => item.proposal.urn.clone(),
                _ => return None,
            };
            let row = self.known.get(&AspectKey::new(&set, OF_SET))?.as_ref()?;
            let latest = latest_of(&serde_json::from_str(&row.metadata).ok()?)?;
            Some(AspectKey::new(&latest, OF_ASSET))
        };
        prepared.iter().filter_map(latest).collect()
    }
}

/// The aspects that a version or a set reads besides its own.
pub(super) fn version_keys(urn: &Urn, aspect: AspectName, value: &Value) -> Vec<AspectKey> {
    match aspect {
        OF_ASSET => {
            let set = set_of(urn, value);
            let keys = |set: &Urn| {
                let key = AspectKey::of_entity(set);
                key.into_iter().chain([AspectKey::new(set, OF_SET)])
            };
            set.iter().flat_map(keys).collect()
        }
        OF_SET => {
            let latest = latest_of(value);
            let keys = latest.iter().map(|it| AspectKey::new(it, OF_ASSET));
            keys.collect()
        }
        _ => Vec::new(),
    }
}

/// The set of a version, if it is one of versions of this type.
fn set_of(asset: &Urn, properties: &Value) -> Option<Urn> {
    let set = Urn::parse(properties["versionSet"].as_str()?).ok()?;
    let is_fitting =
        set.entity_type() == SET && set.key_parts().get(1) == Some(&asset.entity_type());
    is_fitting.then_some(set)
}

fn sort_id(properties: &Value) -> &str {
    properties["sortId"].as_str().unwrap_or_default()
}
