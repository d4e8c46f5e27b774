//! Version sets: which version is the latest follows from what is written directly.
//!
//! Connectors write `versionProperties` of an asset alone. The set is created with its first
//! version, and a version with a higher sort id becomes the latest one, in the same transaction.
//! `isLatest` is computed here, whatever a client sends. Edits that change both sides
//! ([`crate::versions`]) decide themselves. When the latest version leaves its set, the one with
//! the highest sort id follows it at the end of the list.

use std::collections::BTreeSet;

use docent_model::{AspectName, Registry, Urn};
use docent_store::AspectKey;
use serde_json::{Value, json};

use super::{Batch, Prepared};
use crate::Error;
use crate::versions::{MAX_COMPARED, OF_ASSET, OF_SET, SET, is_in, latest_of, too_many_versions};

impl Batch<'_> {
    /// Changes the set of a version and its former latest one, if the version is the latest.
    /// Returns the `versionProperties` to store, if they differ.
    pub(super) async fn follow_version(
        &mut self,
        asset: &Urn,
        direct: bool,
        stored: Option<&Value>,
        proposed: &Value,
    ) -> Result<Option<Value>, Error> {
        let set = set_of(asset, proposed);
        let former_set = stored.and_then(|stored| set_of(asset, stored));
        let was_in_set = former_set == set;
        if !was_in_set {
            self.unsettled_sets.extend(former_set);
        }
        let Some(set) = set else {
            return Ok(None);
        };
        // The list itself says which one is the latest.
        let is_decided = self.proposed.contains(&AspectKey::new(&set, OF_SET));
        if is_decided && !direct {
            return Ok(None);
        }
        let properties = self.value(&set, OF_SET).await?;
        let latest = properties.as_ref().and_then(latest_of);
        let is_latest = match latest.as_ref() {
            Some(latest) if latest == asset => true,
            _ if is_decided => false,
            None => true,
            Some(latest) => {
                let last = self.value(latest, OF_ASSET).await?;
                // One that has left the set is no longer its latest version.
                let last = last.filter(|last| is_in(last, &set));
                last.is_none_or(|last| sort_id(proposed) > sort_id(&last))
            }
        };
        let becomes_latest = is_latest && latest.as_ref() != Some(asset);
        if becomes_latest {
            let entity = Registry::get().check_urn(&set)?;
            self.ensure_entity(&set, entity, None).await?;
            let scheme = || json!({"versioningScheme": proposed["versioningScheme"]});
            let mut value = properties.unwrap_or_else(scheme);
            value["latest"] = json!(asset);
            self.overwrite(&set, OF_SET, value).await?;
            if let Some(former) = latest {
                self.mark_version(&set, &former, false).await?;
            }
        }
        if becomes_latest || !was_in_set {
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
        self.unsettled_sets.insert(set.clone());
        if let Some(former) = former {
            self.mark_version(set, &former, false).await?;
        }
        if let Some(latest) = latest {
            self.mark_version(set, &latest, true).await?;
        }
        Ok(())
    }

    /// Notes that an asset may leave its set, or that the properties of a set change without a
    /// client naming the latest version.
    pub(super) async fn unsettle_set_of(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
    ) -> Result<(), Error> {
        if aspect == OF_ASSET {
            let value = self.value(urn, OF_ASSET).await?;
            let set = value.and_then(|value| set_of(urn, &value));
            self.unsettled_sets.extend(set);
        } else if aspect == OF_SET {
            self.unsettled_sets.insert(urn.clone());
        }
        Ok(())
    }

    /// Decides again whether a version is the latest, after its former properties were restored.
    pub(super) async fn follow_restored_version(&mut self, asset: &Urn) -> Result<(), Error> {
        let Some(value) = self.value(asset, OF_ASSET).await? else {
            return Ok(());
        };
        let followed = self
            .follow_version(asset, true, Some(&value), &value)
            .await?;
        if let Some(value) = followed {
            self.overwrite(asset, OF_ASSET, value).await?;
        }
        Ok(())
    }

    /// Gives every set that has lost its latest version another one: that with the highest sort
    /// id. A set without versions is deleted.
    pub(super) async fn settle_version_sets(&mut self) -> Result<(), Error> {
        for set in std::mem::take(&mut self.unsettled_sets) {
            if self.is_stored(&set).await? {
                self.settle_version_set(&set).await?;
            }
        }
        Ok(())
    }

    async fn settle_version_set(&mut self, set: &Urn) -> Result<(), Error> {
        let properties = self.value(set, OF_SET).await?;
        // What is written directly may name a version that is written later, as in DataHub.
        if self.proposed.contains(&AspectKey::new(set, OF_SET)) {
            return Ok(());
        }
        if let Some(latest) = properties.as_ref().and_then(latest_of) {
            let version = self.value(&latest, OF_ASSET).await?;
            if version.is_some_and(|version| is_in(&version, set)) {
                return Ok(());
            }
        }
        let Some((latest, version)) = self.last_version(set).await? else {
            return self.delete_entity(set, false).await.map(drop);
        };
        let scheme = || json!({"versioningScheme": version["versioningScheme"]});
        let mut properties = properties.unwrap_or_else(scheme);
        properties["latest"] = json!(latest);
        self.overwrite(set, OF_SET, properties).await?;
        self.mark_version(set, &latest, true).await
    }

    /// The version of a set with the highest sort id, and its properties.
    async fn last_version(&mut self, set: &Urn) -> Result<Option<(Urn, Value)>, Error> {
        self.flush().await?;
        let limit = MAX_COMPARED + 1;
        let edges = self.tx.edges_into(set, OF_ASSET, limit).await?;
        if edges.len() == limit {
            return Err(too_many_versions(set));
        }
        // The store does not know those that a proposal only tries out.
        let known = self.known.keys().filter(|key| key.aspect == OF_ASSET);
        let known = known.map(|key| key.urn.clone());
        let assets: BTreeSet<Urn> = edges
            .into_iter()
            .map(|edge| edge.urn)
            .chain(known)
            .collect();
        self.load(assets.iter().map(|asset| AspectKey::new(asset, OF_ASSET)))
            .await?;
        let mut last: Option<(Urn, Value)> = None;
        for asset in assets {
            let version = self.value(&asset, OF_ASSET).await?;
            let is_later = |version: &Value| {
                let last = last.as_ref();
                last.is_none_or(|(_, last)| sort_id(version) >= sort_id(last))
            };
            let version = version.filter(|version| is_in(version, set) && is_later(version));
            if let Some(version) = version {
                last = Some((asset, version));
            }
        }
        Ok(last)
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
