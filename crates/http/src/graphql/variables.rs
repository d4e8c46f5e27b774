//! Reads the variables of a request within a budget of memory.
//!
//! A parsed JSON value takes many times the memory of its text ([`crate::parsed_size`]). So
//! variables that the operation does not declare are skipped, and the size of the others is
//! estimated and reserved before they are parsed.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserializer, de};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::ErrorResponse;
use crate::parsed_size::{check_parsed, parsed_bytes};

/// Variables may take this much, however short the body is: objects with short texts take about
/// eight times their text, and a request of a few megabytes is ordinary. More may be at most twice
/// the size of the body.
const MIN_PARSED_BYTES: usize = 32 * 1024 * 1024;

/// The declared variables of a request, not parsed yet.
#[derive(Debug, Default)]
pub(super) struct DeclaredVariables<'a> {
    texts: Vec<(String, &'a RawValue)>,
}

impl<'a> DeclaredVariables<'a> {
    /// Finds the declared variables in the JSON of all.
    pub(super) fn find(all: &'a RawValue, names: &HashSet<&str>) -> serde_json::Result<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(all.get());
        let texts = Declared { names }.deserialize(&mut deserializer)?;
        Ok(Self { texts })
    }

    /// Approximate memory of the parsed variables.
    pub(super) fn parsed_bytes(&self) -> usize {
        let texts = self.texts.iter();
        texts
            .map(|(name, text)| name.len() + parsed_bytes(text.get()))
            .sum()
    }

    pub(super) fn parse(self) -> serde_json::Result<Map<String, Value>> {
        let texts = self.texts.into_iter();
        texts
            .map(|(name, text)| Ok((name, serde_json::from_str(text.get())?)))
            .collect()
    }
}

/// Fails if variables take too much memory for a body of this size.
pub(super) fn check(parsed_bytes: usize, body_bytes: usize) -> Result<(), ErrorResponse> {
    let allowed = MIN_PARSED_BYTES.max(2 * body_bytes);
    check_parsed("The variables have", parsed_bytes, allowed)
}

struct Declared<'n> {
    names: &'n HashSet<&'n str>,
}

impl<'de> DeserializeSeed<'de> for Declared<'_> {
    type Value = Vec<(String, &'de RawValue)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Declared<'_> {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with variables")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut texts: Vec<(String, &'de RawValue)> = Vec::new();
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            if !self.names.contains(&*name) {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            // More can only be repetitions.
            if texts.len() >= 2 * self.names.len() {
                return Err(de::Error::custom("a variable is given several times"));
            }
            texts.push((name.into_owned(), members.next_value()?));
        }
        Ok(texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'a>(all: &'a RawValue, names: &[&str]) -> DeclaredVariables<'a> {
        let names = names.iter().copied().collect();
        DeclaredVariables::find(all, &names).unwrap()
    }

    #[test]
    fn only_declared_variables_are_parsed() {
        let text = r#"{"a": [1, {"b": "}\""}], "other": [[[]]], "c": null}"#;
        let all = serde_json::from_str(text).unwrap();
        let parsed = find(all, &["a", "c", "d"]).parse().unwrap();
        let expected = r#"{"a":[1,{"b":"}\""}],"c":null}"#;
        assert_eq!(Value::Object(parsed).to_string(), expected);
    }

    #[test]
    fn undeclared_variables_take_no_memory() {
        let many = format!("{{\"a\":1{}}}", ",\"v\":[[],[]]".repeat(10_000));
        let all = serde_json::from_str(&many).unwrap();
        assert!(find(all, &["a"]).parsed_bytes() < 200);
        let repeated: &RawValue = serde_json::from_str(&many).unwrap();
        let names = HashSet::from(["v"]);
        let error = DeclaredVariables::find(repeated, &names).unwrap_err();
        assert!(error.to_string().contains("several times"), "{error}");
    }

    #[test]
    fn values_that_take_much_more_memory_than_their_text_are_rejected() {
        for unit in ["[],", "{},", "0,", "{\"\":0},", "\"\","] {
            let list = format!("[{}0]", unit.repeat(6 * 1024 * 1024 / unit.len()));
            let estimate = parsed_bytes(&list);
            assert!(check(estimate, list.len()).is_err(), "{unit} {estimate}");
        }
        let text = format!("{{\"a\": \"{}\"}}", "[],{},".repeat(1024 * 1024));
        assert!(check(parsed_bytes(&text), text.len()).is_ok());
        assert!(check(parsed_bytes("[0,1,2]"), 7).is_ok());
    }
}
