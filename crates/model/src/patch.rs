//! Changes to parts of an aspect: JSON Patch (RFC 6902) with the addresses that DataHub's clients use.
//!
//! What differs from the RFC: the elements of some lists are addressed by what tells them apart instead of by
//! their position (`/tags/urn:li:tag:a`). Which members those are is said by a [`Template`], either the built-in one of
//! the aspect or the one that the patch brings along. Missing objects on the way to a path are made, removing
//! what is not there does nothing, and an aspect that is not there begins as an empty one ([`blank`]).
//!
//! A patch keeps what it does not name as it is: values, members, and the order of elements.
//!
//! - [`mod@pointer`] has the paths
//! - [`template`] says how lists are addressed; to add one for an aspect, add a line to its table
//! - [`document`] is a value being changed; [`keyed`] and [`columns`] are the lists in it that have keys
//! - [`plain`] does what has no keys, by the RFC alone
//!
//! This module must not know entities or stores: whether the result is a valid aspect is asked of it afterwards.

mod blank;
mod columns;
mod document;
mod keyed;
mod plain;
mod pointer;
mod template;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::aspects::AuditStamp;
use crate::registry::Shape;
use crate::{AspectName, Registry};
use document::{Node, Place, Put};
use pointer::Pointer;
use template::Template;

/// Each is carried out one after the other inside a transaction that others wait for.
const MAX_OPERATIONS: usize = 10_000;
/// How deep a value may get; JSON texts are refused by their parser at about the same depth.
const MAX_DEPTH: usize = 120;
/// How many values and bytes of text all copies of one patch may make together: copies of copies double.
const MAX_COPIED: usize = 16 * 1024 * 1024;

/// Why a patch is none, or cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    #[error("the patch is not understood: {0}")]
    Unreadable(String),
    #[error("operation {position} of the patch ({name} '{path}') cannot be done: {reason}")]
    Operation {
        /// Counted from 0.
        position: usize,
        name: &'static str,
        path: String,
        reason: String,
    },
}

/// A list of changes to one aspect, applied whole or not at all.
#[derive(Debug, Clone)]
pub struct Patch {
    operations: Vec<Operation>,
    /// How lists are addressed, if the patch says so itself.
    template: Option<Template>,
}

#[derive(Debug, Clone)]
struct Operation {
    path: Pointer,
    action: Action,
}

#[derive(Debug, Clone)]
enum Action {
    Add(Value),
    Remove,
    Replace(Value),
    Move(Pointer),
    Copy(Pointer),
    Test(Value),
}

/// A patch with its own addresses, as clients send it. The list of operations may also stand alone.
#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "a list of operations, or an object with patch"
)]
struct WirePatch {
    patch: Vec<WireOperation>,
    array_primary_keys: Option<Map<String, Value>>,
    #[serde(default)]
    force_generic_patch: Option<bool>,
}

