//! The shapes of values in files, and their translation between YAML and the *plain* values that
//! are compared: JSON with URNs in place of names.

use docent_model::shorten;
use jiff::Timestamp;
use serde_json::{Map, Number, Value};

use crate::names::Names;
use crate::yaml::{Content, Item, Node, Pair, Problem, Yaml};

/// What the value of a key looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shape {
    Text,
    Flag,
    /// A text or a number.
    Scalar,
    /// A time in milliseconds, in files as RFC 3339.
    Time,
    Choice(&'static [&'static str]),
    /// A URN; files omit the prefix.
    Short(&'static str),
    /// A URN; files name entities of the first type by their name. Without types, only URNs.
    Reference(&'static [&'static str]),
    List(&'static Shape),
    /// A list; a single element needs no list in files.
    OneOrMany(&'static Shape),
    Record(&'static [Field]),
    /// Any keys, with texts.
    TextMap,
    /// References as keys.
    ReferenceMap(&'static [&'static str], &'static Shape),
}

/// A key of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Field {
    pub(crate) key: &'static str,
    pub(crate) shape: Shape,
    pub(crate) is_required: bool,
}

impl Field {
    pub(crate) const fn optional(key: &'static str, shape: Shape) -> Self {
        Self {
            key,
            shape,
            is_required: false,
        }
    }

    pub(crate) const fn required(key: &'static str, shape: Shape) -> Self {
        Self {
            key,
            shape,
            is_required: true,
        }
    }
}

/// Whether a value says nothing: an empty text, list or mapping, or `false`.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// A number as files have it: whole ones without a point.
pub(crate) fn plain_number(number: &Number) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    match number.as_f64() {
        Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => Value::from(float as i64),
        Some(float) => Value::from(float),
        None => Value::Number(number.clone()),
    }
}

impl Shape {
    /// The value for a file. Values that do not have the shape are written as text, so that nothing
    /// is lost silently.
    pub(crate) fn to_yaml(self, value: &Value, names: &Names) -> Yaml {
        match (self, value) {
            (Self::Time, Value::Number(number)) => Yaml::Text(time_text(number)),
            (Self::Short(prefix), Value::String(urn)) => {
                let short = urn.strip_prefix(prefix).filter(|it| is_short(it));
                Yaml::Text(short.unwrap_or(urn).to_owned())
            }
            (Self::Reference(_), Value::String(urn)) => Yaml::Text(names.written(urn)),
            (_, Value::String(text)) => Yaml::Text(text.clone()),
            (_, Value::Bool(flag)) => Yaml::Bare(flag.to_string()),
            (_, Value::Number(number)) => Yaml::Bare(number.to_string()),
            (Self::OneOrMany(shape), Value::Array(items)) if items.len() == 1 => {
                shape.to_yaml(&items[0], names)
            }
            (Self::List(shape) | Self::OneOrMany(shape), Value::Array(items)) => {
                let items = items
                    .iter()
                    .map(|item| Item::new(shape.to_yaml(item, names)));
                Yaml::List(items.collect())
            }
            (Self::Record(fields), Value::Object(members)) => {
                let fields = fields.iter().filter_map(|field| {
                    let value = field.shape.to_yaml(members.get(field.key)?, names);
                    Some(Pair::new(field.key, value))
                });
                Yaml::Map(fields.collect())
            }
            (Self::TextMap, Value::Object(members)) => {
                let pairs = members.iter();
                let pairs =
                    pairs.map(|(key, value)| Pair::new(key, Self::Text.to_yaml(value, names)));
                Yaml::Map(pairs.collect())
            }
            (Self::ReferenceMap(_, shape), Value::Object(members)) => {
                let pairs = members.iter();
                let pairs = pairs
                    .map(|(urn, value)| Pair::new(names.written(urn), shape.to_yaml(value, names)));
                Yaml::Map(pairs.collect())
            }
            (_, other) => Yaml::Text(other.to_string()),
        }
    }

