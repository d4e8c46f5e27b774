//! The format of `registry.json`, with unresolved names and annotations.
//!
//! Everything borrows from the embedded text. Skips what is not needed, such as default values.
//! Lists that the registry keeps are leaked on purpose, because it is loaded once per process.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::lineage::LineageDirection;
use super::shape::Relationship;

mod searchable;

pub(super) use searchable::{SourceSearch, SourceSearches};

#[derive(serde::Deserialize)]
pub(super) struct Source {
    #[serde(borrow)]
    pub(super) entities: BTreeMap<&'static str, SourceEntity>,
    pub(super) aspects: BTreeMap<&'static str, SourceAspect>,
    pub(super) records: BTreeMap<&'static str, SourceRecord>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceEntity {
    pub(super) key_aspect: &'static str,
    #[serde(borrow)]
    pub(super) key_fields: Vec<&'static str>,
    #[serde(borrow)]
    pub(super) aspects: Vec<&'static str>,
}

#[derive(serde::Deserialize)]
pub(super) struct SourceAspect {
    pub(super) record: &'static str,
    #[serde(rename = "type", default)]
    pub(super) kind: Option<&'static str>,
}

/// A named type: a record of fields, or an enum (`{"enum": ["A", "B"]}`).
pub(super) enum SourceRecord {
    Fields(BTreeMap<&'static str, SourceField>),
    Symbols(&'static [&'static str]),
}

#[derive(serde::Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub(super) struct SourceField {
    #[serde(rename = "type")]
    pub(super) shape: SourceType,
    #[serde(default)]
    pub(super) optional: bool,
    #[serde(default)]
    pub(super) urn: bool,
    #[serde(rename = "default", default, deserialize_with = "is_present")]
    pub(super) has_default: bool,
    #[serde(default)]
    pub(super) relationship: SourceRelationships,
    #[serde(default)]
    pub(super) searchable: SourceSearches,
}

pub(super) enum SourceType {
    Named(&'static str),
    Array(Box<SourceType>),
    Map(Box<SourceType>),
    Union(Vec<SourceType>),
}

/// A relationship annotation with the path from the annotated field to the URN ("" is the field
/// itself).
pub(super) struct SourceRelationship {
    pub(super) path: &'static str,
    pub(super) target: &'static Relationship,
}

/// The annotations of one field.
#[derive(Default)]
pub(super) struct SourceRelationships(pub(super) Vec<SourceRelationship>);

fn annotation(path: &'static str, target: Relationship) -> SourceRelationship {
    SourceRelationship {
        path,
        target: Box::leak(Box::new(target)),
    }
}

/// The lineage direction of an annotation; upstream by default.
fn lineage(is_lineage: bool, is_upstream: Option<bool>) -> Option<LineageDirection> {
    is_lineage.then_some(match is_upstream {
        Some(false) => LineageDirection::Downstream,
        _ => LineageDirection::Upstream,
    })
}

fn is_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

impl<'de: 'static> Deserialize<'de> for SourceRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        /// A member of a record: a field, or the symbols of an enum.
        enum Member {
            Field(SourceField),
            Symbols(Vec<&'static str>),
        }
        impl<'de: 'static> Deserialize<'de> for Member {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct MemberVisitor;
                impl<'de: 'static> Visitor<'de> for MemberVisitor {
                    type Value = Member;
                    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                        formatter.write_str("a field or a list of enum symbols")
                    }
                    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Member, A::Error> {
                        SourceField::deserialize(MapAccessDeserializer::new(map)).map(Member::Field)
                    }
                    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Member, A::Error> {
                        let mut symbols = Vec::new();
                        while let Some(symbol) = list.next_element()? {
                            symbols.push(symbol);
                        }
                        Ok(Member::Symbols(symbols))
                    }
                }
                deserializer.deserialize_any(MemberVisitor)
            }
        }
        impl<'de: 'static> Visitor<'de> for Members {
            type Value = SourceRecord;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a record or an enum")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SourceRecord, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some(name) = map.next_key::<&'static str>()? {
                    match map.next_value()? {
                        Member::Field(field) => fields.insert(name, field),
                        Member::Symbols(symbols) => {
                            return Ok(SourceRecord::Symbols(symbols.leak()));
                        }
                    };
                }
                Ok(SourceRecord::Fields(fields))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl<'de: 'static> Deserialize<'de> for SourceType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TypeVisitor;
        impl<'de: 'static> Visitor<'de> for TypeVisitor {
            type Value = SourceType;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a type name, or one of array, map and union")
            }
            fn visit_borrowed_str<E: serde::de::Error>(
                self,
                name: &'de str,
            ) -> Result<SourceType, E> {
                Ok(SourceType::Named(name))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SourceType, A::Error> {
                let shape = match map.next_key::<&str>()? {
                    Some("array") => SourceType::Array(map.next_value()?),
                    Some("map") => SourceType::Map(map.next_value()?),
                    Some("union") => SourceType::Union(map.next_value()?),
                    other => {
                        let found = other.unwrap_or_default();
                        return Err(serde::de::Error::unknown_variant(
                            found,
                            &["array", "map", "union"],
                        ));
                    }
                };
                Ok(shape)
            }
        }
        deserializer.deserialize_any(TypeVisitor)
    }
}

impl<'de: 'static> Deserialize<'de> for SourceRelationships {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Target {
            name: &'static str,
            #[serde(borrow)]
            entity_types: Vec<&'static str>,
            #[serde(default)]
            is_lineage: bool,
            is_upstream: Option<bool>,
        }
        struct Annotations;
        impl<'de: 'static> Visitor<'de> for Annotations {
            type Value = Vec<SourceRelationship>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a relationship, or relationships by path")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut by_path = Vec::new();
                let (mut name, mut entity_types) = (None, None);
                let (mut internal, mut is_lineage, mut is_upstream) = (false, false, None);
                while let Some(key) = map.next_key::<&'static str>()? {
                    match key {
                        "name" => name = Some(map.next_value()?),
                        "entityTypes" => entity_types = Some(map.next_value()?),
                        "internal" => internal = map.next_value()?,
                        "isLineage" => is_lineage = map.next_value()?,
                        "isUpstream" => is_upstream = Some(map.next_value()?),
                        path if path.starts_with('/') => {
                            let target: Target = map.next_value()?;
                            let lineage = lineage(target.is_lineage, target.is_upstream);
                            let relationship = Relationship {
                                name: target.name,
                                entity_types: target.entity_types,
                                internal: false,
                                lineage,
                            };
                            by_path.push(annotation(path, relationship));
                        }
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                if let (Some(name), Some(entity_types)) = (name, entity_types) {
                    let relationship = Relationship {
                        name,
                        entity_types,
                        internal,
                        lineage: lineage(is_lineage, is_upstream),
                    };
                    by_path.push(annotation("", relationship));
                }
                Ok(by_path)
            }
        }
        deserializer
            .deserialize_map(Annotations)
            .map(SourceRelationships)
    }
}
