//! Writes scalars and enums.
//!
//! Stored text is copied if it has the kind of the type. Other kinds are converted if that is
//! lossless (`5` to a `String`, `"5"` to a `Long`); otherwise they are errors.

use serde_json::Value;

use crate::input::exact_integer;
use crate::json::View;
use crate::schema::{EnumType, Scalar};

/// A JSON scalar with its text.
enum JsonScalar<'a> {
    /// With quotes, escaped.
    RawString(&'a str),
    /// Without quotes, not escaped.
    Text(&'a str),
    Number(&'a str),
    Flag(bool),
    Other,
}

/// Writes a scalar; returns false if the value does not have its type.
pub(super) fn write(out: &mut Vec<u8>, scalar: Scalar, view: View<'_>) -> bool {
    let number;
    let kind = match view {
        View::Text(text) => JsonScalar::Text(text),
        View::Flag(flag) => JsonScalar::Flag(flag),
        View::Raw(raw) => match raw.as_bytes().first() {
            Some(b'"') => JsonScalar::RawString(raw),
            Some(b't') => JsonScalar::Flag(true),
            Some(b'f') => JsonScalar::Flag(false),
            Some(b'-' | b'0'..=b'9') => JsonScalar::Number(raw),
            _ => JsonScalar::Other,
        },
        View::Value(Value::String(text)) => JsonScalar::Text(text),
        View::Value(Value::Bool(flag)) => JsonScalar::Flag(*flag),
        View::Value(Value::Number(value)) => {
            number = value.to_string();
            JsonScalar::Number(&number)
        }
        _ => JsonScalar::Other,
    };
    match scalar {
        Scalar::String => match kind {
            JsonScalar::RawString(raw) => out.extend_from_slice(raw.as_bytes()),
            JsonScalar::Text(text) | JsonScalar::Number(text) => string(out, text),
            JsonScalar::Flag(flag) => string(out, if flag { "true" } else { "false" }),
            JsonScalar::Other => return false,
        },
        Scalar::Boolean => match kind {
            JsonScalar::Flag(flag) => out.extend_from_slice(if flag { b"true" } else { b"false" }),
            _ => return false,
        },
        Scalar::Int => return integer(out, &kind, view, i64::from(i32::MIN)..=i64::from(i32::MAX)),
        Scalar::Long => return integer(out, &kind, view, i64::MIN..=i64::MAX),
        Scalar::Float => match kind {
            JsonScalar::Number(text) => out.extend_from_slice(text.as_bytes()),
            _ => return false,
        },
        Scalar::Any => return any(out, view),
    }
    true
}

fn integer(
    out: &mut Vec<u8>,
    kind: &JsonScalar<'_>,
    view: View<'_>,
    range: std::ops::RangeInclusive<i64>,
) -> bool {
    let number = match kind {
        JsonScalar::Number(text) => parse_integer(text),
        JsonScalar::Text(_) | JsonScalar::RawString(_) => {
            view.text().and_then(|text| text.parse().ok())
        }
        JsonScalar::Flag(_) | JsonScalar::Other => None,
    };
    match number.filter(|number| range.contains(number)) {
        Some(number) => {
            out.extend_from_slice(number.to_string().as_bytes());
            true
        }
        None => false,
    }
}

/// Parses an integer, also from `5.0` or `1e3`.
fn parse_integer(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    exact_integer(text.parse().ok()?)
}

fn any(out: &mut Vec<u8>, view: View<'_>) -> bool {
    match view {
        View::Raw(raw) => out.extend_from_slice(raw.as_bytes()),
        view => {
            if let Ok(text) = serde_json::to_vec(&view.to_value()) {
                out.extend_from_slice(&text);
            }
        }
    }
    true
}

/// Writes the enum value of a stored text, number or union member; returns false if there is none.
pub(super) fn write_enum(out: &mut Vec<u8>, ty: &EnumType, view: View<'_>) -> bool {
    let stored = view
        .text()
        .or_else(|| view.number_text())
        .or_else(|| view.first_name());
    let Some(value) = stored.as_deref().and_then(|stored| ty.read(stored)) else {
        return false;
    };
    // Names need no escaping.
    out.push(b'"');
    out.extend_from_slice(value.as_bytes());
    out.push(b'"');
    true
}

/// Writes a JSON string.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(&mut *out, text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(scalar: Scalar, view: View<'_>) -> Option<String> {
        let mut out = Vec::new();
        write(&mut out, scalar, view).then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn stored_text_is_copied() {
        for (scalar, raw) in [
            (Scalar::String, r#""a\u00e9\n\/""#),
            (Scalar::Long, "9007199254740993"),
            (Scalar::Float, "1.10"),
            (Scalar::Boolean, "true"),
            (Scalar::Any, r#"{"a": [1]}"#),
        ] {
            assert_eq!(written(scalar, View::Raw(raw)).as_deref(), Some(raw));
        }
    }

    #[test]
    fn lossless_conversions_are_applied() {
        for (scalar, raw, expected) in [
            (Scalar::String, "5", r#""5""#),
            (Scalar::String, "true", r#""true""#),
            (Scalar::Int, "5.0", "5"),
            (Scalar::Long, r#""17""#, "17"),
            (Scalar::Long, "1e3", "1000"),
        ] {
            assert_eq!(
                written(scalar, View::Raw(raw)).as_deref(),
                Some(expected),
                "{raw}"
            );
            let value: Value = serde_json::from_str(raw).unwrap();
            if raw != "1e3" {
                assert_eq!(
                    written(scalar, View::Value(&value)).as_deref(),
                    Some(expected),
                    "{raw}"
                );
            }
        }
    }

    #[test]
    fn values_of_other_types_are_rejected() {
        for (scalar, value) in [
            (Scalar::String, json!({})),
            (Scalar::String, json!([])),
            (Scalar::Boolean, json!("true")),
            (Scalar::Int, json!(3_000_000_000_i64)),
            (Scalar::Int, json!(1.5)),
            (Scalar::Int, json!("x")),
            (Scalar::Long, json!(1e300)),
            (Scalar::Float, json!("1")),
        ] {
            assert_eq!(written(scalar, View::Value(&value)), None, "{value}");
            assert_eq!(
                written(scalar, View::Raw(&value.to_string())),
                None,
                "{value}"
            );
        }
    }
}
