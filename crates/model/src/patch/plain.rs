//! RFC 6902 for values without keys.

use serde_json::{Map, Number, Value};

use super::document::{PatchContext, PutMode};
use super::initial;

pub(super) fn get<'v>(value: &'v Value, segments: &[String]) -> Option<&'v Value> {
    segments
        .iter()
        .try_fold(value, |value, segment| match value {
            Value::Object(members) => members.get(segment),
            Value::Array(elements) => elements.get(parse_index(segment)?),
            _ => None,
        })
}

/// Puts a value at a path, creating missing parents.
pub(super) fn put(
    value: &mut Value,
    context: PatchContext<'_>,
    segments: &[String],
    new: Value,
    mode: PutMode,
) -> Result<(), String> {
    let Some((segment, rest)) = segments.split_first() else {
        *value = new;
        return Ok(());
    };
    match value {
        Value::Object(members) => {
            let context = context.member(segment);
            let member = members.entry(segment.as_str()).or_insert(Value::Null);
            if member.is_null() && !rest.is_empty() {
                *member = initial::parent(context);
            }
            put(member, context, rest, new, mode)
        }
        Value::Array(elements) => put_element(elements, context, segment, rest, new, mode),
        other => Err(format!(
            "'{segment}' can't be set in {}, which has no members",
            describe(other)
        )),
    }
}

fn put_element(
    elements: &mut Vec<Value>,
    context: PatchContext<'_>,
    segment: &str,
    rest: &[String],
    new: Value,
    mode: PutMode,
) -> Result<(), String> {
    let index = if segment == "-" {
        Some(elements.len())
    } else {
        parse_index(segment)
    };
    let index = index.filter(|index| *index <= elements.len()).ok_or_else(|| {
        format!(
            "'{}' is not an index in a list of {}: use an index, '-' for the end, or define the key members in \
             arrayPrimaryKeys",
            shorten(segment),
            elements.len()
        )
    })?;
    if rest.is_empty() && (mode != PutMode::Replace || index == elements.len()) {
        context.budget.charge(elements.len() - index)?;
        elements.insert(index, new);
        return Ok(());
    }
    if index == elements.len() {
        elements.push(initial::parent(context.element()));
    }
    put(&mut elements[index], context.element(), rest, new, mode)
}

/// Removes the value at a path, if it exists.
pub(super) fn remove(
    value: &mut Value,
    context: PatchContext<'_>,
    segments: &[String],
) -> Result<(), String> {
    let Some((last, before)) = segments.split_last() else {
        return Ok(());
    };
    let parent = (value, context);
    let parent = before
        .iter()
        .try_fold(parent, |(value, context), segment| match value {
            Value::Object(members) => Some((members.get_mut(segment)?, context.member(segment))),
            Value::Array(elements) => {
                let element = elements.get_mut(parse_index(segment)?)?;
                Some((element, context.element()))
            }
            _ => None,
        });
    match parent {
        Some((Value::Object(members), of_parent)) => {
            context.budget.charge(members.len())?;
            match (of_parent.emptied(last), members.get_mut(last)) {
                (Some(empty), Some(member)) => *member = empty,
                // Preserves the order of the others.
                _ => drop(members.shift_remove(last)),
            }
        }
        Some((Value::Array(elements), _)) => {
            if let Some(index) = parse_index(last).filter(|index| *index < elements.len()) {
                context.budget.charge(elements.len() - index)?;
                elements.remove(index);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Parses an index as defined by the RFC: digits without leading zeros.
fn parse_index(segment: &str) -> Option<usize> {
    let is_number = segment.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || (segment.len() > 1 && segment.starts_with('0')) {
        return None;
    }
    segment.parse().ok()
}

/// Equality as defined by the RFC: numbers by value, objects regardless of order.
pub(super) fn is_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            match (as_integer(left), as_integer(right)) {
                (None, None) => left.as_f64() == right.as_f64(),
                (left, right) => left == right,
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(name, value): (&String, &Value)| {
                right.get(name).is_some_and(|other| is_equal(value, other))
            };
            left.len() == right.len() && left.iter().all(same)
        }
        _ => left == right,
    }
}

/// The exact integer value of a number without a fraction, in any notation: `1`, `1.0` or `1e0`.
pub(super) fn as_integer(number: &Number) -> Option<i128> {
    if let Some(integer) = number.as_i64() {
        return Some(integer.into());
    }
    if let Some(integer) = number.as_u64() {
        return Some(integer.into());
    }
    let float = number.as_f64()?;
    // Printing is exact, and larger floats do not fit.
    let is_integer = float.fract() == 0.0 && float.abs() < 1e38;
    is_integer.then(|| format!("{float:.0}").parse().ok())?
}

pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The approximate memory use of a value, in values and bytes of text.
pub(super) fn size(value: &Value) -> usize {
    1 + match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(size).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| name.len() + size(member))
            .sum(),
        _ => 0,
    }
}

pub(super) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The text of a value as a key: empty if missing, and the inner value of a union.
pub(super) fn key_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(members)) if members.len() == 1 => key_text(members.values().next()),
        Some(other) => other.to_string(),
    }
}

/// Sets a nested member, creating missing objects.
pub(super) fn set_member(
    members: &mut Map<String, Value>,
    path: &[String],
    value: Value,
) -> Result<(), String> {
    let Some((segment, rest)) = path.split_first() else {
        return Ok(());
    };
    if rest.is_empty() {
        members.insert(segment.clone(), value);
        return Ok(());
    }
    let inner = members.entry(segment.as_str()).or_insert(Value::Null);
    if inner.is_null() {
        *inner = Value::Object(Map::new());
    }
    match inner {
        Value::Object(inner) => set_member(inner, rest, value),
        other => Err(format!("'{segment}' is {}, not an object", describe(other))),
    }
}

pub(super) fn shorten(text: &str) -> String {
    crate::urn::shorten(text)
}
