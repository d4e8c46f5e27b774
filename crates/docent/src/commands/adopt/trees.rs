//! Finds domains that cannot be reached from a root domain: their parent is missing, or they are in
//! a cycle. DataHub allows both. They are imported unchanged and listed in the report.

use std::collections::{HashMap, HashSet};

use anyhow::Result;
use docent_model::{AspectName, Registry, Urn, derive};
use docent_store::{AspectKey, ReadRequest, Store};
use serde_json::Value;

const PAGE: usize = 1000;

/// An unreachable domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LostDomain {
    pub(super) urn: Urn,
    pub(super) parent: Urn,
    pub(super) is_in_cycle: bool,
}

/// The domains with a missing parent or in a cycle, without their descendants.
pub(super) async fn lost_domains(store: &dyn Store) -> Result<Vec<LostDomain>> {
    let parents = parents(store).await?;
    let mut lost = Vec::new();
    for (urn, parent) in &parents {
        let Some(parent) = parent else { continue };
        let is_missing = !parents.contains_key(parent);
        if is_missing || is_in_cycle(&parents, urn) {
            lost.push(LostDomain {
                urn: urn.clone(),
                parent: parent.clone(),
                is_in_cycle: !is_missing,
            });
        }
    }
    lost.sort_by(|one, other| one.urn.as_str().cmp(other.urn.as_str()));
    Ok(lost)
}

/// Every domain with its parent. There are few domains, so they fit in memory.
async fn parents(store: &dyn Store) -> Result<HashMap<Urn, Option<Urn>>> {
    let mut parents = HashMap::new();
    let Some(spec) = Registry::get().entity("domain") else {
        return Ok(parents);
    };
    let mut last: Option<Urn> = None;
    loop {
        let urns = store
            .urns_list("domain", spec.key_aspect, last.as_ref(), PAGE)
            .await?;
        let Some(newest) = urns.last() else {
            return Ok(parents);
        };
        last = Some(newest.clone());
        let aspect = AspectName::DOMAIN_PROPERTIES;
        let keys: Vec<AspectKey> = urns.iter().map(|urn| AspectKey::new(urn, aspect)).collect();
        let rows = store.read(ReadRequest::rows(&keys)).await?.rows;
        for (urn, row) in urns.into_iter().zip(rows) {
            let value = row.and_then(|row| serde_json::from_str::<Value>(&row.metadata).ok());
            let placed = value.and_then(|value| derive(&urn, aspect, &value).placement);
            parents.insert(urn, placed.and_then(|placed| placed.parent));
        }
    }
}

fn is_in_cycle(parents: &HashMap<Urn, Option<Urn>>, start: &Urn) -> bool {
    let mut seen = HashSet::new();
    let mut here = start;
    while let Some(Some(parent)) = parents.get(here) {
        if parent == start {
            return true;
        }
        if !seen.insert(parent) {
            // A descendant of a cycle, not in it.
            return false;
        }
        here = parent;
    }
    false
}