    /// The value of a file; `None` after an error, which is added to `problems`.
    pub(crate) fn read(
        self,
        node: &Node,
        names: &Names,
        problems: &mut Vec<Problem>,
    ) -> Option<Value> {
        let wrong = |problems: &mut Vec<Problem>, expected: &str| {
            let message = format!("expected {expected}, found {}", node.description());
            problems.push(Problem::new(node.line, message));
            None
        };
        match (self, &node.content) {
            (Self::List(shape) | Self::OneOrMany(shape), content) => {
                let items = match content {
                    Content::List(items) => items.iter().collect(),
                    _ if node.is_null() => Vec::new(),
                    _ if matches!(self, Self::OneOrMany(_)) => vec![node],
                    _ => return wrong(problems, "a list"),
                };
                let read = items.into_iter();
                let read: Vec<_> = read
                    .map(|item| shape.read_item(item, names, problems))
                    .collect();
                read.into_iter()
                    .collect::<Option<Vec<Value>>>()
                    .map(Value::Array)
            }
            (Self::Record(fields), Content::Map(_)) => record(fields, node, names, problems),
            (Self::TextMap, Content::Map(entries)) => {
                let mut members = Map::new();
                for entry in entries {
                    let value = Self::Text.read(&entry.value, names, problems)?;
                    let text = value.as_str().unwrap_or_default();
                    members.insert(entry.key.clone(), Value::from(text));
                }
                Some(Value::Object(members))
            }
            (Self::ReferenceMap(types, shape), Content::Map(entries)) => {
                let mut members = Map::new();
                for entry in entries {
                    let urn = names.resolve(&entry.key, types);
                    let value = shape.read(&entry.value, names, problems);
                    match urn {
                        Ok(urn) => members.insert(urn, value?),
                        Err(message) => {
                            problems.push(Problem::new(entry.line, message));
                            return None;
                        }
                    };
                }
                Some(Value::Object(members))
            }
            (Self::Record(_) | Self::TextMap | Self::ReferenceMap(..), _) if node.is_null() => {
                Some(Value::Object(Map::new()))
            }
            (Self::Record(_) | Self::TextMap | Self::ReferenceMap(..), _) => {
                wrong(problems, "a mapping of keys and values")
            }
            (_, Content::Scalar { .. }) if node.is_null() => Some(Value::Null),
            (_, Content::Scalar { text, is_plain }) => match self.scalar(text, *is_plain, names) {
                Ok(value) => Some(value),
                Err(message) => {
                    problems.push(Problem::new(node.line, message));
                    None
                }
            },
            (_, Content::List(_) | Content::Map(_)) => wrong(problems, "a single value"),
        }
    }

    /// An element of a list, which must not be empty.
    fn read_item(self, node: &Node, names: &Names, problems: &mut Vec<Problem>) -> Option<Value> {
        let value = self.read(node, names, problems)?;
        if value.is_null() {
            let message = "this element is empty: remove it, or write '[]' for an empty list";
            problems.push(Problem::new(node.line, message));
            return None;
        }
        Some(value)
    }

    fn scalar(self, text: &str, is_plain: bool, names: &Names) -> Result<Value, String> {
        match self {
            Self::Flag => match text {
                "true" | "True" | "yes" => Ok(Value::Bool(true)),
                "false" | "False" | "no" => Ok(Value::Bool(false)),
                _ => Err(format!("expected true or false, found '{}'", shorten(text))),
            },
            Self::Scalar if is_plain => match serde_json::from_str::<Number>(text) {
                Ok(number) => Ok(plain_number(&number)),
                Err(_) => Ok(Value::from(text)),
            },
            Self::Time => read_time(text),
            Self::Choice(choices) if !choices.contains(&text) => Err(format!(
                "'{}' is none of {}",
                shorten(text),
                choices.join(", ")
            )),
            Self::Short(_) if text.starts_with("urn:") => Ok(Value::from(text)),
            Self::Short(prefix) => Ok(Value::from(format!("{prefix}{text}"))),
            Self::Reference(types) => names.resolve(text, types).map(Value::from),
            _ => Ok(Value::from(text)),
        }
    }
}

fn record(
    fields: &[Field],
    node: &Node,
    names: &Names,
    problems: &mut Vec<Problem>,
) -> Option<Value> {
    let Content::Map(entries) = &node.content else {
        return None;
    };
    let count = problems.len();
    for entry in entries {
        if !fields.iter().any(|field| field.key == entry.key) {
            let keys: Vec<&str> = fields.iter().map(|field| field.key).collect();
            problems.push(unknown_key(&entry.key, entry.line, &keys));
        }
    }
    let mut members = Map::new();
    for field in fields {
        let entry = entries.iter().find(|entry| entry.key == field.key);
        let value = entry.and_then(|entry| field.shape.read(&entry.value, names, problems));
        match value {
            Some(Value::Null) | None if !field.is_required => {}
            Some(Value::Null) | None if entry.is_none() => {
                let message = format!("the key '{}' is missing", field.key);
                problems.push(Problem::new(node.line, message));
            }
            Some(Value::Null) | None => {
                members.insert(field.key.to_owned(), Value::from(""));
            }
            Some(value) if !field.is_required && is_empty(&value) => {}
            Some(value) => {
                members.insert(field.key.to_owned(), value);
            }
        }
    }
    (problems.len() == count).then_some(Value::Object(members))
}

pub(crate) fn unknown_key(key: &str, line: usize, known: &[&str]) -> Problem {
    let known = known.join(", ");
    let message = format!("unknown key '{}': use one of {known}", shorten(key));
    Problem::new(line, message)
}

/// Whether the rest of a URN cannot be taken for a whole one.
fn is_short(rest: &str) -> bool {
    !rest.is_empty() && !rest.starts_with("urn:")
}

fn time_text(ms: &Number) -> String {
    let time = ms
        .as_i64()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| ms.to_string(), |time| time.to_string())
}

fn read_time(text: &str) -> Result<Value, String> {
    let midnight = format!("{text}T00:00:00Z");
    let time = text.parse::<Timestamp>().or_else(|_| midnight.parse());
    if let Ok(time) = time {
        return Ok(Value::from(time.as_millisecond()));
    }
    text.parse::<i64>().map(Value::from).map_err(|_| {
        format!(
            "'{}' is not a time: use for example 2026-01-31 or 2026-01-31T12:00:00Z",
            shorten(text)
        )
    })
}
