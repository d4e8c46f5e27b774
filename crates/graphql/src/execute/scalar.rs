//! Writing scalars and enums.
//!
//! Stored text is copied as it is wherever its kind fits the type. What does not fit is converted if nothing is
//! lost by it (`5` as a `String`, `"5"` as a `Long`), and otherwise is no value.

use serde_json::Value;

use crate::json::View;
use crate::schema::{EnumType, Scalar};

/// The kinds of JSON values that matter here, each with its text.
enum Kind<'a> {
    /// With quotes, escaped.
    RawString(&'a str),
    /// Without quotes, not escaped.
    Text(&'a str),
    Number(&'a str),
    Flag(bool),
    Other,
}

/// Writes a scalar; `false` if the value is none of its type.
pub(super) fn write(out: &mut Vec<u8>, scalar: Scalar, view: View<'_>) -> bool {
    let number;
    let kind = match view {
        View::Text(text) => Kind::Text(text),
        View::Flag(flag) => Kind::Flag(flag),
        View::Raw(raw) => match raw.as_bytes().first() {
            Some(b'"') => Kind::RawString(raw),
            Some(b't') => Kind::Flag(true),
            Some(b'f') => Kind::Flag(false),
            Some(b'-' | b'0'..=b'9') => Kind::Number(raw),
            _ => Kind::Other,
        },
        View::Value(Value::String(text)) => Kind::Text(text),
        View::Value(Value::Bool(flag)) => Kind::Flag(*flag),
        View::Value(Value::Number(value)) => {
            number = value.to_string();
            Kind::Number(&number)
        }
        _ => Kind::Other,
    };
    match scalar {
        Scalar::String => match kind {
            Kind::RawString(raw) => out.extend_from_slice(raw.as_bytes()),
            Kind::Text(text) | Kind::Number(text) => string(out, text),
            Kind::Flag(flag) => string(out, if flag { "true" } else { "false" }),
            Kind::Other => return false,
        },
        Scalar::Boolean => match kind {
            Kind::Flag(flag) => out.extend_from_slice(if flag { b"true" } else { b"false" }),
            _ => return false,
        },
        Scalar::Int => return integer(out, &kind, view, i64::from(i32::MIN)..=i64::from(i32::MAX)),
        Scalar::Long => return integer(out, &kind, view, i64::MIN..=i64::MAX),
        Scalar::Float => match kind {
            Kind::Number(text) => out.extend_from_slice(text.as_bytes()),
            _ => return false,
        },
        Scalar::Any => return any(out, view),
    }
    true
}

fn integer(
    out: &mut Vec<u8>,
    kind: &Kind<'_>,
    view: View<'_>,
    range: std::ops::RangeInclusive<i64>,
) -> bool {
    let number = match kind {
        Kind::Number(text) => parse_integer(text),
        Kind::Text(_) | Kind::RawString(_) => view.text().and_then(|text| text.parse().ok()),
        Kind::Flag(_) | Kind::Other => None,
    };
    match number.filter(|number| range.contains(number)) {
        Some(number) => {
            out.extend_from_slice(number.to_string().as_bytes());
            true
        }
        None => false,
    }
}

/// A whole number, also when it is written as `5.0` or `1e3`.
fn parse_integer(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    // Beyond this a float does not tell neighbouring whole numbers apart.
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
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

/// Writes the enum value that a stored text or union member reads as; `false` if there is none.
pub(super) fn write_enum(out: &mut Vec<u8>, ty: &EnumType, view: View<'_>) -> bool {
    let stored = view.text().or_else(|| view.first_name());
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
    // Writing into memory does not fail.
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
    fn stored_text_is_copied_as_it_is() {
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
    fn what_loses_nothing_is_converted() {
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
    fn what_does_not_fit_is_no_value() {
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
