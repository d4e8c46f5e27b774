//! What is known about the edges of the lineage graph: when they were created and changed, by whom,
//! and whether a user added them.
//!
//! The store keeps only the ends of edges; the rest is in the list that names the other end. It is
//! read only on request, because that reads whole aspects.

use std::collections::{BTreeSet, HashMap};

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, ReadRequest, RelatedEntity};
use serde::Deserialize;
use serde_json::Value;

use super::edit::{MANUAL_SOURCE, list_of_edges, names};
use super::step::Adjacent;
use crate::{Catalog, Error};

/// The batch size, so that few aspects are in memory.
const ASPECTS_AT_ONCE: usize = 200;

/// What is known about an edge. Many are stored without a time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EdgeFacts {
    pub created: Option<AuditStamp>,
    pub updated: Option<AuditStamp>,
    pub is_manual: bool,
}

/// A period in milliseconds since the epoch, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeWindow {
    pub start: i64,
    pub end: i64,
}

impl TimeWindow {
    /// Whether an edge existed in this period. One without times, and one that a user added,
    /// always does, as in DataHub.
    fn contains(self, facts: &EdgeFacts) -> bool {
        let times = [&facts.created, &facts.updated].map(|stamp| stamp.as_ref().map(|it| it.time));
        let (Some(first), Some(last)) = (times[0].or(times[1]), times[1].or(times[0])) else {
            return true;
        };
        facts.is_manual || (first <= self.end && last >= self.start)
    }
}

/// An item of a list of edges, in either of their forms.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    created: Option<AuditStamp>,
    audit_stamp: Option<AuditStamp>,
    last_modified: Option<AuditStamp>,
    properties: Option<HashMap<String, String>>,
}

impl From<Item> for EdgeFacts {
    fn from(item: Item) -> Self {
        // The time 0 stands for an unknown one.
        let known = |stamp: &AuditStamp| stamp.time > 0;
        let source = item.properties.as_ref().and_then(|it| it.get("source"));
        Self {
            created: item.created.filter(known),
            updated: item.last_modified.or(item.audit_stamp).filter(known),
            is_manual: source.is_some_and(|source| source == MANUAL_SOURCE),
        }
    }
}

/// An edge that an aspect may name by its other end.
struct NamedEdge<'a> {
    /// Its index among the requested ones.
    at: usize,
    other: &'a Urn,
    relationship: &'a str,
}

impl Catalog {
    /// Leaves out the edges that did not exist in a period.
    pub(super) async fn retain_in_window(
        &self,
        urns: &[Urn],
        steps: &mut [Adjacent],
        window: TimeWindow,
    ) -> Result<(), Error> {
        let edges: Vec<(&Urn, &RelatedEntity)> = urns
            .iter()
            .zip(steps.iter())
            .flat_map(|(urn, step)| step.neighbors.iter().map(move |edge| (urn, edge)))
            .collect();
        let facts = self.edge_facts(&edges).await?;
        let mut facts = facts.iter();
        for step in steps {
            step.neighbors
                .retain(|_| facts.next().is_none_or(|it| window.contains(it)));
        }
        Ok(())
    }

    /// What is known about edges, each between an entity and its neighbor. Nothing about those
    /// between columns.
    pub(super) async fn edge_facts(
        &self,
        edges: &[(&Urn, &RelatedEntity)],
    ) -> Result<Vec<EdgeFacts>, Error> {
        let holders: BTreeSet<AspectKey> = edges
            .iter()
            .flat_map(|(urn, edge)| [*urn, &edge.urn].map(|holder| (holder, edge.aspect)))
            .filter(|(holder, aspect)| stores(holder, *aspect))
            .map(|(holder, aspect)| AspectKey::new(holder, aspect))
            .collect();
        let holders: Vec<AspectKey> = holders.into_iter().collect();
        // The edges that each aspect may name.
        let mut named: HashMap<(&str, AspectName), Vec<NamedEdge<'_>>> = HashMap::new();
        for (at, (urn, edge)) in edges.iter().enumerate() {
            for (holder, other) in [(*urn, &edge.urn), (&edge.urn, *urn)] {
                let edges = named.entry((holder.as_str(), edge.aspect)).or_default();
                edges.push(NamedEdge {
                    at,
                    other,
                    relationship: &edge.relationship,
                });
            }
        }
        let mut facts = vec![EdgeFacts::default(); edges.len()];
        for keys in holders.chunks(ASPECTS_AT_ONCE) {
            let rows = self.store().read(ReadRequest::rows(keys)).await?.rows;
            for (key, row) in keys.iter().zip(rows) {
                let value = row.and_then(|row| serde_json::from_str::<Value>(&row.metadata).ok());
                let (Some(value), Some(others)) =
                    (value, named.get(&(key.urn.as_str(), key.aspect)))
                else {
                    continue;
                };
                for named in others {
                    if let Some(known) = facts_in(&value, key, named) {
                        facts[named.at] = known;
                    }
                }
            }
        }
        Ok(facts)
    }
}

/// Whether entities of this type have the aspect.
fn stores(holder: &Urn, aspect: AspectName) -> bool {
    let spec = Registry::get().entity(holder.entity_type());
    spec.is_some_and(|spec| spec.has_aspect(aspect))
}

/// What an aspect says about its edge to another entity.
fn facts_in(value: &Value, holder: &AspectKey, edge: &NamedEdge<'_>) -> Option<EdgeFacts> {
    let NamedEdge {
        other,
        relationship,
        ..
    } = *edge;
    let lists = value.as_object()?.iter();
    let list = list_of_edges(&holder.urn, other, holder.aspect, relationship);
    let mut items = lists
        .filter(|(name, _)| list.is_none_or(|list| list == name.as_str()))
        .filter_map(|(_, items)| items.as_array())
        .flatten()
        .filter(|item| item.is_object() && names(item, other));
    Some(Item::deserialize(items.next()?).ok()?.into())
}
