//! `incidentsSummary` of assets: searches filter by it. It follows from the incidents about an
//! asset, in the same transaction.

use std::collections::BTreeSet;

use docent_model::{AspectName, Registry, Urn};
use docent_store::AspectKey;
use serde_json::{Value, json};

use super::{Batch, Prepared};
use crate::Error;
use crate::about_assets::urns_in;

const SUMMARY: &str = "incidentsSummary";
const ACTIVE: &str = "activeIncidentDetails";
const RESOLVED: &str = "resolvedIncidentDetails";
/// The most incidents in each list; the newest are kept.
const MAX_LISTED: usize = 100;

impl Batch<'_> {
    /// Updates the summaries of the assets that an incident was about, and is about now.
    pub(super) async fn follow_incident(
        &mut self,
        incident: &Urn,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> Result<(), Error> {
        let assets = |info: Option<&Value>| -> BTreeSet<Urn> {
            let listed = info.map(|info| urns_in(&info["entities"]));
            listed.into_iter().flatten().collect()
        };
        let (before, current) = (assets(before), assets(after));
        for asset in before.union(&current) {
            let info = after.filter(|_| current.contains(asset));
            self.update_summary(asset, incident, info).await?;
        }
        Ok(())
    }

    async fn update_summary(
        &mut self,
        asset: &Urn,
        incident: &Urn,
        info: Option<&Value>,
    ) -> Result<(), Error> {
        let Some([own, AspectKey { aspect, .. }]) = keys_of(asset) else {
            return Ok(());
        };
        if self.get(asset, own.aspect).await?.is_none() {
            return Ok(());
        }
        let stored = self.value(asset, aspect).await?;
        let mut summary = stored.clone().unwrap_or_else(|| json!({}));
        let is_other = |item: &Value| item != incident.as_str() && item["urn"] != incident.as_str();
        for list in [ACTIVE, RESOLVED, "activeIncidents", "resolvedIncidents"] {
            if let Some(items) = summary[list].as_array_mut() {
                items.retain(is_other);
            }
        }
        let list = match info.map(|info| &info["status"]["state"]) {
            Some(state) if state == "ACTIVE" => Some(ACTIVE),
            Some(state) if state == "RESOLVED" => Some(RESOLVED),
            _ => None,
        };
        if let (Some(list), Some(info)) = (list, info) {
            let items = summary[list].as_array().cloned().unwrap_or_default();
            summary[list] = json!(with_newest(items, details(incident, info)));
        } else if stored.is_none() {
            return Ok(());
        }
        // Lists that are missing were only looked at.
        if let Some(members) = summary.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        if stored.as_ref() == Some(&summary) {
            return Ok(());
        }
        self.overwrite(asset, aspect, summary).await
    }

    /// The summaries of the assets that the incidents of the list are about as they are stored.
    pub(super) fn stored_incident_keys(&self, prepared: &[Prepared]) -> Vec<AspectKey> {
        let stored = |item: &Prepared| {
            let aspect = item.proposal.change.aspect()?;
            if aspect != AspectName::INCIDENT_INFO {
                return None;
            }
            let key = AspectKey::new(&item.proposal.urn, aspect);
            let row = self.known.get(&key)?.as_ref()?;
            let info: Value = serde_json::from_str(&row.metadata).ok()?;
            Some(incident_keys(aspect, &info))
        };
        prepared.iter().filter_map(stored).flatten().collect()
    }
}

/// The summaries of the assets that an incident is about, and whether those exist.
pub(super) fn incident_keys(aspect: AspectName, info: &Value) -> Vec<AspectKey> {
    if aspect != AspectName::INCIDENT_INFO {
        return Vec::new();
    }
    let assets = urns_in(&info["entities"]);
    assets.iter().filter_map(keys_of).flatten().collect()
}

/// The key aspect and the summary of an asset, if its type has one.
fn keys_of(asset: &Urn) -> Option<[AspectKey; 2]> {
    let registry = Registry::get();
    let spec = registry.entity(asset.entity_type())?;
    let summary = registry.aspect(SUMMARY)?;
    let keys = [spec.key_aspect, summary].map(|aspect| AspectKey::new(asset, aspect));
    spec.has_aspect(summary).then_some(keys)
}

/// What a summary says about an incident.
fn details(incident: &Urn, info: &Value) -> Value {
    let kind = if info["type"] == "CUSTOM" && info["customType"].is_string() {
        &info["customType"]
    } else {
        &info["type"]
    };
    let mut details = json!({
        "urn": incident, "type": kind,
        "createdAt": info["created"]["time"].as_i64().unwrap_or_default(),
    });
    if let Some(priority) = info["priority"].as_i64() {
        details["priority"] = json!(priority);
    }
    let status = &info["status"];
    if status["state"] == "RESOLVED"
        && let Some(time) = status["lastUpdated"]["time"].as_i64()
    {
        details["resolvedAt"] = json!(time);
    }
    details
}

/// A list by age with a new item, without the oldest ones if it becomes too long.
fn with_newest(mut items: Vec<Value>, new: Value) -> Vec<Value> {
    items.push(new);
    items.sort_by_key(|item| item["createdAt"].as_i64());
    let surplus = items.len().saturating_sub(MAX_LISTED);
    items.split_off(surplus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_loses_its_oldest_items() {
        let items: Vec<Value> = (1..=100).map(|time| json!({ "createdAt": time })).collect();
        let newest = with_newest(items.clone(), json!({"createdAt": 200}));
        assert_eq!(newest.len(), 100);
        assert_eq!(newest[0]["createdAt"], 2);
        assert_eq!(newest[99]["createdAt"], 200);
        assert_eq!(
            with_newest(items, json!({"createdAt": 0}))[0]["createdAt"],
            1
        );
    }
}
