//! A value while a patch changes it.
//!
//! It stays JSON until a path leads into a part of it that has a template; only then that part is taken apart.

use serde_json::{Map, Value};

use super::columns::Columns;
use super::keyed::Keyed;
use super::template::{Keys, Template};
use super::{blank, plain};
use crate::Registry;
use crate::aspects::AuditStamp;
use crate::registry::Shape;

/// What is known about the place where a value stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) template: Option<&'a Template>,
    pub(super) shape: Option<&'a Shape>,
    pub(super) stamp: &'a AuditStamp,
}

impl Place<'_> {
    pub(super) fn member(self, name: &str) -> Self {
        let shape = match self.shape {
            Some(Shape::Record(id)) => {
                let field = Registry::get().record(*id).field(name);
                field.map(|field| &field.shape)
            }
            Some(Shape::Map(inner)) => Some(&**inner),
            Some(Shape::Union(members)) => {
                let member = members.iter().find(|member| member.name == name);
                member.map(|member| &member.shape)
            }
            _ => None,
        };
        Self {
            template: self.template.and_then(|template| template.member(name)),
            shape,
            ..self
        }
    }

    pub(super) fn element(self) -> Self {
        Self {
            template: match self.template {
                Some(Template::List { element, .. }) => Some(&**element),
                _ => None,
            },
            shape: match self.shape {
                Some(Shape::Array(inner)) => Some(&**inner),
                _ => None,
            },
            ..self
        }
    }
}

/// How a value comes to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    Add,
    /// In a list without keys, in the place of the one that is there.
    Replace,
    /// The value stood elsewhere: the path says its keys anew.
    Copy,
}

#[derive(Debug)]
pub(super) enum Node {
    /// Not taken apart.
    Plain(Value),
    Object(Vec<(String, Node)>),
    Keyed(Keyed),
    Columns(Columns),
}

impl Node {
    /// The value at a path. Where a path names some of the keys only, the elements come as maps by the others.
    pub(super) fn get(
        &mut self,
        place: Place<'_>,
        segments: &[String],
    ) -> Result<Option<Value>, String> {
        let Some((segment, rest)) = segments.split_first() else {
            return Ok(Some(self.to_value()));
        };
        self.open(place);
        match self {
            Self::Plain(value) => Ok(plain::get(value, segments).cloned()),
            Self::Object(members) => match members.iter_mut().find(|(name, _)| name == segment) {
                Some((_, member)) => member.get(place.member(segment), rest),
                None => Ok(None),
            },
            Self::Keyed(keyed) => keyed.get(place, segments),
            Self::Columns(columns) => columns.get(segments),
        }
    }

    pub(super) fn put(
        &mut self,
        place: Place<'_>,
        segments: &[String],
        value: Value,
        how: Put,
    ) -> Result<(), String> {
        let Some((segment, rest)) = segments.split_first() else {
            *self = Self::Plain(in_full(place, value)?);
            return Ok(());
        };
        self.open(place);
        match self {
            Self::Plain(known) => plain::put(known, place, segments, value, how),
            Self::Object(members) => {
                let place = place.member(segment);
                let known = members.iter().position(|(name, _)| name == segment);
                let at = known.unwrap_or_else(|| {
                    members.push((segment.clone(), Self::Plain(Value::Null)));
                    members.len() - 1
                });
                let member = &mut members[at].1;
                if !rest.is_empty() && matches!(member, Self::Plain(Value::Null)) {
                    *member = Self::Plain(blank::at(place));
                }
                member.put(place, rest, value, how)
            }
            Self::Keyed(keyed) => keyed.put(place, segments, value, how),
            Self::Columns(columns) => columns.put(place, segments, value, how),
        }
    }

