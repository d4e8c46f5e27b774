//! The rows that follow from one aspect: a pure function, so that they can be rebuilt and compared.
//!
//! Edges come from the registry's relationship annotations alone; an annotation on an outer field replaces
//! those inside of it. The place of an entity in a tree ([`Placement`]) is known for domains; to place one more kind,
//! add its aspect to [`places()`] and [`derive()`].

use serde_json::Value;

use crate::registry::Shape;
use crate::{AspectName, EntitySpec, EpochMillis, Registry, Urn};

/// A relationship from the entity that an aspect belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    pub relationship: &'static str,
    pub destination: Urn,
}

/// Where an entity stands in the tree of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The entity type.
    pub kind: &'static str,
    /// `None` at the root.
    pub parent: Option<Urn>,
    pub name: String,
    /// 0 if nobody noted it.
    pub created_ms: EpochMillis,
}

/// Everything that follows from one aspect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Derived {
    /// Sorted, none twice.
    pub edges: Vec<Edge>,
    pub placement: Option<Placement>,
}

/// Derives the rows of an aspect. What does not fit its record is passed over: validation is not done here,
/// because values stored by other servers are derived from, too.
pub fn derive(urn: &Urn, aspect: AspectName, value: &Value) -> Derived {
    let registry = Registry::get();
    let mut edges = Vec::new();
    if let Some(record) = registry.aspect_record(aspect) {
        collect(registry, &Shape::Record(record), value, &mut edges);
        edges.sort_unstable();
        edges.dedup();
    }
    Derived {
        edges,
        placement: places(aspect).then(|| domain(urn, value)),
    }
}

/// Whether an aspect says where its entity stands in the tree of its kind.
pub fn places(aspect: AspectName) -> bool {
    aspect == AspectName::DOMAIN_PROPERTIES
}

/// Whether entities of a kind stand in a tree.
pub fn has_tree(entity: &EntitySpec) -> bool {
    entity.aspects.iter().copied().any(places)
}

fn collect(registry: &Registry, shape: &Shape, value: &Value, edges: &mut Vec<Edge>) {
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
                collect(registry, items, item, edges);
            }
        }
        (Shape::Map(shape), Value::Object(members)) => {
            for member in members.values() {
                collect(registry, shape, member, edges);
            }
        }
        (Shape::Record(id), Value::Object(members)) => {
            for field in registry.record(*id).related_fields() {
                if let Some(member) = members.get(field.name) {
                    collect(registry, &field.shape, member, edges);
                }
            }
        }
        (Shape::Union(types), Value::Object(members)) => {
            for member in types {
                if let Some(inner) = members.get(member.name) {
                    collect(registry, &member.shape, inner, edges);
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
        // A domain without a name is listed by its id rather than not at all.
        name: text("name").unwrap_or(urn.key()).to_owned(),
        created_ms: properties
            .pointer("/created/time")
            .and_then(Value::as_i64)
            .unwrap_or(0),
    }
}

#[cfg(test)]
mod tests;