#[derive(Deserialize)]
#[serde(expecting = "an operation with op, path and value")]
struct WireOperation {
    op: Option<String>,
    path: Option<String>,
    from: Option<String>,
    /// Null is a value, absence is none.
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Patch {
    /// Reads a patch in JSON: a list of operations, or `{"patch": […], "arrayPrimaryKeys": {…}}`.
    pub fn parse(text: &str) -> Result<Self, PatchError> {
        let value = serde_json::from_str(text).map_err(unreadable)?;
        Self::from_value(value)
    }

    pub fn from_value(value: Value) -> Result<Self, PatchError> {
        let wire = match value {
            Value::Array(_) => WirePatch {
                patch: Vec::deserialize(value).map_err(unreadable)?,
                array_primary_keys: None,
                force_generic_patch: None,
            },
            other => WirePatch::deserialize(other).map_err(unreadable)?,
        };
        if wire.patch.len() > MAX_OPERATIONS {
            return Err(PatchError::Unreadable(format!(
                "it has {} operations, and {MAX_OPERATIONS} can be done at once: send it in parts",
                wire.patch.len()
            )));
        }
        let keys = wire.array_primary_keys.filter(|keys| !keys.is_empty());
        let template = match keys {
            Some(keys) => Some(Template::from_wire(&keys).map_err(PatchError::Unreadable)?),
            None if wire.force_generic_patch == Some(true) => Some(Template::default()),
            None => None,
        };
        let operations = wire.patch.into_iter().enumerate();
        let operations = operations.map(|(position, wire)| {
            Operation::read(wire).map_err(|reason| {
                PatchError::Unreadable(format!("its operation {position} {reason}"))
            })
        });
        Ok(Self {
            operations: operations.collect::<Result<_, _>>()?,
            template,
        })
    }

    /// Whether it only takes away: of what is not there, nothing.
    pub fn only_removes(&self) -> bool {
        let mut actions = self.operations.iter().map(|operation| &operation.action);
        actions.all(|action| matches!(action, Action::Remove))
    }

    /// The value that the patch makes of the current one; `None` stands for an aspect that is not there yet. `stamp` is
    /// the write's own, for new values that must have one.
    pub fn apply(
        &self,
        aspect: AspectName,
        current: Option<Value>,
        stamp: &AuditStamp,
    ) -> Result<Value, PatchError> {
        let built_in = Template::of(aspect);
        let record = Registry::get().aspect_record(aspect).map(Shape::Record);
        let root = Place {
            template: self.template.as_ref().or(built_in),
            shape: record.as_ref(),
            stamp,
        };
        let value = current.unwrap_or_else(|| blank::aspect(aspect, built_in.is_some(), stamp));
        let mut work = Work {
            document: Node::Plain(value),
            copied: 0,
        };
        for (position, operation) in self.operations.iter().enumerate() {
            work.run(root, operation)
                .map_err(|reason| PatchError::Operation {
                    position,
                    name: operation.action.name(),
                    path: operation.path.to_string(),
                    reason,
                })?;
        }
        Ok(work.document.into_value())
    }
}

impl Operation {
    fn read(wire: WireOperation) -> Result<Self, String> {
        let name = wire.op.ok_or("has no 'op'")?;
        let path = Pointer::parse(&wire.path.ok_or("has no 'path'")?)?;
        let value = || {
            wire.value
                .ok_or_else(|| format!("has no 'value', which '{name}' needs"))
        };
        let from = || {
            let from = wire.from.as_deref();
            Pointer::parse(from.ok_or_else(|| format!("has no 'from', which '{name}' needs"))?)
        };
        let action = match name.as_str() {
            "add" => Action::Add(value()?),
            "remove" => Action::Remove,
            "replace" => Action::Replace(value()?),
            "move" => Action::Move(from()?),
            "copy" => Action::Copy(from()?),
            "test" => Action::Test(value()?),
            _ => {
                return Err(format!(
                    "has the op '{name}'; there are add, remove, replace, move, copy and test"
                ));
            }
        };
        if matches!(action, Action::Remove) && path.segments().is_empty() {
            return Err(
                "removes the whole aspect, which a patch cannot: delete the aspect instead"
                    .to_owned(),
            );
        }
        Ok(Self { path, action })
    }
}

impl Action {
    fn name(&self) -> &'static str {
        match self {
            Self::Add(_) => "add",
            Self::Remove => "remove",
            Self::Replace(_) => "replace",
            Self::Move(_) => "move",
            Self::Copy(_) => "copy",
            Self::Test(_) => "test",
        }
    }
}

/// A patch being applied.
struct Work {
    document: Node,
    copied: usize,
}

impl Work {
    fn run(&mut self, root: Place<'_>, operation: &Operation) -> Result<(), String> {
        let path = &operation.path;
        match &operation.action {
            Action::Add(value) => self.put(root, path, value.clone(), Put::Add),
            Action::Remove => self.document.remove(root, path.segments()),
            Action::Replace(value) => {
                self.find(root, path)?;
                self.put(root, path, value.clone(), Put::Replace)
            }
            Action::Move(from) => {
                if path.is_below(from) {
                    return Err(format!("'{from}' cannot be moved into itself"));
                }
                let value = self.find(root, from)?;
                self.count(&value)?;
                if from.segments() == path.segments() {
                    return Ok(());
                }
                self.document.remove(root, from.segments())?;
                self.put(root, path, value, Put::Copy)
            }
            Action::Copy(from) => {
                let value = self.find(root, from)?;
                self.count(&value)?;
                self.put(root, path, value, Put::Copy)
            }
            Action::Test(expected) => {
                let found = self.find(root, path)?;
                if plain::is_same(&found, expected) {
                    Ok(())
                } else {
                    Err("the value there is not the one that was expected".to_owned())
                }
            }
        }
    }

    fn find(&mut self, root: Place<'_>, path: &Pointer) -> Result<Value, String> {
        self.document
            .get(root, path.segments())?
            .ok_or_else(|| format!("there is nothing at '{path}'"))
    }

    fn put(
        &mut self,
        root: Place<'_>,
        path: &Pointer,
        value: Value,
        how: Put,
    ) -> Result<(), String> {
        if path.segments().len() + plain::depth(&value) > MAX_DEPTH {
            return Err(format!(
                "values can be nested {MAX_DEPTH} deep at most, and this one would be deeper"
            ));
        }
        self.document.put(root, path.segments(), value, how)
    }

    fn count(&mut self, value: &Value) -> Result<(), String> {
        self.copied = self.copied.saturating_add(plain::weight(value));
        if self.copied > MAX_COPIED {
            return Err("the copies of this patch are too large together".to_owned());
        }
        Ok(())
    }
}

fn unreadable(error: impl std::fmt::Display) -> PatchError {
    PatchError::Unreadable(format!(
        "{error}; send a list of operations, or {{\"patch\": […], \"arrayPrimaryKeys\": {{…}}}}"
    ))
}

#[cfg(test)]
mod tests;
