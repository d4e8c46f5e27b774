//! Reads the stored data of an entity that policies compare.

use std::collections::HashMap;
use std::sync::Arc;

use docent_model::aspects::Ownership;
use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, AspectRow, ReadRequest, Store};
use serde_json::{Value, json};

use super::domain_paths::DomainPaths;
use super::hierarchy::{parent_in, parent_key, parent_member};
use super::resource::{Field, Fields, Resource};
use crate::Error;
use crate::stored::aspect_value;

/// The most levels of a hierarchy that count: more than a tree of domains can have.
const MAX_LEVELS: usize = 64;

/// Where aspects are read: the store, or a list of changes that is being applied.
pub(crate) trait AspectSource: Send {
    /// The latest version of each aspect.
    fn rows(
        &mut self,
        keys: Vec<AspectKey>,
    ) -> impl Future<Output = Result<Vec<AspectRow>, Error>> + Send;

    /// The paths of domains that are known; `None` if they must be read here.
    fn domain_paths(&self) -> Option<Arc<DomainPaths>> {
        None
    }
}

/// Aspects in the store.
pub(super) struct Stored<'s> {
    pub(super) store: &'s dyn Store,
    pub(super) domains: Arc<DomainPaths>,
}

impl AspectSource for Stored<'_> {
    async fn rows(&mut self, keys: Vec<AspectKey>) -> Result<Vec<AspectRow>, Error> {
        Ok(self.store.read(ReadRequest::rows(&keys)).await?.rows)
    }

    fn domain_paths(&self) -> Option<Arc<DomainPaths>> {
        Some(Arc::clone(&self.domains))
    }
}

/// Aspects in the store, those of many entities read at once.
pub(crate) struct Prefetched<'s> {
    store: Stored<'s>,
    rows: HashMap<AspectKey, AspectRow>,
}

impl<'s> Prefetched<'s> {
    pub(crate) async fn new(
        store: &'s dyn Store,
        domains: &Arc<DomainPaths>,
        urns: &[Urn],
        fields: Fields,
    ) -> Result<Self, Error> {
        let mut keys: Vec<AspectKey> = urns
            .iter()
            .flat_map(|urn| resource_keys(urn, fields))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let domains = Arc::clone(domains);
        let mut store = Stored { store, domains };
        let rows = if keys.is_empty() {
            Vec::new()
        } else {
            store.rows(keys.clone()).await?
        };
        let rows = keys.into_iter().zip(rows).collect();
        Ok(Self { store, rows })
    }
}

impl AspectSource for Prefetched<'_> {
    async fn rows(&mut self, keys: Vec<AspectKey>) -> Result<Vec<AspectRow>, Error> {
        let is_unknown = |key: &&AspectKey| !self.rows.contains_key(*key);
        let unknown: Vec<AspectKey> = keys.iter().filter(is_unknown).cloned().collect();
        if !unknown.is_empty() {
            let rows = self.store.rows(unknown.clone()).await?;
            self.rows.extend(unknown.into_iter().zip(rows));
        }
        let row = |key: &AspectKey| self.rows.get(key).cloned().flatten();
        Ok(keys.iter().map(row).collect())
    }

    fn domain_paths(&self) -> Option<Arc<DomainPaths>> {
        self.store.domain_paths()
    }
}

/// Reads the given fields of an entity. A column has the values of its dataset too, so that a
/// policy that excludes the dataset excludes its columns.
pub(crate) async fn read_resource(
    source: &mut impl AspectSource,
    urn: &Urn,
    fields: Fields,
) -> Result<Resource, Error> {
    let mut resource = Resource::new(urn);
    let holder = holder_of(urn);
    if holder != *urn {
        resource.push(Field::Type, holder.entity_type());
        resource.push(Field::Urn, holder.as_str());
    }
    if !fields.needs_store() {
        return Ok(resource);
    }
    let keys = own_keys(&holder, fields);
    let rows = source.rows(keys.clone()).await?;
    let mut domains = Vec::new();
    let mut containers = Vec::new();
    let mut terms = Vec::new();
    match holder.entity_type() {
        "domain" => domains.push(holder.clone()),
        "container" => containers.push(holder.clone()),
        "glossaryTerm" | "glossaryNode" => terms.push(holder.clone()),
        _ => {}
    }
    for (key, row) in keys.iter().zip(&rows) {
        let value: Value = aspect_value(row).unwrap_or_default();
        match key.aspect {
            AspectName::OWNERSHIP => {
                let ownership: Option<Ownership> = aspect_value(row);
                for owner in ownership.iter().flat_map(|it| &it.owners) {
                    resource.push_owner(owner.owner.as_str(), Some(&owner.kind_urn()));
                }
            }
            AspectName::DOMAINS => domains.extend(urns_in(&value["domains"], None)),
            AspectName::CONTAINER => containers.extend(urn_in(&value["container"])),
            AspectName::GLOSSARY_TERMS => terms.extend(urns_in(&value["terms"], Some("urn"))),
            AspectName::GLOBAL_TAGS => {
                for tag in urns_in(&value["tags"], Some("tag")) {
                    resource.push(Field::Tag, tag.as_str());
                }
            }
            AspectName::DATA_PLATFORM_INSTANCE => {
                if let Some(instance) = value["instance"].as_str() {
                    resource.push(Field::DataPlatformInstance, instance);
                }
            }
            AspectName::GROUP_MEMBERSHIP | AspectName::NATIVE_GROUP_MEMBERSHIP => {
                let member = if key.aspect == AspectName::GROUP_MEMBERSHIP {
                    "groups"
                } else {
                    "nativeGroups"
                };
                for group in urns_in(&value[member], None) {
                    resource.push(Field::GroupMembership, group.as_str());
                }
            }
            _ => {}
        }
    }
    if fields.contains(Field::Domain) {
        add_domains(source, domains, &mut resource).await?;
    }
    for (field, start) in [(Field::Container, containers), (Field::Glossary, terms)] {
        if fields.contains(field) {
            for ancestor in with_ancestors(source, start).await? {
                resource.push(field, ancestor.as_str());
            }
        }
    }
    Ok(resource)
}

