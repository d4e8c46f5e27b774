//! Partial updates of an aspect: JSON Patch (RFC 6902) with DataHub's extensions.
//!
//! Differences from the RFC: elements of some lists are addressed by key members instead of their
//! index (`/tags/urn:li:tag:a`). A [`Template`] defines the keys, either the built-in one of the
//! aspect or one sent with the patch. Missing parent objects are created, removing a missing value
//! does nothing, and a missing aspect starts from an initial value ([`initial`]).
//!
//! A patch preserves everything it does not address: values, members and the order of elements.
//!
//! - [`mod@pointer`] parses paths
//! - [`template`] defines the keys of lists; to add one for an aspect, add a line to its table
//! - [`document`] is the value being patched; [`keyed_list`] and [`column_lineage`] are its keyed
//!   lists
//! - [`budget`] limits the work
//! - [`plain`] implements the RFC for values without keys
//!
//! This module must not know entities or stores. The caller validates the result.

mod budget;
mod column_lineage;
mod document;
mod initial;
mod keyed_list;
mod plain;
mod pointer;
mod template;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::aspects::AuditStamp;
use crate::registry::Shape;
use crate::{AspectName, Registry};
pub use budget::PatchBudget;
use document::{Node, PatchContext, PutMode};
use pointer::Pointer;
pub use pointer::pointer_to;
use template::Template;

/// Operations run inside a transaction that blocks other writers.
const MAX_OPERATIONS: usize = 10_000;
/// The maximum nesting depth; the JSON parser has a similar limit.
const MAX_DEPTH: usize = 120;
/// The limit on values and bytes of text copied by one patch, because copies of copies double.
const MAX_COPIED: usize = 4 * 1024 * 1024;

/// Why a patch is malformed or cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    #[error("invalid patch: {0}")]
    Malformed(String),
    #[error("operation {position} of the patch ({name} '{path}') failed: {reason}")]
    Operation {
        /// Zero-based.
        position: usize,
        name: &'static str,
        path: String,
        reason: String,
    },
}

