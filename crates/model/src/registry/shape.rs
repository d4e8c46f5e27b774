//! Records as the interpreter walks them: every type resolved, every URN knowing what it may point at.
//!
//! A record that occurs in several places may have several shapes here, because an annotation on an outer
//! field says what the URNs inside of it mean (the tags of a column are not the tags of a dataset).

use std::cmp::Ordering;
use std::collections::HashSet;

use super::lineage::LineageDirection;

/// The place of a record in [`super::Registry`]; records refer to each other by it, also in circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordId(pub(super) usize);

/// What a value must look like.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Any text; bytes travel as text, too.
    Text,
    Boolean,
    /// A whole number of 32 bits.
    Int,
    /// A whole number of 64 bits.
    Long,
    /// Any number.
    Number,
    /// The URN of a known entity, and the relationship it makes, if any.
    Urn(Option<&'static Relationship>),
    Enum(&'static [&'static str]),
    Array(Box<Shape>),
    Map(Box<Shape>),
    Record(RecordId),
    /// An object with one member, whose name says which type follows.
    Union(Box<[Member]>),
}

/// What a URN in an aspect means for the entity that the aspect belongs to.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Relationship {
    pub(crate) name: &'static str,
    pub(crate) entity_types: Vec<&'static str>,
    /// Where the URN stands in the flow of data as seen from the entity; `None` if the two have none in common.
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
    /// May be null.
    pub(crate) optional: bool,
    /// May not be absent: neither optional nor with a default.
    pub(crate) required: bool,
}

#[derive(Debug)]
pub(crate) struct Record {
    /// Sorted by [`by_length`].
    pub(crate) fields: Box<[Field]>,
    /// How many of the fields are required.
    pub(crate) required: usize,
    /// Which of the fields lead to relationships, so that deriving looks at no other.
    pub(super) related: Box<[usize]>,
}

/// An order of names in which most are told apart without reading them: looking up a field is what validation
/// does most.
pub(super) fn by_length(one: &str, other: &str) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

impl Record {
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let at = self
            .fields
            .binary_search_by(|field| by_length(field.name, name))
            .ok()?;
        Some(&self.fields[at])
    }

    /// The fields that are relationships or contain some.
    pub(crate) fn related_fields(&self) -> impl Iterator<Item = &Field> {
        self.related.iter().map(|&at| &self.fields[at])
    }
}

impl Shape {
    /// Adds the names of the relationships that stand in here, those of other records aside.
    pub(super) fn add_relationships(&self, names: &mut HashSet<&'static str>) {
        match self {
            Self::Urn(relationship) => names.extend(relationship.map(|it| it.name)),
            Self::Array(inner) | Self::Map(inner) => inner.add_relationships(names),
            Self::Union(members) => {
                for member in members {
                    member.shape.add_relationships(names);
                }
            }
            _ => {}
        }
    }

    /// Whether a relationship stands in here, given the records that are known to have some.
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