/// Adds the domains and all domains above them.
async fn add_domains(
    source: &mut impl AspectSource,
    domains: Vec<Urn>,
    resource: &mut Resource,
) -> Result<(), Error> {
    let Some(paths) = source.domain_paths() else {
        for domain in with_ancestors(source, domains).await? {
            resource.push(Field::Domain, domain.as_str());
        }
        return Ok(());
    };
    for domain in domains {
        let path = if let Some(path) = paths.get(&domain) {
            path
        } else {
            let path = with_ancestors(source, vec![domain.clone()]).await?;
            let path: Arc<[Urn]> = path.into();
            // A move since the paths were handed out replaces all of them.
            paths.insert(domain, Arc::clone(&path));
            path
        };
        for domain in &*path {
            resource.push(Field::Domain, domain.as_str());
        }
    }
    Ok(())
}

/// The entities and all entities above them, level by level.
async fn with_ancestors(
    source: &mut impl AspectSource,
    start: Vec<Urn>,
) -> Result<Vec<Urn>, Error> {
    let mut found: Vec<Urn> = Vec::new();
    let mut level = start;
    for _ in 0..MAX_LEVELS {
        level.retain(|urn| !found.contains(urn));
        let keys: Vec<AspectKey> = level.iter().filter_map(parent_key).collect();
        found.append(&mut level);
        if keys.is_empty() {
            break;
        }
        let rows = source.rows(keys.clone()).await?;
        let parent = |(key, row): (&AspectKey, &AspectRow)| parent_in(key.aspect, row);
        level = keys.iter().zip(&rows).filter_map(parent).collect();
    }
    Ok(found)
}

/// The part of an aspect that [`read_resource`] reads; `None` if that is nothing.
pub(crate) fn decisive_part(aspect: AspectName, value: &Value) -> Option<Value> {
    let (member, inner) = match aspect {
        AspectName::OWNERSHIP => ("owners", None),
        AspectName::DOMAINS => ("domains", None),
        AspectName::CONTAINER | AspectName::DOMAIN_PROPERTIES => (parent_member(aspect), None),
        AspectName::GLOSSARY_TERM_INFO | AspectName::GLOSSARY_NODE_INFO => {
            (parent_member(aspect), None)
        }
        AspectName::GLOSSARY_TERMS => ("terms", Some("urn")),
        AspectName::GLOBAL_TAGS => ("tags", Some("tag")),
        AspectName::DATA_PLATFORM_INSTANCE => ("instance", None),
        _ => return None,
    };
    let part = match (inner, value[member].as_array()) {
        (Some(inner), Some(items)) => {
            let items = items.iter().map(|item| json!({inner: item[inner]}));
            Value::Array(items.collect())
        }
        _ => value[member].clone(),
    };
    Some(json!({member: part}))
}

/// The aspects that have the values of the fields, without those of ancestors.
pub(crate) fn resource_keys(urn: &Urn, fields: Fields) -> Vec<AspectKey> {
    own_keys(&holder_of(urn), fields)
}

fn own_keys(urn: &Urn, fields: Fields) -> Vec<AspectKey> {
    let Some(spec) = Registry::get().entity(urn.entity_type()) else {
        return Vec::new();
    };
    let aspects: [(Field, &[AspectName]); 7] = [
        (Field::Owner, &[AspectName::OWNERSHIP]),
        (Field::Domain, &[AspectName::DOMAINS]),
        (Field::Container, &[AspectName::CONTAINER]),
        (Field::Tag, &[AspectName::GLOBAL_TAGS]),
        (Field::Glossary, &[AspectName::GLOSSARY_TERMS]),
        (
            Field::DataPlatformInstance,
            &[AspectName::DATA_PLATFORM_INSTANCE],
        ),
        (
            Field::GroupMembership,
            &[
                AspectName::GROUP_MEMBERSHIP,
                AspectName::NATIVE_GROUP_MEMBERSHIP,
            ],
        ),
    ];
    aspects
        .iter()
        .filter(|(field, _)| fields.contains(*field))
        .flat_map(|(_, aspects)| *aspects)
        .filter(|aspect| spec.has_aspect(**aspect))
        .map(|aspect| AspectKey::new(urn, *aspect))
        .collect()
}

/// The entity whose owners, domain and so on count: for a column its dataset.
pub(crate) fn holder_of(urn: &Urn) -> Urn {
    // Most entities are none, and splitting the key has a cost.
    if urn.entity_type() != "schemaField" {
        return urn.clone();
    }
    let parts = urn.key_parts();
    let dataset = parts.first().and_then(|text| Urn::parse(text).ok());
    dataset.unwrap_or_else(|| urn.clone())
}

pub(super) fn urn_in(value: &Value) -> Option<Urn> {
    Urn::parse(value.as_str()?).ok()
}

/// The URNs in a list, or in a member of each of its elements.
fn urns_in(list: &Value, member: Option<&str>) -> Vec<Urn> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let urn = |item| urn_in(member.map_or(item, |member| &item[member]));
    items.iter().filter_map(urn).collect()
}
