//! Which entities, aspects and records exist, read once from `registry.json`.
//!
//! The data says it all: to add an aspect, add its record and its name there and list it under its entities.
//! This module answers questions of names and keys; [`crate::validate`], [`mod@crate::derive`] and
//! [`crate::searchable`] walk the records.
//! It must not know any aspect by name.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::urn::{UrnText, shorten};
use crate::{AspectName, Urn, UrnError};

mod annotation;
mod lineage;
mod load;
mod plan;
mod schemas;
mod shape;
mod source;

pub use lineage::LineageDirection;
pub(crate) use plan::{Plan, PlanId, Searches};
pub use schemas::json_schemas;
pub(crate) use shape::{Record, RecordId, Relationship, Shape};

/// The data.
const SOURCE: &str = include_str!("../registry.json");

/// URNs in URNs: a column of a dataset of a platform makes three levels; twice as many is nobody's name.
const MAX_NESTED_URNS: usize = 6;

/// The entity type whose URNs may be of any length, because a column's path has no bound.
const UNBOUNDED_ENTITY_TYPE: &str = "schemaField";

/// Everything that is known about the kinds of metadata. There is one: [`Registry::get`].
pub struct Registry {
    /// Sorted by name.
    entities: Vec<&'static EntitySpec>,
    entities_by_name: HashMap<&'static str, &'static EntitySpec>,
    aspects: HashMap<&'static str, AspectSpec>,
    records: Vec<Record>,
    /// The names of all relationships.
    relationships: HashSet<&'static str>,
    searches: Searches,
    lineage: lineage::LineageSpec,
}

/// A kind of entity.
#[derive(Debug)]
pub struct EntitySpec {
    pub name: &'static str,
    pub key_aspect: AspectName,
    /// The names of the parts of the URN's key, in their order.
    pub key_fields: Vec<&'static str>,
    /// The aspects an entity may have besides its key aspect.
    pub aspects: Vec<AspectName>,
    /// The aspects and the key aspect.
    members: HashSet<AspectName>,
    key: RecordId,
}

impl EntitySpec {
    /// Whether entities of this kind may have this aspect; the key aspect counts.
    pub fn has_aspect(&self, aspect: AspectName) -> bool {
        self.members.contains(&aspect)
    }
}

/// A kind of aspect.
struct AspectSpec {
    name: AspectName,
    record_name: &'static str,
    record: RecordId,
    is_timeseries: bool,
}

/// How a name from outside is compared with the registry's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Exact,
    AnyCase,
}

