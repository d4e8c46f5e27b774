//! The relationships that represent data lineage.
//!
//! The registry's annotations define them (`isLineage`, and `isUpstream: false` for downstream).
//! The name alone is not enough: datasets are also `DownstreamOf` single columns, which is not
//! lineage between datasets. So an edge is lineage by its aspect, its name and its destination
//! type.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::shape::{Record, RecordId, Relationship, Shape};
use super::{AspectSpec, EntitySpec, Registry};
use crate::AspectName;

/// A direction along the flow of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LineageDirection {
    /// Towards the sources of data.
    Upstream,
    /// Towards the consumers of data.
    Downstream,
}

impl LineageDirection {
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Upstream => Self::Downstream,
            Self::Downstream => Self::Upstream,
        }
    }
}

/// The lineage of all aspects.
#[derive(Debug, Default)]
pub(super) struct LineageSpec {
    /// The destination types and directions by aspect and name.
    edges: HashMap<(AspectName, &'static str), Vec<(&'static str, LineageDirection)>>,
    upstream_names: Vec<&'static str>,
    downstream_names: Vec<&'static str>,
}

impl LineageSpec {
    pub(super) fn collect<'a>(
        aspects: impl Iterator<Item = &'a AspectSpec>,
        records: &[Record],
    ) -> Self {
        let mut edges: HashMap<_, Vec<_>> = HashMap::new();
        for aspect in aspects {
            let mut relationships = Vec::new();
            LineageCollector {
                records,
                visited: HashSet::new(),
                relationships: &mut relationships,
            }
            .record(aspect.record);
            for (relationship, direction) in relationships {
                let destinations = edges.entry((aspect.name, relationship.name)).or_default();
                destinations.extend(
                    relationship
                        .entity_types
                        .iter()
                        .map(|destination| (*destination, direction)),
                );
            }
        }
        let names = |direction| {
            let names: BTreeSet<&'static str> = edges
                .iter()
                .filter(|(_, destinations)| {
                    destinations.iter().any(|(_, other)| *other == direction)
                })
                .map(|((_, name), _)| *name)
                .collect();
            names.into_iter().collect()
        };
        Self {
            upstream_names: names(LineageDirection::Upstream),
            downstream_names: names(LineageDirection::Downstream),
            edges,
        }
    }
}

/// Collects the lineage relationships of one aspect. Records may be recursive.
struct LineageCollector<'a> {
    records: &'a [Record],
    visited: HashSet<usize>,
    relationships: &'a mut Vec<(&'static Relationship, LineageDirection)>,
}

impl LineageCollector<'_> {
    fn record(&mut self, id: RecordId) {
        if self.visited.insert(id.0) {
            let records = self.records;
            for field in records[id.0].related_fields() {
                self.shape(&field.shape);
            }
        }
    }

    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Urn(Some(relationship)) => {
                let lineage = relationship.lineage;
                self.relationships
                    .extend(lineage.map(|direction| (*relationship, direction)));
            }
            Shape::Array(inner) | Shape::Map(inner) => self.shape(inner),
            Shape::Record(id) => self.record(*id),
            Shape::Union(members) => {
                for member in members {
                    self.shape(&member.shape);
                }
            }
            _ => {}
        }
    }
}

impl Registry {
    /// The names of the lineage relationships in a direction. Not every edge with such a name is
    /// lineage, see [`Registry::lineage`].
    pub fn lineage_relationships(&self, direction: LineageDirection) -> &[&'static str] {
        match direction {
            LineageDirection::Upstream => &self.lineage.upstream_names,
            LineageDirection::Downstream => &self.lineage.downstream_names,
        }
    }

    /// Whether entities of this type can have lineage.
    pub fn has_lineage(&self, entity: &EntitySpec) -> bool {
        let mut aspects = self.lineage.edges.keys().map(|(aspect, _)| *aspect);
        aspects.any(|aspect| entity.has_aspect(aspect))
    }

    /// The direction of an edge as seen from its source; `None` if the edge is not lineage.
    pub fn lineage(
        &self,
        aspect: AspectName,
        relationship: &str,
        destination_type: &str,
    ) -> Option<LineageDirection> {
        // Interns the name, because the keys of the map are static.
        let relationship = self.relationship(relationship)?;
        let destinations = self.lineage.edges.get(&(aspect, relationship))?;
        destinations
            .iter()
            .find(|(destination, _)| *destination == destination_type)
            .map(|(_, direction)| *direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage(aspect: &str, relationship: &str, destination: &str) -> Option<LineageDirection> {
        let registry = Registry::get();
        registry.lineage(registry.aspect(aspect).unwrap(), relationship, destination)
    }

    #[test]
    fn an_edge_is_lineage_by_aspect_name_and_destination_type() {
        use LineageDirection::{Downstream, Upstream};
        for (aspect, relationship, destination, expected) in [
            ("upstreamLineage", "DownstreamOf", "dataset", Some(Upstream)),
            ("upstreamLineage", "DownstreamOf", "schemaField", None),
            ("dataJobInputOutput", "Consumes", "dataset", Some(Upstream)),
            (
                "dataJobInputOutput",
                "Produces",
                "dataset",
                Some(Downstream),
            ),
            (
                "dataJobInputOutput",
                "DownstreamOf",
                "dataJob",
                Some(Upstream),
            ),
            ("dataJobInputOutput", "Produces", "schemaField", None),
            ("chartInfo", "Consumes", "dataset", Some(Upstream)),
            ("chartInfo", "Consumes", "chart", Some(Upstream)),
            ("dashboardInfo", "Contains", "chart", Some(Upstream)),
            (
                "mlModelProperties",
                "MemberOf",
                "mlModelGroup",
                Some(Downstream),
            ),
            ("mlModelProperties", "UsedBy", "dataJob", Some(Downstream)),
            ("domains", "AssociatedWith", "domain", None),
            ("upstreamLineage", "Nonsense", "dataset", None),
        ] {
            let direction = lineage(aspect, relationship, destination);
            assert_eq!(direction, expected, "{aspect} {relationship} {destination}");
        }
    }

    #[test]
    fn no_edge_has_both_directions() {
        for (edge, destinations) in &Registry::get().lineage.edges {
            let both = destinations.iter().any(|(destination, direction)| {
                destinations.contains(&(*destination, direction.opposite()))
            });
            assert!(!both, "{edge:?}");
        }
    }

    #[test]
    fn only_lineage_relationships_are_listed() {
        let registry = Registry::get();
        let upstream = registry.lineage_relationships(LineageDirection::Upstream);
        let downstream = registry.lineage_relationships(LineageDirection::Downstream);
        assert!(upstream.contains(&"DownstreamOf") && upstream.contains(&"SourcedFrom"));
        assert!(!upstream.contains(&"Produces") && !upstream.contains(&"OwnedBy"));
        assert!(downstream.contains(&"Produces") && !downstream.contains(&"Consumes"));
    }
}
