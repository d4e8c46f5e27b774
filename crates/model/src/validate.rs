//! Checks the value of an aspect against its record, and takes away members that the record does not know.
//!
//! The rules are the registry's; only the two aspects that list columns have a rule of their own, which no
//! record can say: their field paths are unique. To add such a rule, add it to [`check_field_paths`]'s
//! neighbours in [`Registry::validate`].
//!
//! A value that is in order costs no allocation: the path of a violation is put together on the way out.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::registry::{Record, Relationship, Shape};
use crate::urn::shorten;
use crate::{AspectName, EntitySpec, Registry, UrnError};

/// Values may be nested this deep. JSON texts are refused by their parser a little later.
const MAX_DEPTH: usize = 100;

/// Up to this many columns, comparing each with each is faster than a set.
const FEW_COLUMNS: usize = 16;

/// Why a value is not acceptable for an aspect: the first violation, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ValidationError {
    pub aspect: AspectName,
    /// Where in the value, as a JSON pointer; "" is the value itself.
    pub path: String,
    message: String,
}

impl EntitySpec {
    /// Fails unless entities of this type may have the aspect.
    pub fn check_aspect(&self, aspect: AspectName) -> Result<(), ValidationError> {
        if self.has_aspect(aspect) {
            return Ok(());
        }
        Err(self.has_no(aspect))
    }

    fn has_no(&self, aspect: AspectName) -> ValidationError {
        ValidationError {
            aspect,
            path: String::new(),
            message: format!("Unknown aspect {aspect} for entity {}", self.name),
        }
    }
}

impl Registry {
    /// Checks a value for an aspect of an entity type. Members that are unknown to the registry are removed
    /// from it, at any depth; `Ok(true)` says that there were some.
    pub fn validate(
        &self,
        entity: &EntitySpec,
        aspect: AspectName,
        value: &mut Value,
    ) -> Result<bool, ValidationError> {
        entity.check_aspect(aspect)?;
        let record = self
            .aspect_record(aspect)
            .ok_or_else(|| entity.has_no(aspect))?;
        let mut walk = Walk {
            registry: self,
            trimmed: false,
        };
        walk.record(self.record(record), value, 0)
            .map_err(|violation| violation.into_error(aspect))?;
        if aspect == AspectName::SCHEMA_METADATA {
            check_field_paths(aspect, "SchemaMetadata", "fields", value)?;
        } else if aspect == AspectName::EDITABLE_SCHEMA_METADATA {
            let list = "editableSchemaFieldInfo";
            check_field_paths(aspect, "EditableSchemaMetadata", list, value)?;
        }
        Ok(walk.trimmed)
    }
}

struct Walk<'r> {
    registry: &'r Registry,
    trimmed: bool,
}

impl Walk<'_> {
    fn value(&mut self, shape: &Shape, value: &mut Value, depth: usize) -> Checked {
        if depth > MAX_DEPTH {
            return Err(Violation::new(Problem::TooDeep));
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
                for (at, item) in values.iter_mut().enumerate() {
                    self.value(items, item, depth + 1)
                        .map_err(|violation| violation.inside(at.to_string()))?;
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

    fn record(&mut self, record: &Record, value: &mut Value, depth: usize) -> Checked {
        let Value::Object(members) = value else {
            return Err(Violation::new(Problem::Type {
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

    fn reference(&self, relationship: Option<&Relationship>, text: &str) -> Checked {
        let target = self
            .registry
            .check_reference(text)
            .map_err(|error| Violation::new(Problem::Reference(error)))?;
        match relationship {
            Some(relationship) if !relationship.accepts(target) => {
                Err(Violation::new(Problem::Destination {
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
    Violation::new(Problem::Missing).inside(name)
}

/// Columns are told apart by their paths, so none may be empty and none may stand twice.
fn check_field_paths(
    aspect: AspectName,
    record: &str,
    list: &str,
    value: &Value,
) -> Result<(), ValidationError> {
    let Some(columns) = value.get(list).and_then(Value::as_array) else {
        return Ok(());
    };
    let error = |at: usize, problem: String| {
        let path = format!("/{list}/{at}/fieldPath");
        ValidationError {
            aspect,
            message: format!("{record} aspect has {problem} ({path})"),
            path,
        }
    };
    let mut few = [""; FEW_COLUMNS];
    let is_many = columns.len() > FEW_COLUMNS;
    let mut many = HashSet::with_capacity(if is_many { columns.len() } else { 0 });
    for (at, column) in columns.iter().enumerate() {
        let Some(path) = column.get("fieldPath").and_then(Value::as_str) else {
            continue;
        };
        if path.is_empty() {
            return Err(error(at, "empty field path.".to_owned()));
        }
        let is_repeated = if is_many {
            !many.insert(path)
        } else {
            let is_known = few[..at].contains(&path);
            few[at] = path;
            is_known
        };
        if is_repeated {
            return Err(error(
                at,
                format!("duplicated field paths: '{}'", shorten(path)),
            ));
        }
    }
    Ok(())
}

type Checked = Result<(), Violation>;

/// A violation on its way out, collecting the path from its end. Boxed, so that the good way stays light.
struct Violation(Box<Details>);

struct Details {
    path_reversed: Vec<String>,
    problem: Problem,
}

enum Problem {
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
    fn new(problem: Problem) -> Self {
        Self(Box::new(Details {
            path_reversed: Vec::new(),
            problem,
        }))
    }

    fn expected(shape: &Shape, value: &Value) -> Self {
        let expected = match shape {
            Shape::Text => "a string".into(),
            Shape::Boolean => "true or false".into(),
            Shape::Int => "a whole number of 32 bits".into(),
            Shape::Long => "a whole number of 64 bits".into(),
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
        Self::new(Problem::Type {
            expected,
            found: describe(value),
        })
    }

    fn inside(mut self, segment: impl Into<String>) -> Self {
        self.0.path_reversed.push(segment.into());
        self
    }

    fn into_error(self, aspect: AspectName) -> ValidationError {
        let mut path = String::new();
        for segment in self.0.path_reversed.iter().rev() {
            path.push('/');
            path.push_str(&segment.replace('~', "~0").replace('/', "~1"));
        }
        let place = if path.is_empty() {
            "the value"
        } else {
            path.as_str()
        };
        let message = match self.0.problem {
            Problem::Type { expected, found } => {
                format!("{aspect}: {place} must be {expected}, found {found}")
            }
            Problem::Missing => format!("{aspect}: required member {place} is missing"),
            Problem::Reference(error) => format!("{aspect}: {place} must be a URN: {error}"),
            Problem::Destination { urn, expected } => {
                format!(
                    "{aspect}: {place}: '{urn}' is not a valid destination: expected {expected}"
                )
            }
            Problem::TooDeep => {
                format!("{aspect}: {place} is nested more than {MAX_DEPTH} levels deep")
            }
        };
        ValidationError {
            aspect,
            path,
            message,
        }
    }
}

/// What was found, short enough for a sentence.
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
