//! Which changes a reader follows.
//!
//! The type, the aspect and the actor are in the log. Domains and tags are those that the entity
//! has when the event is made, and those that the change adds or removes, so that a reader learns
//! when an entity leaves. What a deleted entity had is deleted with it, so its changes are accepted
//! by every domain and tag: a reader that mirrors a domain must not miss the deletion.

use std::collections::{HashMap, HashSet};

use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, LogEntry, LogPosition, ReadRequest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::EventVersions;
use crate::stored::aspect_value;
use crate::{Catalog, Error};

/// How many values each list may have.
const MAX_VALUES: usize = 100;
/// The domains above one.
const MAX_DEPTH: usize = 50;

/// Conditions for changes. A change must meet each list that is not empty, with one of its values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EventFilter {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entity_types: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aspects: Vec<String>,
    /// With their subdomains. The domains themselves count, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<Urn>,
    /// Tags of the entity, not of its columns. The tags themselves count, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Urn>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actors: Vec<Urn>,
}

impl EventFilter {
    /// Rejects names that nothing has, which would silently follow nothing.
    pub fn check(&self) -> Result<(), Error> {
        for (what, count) in [
            ("entity types", self.entity_types.len()),
            ("aspects", self.aspects.len()),
            ("domains", self.domains.len()),
            ("tags", self.tags.len()),
            ("actors", self.actors.len()),
        ] {
            if count > MAX_VALUES {
                return Err(Error::too_large(format!(
                    "the filter has {count} {what}: at most {MAX_VALUES} are allowed"
                )));
            }
        }
        let registry = Registry::get();
        for name in &self.entity_types {
            if registry.entity(name).is_none() {
                return Err(Error::invalid(format!(
                    "there is no entity type '{name}': use a name such as dataset"
                )));
            }
        }
        for name in &self.aspects {
            match registry.aspect(name) {
                Some(aspect) if registry.is_timeseries(aspect) => {
                    return Err(Error::invalid(format!(
                        "'{name}' is a time series, which is not part of the change log"
                    )));
                }
                Some(_) => {}
                None => {
                    return Err(Error::invalid(format!(
                        "there is no aspect '{name}': use a name such as globalTags"
                    )));
                }
            }
        }
        for (urns, entity_type) in [
            (&self.domains, "domain"),
            (&self.tags, "tag"),
            (&self.actors, "corpuser"),
        ] {
            for urn in urns {
                urn.expect_type(entity_type)?;
            }
        }
        Ok(())
    }

    /// Whether the log alone does not exclude a change.
    pub(super) fn accepts(&self, entry: &LogEntry) -> bool {
        let is_listed = |names: &[String], name: &str| {
            names.is_empty() || names.iter().any(|listed| listed == name)
        };
        is_listed(&self.entity_types, entry.key.urn.entity_type())
            && is_listed(&self.aspects, entry.key.aspect.as_str())
            && (self.actors.is_empty()
                || self
                    .actors
                    .iter()
                    .any(|actor| actor.as_str() == entry.actor))
    }
}

/// The domains or tags of entities, and those that changes add or remove.
#[derive(Default)]
struct Labels {
    now: HashMap<Urn, HashSet<Urn>>,
    changed: HashMap<LogPosition, HashSet<Urn>>,
}

impl Labels {
    /// Whether the entity of a change, or the change itself, has an accepted label.
    fn are_accepted(&self, entry: &LogEntry, accepted: &HashSet<Urn>) -> bool {
        let now = self.now.get(&entry.key.urn);
        let changed = self.changed.get(&entry.position);
        let mut labels = now.into_iter().chain(changed).flatten();
        labels.any(|label| accepted.contains(label))
    }

    fn all(&self) -> impl Iterator<Item = &Urn> {
        self.now.values().chain(self.changed.values()).flatten()
    }
}

