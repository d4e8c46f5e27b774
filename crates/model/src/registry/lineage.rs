//! Which relationships are lineage: those that say where data comes from or goes to.
//!
//! The registry's annotations say it (`isLineage`, and `isUpstream: false` for what data goes to). A name alone does not
//! tell: datasets are also `DownstreamOf` single columns, which is no edge between datasets. So an edge is lineage by
//! the aspect that it stands in, its name and the type of entity that it points at.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::shape::{Record, RecordId, Relationship, Shape};
use super::{AspectSpec, EntitySpec, Registry};
use crate::AspectName;

/// One of the two ways along the flow of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LineageDirection {
    /// Towards where data comes from.
    Upstream,
    /// Towards where data goes to.
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
    /// By aspect and name: the type pointed at, and where it stands.
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
            let mut found = Vec::new();
            Walk {
                records,
                met: HashSet::new(),
                found: &mut found,
            }
            .record(aspect.record);
            for (relationship, direction) in found {
                let ends = edges.entry((aspect.name, relationship.name)).or_default();
                ends.extend(
                    relationship
                        .entity_types
                        .iter()
                        .map(|end| (*end, direction)),
                );
            }
        }
        let names = |wanted| {
            let names: BTreeSet<&'static str> = edges
                .iter()
                .filter(|(_, ends)| ends.iter().any(|(_, direction)| *direction == wanted))
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

/// Looks through the shape of one aspect. Records may contain each other in circles.
struct Walk<'a> {
    records: &'a [Record],
    met: HashSet<usize>,
    found: &'a mut Vec<(&'static Relationship, LineageDirection)>,
}

impl Walk<'_> {
    fn record(&mut self, id: RecordId) {
        if self.met.insert(id.0) {
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
                self.found
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
    /// The names of the relationships by which an aspect points upstream, or downstream. Not every edge of such a name is
    /// lineage: ask [`Registry::lineage`].
    pub fn lineage_relationships(&self, direction: LineageDirection) -> &[&'static str] {
        match direction {
            LineageDirection::Upstream => &self.lineage.upstream_names,
            LineageDirection::Downstream => &self.lineage.downstream_names,
        }
    }

    /// Whether entities of this kind can say where their data comes from or goes to.
    pub fn has_lineage(&self, entity: &EntitySpec) -> bool {
        let mut aspects = self.lineage.edges.keys().map(|(aspect, _)| *aspect);
        aspects.any(|aspect| entity.has_aspect(aspect))
    }

    /// Where the destination of an edge stands in the flow of data, as seen from its source; `None` if the edge is no lineage.
    pub fn lineage(
        &self,
        aspect: AspectName,
        relationship: &str,
        destination_type: &str,
    ) -> Option<LineageDirection> {
        // The names in the map live forever, and one of them is the name asked for or there is no such edge.
        let relationship = self.relationship(relationship)?;
        let ends = self.lineage.edges.get(&(aspect, relationship))?;
        ends.iter()
            .find(|(end, _)| *end == destination_type)
            .map(|(_, direction)| *direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage(aspect: &str, relationship: &str, end: &str) -> Option<LineageDirection> {
        let registry = Registry::get();
        registry.lineage(registry.aspect(aspect).unwrap(), relationship, end)
    }

    #[test]
    fn an_edge_is_lineage_by_its_aspect_its_name_and_its_end() {
        use LineageDirection::{Downstream, Upstream};
        for (aspect, relationship, end, expected) in [
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
            let found = lineage(aspect, relationship, end);
            assert_eq!(found, expected, "{aspect} {relationship} {end}");
        }
    }

    #[test]
    fn no_edge_points_both_ways() {
        for (edge, ends) in &Registry::get().lineage.edges {
            let both = ends
                .iter()
                .any(|(end, direction)| ends.contains(&(*end, direction.opposite())));
            assert!(!both, "{edge:?}");
        }
    }

    #[test]
    fn the_names_are_those_of_lineage_and_no_others() {
        let registry = Registry::get();
        let upstream = registry.lineage_relationships(LineageDirection::Upstream);
        let downstream = registry.lineage_relationships(LineageDirection::Downstream);
        assert!(upstream.contains(&"DownstreamOf") && upstream.contains(&"SourcedFrom"));
        assert!(!upstream.contains(&"Produces") && !upstream.contains(&"OwnedBy"));
        assert!(downstream.contains(&"Produces") && !downstream.contains(&"Consumes"));
    }
}