/// A list of operations on one aspect, applied atomically.
#[derive(Debug, Clone)]
pub struct Patch {
    operations: Vec<Operation>,
    /// The keys of lists, if the patch defines them.
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

/// A patch with its own keys, as sent by clients. They may also send only the list of operations.
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
    /// Distinguishes null from an absent value.
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Patch {
    /// Parses a patch: a list of operations, or `{"patch": […], "arrayPrimaryKeys": {…}}`.
    pub fn parse(text: &str) -> Result<Self, PatchError> {
        let value = serde_json::from_str(text).map_err(malformed)?;
        Self::from_value(value)
    }

    pub fn from_value(value: Value) -> Result<Self, PatchError> {
        let wire = match value {
            Value::Array(_) => WirePatch {
                patch: Vec::deserialize(value).map_err(malformed)?,
                array_primary_keys: None,
                force_generic_patch: None,
            },
            other => WirePatch::deserialize(other).map_err(malformed)?,
        };
        if wire.patch.len() > MAX_OPERATIONS {
            return Err(PatchError::Malformed(format!(
                "it has {} operations, at most {MAX_OPERATIONS} are allowed: split it into several patches",
                wire.patch.len()
            )));
        }
        let keys = wire.array_primary_keys.filter(|keys| !keys.is_empty());
        let template = match keys {
            Some(keys) => Some(Template::from_wire(&keys).map_err(PatchError::Malformed)?),
            None if wire.force_generic_patch == Some(true) => Some(Template::default()),
            None => None,
        };
        let operations = wire.patch.into_iter().enumerate();
        let operations = operations.map(|(position, wire)| {
            Operation::from_wire(wire)
                .map_err(|reason| PatchError::Malformed(format!("operation {position} {reason}")))
        });
        Ok(Self {
            operations: operations.collect::<Result<_, _>>()?,
            template,
        })
    }

    /// How many operations it has.
    pub fn length(&self) -> usize {
        self.operations.len()
    }

    /// Whether it contains only removals, which do nothing to a missing aspect.
    pub fn only_removes(&self) -> bool {
        let mut actions = self.operations.iter().map(|operation| &operation.action);
        actions.all(|action| matches!(action, Action::Remove))
    }

    /// Applies the patch to the current value, or `None` if the aspect does not exist yet. New
    /// values that require an audit stamp get `stamp`, and the work counts against `budget`.
    pub fn apply(
        &self,
        aspect: AspectName,
        current: Option<Value>,
        stamp: &AuditStamp,
        budget: &PatchBudget,
    ) -> Result<Value, PatchError> {
        let built_in = Template::of(aspect);
        let record = Registry::get().aspect_record(aspect).map(Shape::Record);
        let root = PatchContext {
            template: self.template.as_ref().or(built_in),
            shape: record.as_ref(),
            stamp,
            budget,
        };
        let value = current.unwrap_or_else(|| initial::aspect(aspect, built_in.is_some(), stamp));
        let mut run = PatchRun {
            document: Node::Plain(value),
            copied: 0,
        };
        for (position, operation) in self.operations.iter().enumerate() {
            run.execute(root, operation)
                .map_err(|reason| PatchError::Operation {
                    position,
                    name: operation.action.name(),
                    path: operation.path.to_string(),
                    reason,
                })?;
        }
        Ok(run.document.into_value())
    }
}

impl Operation {
    fn from_wire(wire: WireOperation) -> Result<Self, String> {
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
                    "has the unknown op '{name}': use add, remove, replace, move, copy or test"
                ));
            }
        };
        if matches!(action, Action::Remove) && path.segments().is_empty() {
            return Err(
                "removes the whole aspect, which a patch can't do: delete the aspect instead"
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

/// The state while a patch is applied.
struct PatchRun {
    document: Node,
    copied: usize,
}

impl PatchRun {
    fn execute(&mut self, root: PatchContext<'_>, operation: &Operation) -> Result<(), String> {
        let path = &operation.path;
        match &operation.action {
            Action::Add(value) => self.put(root, path, value.clone(), PutMode::Add),
            Action::Remove => self.document.remove(root, path.segments()),
            Action::Replace(value) => {
                self.find(root, path)?;
                self.put(root, path, value.clone(), PutMode::Replace)
            }
            Action::Move(from) => {
                if path.is_inside(from) {
                    return Err(format!("'{from}' cannot be moved into itself"));
                }
                let value = self.find(root, from)?;
                self.count_copy(&value)?;
                if from.segments() == path.segments() {
                    return Ok(());
                }
                self.document.remove(root, from.segments())?;
                self.put(root, path, value, PutMode::Copy)
            }
            Action::Copy(from) => {
                let value = self.find(root, from)?;
                self.count_copy(&value)?;
                self.put(root, path, value, PutMode::Copy)
            }
            Action::Test(expected) => {
                let found = self.find(root, path)?;
                if plain::is_equal(&found, expected) {
                    Ok(())
                } else {
                    Err("the value differs from the expected one".to_owned())
                }
            }
        }
    }

    fn find(&mut self, root: PatchContext<'_>, path: &Pointer) -> Result<Value, String> {
        let found = self.document.get(root, path.segments())?;
        let found = found.ok_or_else(|| format!("'{path}' does not exist"))?;
        root.budget.charge(plain::size(&found))?;
        Ok(found)
    }

    fn put(
        &mut self,
        root: PatchContext<'_>,
        path: &Pointer,
        value: Value,
        mode: PutMode,
    ) -> Result<(), String> {
        if path.segments().len() + plain::depth(&value) > MAX_DEPTH {
            return Err(format!(
                "the value would be nested more than {MAX_DEPTH} levels deep"
            ));
        }
        self.document.put(root, path.segments(), value, mode)
    }

    fn count_copy(&mut self, value: &Value) -> Result<(), String> {
        self.copied = self.copied.saturating_add(plain::size(value));
        if self.copied > MAX_COPIED {
            return Err("the values copied by this patch are too large in total".to_owned());
        }
        Ok(())
    }
}

fn malformed(error: impl std::fmt::Display) -> PatchError {
    PatchError::Malformed(format!(
        "{error}; send a list of operations, or {{\"patch\": […], \"arrayPrimaryKeys\": {{…}}}}"
    ))
}

#[cfg(test)]
mod tests;