/// The domains or tags in an aspect.
fn labels_in(aspect: AspectName, value: &Value) -> impl Iterator<Item = Urn> {
    let list = if aspect == AspectName::DOMAINS {
        &value["domains"]
    } else {
        &value["tags"]
    };
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|item| Urn::parse(item.as_str().or(item["tag"].as_str())?).ok())
}

impl Catalog {
    /// Leaves out the entries about entities without the domains and tags of a filter.
    pub(super) async fn retain_in_filter(
        &self,
        filter: &EventFilter,
        entries: &mut Vec<LogEntry>,
    ) -> Result<(), Error> {
        let conditions = [
            (AspectName::DOMAINS, &filter.domains),
            (AspectName::GLOBAL_TAGS, &filter.tags),
        ];
        for (aspect, requested) in conditions {
            if requested.is_empty() || entries.is_empty() {
                continue;
            }
            let labels = self.labels_of(aspect, entries).await?;
            let deleted = self.deleted_among(entries).await?;
            let mut accepted: HashSet<Urn> = requested.iter().cloned().collect();
            if aspect == AspectName::DOMAINS {
                self.add_subdomains(&mut accepted, &labels, entries).await?;
            }
            entries.retain(|entry| {
                let urn = &entry.key.urn;
                accepted.contains(urn)
                    || deleted.contains(urn)
                    || labels.are_accepted(entry, &accepted)
            });
        }
        Ok(())
    }

    /// The labels that the entities have, and those before and after each change of them.
    async fn labels_of(&self, aspect: AspectName, entries: &[LogEntry]) -> Result<Labels, Error> {
        let urns: HashSet<&Urn> = entries.iter().map(|entry| &entry.key.urn).collect();
        let keys: Vec<AspectKey> = urns.iter().map(|urn| AspectKey::new(urn, aspect)).collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let mut labels = Labels::default();
        for (key, row) in keys.iter().zip(&rows) {
            if let Some(value) = aspect_value(row) {
                let found = labels_in(aspect, &value).collect();
                labels.now.insert(key.urn.clone(), found);
            }
        }
        let changes = || entries.iter().filter(|entry| entry.key.aspect == aspect);
        let mut versions = EventVersions::of(self, changes(), false);
        for entry in changes() {
            let (before, after) = versions.take(entry).await?;
            let of_change = labels.changed.entry(entry.position).or_default();
            for row in [before, after].into_iter().flatten() {
                let value = serde_json::from_str(&row.metadata).unwrap_or_default();
                of_change.extend(labels_in(aspect, &value));
            }
        }
        Ok(labels)
    }

    async fn deleted_among(&self, entries: &[LogEntry]) -> Result<HashSet<Urn>, Error> {
        let urns: HashSet<&Urn> = entries.iter().map(|entry| &entry.key.urn).collect();
        let urns: Vec<Urn> = urns.into_iter().cloned().collect();
        let keys: Vec<AspectKey> = urns.iter().filter_map(AspectKey::of_entity).collect();
        let exists = self.store().read(ReadRequest::exists(&keys)).await?.exists;
        let missing = keys.into_iter().zip(exists).filter(|(_, exists)| !exists);
        Ok(missing.map(|(key, _)| key.urn).collect())
    }

    /// Adds the domains of the entries that are inside of accepted ones.
    async fn add_subdomains(
        &self,
        accepted: &mut HashSet<Urn>,
        labels: &Labels,
        entries: &[LogEntry],
    ) -> Result<(), Error> {
        let own = entries.iter().map(|entry| &entry.key.urn);
        let own = own.filter(|urn| urn.entity_type() == "domain");
        let domains: HashSet<&Urn> = labels.all().chain(own).collect();
        let domains: Vec<Urn> = domains.into_iter().cloned().collect();
        let ancestors = self.store().placement_ancestors(&domains, MAX_DEPTH);
        for (domain, above) in domains.iter().zip(ancestors.await?) {
            if above.iter().any(|parent| accepted.contains(parent)) {
                accepted.insert(domain.clone());
            }
        }
        Ok(())
    }
}
