//! The value being patched.
//!
//! Parts of it stay JSON until a path enters a part with a template; only that part is then
//! indexed.

use serde_json::{Map, Value};

use super::budget::PatchBudget;
use super::column_lineage::ColumnLineage;
use super::keyed_list::KeyedList;
use super::template::{Keys, Template};
use super::{initial, plain};
use crate::Registry;
use crate::aspects::AuditStamp;
use crate::registry::Shape;

/// The template and shape of the value at a path, the stamp for new values, and the limit on work.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatchContext<'a> {
    pub(super) template: Option<&'a Template>,
    pub(super) shape: Option<&'a Shape>,
    pub(super) stamp: &'a AuditStamp,
    pub(super) budget: &'a PatchBudget,
}

impl PatchContext<'_> {
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

    /// What is left of a member that a patch removes: a required list or map stays, empty.
    pub(super) fn emptied(self, name: &str) -> Option<Value> {
        let Some(Shape::Record(id)) = self.shape else {
            return None;
        };
        let field = Registry::get().record(*id).field(name)?;
        match &field.shape {
            Shape::Array(_) if field.required => Some(Value::Array(Vec::new())),
            Shape::Map(_) if field.required => Some(Value::Object(Map::new())),
            _ => None,
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

/// How a value is put at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PutMode {
    Add,
    /// Replaces the element at an index instead of inserting before it.
    Replace,
    /// The value comes from another path, so its keys are overwritten by those in the new path.
    Copy,
}

#[derive(Debug)]
pub(super) enum Node {
    /// JSON that no path has entered.
    Plain(Value),
    Object(Vec<(String, Node)>),
    KeyedList(KeyedList),
    ColumnLineage(ColumnLineage),
}

impl Node {
    /// Returns the value at a path. If the path has only some of the keys, returns the elements as
    /// nested maps by the remaining keys.
    pub(super) fn get(
        &mut self,
        context: PatchContext<'_>,
        segments: &[String],
    ) -> Result<Option<Value>, String> {
        let Some((segment, rest)) = segments.split_first() else {
            return Ok(Some(self.to_value()));
        };
        self.index(context);
        match self {
            Self::Plain(value) => Ok(plain::get(value, segments).cloned()),
            Self::Object(members) => {
                context.budget.charge(members.len())?;
                match members.iter_mut().find(|(name, _)| name == segment) {
                    Some((_, member)) => member.get(context.member(segment), rest),
                    None => Ok(None),
                }
            }
            Self::KeyedList(list) => list.get(context, segments),
            Self::ColumnLineage(lineage) => lineage.get(context, segments),
        }
    }

    pub(super) fn put(
        &mut self,
        context: PatchContext<'_>,
        segments: &[String],
        value: Value,
        mode: PutMode,
    ) -> Result<(), String> {
        let Some((segment, rest)) = segments.split_first() else {
            *self = Self::Plain(normalize(context, value)?);
            return Ok(());
        };
        self.index(context);
        match self {
            Self::Plain(current) => plain::put(current, context, segments, value, mode),
            Self::Object(members) => {
                context.budget.charge(members.len())?;
                let context = context.member(segment);
                let existing = members.iter().position(|(name, _)| name == segment);
                let index = existing.unwrap_or_else(|| {
                    members.push((segment.clone(), Self::Plain(Value::Null)));
                    members.len() - 1
                });
                let member = &mut members[index].1;
                if !rest.is_empty() && matches!(member, Self::Plain(Value::Null)) {
                    *member = Self::Plain(initial::parent(context));
                }
                member.put(context, rest, value, mode)
            }
            Self::KeyedList(list) => list.put(context, segments, value, mode),
            Self::ColumnLineage(lineage) => lineage.put(context, segments, value, mode),
        }
    }

    /// Removes the value at a path, if it exists.
    pub(super) fn remove(
        &mut self,
        context: PatchContext<'_>,
        segments: &[String],
    ) -> Result<(), String> {
        let Some((segment, rest)) = segments.split_first() else {
            return Ok(());
        };
        self.index(context);
        match self {
            Self::Plain(value) => plain::remove(value, context, segments)?,
            Self::Object(members) => {
                context.budget.charge(members.len())?;
                if rest.is_empty() {
                    match (
                        context.emptied(segment),
                        members.iter_mut().find(|(name, _)| name == segment),
                    ) {
                        (Some(empty), Some((_, member))) => *member = Self::Plain(empty),
                        _ => members.retain(|(name, _)| name != segment),
                    }
                } else if let Some((_, member)) =
                    members.iter_mut().find(|(name, _)| name == segment)
                {
                    member.remove(context.member(segment), rest)?;
                }
            }
            Self::KeyedList(list) => list.remove(context, segments)?,
            Self::ColumnLineage(lineage) => lineage.remove(context, segments)?,
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
            Self::KeyedList(list) => Value::Array(list.into_elements()),
            Self::ColumnLineage(lineage) => Value::Array(lineage.into_elements()),
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
            Self::KeyedList(list) => Value::Array(list.elements().map(Self::to_value).collect()),
            Self::ColumnLineage(lineage) => Value::Array(lineage.elements().collect()),
        }
    }

    /// The text of the member at a path through objects.
    pub(super) fn key_text(&self, path: &[String]) -> String {
        match (self, path.split_first()) {
            (Self::Plain(value), _) => plain::key_text(plain::get(value, path)),
            (Self::Object(members), Some((segment, rest))) => members
                .iter()
                .find(|(name, _)| name == segment)
                .map_or_else(String::new, |(_, member)| member.key_text(rest)),
            _ => String::new(),
        }
    }

    /// Indexes a value that has a template.
    fn index(&mut self, context: PatchContext<'_>) {
        let (Self::Plain(value), Some(template)) = (&mut *self, context.template) else {
            return;
        };
        *self = match (template, value.take()) {
            (Template::List { keys, .. }, Value::Array(elements)) => match keys {
                Keys::Members(members) => Self::KeyedList(KeyedList::new(members, elements)),
                Keys::ColumnLineage => Self::ColumnLineage(ColumnLineage::new(elements)),
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

/// Converts a new value to its stored form: lists sent as maps by key become lists.
pub(super) fn normalize(context: PatchContext<'_>, value: Value) -> Result<Value, String> {
    match (context.template, value) {
        (Some(Template::List { .. }), Value::Array(elements)) => {
            let elements = elements.into_iter();
            let elements = elements.map(|element| normalize(context.element(), element));
            Ok(Value::Array(elements.collect::<Result<_, _>>()?))
        }
        (Some(Template::List { .. }), Value::Object(map)) => {
            let mut list = Node::Plain(Value::Array(Vec::new()));
            list.index(context);
            for (key, value) in map {
                list.put(context, &[key], value, PutMode::Add)?;
            }
            Ok(list.into_value())
        }
        (Some(Template::Object(templates)), Value::Object(members)) if !templates.is_empty() => {
            let members = members.into_iter().map(|(name, member)| {
                let member = normalize(context.member(&name), member)?;
                Ok((name, member))
            });
            Ok(Value::Object(
                members.collect::<Result<Map<_, _>, String>>()?,
            ))
        }
        (_, value) => Ok(value),
    }
}

/// Collects the elements of nested maps with the given number of key levels.
pub(super) fn flatten(
    levels: usize,
    key: Vec<String>,
    value: Value,
    elements: &mut Vec<(Vec<String>, Value)>,
) -> Result<(), String> {
    if levels == 0 {
        elements.push((key, value));
        return Ok(());
    }
    let Value::Object(members) = value else {
        return Err(format!(
            "expected nested maps for the remaining {levels} keys of the list, found {}",
            plain::describe(&value)
        ));
    };
    for (name, member) in members {
        let mut key = key.clone();
        key.push(name);
        flatten(levels - 1, key, member, elements)?;
    }
    Ok(())
}
