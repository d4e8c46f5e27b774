//! Validates the value of an aspect against its record and removes unknown members.
//!
//! The rules come from the registry, except one that a record cannot express: the field paths of
//! the two aspects that list columns are unique. To add such a rule, call it from
//! [`Registry::validate`].
//!
//! The path of a violation is built while the error propagates, so a valid value does not pay for
//! it.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::patch::pointer_to;
use crate::registry::{Record, Relationship, Shape};
use crate::urn::shorten;
use crate::{AspectName, EntitySpec, Registry, UrnError};

/// The maximum nesting depth. The JSON parser's own limit is slightly higher.
const MAX_DEPTH: usize = 100;

/// The first violation found in the value of an aspect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ValidationError {
    pub aspect: AspectName,
    /// The JSON pointer of the violation; "" is the value itself.
    pub path: String,
    message: String,
}

impl EntitySpec {
    /// Fails unless entities of this type may have the aspect.
    pub fn check_aspect(&self, aspect: AspectName) -> Result<(), ValidationError> {
        if self.has_aspect(aspect) {
            return Ok(());
        }
        Err(self.unknown_aspect(aspect))
    }

    fn unknown_aspect(&self, aspect: AspectName) -> ValidationError {
        ValidationError {
            aspect,
            path: String::new(),
            message: format!("Unknown aspect {aspect} for entity {}", self.name),
        }
    }
}

impl Registry {
    /// Validates the value of an aspect for an entity type. Removes members that are not in the
    /// registry, at any depth, and returns whether there were any.
    pub fn validate(
        &self,
        entity: &EntitySpec,
        aspect: AspectName,
        value: &mut Value,
    ) -> Result<bool, ValidationError> {
        entity.check_aspect(aspect)?;
        let record = self
            .aspect_record(aspect)
            .ok_or_else(|| entity.unknown_aspect(aspect))?;
        let mut validator = Validator {
            registry: self,
            trimmed: false,
        };
        validator
            .record(self.record(record), value, 0)
            .map_err(|violation| violation.into_error(aspect))?;
        if aspect == AspectName::SCHEMA_METADATA {
            check_field_paths(aspect, "SchemaMetadata", "fields", value)?;
        } else if aspect == AspectName::EDITABLE_SCHEMA_METADATA {
            let list = "editableSchemaFieldInfo";
            check_field_paths(aspect, "EditableSchemaMetadata", list, value)?;
        }
        Ok(validator.trimmed)
    }
}

struct Validator<'r> {
    registry: &'r Registry,
    trimmed: bool,
}

impl Validator<'_> {
    fn value(&mut self, shape: &Shape, value: &mut Value, depth: usize) -> ValidationResult {
        if depth > MAX_DEPTH {
            return Err(Violation::new(ViolationKind::TooDeep));
        }
        match (shape, value) {
            (Shape::Text, Value::String(_))
            | (Shape::Boolean, Value::Bool(_))
            | (Shape::Number, Value::Number(_)) => Ok(()),
            (Shape::Int, Value::Number(number))
                if number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) =>
            {
                Ok(())
            }
            (Shape::Long, Value::Number(number)) if number.is_i64() => Ok(()),
            (Shape::Urn(relationship), Value::String(text)) => self.reference(*relationship, text),
            (Shape::Enum(symbols), Value::String(text)) if symbols.contains(&text.as_str()) => {
                Ok(())
            }
            (Shape::Array(items), Value::Array(values)) => {
                for (index, item) in values.iter_mut().enumerate() {
                    self.value(items, item, depth + 1)
                        .map_err(|violation| violation.inside(index.to_string()))?;
                }
                Ok(())
            }
            (Shape::Map(values), Value::Object(members)) => {
                for (name, member) in members.iter_mut() {
                    self.value(values, member, depth + 1)
                        .map_err(|violation| violation.inside(name.as_str()))?;
                }
                Ok(())
            }
            (Shape::Record(id), value) => {
                let registry = self.registry;
                self.record(registry.record(*id), value, depth)
            }
            (Shape::Union(members), Value::Object(object)) if object.len() == 1 => {
                for (name, inner) in object.iter_mut() {
                    let Some(member) = members.iter().find(|member| member.name == name) else {
                        return Err(Violation::expected(shape, &Value::from(name.as_str())));
                    };
                    self.value(&member.shape, inner, depth + 1)
                        .map_err(|violation| violation.inside(name.as_str()))?;
                }
                Ok(())
            }
            (shape, value) => Err(Violation::expected(shape, value)),
        }
    }

    fn record(&mut self, record: &Record, value: &mut Value, depth: usize) -> ValidationResult {
        let Value::Object(members) = value else {
            return Err(Violation::new(ViolationKind::Type {
                expected: Cow::Borrowed("an object"),
                found: describe(value),
            }));
        };
        let (mut required, mut unknown) = (0, false);
        for (name, member) in members.iter_mut() {
            let Some(field) = record.field(name) else {
                unknown = true;
                continue;
            };
            required += usize::from(field.required);
            if field.optional && member.is_null() {
                continue;
            }
            self.value(&field.shape, member, depth + 1)
                .map_err(|violation| violation.inside(field.name))?;
        }
        if required < record.required {
            return Err(missing(record, members));
        }
        if unknown {
            members.retain(|name, _| record.field(name).is_some());
            self.trimmed = true;
        }
        Ok(())
    }

    fn reference(&self, relationship: Option<&Relationship>, text: &str) -> ValidationResult {
        let target = self
            .registry
            .check_reference(text)
            .map_err(|error| Violation::new(ViolationKind::Reference(error)))?;
        match relationship {
            Some(relationship) if !relationship.accepts(target) => {
                Err(Violation::new(ViolationKind::Destination {
                    urn: shorten(text),
                    expected: relationship.expected(),
                }))
            }
            _ => Ok(()),
        }
    }
}