    /// Removes what is at a path, if it is there.
    pub(super) fn remove(&mut self, place: Place<'_>, segments: &[String]) -> Result<(), String> {
        let Some((segment, rest)) = segments.split_first() else {
            return Ok(());
        };
        self.open(place);
        match self {
            Self::Plain(value) => plain::remove(value, segments),
            Self::Object(members) => {
                if rest.is_empty() {
                    members.retain(|(name, _)| name != segment);
                } else if let Some((_, member)) =
                    members.iter_mut().find(|(name, _)| name == segment)
                {
                    member.remove(place.member(segment), rest)?;
                }
            }
            Self::Keyed(keyed) => keyed.remove(place, segments)?,
            Self::Columns(columns) => columns.remove(place, segments)?,
        }
        Ok(())
    }

    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Plain(value) => value,
            Self::Object(members) => {
                let members = members.into_iter();
                let members = members.map(|(name, member)| (name, member.into_value()));
                Value::Object(members.collect())
            }
            Self::Keyed(keyed) => Value::Array(keyed.into_elements()),
            Self::Columns(columns) => Value::Array(columns.into_elements()),
        }
    }

    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Object(members) => {
                let members = members.iter();
                let members = members.map(|(name, member)| (name.clone(), member.to_value()));
                Value::Object(members.collect())
            }
            Self::Keyed(keyed) => Value::Array(keyed.elements().map(Self::to_value).collect()),
            Self::Columns(columns) => Value::Array(columns.elements().collect()),
        }
    }

    /// The text at the end of some steps, as far as they lead through objects.
    pub(super) fn key_text(&self, steps: &[String]) -> String {
        match (self, steps.split_first()) {
            (Self::Plain(value), _) => plain::key_text(plain::get(value, steps)),
            (Self::Object(members), Some((step, rest))) => members
                .iter()
                .find(|(name, _)| name == step)
                .map_or_else(String::new, |(_, member)| member.key_text(rest)),
            _ => String::new(),
        }
    }

    /// Takes a value apart where its template says more than the value itself.
    fn open(&mut self, place: Place<'_>) {
        let (Self::Plain(value), Some(template)) = (&mut *self, place.template) else {
            return;
        };
        *self = match (template, value.take()) {
            (Template::List { keys, .. }, Value::Array(elements)) => match keys {
                Keys::Members(members) => Self::Keyed(Keyed::new(members, elements)),
                Keys::ColumnLineage => Self::Columns(Columns::new(elements)),
            },
            (Template::Object(templates), Value::Object(members)) if !templates.is_empty() => {
                let members = members.into_iter();
                Self::Object(
                    members
                        .map(|(name, member)| (name, Self::Plain(member)))
                        .collect(),
                )
            }
            (_, other) => Self::Plain(other),
        };
    }
}

/// A new value in the form that is stored: lists that came as maps by their keys become lists.
pub(super) fn in_full(place: Place<'_>, value: Value) -> Result<Value, String> {
    match (place.template, value) {
        (Some(Template::List { .. }), Value::Array(elements)) => {
            let elements = elements.into_iter();
            let elements = elements.map(|element| in_full(place.element(), element));
            Ok(Value::Array(elements.collect::<Result<_, _>>()?))
        }
        (Some(Template::List { .. }), Value::Object(map)) => {
            let mut list = Node::Plain(Value::Array(Vec::new()));
            list.open(place);
            for (key, value) in map {
                list.put(place, &[key], value, Put::Add)?;
            }
            Ok(list.into_value())
        }
        (Some(Template::Object(templates)), Value::Object(members)) if !templates.is_empty() => {
            let members = members.into_iter().map(|(name, member)| {
                let member = in_full(place.member(&name), member)?;
                Ok((name, member))
            });
            Ok(Value::Object(
                members.collect::<Result<Map<_, _>, String>>()?,
            ))
        }
        (_, value) => Ok(value),
    }
}

/// The elements of nested maps: `levels` of keys, then what they lead to.
pub(super) fn flatten(
    levels: usize,
    key: Vec<String>,
    value: Value,
    found: &mut Vec<(Vec<String>, Value)>,
) -> Result<(), String> {
    if levels == 0 {
        found.push((key, value));
        return Ok(());
    }
    let Value::Object(members) = value else {
        return Err(format!(
            "a map by the remaining {levels} keys of the list is expected, and {} is given",
            plain::describe(&value)
        ));
    };
    for (name, member) in members {
        let mut key = key.clone();
        key.push(name);
        flatten(levels - 1, key, member, found)?;
    }
    Ok(())
}
