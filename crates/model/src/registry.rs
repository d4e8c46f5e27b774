//! The known entities, aspects and records, loaded once from `registry.json`.
//!
//! To add an aspect, add its record and its name there and list it under its entities. This module
//! resolves names and keys; [`crate::validate`], [`mod@crate::derive`] and [`crate::searchable`]
//! walk the records. It must not know any aspect by name.
//!
//! `internal.json` has the types of Docent's own records. The store keeps them like all others
//! ([`Registry::stored_entity`], [`Registry::stored_aspect`]); for every other function they do not
//! exist, so no API accepts, shows or describes them.

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
pub use plan::in_words;
pub(crate) use plan::{Plan, PlanId, SearchPlans};
pub use schemas::json_schemas;
pub(crate) use shape::{Member, Record, RecordId, Relationship, Shape};

const SOURCE: &str = include_str!("../registry.json");
/// Docent's own types, in the same form.
const INTERNAL_SOURCE: &str = include_str!("../internal.json");

/// The limit on URNs nested in URNs. A column of a dataset of a platform has three levels; no
/// entity type needs more than twice that.
const MAX_NESTED_URNS: usize = 6;

/// The entity type whose URNs have no length limit, because field paths have none.
const UNBOUNDED_ENTITY_TYPE: &str = "schemaField";

/// The metadata model. There is one instance: [`Registry::get`].
pub struct Registry {
    /// Sorted by name.
    entities: Vec<&'static EntitySpec>,
    entities_by_name: HashMap<&'static str, &'static EntitySpec>,
    internal_entities: HashMap<&'static str, &'static EntitySpec>,
    aspects: HashMap<&'static str, AspectSpec>,
    records: Vec<Record>,
    /// The names of all relationships.
    relationships: HashSet<&'static str>,
    search_plans: SearchPlans,
    lineage: lineage::LineageSpec,
}

/// An entity type.
#[derive(Debug)]
pub struct EntitySpec {
    pub name: &'static str,
    pub key_aspect: AspectName,
    /// The names of the URN's key parts, in order.
    pub key_fields: Vec<&'static str>,
    /// The aspects an entity may have besides its key aspect.
    pub aspects: Vec<AspectName>,
    /// The aspects and the key aspect.
    members: HashSet<AspectName>,
    key: RecordId,
}

impl EntitySpec {
    /// Whether entities of this type may have the aspect, including the key aspect.
    pub fn has_aspect(&self, aspect: AspectName) -> bool {
        self.members.contains(&aspect)
    }
}

/// An aspect type.
struct AspectSpec {
    name: AspectName,
    record_name: &'static str,
    record: RecordId,
    is_timeseries: bool,
    internal: bool,
}

/// How an external name is compared with the registry's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameMatch {
    Exact,
    IgnoreCase,
}