fn missing(record: &Record, members: &Map<String, Value>) -> Violation {
    let name = record
        .fields
        .iter()
        .find(|field| field.required && !members.contains_key(field.name))
        .map_or("", |field| field.name);
    Violation::new(ViolationKind::Missing).inside(name)
}

/// Columns are identified by their field paths, which must be unique and not empty.
fn check_field_paths(
    aspect: AspectName,
    record: &str,
    list: &str,
    value: &Value,
) -> Result<(), ValidationError> {
    let Some(columns) = value.get(list).and_then(Value::as_array) else {
        return Ok(());
    };
    let error = |index: usize, problem: String| {
        let path = format!("/{list}/{index}/fieldPath");
        ValidationError {
            aspect,
            message: format!("{record} aspect has {problem} ({path})"),
            path,
        }
    };
    let mut paths = HashSet::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        let Some(path) = column.get("fieldPath").and_then(Value::as_str) else {
            continue;
        };
        if path.is_empty() {
            return Err(error(index, "empty field path.".to_owned()));
        }
        if !paths.insert(path) {
            return Err(error(
                index,
                format!("duplicated field paths: '{}'", shorten(path)),
            ));
        }
    }
    Ok(())
}

type ValidationResult = Result<(), Violation>;

/// A violation that collects its path as it propagates. Boxed to keep the success path cheap.
struct Violation(Box<ViolationDetails>);

struct ViolationDetails {
    path_reversed: Vec<String>,
    kind: ViolationKind,
}

enum ViolationKind {
    Type {
        expected: Cow<'static, str>,
        found: String,
    },
    Missing,
    Reference(UrnError),
    Destination {
        urn: String,
        expected: String,
    },
    TooDeep,
}

impl Violation {
    fn new(kind: ViolationKind) -> Self {
        Self(Box::new(ViolationDetails {
            path_reversed: Vec::new(),
            kind,
        }))
    }

    fn expected(shape: &Shape, value: &Value) -> Self {
        let expected = match shape {
            Shape::Text => "a string".into(),
            Shape::Boolean => "true or false".into(),
            Shape::Int => "a 32-bit integer".into(),
            Shape::Long => "a 64-bit integer".into(),
            Shape::Number => "a number".into(),
            Shape::Urn(_) => "a URN".into(),
            Shape::Enum(symbols) => format!("one of {}", symbols.join(", ")).into(),
            Shape::Array(_) => "an array".into(),
            Shape::Map(_) | Shape::Record(_) => "an object".into(),
            Shape::Union(members) => {
                let names: Vec<&str> = members.iter().map(|member| member.name).collect();
                format!("an object with exactly one member of {}", names.join(", ")).into()
            }
        };
        Self::new(ViolationKind::Type {
            expected,
            found: describe(value),
        })
    }

    fn inside(mut self, segment: impl Into<String>) -> Self {
        self.0.path_reversed.push(segment.into());
        self
    }

    fn into_error(self, aspect: AspectName) -> ValidationError {
        let path = pointer_to(self.0.path_reversed.iter().rev());
        let location = if path.is_empty() {
            "the value"
        } else {
            path.as_str()
        };
        let message = match self.0.kind {
            ViolationKind::Type { expected, found } => {
                format!("{aspect}: {location} must be {expected}, found {found}")
            }
            ViolationKind::Missing => format!("{aspect}: required member {location} is missing"),
            ViolationKind::Reference(error) => {
                format!("{aspect}: {location} must be a URN: {error}")
            }
            ViolationKind::Destination { urn, expected } => {
                format!(
                    "{aspect}: {location}: '{urn}' is not a valid destination: expected {expected}"
                )
            }
            ViolationKind::TooDeep => {
                format!("{aspect}: {location} is nested more than {MAX_DEPTH} levels deep")
            }
        };
        ValidationError {
            aspect,
            path,
            message,
        }
    }
}

/// Describes a value for an error message.
fn describe(value: &Value) -> String {
    match value {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(members) if members.len() > 1 => "an object with several members".to_owned(),
        Value::Object(members) if members.is_empty() => "an empty object".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        scalar => shorten(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests;