impl Registry {
    pub fn get() -> &'static Self {
        static REGISTRY: LazyLock<Registry> = LazyLock::new(embedded);
        &REGISTRY
    }

    /// The entity type of this name: exactly, or else without regard to case.
    pub fn entity(&self, name: &str) -> Option<&'static EntitySpec> {
        self.entity_spelled(name, Spelling::AnyCase)
    }

    /// Whether an aspect is the key aspect of the entity, which follows from its URN.
    pub fn is_key_aspect(&self, urn: &Urn, aspect: AspectName) -> bool {
        self.entity(urn.entity_type())
            .is_some_and(|entity| entity.key_aspect == aspect)
    }

    /// All entity types, by name.
    pub fn entities(&self) -> impl Iterator<Item = &'static EntitySpec> {
        self.entities.iter().copied()
    }

    /// The aspect of this name: exactly, or else without regard to case.
    pub fn aspect(&self, name: &str) -> Option<AspectName> {
        let found = self.aspects.get(name).or_else(|| {
            self.aspects
                .values()
                .find(|aspect| aspect.name.as_str().eq_ignore_ascii_case(name))
        });
        found.map(|aspect| aspect.name)
    }

    /// The qualified name of the aspect's record, such as `com.linkedin.dataset.DatasetProperties`.
    pub fn record_name(&self, aspect: AspectName) -> Option<&'static str> {
        self.aspects
            .get(aspect.as_str())
            .map(|aspect| aspect.record_name)
    }

    /// The aspect of an entity type whose record has this qualified name, with or without the part that old clients put
    /// into it.
    pub fn aspect_of_record(&self, entity: &EntitySpec, record_name: &str) -> Option<AspectName> {
        let plain = record_name.replacen(".pegasus2avro.", ".", 1);
        let mut members = entity.members.iter().copied();
        members.find(|aspect| self.record_name(*aspect) == Some(plain.as_str()))
    }

    /// Whether each value of the aspect is an event in time instead of replacing the one before.
    pub fn is_timeseries(&self, aspect: AspectName) -> bool {
        self.aspects
            .get(aspect.as_str())
            .is_some_and(|aspect| aspect.is_timeseries)
    }

    /// The relationship of this name, spelled exactly; `None` if no aspect makes any.
    pub fn relationship(&self, name: &str) -> Option<&'static str> {
        self.relationships.get(name).copied()
    }

    /// Checks that a URN can name an entity: its type exists, and its key has the parts that type needs.
    pub fn check_urn(&self, urn: &Urn) -> Result<&'static EntitySpec, UrnError> {
        self.check(urn.as_split(), Spelling::Exact, 1)
    }

    /// Parses a text and checks it with [`Registry::check_urn`].
    pub fn parse_urn(&self, text: &str) -> Result<Urn, UrnError> {
        let urn = Urn::parse(text)?;
        self.check_urn(&urn)?;
        Ok(urn)
    }

    /// The key aspect that a URN stands for, such as `{"platform": …, "name": …, "origin": …}`; `None` if the
    /// URN names no entity.
    pub fn key_aspect_value(&self, urn: &Urn) -> Option<Value> {
        let entity = self.check_urn(urn).ok()?;
        let members: Map<String, Value> = entity
            .key_fields
            .iter()
            .zip(urn.as_split().parts())
            .map(|(&field, part)| (field.to_owned(), Value::from(part)))
            .collect();
        Some(Value::Object(members))
    }

    /// Checks a URN that an aspect refers to. Its entity type is looked up like other names from outside.
    pub(crate) fn check_reference(&self, text: &str) -> Result<&'static EntitySpec, UrnError> {
        self.check(UrnText::split(text)?, Spelling::AnyCase, 1)
    }

    /// The shape of an aspect's value.
    pub(crate) fn aspect_record(&self, aspect: AspectName) -> Option<RecordId> {
        self.aspects.get(aspect.as_str()).map(|spec| spec.record)
    }

    pub(crate) fn record(&self, id: RecordId) -> &Record {
        &self.records[id.0]
    }

    /// What of the aspects is searched.
    pub(crate) fn searches(&self) -> &Searches {
        &self.searches
    }

    fn entity_spelled(&self, name: &str, spelling: Spelling) -> Option<&'static EntitySpec> {
        let exact = self.entities_by_name.get(name).copied();
        if exact.is_some() || spelling == Spelling::Exact {
            return exact;
        }
        self.entities()
            .find(|entity| entity.name.eq_ignore_ascii_case(name))
    }

    fn check(
        &self,
        urn: UrnText<'_>,
        spelling: Spelling,
        level: usize,
    ) -> Result<&'static EntitySpec, UrnError> {
        let text = || shorten(&urn.to_string());
        let Some(entity) = self.entity_spelled(urn.entity_type, spelling) else {
            return Err(UrnError::UnknownEntityType {
                text: text(),
                entity_type: urn.entity_type.to_owned(),
            });
        };
        if level > MAX_NESTED_URNS {
            return Err(UrnError::Nesting { text: text() });
        }
        if entity.name != UNBOUNDED_ENTITY_TYPE {
            urn.check_length()?;
        }
        let actual = urn.parts().count();
        if actual != entity.key_fields.len() {
            return Err(UrnError::KeyParts {
                text: text(),
                entity_type: entity.name.to_owned(),
                actual,
                expected: entity.key_fields.len(),
                fields: entity.key_fields.join(", "),
            });
        }
        let key = self.record(entity.key);
        for (&field, part) in entity.key_fields.iter().zip(urn.parts()) {
            if part.is_empty() {
                return Err(UrnError::EmptyPart {
                    text: text(),
                    field: field.to_owned(),
                });
            }
            match key.field(field).map(|field| &field.shape) {
                Some(Shape::Urn(relationship)) => {
                    let target = self.check(UrnText::split(part)?, spelling, level + 1)?;
                    if let Some(relationship) = relationship
                        && !relationship.accepts(target)
                    {
                        return Err(UrnError::WrongEntityType {
                            text: shorten(part),
                            actual: target.name.to_owned(),
                            expected: relationship.expected(),
                        });
                    }
                }
                Some(Shape::Enum(symbols)) if !symbols.contains(&part) => {
                    return Err(UrnError::KeyValue {
                        text: text(),
                        field: field.to_owned(),
                        value: shorten(part),
                        allowed: symbols.join(", "),
                    });
                }
                _ => {}
            }
        }
        Ok(entity)
    }
}

impl Relationship {
    /// Whether an entity of this type may be pointed at.
    pub(crate) fn accepts(&self, entity: &EntitySpec) -> bool {
        self.entity_types.contains(&entity.name)
    }

    /// The types that may be pointed at, in words.
    pub(crate) fn expected(&self) -> String {
        self.entity_types.join(" or ")
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Registry")
            .field("entities", &self.entities.len())
            .field("aspects", &self.aspects.len())
            .field("records", &self.records.len())
            .finish_non_exhaustive()
    }
}

#[expect(
    clippy::expect_used,
    reason = "the text is part of the program, and a test loads it"
)]
fn embedded() -> Registry {
    load::load(SOURCE).expect("invariant: registry.json is consistent")
}

#[cfg(test)]
mod tests;
