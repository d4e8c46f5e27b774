//! Conversion between JSON texts and values. All of the write path goes through here.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses the text of a stored aspect.
pub(super) fn parse_stored(text: &str) -> Result<Value, serde_json::Error> {
    #[cfg(test)]
    conversions::count(text);
    serde_json::from_str(text)
}

/// The text of a value.
pub(super) fn write(value: &Value) -> String {
    let text = value.to_string();
    #[cfg(test)]
    conversions::count(&text);
    text
}

/// How often each text was parsed or written, for the test that counts both.
#[cfg(test)]
pub(super) mod conversions {
    use std::collections::HashMap;
    use std::sync::{LazyLock, Mutex, PoisonError};

    static COUNTS: LazyLock<Mutex<HashMap<String, usize>>> = LazyLock::new(Mutex::default);

    pub(super) fn count(text: &str) {
        let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(text.to_owned()).or_default() += 1;
    }

    /// How often this text was parsed or written so far.
    pub(in crate::apply) fn of(text: &str) -> usize {
        let counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(text).copied().unwrap_or(0)
    }

    /// How often texts with this word in them were parsed or written so far.
    pub(in crate::apply) fn with(word: &str) -> usize {
        let counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = counts.iter().filter(|(text, _)| text.contains(word));
        texts.map(|(_, count)| count).sum()
    }
}

/// Parses a text; also returns whether an object in it repeats a member. Then the last one counts,
/// and the text holds more than the value.
pub(super) fn parse(text: &str) -> Result<(Value, bool), serde_json::Error> {
    #[cfg(test)]
    conversions::count(text);
    let repeated = Cell::new(false);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Build {
        repeated: &repeated,
    }
    .deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok((value, repeated.get()))
}

/// Builds a value as `serde_json` does, and detects repeated members, which `serde_json` silently
/// overwrites.
#[derive(Clone, Copy)]
struct Build<'r> {
    repeated: &'r Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Build<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object
                .insert(name, members.next_value_seed(self)?)
                .is_some()
            {
                self.repeated.set(true);
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_serde_json_makes_of_them() {
        for text in [
            "null",
            " [true, false, -1, 18446744073709551615, -9223372036854775808, 1e400, 0.1, 1.0, 1e21] ",
            r#"{"a": {"b": [{"c": "\u00e9\n"}, {}], "d": ""}, "e": []}"#,
            "{",
            "[1,]",
            "1 2",
            "",
            r#"{"a" 1}"#,
        ] {
            let expected = serde_json::from_str::<Value>(text);
            match (parse(text), expected) {
                (Ok(parsed), Ok(expected)) => assert_eq!(parsed, (expected, false), "{text}"),
                (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected.to_string()),
                (parsed, expected) => panic!("{text}: {parsed:?}, {expected:?}"),
            }
        }
        let deep = "[".repeat(200);
        assert!(parse(&deep).is_err());
    }

    #[test]
    fn a_repeated_member_is_noticed_at_any_depth_and_the_last_one_counts() {
        for (text, value) in [
            (r#"{"a": 1, "b": 2, "a": 3}"#, r#"{"a": 3, "b": 2}"#),
            (r#"[{"a": {"b": {}, "\u0062": 1}}]"#, r#"[{"a": {"b": 1}}]"#),
        ] {
            let expected: Value = serde_json::from_str(value).unwrap();
            assert_eq!(parse(text).unwrap(), (expected, true), "{text}");
        }
    }
}
