//! Values without keys: RFC 6902 on JSON as it is.

use serde_json::{Map, Number, Value};

use super::blank;
use super::document::{Place, Put};

pub(super) fn get<'v>(value: &'v Value, segments: &[String]) -> Option<&'v Value> {
    segments
        .iter()
        .try_fold(value, |value, segment| match value {
            Value::Object(members) => members.get(segment),
            Value::Array(elements) => elements.get(index(segment)?),
            _ => None,
        })
}

/// Puts a value at a path; objects that are missing on the way are made.
pub(super) fn put(
    value: &mut Value,
    place: Place<'_>,
    segments: &[String],
    new: Value,
    how: Put,
) -> Result<(), String> {
    let Some((segment, rest)) = segments.split_first() else {
        *value = new;
        return Ok(());
    };
    match value {
        Value::Object(members) => {
            let place = place.member(segment);
            let member = members.entry(segment.as_str()).or_insert(Value::Null);
            if member.is_null() && !rest.is_empty() {
                *member = blank::at(place);
            }
            put(member, place, rest, new, how)
        }
        Value::Array(elements) => put_element(elements, place, segment, rest, new, how),
        other => Err(format!(
            "'{segment}' is looked for in {}, which has no members",
            describe(other)
        )),
    }
}

fn put_element(
    elements: &mut Vec<Value>,
    place: Place<'_>,
    segment: &str,
    rest: &[String],
    new: Value,
    how: Put,
) -> Result<(), String> {
    let at = if segment == "-" {
        Some(elements.len())
    } else {
        index(segment)
    };
    let at = at.filter(|at| *at <= elements.len()).ok_or_else(|| {
        format!(
            "'{}' is no position in a list of {}: give one, or '-' for the end, or say in arrayPrimaryKeys what tells \
             the elements apart",
            shorten(segment),
            elements.len()
        )
    })?;
    if rest.is_empty() && (how != Put::Replace || at == elements.len()) {
        elements.insert(at, new);
        return Ok(());
    }
    if at == elements.len() {
        elements.push(blank::at(place.element()));
    }
    put(&mut elements[at], place.element(), rest, new, how)
}

/// Removes what is at a path, if it is there.
pub(super) fn remove(value: &mut Value, segments: &[String]) {
    let Some((last, before)) = segments.split_last() else {
        return;
    };
    let parent = before.iter().try_fold(value, |value, segment| match value {
        Value::Object(members) => members.get_mut(segment),
        Value::Array(elements) => elements.get_mut(index(segment)?),
        _ => None,
    });
    match parent {
        Some(Value::Object(members)) => {
            // The others keep their order.
            members.shift_remove(last);
        }
        Some(Value::Array(elements)) => {
            if let Some(at) = index(last).filter(|at| *at < elements.len()) {
                elements.remove(at);
            }
        }
        _ => {}
    }
}

/// A position as the RFC writes it: digits without leading zeros.
fn index(segment: &str) -> Option<usize> {
    let is_number = segment.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || (segment.len() > 1 && segment.starts_with('0')) {
        return None;
    }
    segment.parse().ok()
}

/// Equality by the RFC: numbers by their value, objects without regard to order.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(left), Value::Number(right)) => match (whole(left), whole(right)) {
            (None, None) => left.as_f64() == right.as_f64(),
            (left, right) => left == right,
        },
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(name, value): (&String, &Value)| {
                right.get(name).is_some_and(|other| is_same(value, other))
            };
            left.len() == right.len() && left.iter().all(same)
        }
        _ => one == other,
    }
}

/// The value of a number without a fraction, however it is written: `1`, `1.0` and `1e0` are the same, and large ones are
/// not rounded.
pub(super) fn whole(number: &Number) -> Option<i128> {
    if let Some(whole) = number.as_i64() {
        return Some(whole.into());
    }
    if let Some(whole) = number.as_u64() {
        return Some(whole.into());
    }
    let float = number.as_f64()?;
    // Beyond this a float says no more than itself.
    let is_whole = float.fract() == 0.0 && float.abs() < 1e38;
    is_whole.then_some(float as i128)
}

pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// About how much memory a value takes, in values and bytes of text.
pub(super) fn weight(value: &Value) -> usize {
    1 + match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(weight).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| name.len() + weight(member))
            .sum(),
        _ => 0,
    }
}

pub(super) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The text that a value stands for as a key: none is the empty one, and a union is the value in it.
pub(super) fn key_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(members)) if members.len() == 1 => key_text(members.values().next()),
        Some(other) => other.to_string(),
    }
}

/// Sets a nested member, making the objects on the way.
pub(super) fn set_member(
    members: &mut Map<String, Value>,
    steps: &[String],
    value: Value,
) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        return Ok(());
    };
    if rest.is_empty() {
        members.insert(step.clone(), value);
        return Ok(());
    }
    let inner = members.entry(step.as_str()).or_insert(Value::Null);
    if inner.is_null() {
        *inner = Value::Object(Map::new());
    }
    match inner {
        Value::Object(inner) => set_member(inner, rest, value),
        other => Err(format!("'{step}' is {}, not an object", describe(other))),
    }
}

pub(super) fn shorten(text: &str) -> String {
    crate::urn::shorten(text)
}