impl Registry {
    pub fn get() -> &'static Self {
        static REGISTRY: LazyLock<Registry> = LazyLock::new(embedded);
        &REGISTRY
    }

    /// Returns the entity type with this name, preferring an exact match over a case-insensitive
    /// one.
    pub fn entity(&self, name: &str) -> Option<&'static EntitySpec> {
        self.find_entity(name, NameMatch::IgnoreCase)
    }

    /// The entity type of this name that a store may hold, internal ones included.
    pub fn stored_entity(&self, name: &str) -> Option<&'static EntitySpec> {
        let internal = self.internal_entities.get(name).copied();
        internal.or_else(|| self.entity(name))
    }

    /// Whether an aspect is the key aspect of the entity.
    pub fn is_key_aspect(&self, urn: &Urn, aspect: AspectName) -> bool {
        self.stored_entity(urn.entity_type())
            .is_some_and(|entity| entity.key_aspect == aspect)
    }

    /// All entity types, sorted by name.
    pub fn entities(&self) -> impl Iterator<Item = &'static EntitySpec> {
        self.entities.iter().copied()
    }

    /// Returns the aspect with this name, preferring an exact match over a case-insensitive one.
    pub fn aspect(&self, name: &str) -> Option<AspectName> {
        let found = self.find_aspect(name).filter(|aspect| !aspect.internal);
        found.map(|aspect| aspect.name)
    }

    /// The aspect of this name that a store may hold, internal ones included.
    pub fn stored_aspect(&self, name: &str) -> Option<AspectName> {
        self.find_aspect(name).map(|aspect| aspect.name)
    }

    fn find_aspect(&self, name: &str) -> Option<&AspectSpec> {
        self.aspects.get(name).or_else(|| {
            self.aspects
                .values()
                .find(|aspect| aspect.name.as_str().eq_ignore_ascii_case(name))
        })
    }

    /// The qualified name of the aspect's record, such as `com.linkedin.dataset.DatasetProperties`.
    pub fn record_name(&self, aspect: AspectName) -> Option<&'static str> {
        self.aspects
            .get(aspect.as_str())
            .map(|aspect| aspect.record_name)
    }

    /// The aspect of an entity type whose record has this qualified name. Ignores `pegasus2avro`,
    /// which old clients insert.
    pub fn aspect_of_record(&self, entity: &EntitySpec, record_name: &str) -> Option<AspectName> {
        let plain = record_name.replacen(".pegasus2avro.", ".", 1);
        let mut members = entity.members.iter().copied();
        members.find(|aspect| self.record_name(*aspect) == Some(plain.as_str()))
    }

    /// Whether the aspect is a time series rather than a versioned value.
    pub fn is_timeseries(&self, aspect: AspectName) -> bool {
        self.aspects
            .get(aspect.as_str())
            .is_some_and(|aspect| aspect.is_timeseries)
    }

    /// The public relationship with exactly this name, if any aspect defines it.
    pub fn relationship(&self, name: &str) -> Option<&'static str> {
        self.relationships.get(name).copied()
    }

    /// The names of all public relationships.
    pub fn relationships(&self) -> impl Iterator<Item = &'static str> {
        self.relationships.iter().copied()
    }

    /// Checks that a URN has a known entity type and the key parts of that type.
    pub fn check_urn(&self, urn: &Urn) -> Result<&'static EntitySpec, UrnError> {
        self.check(urn.as_split(), NameMatch::Exact, 1)
    }

    /// Like [`Registry::check_urn`], and accepts internal entity types.
    pub fn check_stored_urn(&self, urn: &Urn) -> Result<&'static EntitySpec, UrnError> {
        match self.internal_entities.get(urn.entity_type()) {
            Some(entity) => self.check_key(entity, urn.as_split(), NameMatch::Exact, 1),
            None => self.check_urn(urn),
        }
    }

    /// Parses a URN and checks it with [`Registry::check_urn`].
    pub fn parse_urn(&self, text: &str) -> Result<Urn, UrnError> {
        let urn = Urn::parse(text)?;
        self.check_urn(&urn)?;
        Ok(urn)
    }

    /// The key aspect of a URN, such as `{"platform": …, "name": …, "origin": …}`; `None` if the
    /// URN is not valid.
    pub fn key_aspect_value(&self, urn: &Urn) -> Option<Value> {
        let entity = self.check_stored_urn(urn).ok()?;
        let members: Map<String, Value> = entity
            .key_fields
            .iter()
            .zip(urn.as_split().parts())
            .map(|(&field, part)| (field.to_owned(), Value::from(part)))
            .collect();
        Some(Value::Object(members))
    }

    /// The URN with this key aspect, unchecked; `None` if there is no such entity type, or a member
    /// of the key is missing.
    pub fn urn_of_key(&self, entity_type: &str, key: &Value) -> Option<String> {
        let entity = self.entity(entity_type)?;
        let parts = entity.key_fields.iter().map(|&field| key[field].as_str());
        let parts: Vec<&str> = parts.collect::<Option<_>>()?;
        let key = match parts[..] {
            [part] => part.to_owned(),
            _ => format!("({})", parts.join(",")),
        };
        Some(format!("urn:li:{}:{key}", entity.name))
    }

    /// Checks a URN referenced by an aspect. Ignores the case of its entity type.
    pub(crate) fn check_reference(&self, text: &str) -> Result<&'static EntitySpec, UrnError> {
        self.check(UrnText::split(text)?, NameMatch::IgnoreCase, 1)
    }

    /// The record of an aspect's value.
    pub(crate) fn aspect_record(&self, aspect: AspectName) -> Option<RecordId> {
        self.aspects.get(aspect.as_str()).map(|spec| spec.record)
    }

    pub(crate) fn record(&self, id: RecordId) -> &Record {
        &self.records[id.0]
    }

    pub(crate) fn search_plans(&self) -> &SearchPlans {
        &self.search_plans
    }

    fn find_entity(&self, name: &str, name_match: NameMatch) -> Option<&'static EntitySpec> {
        let exact = self.entities_by_name.get(name).copied();
        if exact.is_some() || name_match == NameMatch::Exact {
            return exact;
        }
        self.entities()
            .find(|entity| entity.name.eq_ignore_ascii_case(name))
    }

    fn check(
        &self,
        urn: UrnText<'_>,
        name_match: NameMatch,
        level: usize,
    ) -> Result<&'static EntitySpec, UrnError> {
        let Some(entity) = self.find_entity(urn.entity_type, name_match) else {
            return Err(UrnError::UnknownEntityType {
                text: shorten(&urn.to_string()),
                entity_type: urn.entity_type.to_owned(),
            });
        };
        self.check_key(entity, urn, name_match, level)
    }

    fn check_key(
        &self,
        entity: &'static EntitySpec,
        urn: UrnText<'_>,
        name_match: NameMatch,
        level: usize,
    ) -> Result<&'static EntitySpec, UrnError> {
        let text = || shorten(&urn.to_string());
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
                    let target = self.check(UrnText::split(part)?, name_match, level + 1)?;
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
    /// Whether the relationship may point to entities of this type.
    pub(crate) fn accepts(&self, entity: &EntitySpec) -> bool {
        self.entity_types.contains(&entity.name)
    }

    /// The allowed destination types, for error messages.
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
    reason = "both texts are embedded in the binary, and a test loads them"
)]
fn embedded() -> Registry {
    load::load(SOURCE, INTERNAL_SOURCE).expect("invariant: registry.json is consistent")
}

#[cfg(test)]
mod tests;
