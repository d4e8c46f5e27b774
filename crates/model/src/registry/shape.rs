//! Compiled records: all types are resolved, and every URN knows its relationship.
//!
//! A record used in several fields may have several shapes, because an annotation on an outer field
//! determines the relationships inside it: the tags of a column are not the tags of a dataset.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::lineage::LineageDirection;

/// The index of a record in [`super::Registry`]. Records may be recursive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordId(pub(super) usize);

/// The type of a value.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Any string, including encoded bytes.
    Text,
    Boolean,
    /// A 32-bit integer.
    Int,
    /// A 64-bit integer.
    Long,
    /// Any number.
    Number,
    /// A URN and its relationship, if it forms one.
    Urn(Option<&'static Relationship>),
    Enum(&'static [&'static str]),
    Array(Box<Shape>),
    Map(Box<Shape>),
    Record(RecordId),
    /// An object with one member, named after the type of its value.
    Union(Box<[Member]>),
}

/// A relationship between the entity of an aspect and a URN in it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Relationship {
    pub(crate) name: &'static str,
    pub(crate) entity_types: Vec<&'static str>,
    /// Whether only the server reads it: APIs neither list nor name it.
    pub(crate) internal: bool,
    /// The lineage direction as seen from the entity; `None` if the relationship is not lineage.
    pub(crate) lineage: Option<LineageDirection>,
}

/// One type of a union.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// Whether it may be null.
    pub(crate) optional: bool,
    /// Whether it must be present: not optional and without a default.
    pub(crate) required: bool,
}

#[derive(Debug)]
pub(crate) struct Record {
    /// Sorted by [`by_length`].
    pub(crate) fields: Box<[Field]>,
    /// The number of required fields.
    pub(crate) required: usize,
    /// The indexes of the fields that contain relationships.
    pub(super) related: Box<[usize]>,
}

/// Orders names by length first, so that most comparisons need not read them. Field lookup
/// dominates the cost of validation.
pub(super) fn by_length(left: &str, right: &str) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

impl Record {
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let index = self
            .fields
            .binary_search_by(|field| by_length(field.name, name))
            .ok()?;
        Some(&self.fields[index])
    }

    /// The fields that are or contain relationships.
    pub(crate) fn related_fields(&self) -> impl Iterator<Item = &Field> {
        self.related.iter().map(|&index| &self.fields[index])
    }
}

impl Shape {
    /// Collects the names of the public relationships in this shape, except those in other records.
    pub(super) fn add_relationships(&self, names: &mut HashSet<&'static str>) {
        match self {
            Self::Urn(relationship) => {
                let public = relationship.filter(|relationship| !relationship.internal);
                names.extend(public.map(|relationship| relationship.name));
            }
            Self::Array(inner) | Self::Map(inner) => inner.add_relationships(names),
            Self::Union(members) => {
                for member in members {
                    member.shape.add_relationships(names);
                }
            }
            _ => {}
        }
    }

    /// Whether this shape contains a relationship, given the records that do.
    pub(super) fn is_related(&self, related_records: &[bool]) -> bool {
        match self {
            Self::Urn(relationship) => relationship.is_some(),
            Self::Array(inner) | Self::Map(inner) => inner.is_related(related_records),
            Self::Record(id) => related_records[id.0],
            Self::Union(members) => members
                .iter()
                .any(|member| member.shape.is_related(related_records)),
            Self::Text | Self::Boolean | Self::Int | Self::Long | Self::Number | Self::Enum(_) => {
                false
            }
        }
    }
}
