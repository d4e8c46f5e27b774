//! Derives index rows from an aspect. A pure function, so that rows can be rebuilt and compared.
//!
//! Edges come from the registry's relationship annotations alone; an annotation on an outer field
//! overrides those inside it. Domains also have a position in a hierarchy ([`Placement`]). To add
//! another hierarchy, add its aspect to [`is_hierarchy_aspect()`] and [`derive()`].

use serde_json::Value;

use crate::registry::Shape;
use crate::{AspectName, EntitySpec, EpochMillis, Registry, Urn};

/// A relationship from the entity of an aspect.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    pub relationship: &'static str,
    pub destination: Urn,
}

/// The position of an entity in the hierarchy of its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The entity type.
    pub kind: &'static str,
    /// `None` at the root.
    pub parent: Option<Urn>,
    pub name: String,
    /// 0 if unknown.
    pub created_ms: EpochMillis,
}

/// The rows derived from one aspect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Derived {
    /// Sorted, without duplicates.
    pub edges: Vec<Edge>,
    pub placement: Option<Placement>,
}

/// Derives the rows of an aspect. Skips members that do not match its record, because values stored
/// by other servers may not be valid here.
pub fn derive(urn: &Urn, aspect: AspectName, value: &Value) -> Derived {
    let registry = Registry::get();
    let mut edges = Vec::new();
    if let Some(record) = registry.aspect_record(aspect) {
        collect_edges(registry, &Shape::Record(record), value, &mut edges);
        edges.sort_unstable();
        edges.dedup();
    }
    Derived {
        edges,
        placement: is_hierarchy_aspect(aspect).then(|| domain(urn, value)),
    }
}

/// Whether an aspect defines the position of its entity in a hierarchy.
pub fn is_hierarchy_aspect(aspect: AspectName) -> bool {
    aspect == AspectName::DOMAIN_PROPERTIES
}

/// Whether entities of a type form a hierarchy.
pub fn has_hierarchy(entity: &EntitySpec) -> bool {
    entity.aspects.iter().copied().any(is_hierarchy_aspect)
}

fn collect_edges(registry: &Registry, shape: &Shape, value: &Value, edges: &mut Vec<Edge>) {
    match (shape, value) {
        (Shape::Urn(Some(relationship)), Value::String(text)) => {
            if let Ok(destination) = Urn::parse(text) {
                edges.push(Edge {
                    relationship: relationship.name,
                    destination,
                });
            }
        }
        (Shape::Array(items), Value::Array(values)) => {
            for item in values {
                collect_edges(registry, items, item, edges);
            }
        }
        (Shape::Map(shape), Value::Object(members)) => {
            for member in members.values() {
                collect_edges(registry, shape, member, edges);
            }
        }
        (Shape::Record(id), Value::Object(members)) => {
            for field in registry.record(*id).related_fields() {
                if let Some(member) = members.get(field.name) {
                    collect_edges(registry, &field.shape, member, edges);
                }
            }
        }
        (Shape::Union(types), Value::Object(members)) => {
            for member in types {
                if let Some(inner) = members.get(member.name) {
                    collect_edges(registry, &member.shape, inner, edges);
                }
            }
        }
        _ => {}
    }
}

fn domain(urn: &Urn, properties: &Value) -> Placement {
    let text = |member: &str| properties.get(member).and_then(Value::as_str);
    Placement {
        kind: "domain",
        parent: text("parentDomain").and_then(|parent| Urn::parse(parent).ok()),
        // Falls back to the id, so that a domain without a name is still listed.
        name: text("name").unwrap_or(urn.key()).to_owned(),
        created_ms: properties
            .pointer("/created/time")
            .and_then(Value::as_i64)
            .unwrap_or(0),
    }
}

#[cfg(test)]
mod tests;
