//! URNs: entity identifiers of the form `urn:li:<entity type>:<key>`.
//!
//! The key is a plain string or a tuple in parentheses, whose parts may be URNs themselves. This
//! module implements the grammar; [`crate::Registry::check_urn`] checks entity types and key parts.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use memchr::memchr3_iter;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The maximum length of a URL-encoded URN in bytes. Databases of other servers have key columns of
/// 500 to 512.
pub const MAX_ENCODED_BYTES: usize = 512;

/// Separates nested keys in patches, and is therefore not allowed in a URN.
pub(crate) const FORBIDDEN_SEPARATOR: char = '\u{241F}';

/// The only namespace that DataHub's clients support.
const NAMESPACE: &str = "li";

/// Control characters are never intended, and PostgreSQL cannot store U+0000. Tabs and line breaks
/// are allowed, because reporting tools generate column names with them.
fn is_forbidden_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\t' | '\n' | '\r')
}

/// A parsed URN. Cloning shares the text.
#[derive(Clone)]
pub struct Urn {
    text: Arc<str>,
    /// Byte offsets of the entity type. The key starts one byte after its end.
    type_start: u16,
    type_end: u16,
}

/// Why a text is not a valid URN.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrnError {
    #[error("'{text}' is not a URN: expected urn:li:<entityType>:<key>")]
    Shape { text: String },
    #[error("'{text}' is not a URN: white space at its start or end must be removed")]
    Whitespace { text: String },
    #[error("'{text}' is not a URN: its parentheses do not match")]
    Parentheses { text: String },
    #[error("'{text}' is not a URN: it contains the reserved character U+241F")]
    Separator { text: String },
    #[error(
        "'{text}' is not a URN: it contains the control character U+{code:04X}, which must be removed"
    )]
    Control { text: String, code: u32 },
    #[error("'{text}' has the namespace '{namespace}': only urn:li: is supported")]
    Namespace { text: String, namespace: String },
    #[error(
        "the URN is too long: {bytes} bytes when URL-encoded, at most {MAX_ENCODED_BYTES} are allowed; choose a shorter id"
    )]
    TooLong { bytes: usize },
    #[error("'{text}' names an unknown entity type '{entity_type}'")]
    UnknownEntityType { text: String, entity_type: String },
    #[error(
        "'{text}' has {actual} key part{} where {entity_type} needs {expected} ({fields})",
        if *.actual == 1 { "" } else { "s" }
    )]
    KeyParts {
        text: String,
        entity_type: String,
        actual: usize,
        expected: usize,
        fields: String,
    },
    #[error("'{text}' has '{value}' as its {field}: it must be one of {allowed}")]
    KeyValue {
        text: String,
        field: String,
        value: String,
        allowed: String,
    },
    #[error("'{text}' has an empty {field}: every key part needs a value")]
    EmptyPart { text: String, field: String },
    #[error("'{text}' nests more URNs than any entity type needs: refer to its parts directly")]
    Nesting { text: String },
    #[error("'{text}' has the type {actual}, but {expected} is expected")]
    WrongEntityType {
        text: String,
        actual: String,
        expected: String,
    },
}

impl Urn {
    /// Parses a URN. A tuple with one part, `(x)`, is normalized to `x`.
    pub fn parse(text: &str) -> Result<Self, UrnError> {
        let split = UrnText::split(text)?;
        let type_start = split.prefix.len();
        let type_end = type_start + split.entity_type.len();
        // Only the offsets are limited here; the registry checks the total length.
        let (Ok(type_start), Ok(type_end)) = (u16::try_from(type_start), u16::try_from(type_end))
        else {
            return Err(UrnError::TooLong { bytes: text.len() });
        };
        let text = if split.is_unwrapped(text) {
            Arc::from(format!(
                "{}{}:{}",
                split.prefix, split.entity_type, split.key
            ))
        } else {
            Arc::from(text)
        };
        Ok(Self {
            text,
            type_start,
            type_end,
        })
    }

    /// Builds `urn:li:<entity_type>:<key>` and parses it.
    pub fn new(entity_type: &str, key: &str) -> Result<Self, UrnError> {
        Self::parse(&format!("urn:li:{entity_type}:{key}"))
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn entity_type(&self) -> &str {
        &self.text[usize::from(self.type_start)..usize::from(self.type_end)]
    }

    /// Everything after the entity type, including the parentheses of a tuple.
    pub fn key(&self) -> &str {
        &self.text[usize::from(self.type_end) + 1..]
    }

    /// The parts of a tuple key, or the whole key.
    pub fn key_parts(&self) -> Vec<&str> {
        self.as_split().parts().collect()
    }

    /// The same URN as borrowed text.
    pub(crate) fn as_split(&self) -> UrnText<'_> {
        UrnText {
            prefix: &self.text[..usize::from(self.type_start)],
            entity_type: self.entity_type(),
            key: self.key(),
        }
    }

    /// Fails unless this names an entity of the given type.
    pub fn expect_type(&self, expected: &str) -> Result<(), UrnError> {
        if self.entity_type() == expected {
            return Ok(());
        }
        Err(UrnError::WrongEntityType {
            text: shorten(self.as_str()),
            actual: self.entity_type().to_owned(),
            expected: expected.to_owned(),
        })
    }

    /// Length of the URL-encoded form in bytes. Every byte outside the unreserved set takes three.
    pub fn encoded_bytes(&self) -> usize {
        encoded_bytes(&self.text)
    }
}

/// A borrowed, split URN: checks a reference without allocating.
#[derive(Clone, Copy)]
pub(crate) struct UrnText<'a> {
    /// `urn:li:`
    prefix: &'a str,
    pub(crate) entity_type: &'a str,
    pub(crate) key: &'a str,
}

impl<'a> UrnText<'a> {
    /// Checks the grammar and splits the text. Unwraps a tuple with one part.
    pub(crate) fn split(text: &'a str) -> Result<Self, UrnError> {
        let shape = || UrnError::Shape {
            text: shorten(text),
        };
        // Most URNs have neither white space nor control characters anywhere. One pass over the
        // bytes finds that out, without decoding characters: a fold, which runs on many bytes at
        // once.
        let is_graphic = text
            .bytes()
            .fold(true, |all, byte| all & byte.is_ascii_graphic());
        if !is_graphic && text.trim() != text {
            return Err(UrnError::Whitespace {
                text: shorten(text),
            });
        }
        let rest = text.strip_prefix("urn:").ok_or_else(shape)?;
        let (namespace, rest) = rest.split_once(':').ok_or_else(shape)?;
        let (entity_type, mut key) = rest.split_once(':').ok_or_else(shape)?;
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if namespace.is_empty()
            || !namespace.bytes().all(|b| word(b) || b == b'-')
            || !entity_type.starts_with(|c: char| c.is_ascii_lowercase())
            || !entity_type.bytes().all(word)
            || key.is_empty()
        {
            return Err(shape());
        }
        if namespace != NAMESPACE {
            return Err(UrnError::Namespace {
                text: shorten(text),
                namespace: shorten(namespace),
            });
        }
        if !is_graphic {
            check_characters(text, key)?;
        }
        let unwrapped = unwrap_key(key).ok_or_else(|| UrnError::Parentheses {
            text: shorten(text),
        })?;
        if unwrapped.len() != key.len() {
            if unwrapped.is_empty() {
                return Err(shape());
            }
            if unwrapped.trim_end() != unwrapped {
                return Err(UrnError::Whitespace {
                    text: shorten(text),
                });
            }
            key = unwrapped;
        }
        Ok(Self {
            prefix: &text[..text.len() - rest.len()],
            entity_type,
            key,
        })
    }

    /// Whether redundant parentheses around the key were removed.
    fn is_unwrapped(self, text: &str) -> bool {
        self.prefix.len() + self.entity_type.len() + 1 + self.key.len() != text.len()
    }

    /// The parts of a tuple key, or the whole key.
    pub(crate) fn parts(self) -> KeyParts<'a> {
        // `split` has checked that a key with an opening parenthesis is a tuple.
        let inner = self
            .key
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'));
        KeyParts {
            rest: Some(inner.unwrap_or(self.key)),
            is_tuple: inner.is_some(),
        }
    }

    /// Fails if the URL-encoded form exceeds the limit.
    pub(crate) fn check_length(self) -> Result<(), UrnError> {
        let plain = self.prefix.len() + self.entity_type.len() + 1 + self.key.len();
        // Encoding at most triples the length, so most URNs need no counting.
        if plain * 3 <= MAX_ENCODED_BYTES {
            return Ok(());
        }
        let bytes = [self.prefix, self.entity_type, ":", self.key]
            .into_iter()
            .map(encoded_bytes)
            .sum();
        if bytes > MAX_ENCODED_BYTES {
            return Err(UrnError::TooLong { bytes });
        }
        Ok(())
    }
}

impl fmt::Display for UrnText<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}{}:{}",
            self.prefix, self.entity_type, self.key
        )
    }
}

/// Iterates over the parts of a key, split at top-level commas.
pub(crate) struct KeyParts<'a> {
    rest: Option<&'a str>,
    is_tuple: bool,
}

impl<'a> Iterator for KeyParts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest.take()?;
        if self.is_tuple
            && let Some(comma) = top_level_comma(rest)
        {
            self.rest = Some(&rest[comma + 1..]);
            return Some(&rest[..comma]);
        }
        Some(rest)
    }
}

/// Checks that a key has no forbidden characters.
fn check_characters(text: &str, key: &str) -> Result<(), UrnError> {
    let mut characters = key.chars();
    if let Some(control) = characters.find(|character| is_forbidden_control(*character)) {
        return Err(UrnError::Control {
            text: shorten(text).escape_debug().to_string(),
            code: control.into(),
        });
    }
    if key.contains(FORBIDDEN_SEPARATOR) {
        return Err(UrnError::Separator {
            text: shorten(text),
        });
    }
    Ok(())
}

/// Removes the parentheses of tuples with one part; `None` if parentheses do not match.
fn unwrap_key(mut key: &str) -> Option<&str> {
    // Bounded, because each iteration scans the key. More than one level is never intended.
    for _ in 0..8 {
        if !key.starts_with('(') {
            return Some(key);
        }
        let inner = key.strip_prefix('(')?.strip_suffix(')')?;
        if is_list(inner)? {
            return Some(key);
        }
        key = inner;
    }
    None
}

/// Whether the content of a tuple has a comma outside parentheses; `None` if its parentheses do not
/// match.
fn is_list(inner: &str) -> Option<bool> {
    let (mut depth, mut is_list) = (0_u32, false);
    for at in memchr3_iter(b'(', b')', b',', inner.as_bytes()) {
        match inner.as_bytes()[at] {
            b'(' => depth += 1,
            b')' => depth = depth.checked_sub(1)?,
            _ => is_list |= depth == 0,
        }
    }
    (depth == 0).then_some(is_list)
}

/// The offset of the first comma outside parentheses.
fn top_level_comma(inner: &str) -> Option<usize> {
    let mut depth = 0_i32;
    inner.bytes().position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        byte == b',' && depth == 0
    })
}

fn encoded_bytes(text: &str) -> usize {
    let unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-_.*".contains(&b);
    text.bytes()
        .map(|b| if unreserved(b) { 1 } else { 3 })
        .sum()
}

/// Truncates a text for error messages.
pub fn shorten(text: &str) -> String {
    const LIMIT: usize = 200;
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl PartialEq for Urn {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Urn {}

impl Hash for Urn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// Collections with URNs as keys can be searched by text.
impl Borrow<str> for Urn {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl PartialOrd for Urn {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Urn {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl fmt::Display for Urn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for Urn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for Urn {
    type Err = UrnError;

    fn from_str(text: &str) -> Result<Self, UrnError> {
        Self::parse(text)
    }
}

impl Serialize for Urn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Urn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataset_urn_has_three_key_parts() {
        let urn = Urn::parse("urn:li:dataset:(urn:li:dataPlatform:hive,db.table,PROD)").unwrap();
        assert_eq!(urn.entity_type(), "dataset");
        assert_eq!(
            urn.key_parts(),
            ["urn:li:dataPlatform:hive", "db.table", "PROD"]
        );
    }

    #[test]
    fn nested_tuples_are_not_split() {
        let text =
            "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD),[version=2.0].a)";
        let urn = Urn::parse(text).unwrap();
        assert_eq!(
            urn.key_parts(),
            [
                "urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)",
                "[version=2.0].a"
            ]
        );
        assert_eq!(urn.to_string(), text);
    }

    #[test]
    fn a_tuple_with_one_part_is_unwrapped() {
        assert_eq!(
            Urn::parse("urn:li:domain:(marketing)").unwrap().as_str(),
            "urn:li:domain:marketing"
        );
    }

    #[test]
    fn line_breaks_are_allowed_in_column_names() {
        let text =
            "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:x,t,PROD),net\r\n\tsales)";
        assert_eq!(Urn::parse(text).unwrap().as_str(), text);
    }

    #[test]
    fn malformed_urns_are_rejected_with_a_reason() {
        for (text, reason) in [
            ("", "expected urn:li"),
            ("marketing", "expected urn:li"),
            ("urn:li:domain", "expected urn:li"),
            ("urn:li:domain:", "expected urn:li"),
            ("urn:li:Domain:x", "expected urn:li"),
            (" urn:li:domain:x", "white space"),
            ("urn:li:dataset:(a,b", "parentheses"),
            ("urn:li:dataset:(a,b))", "parentheses"),
            ("urn:li:domain:a\u{241F}b", "U+241F"),
            ("urn:li:domain:()", "expected urn:li"),
            ("urn:li:domain:a\0b", "control character U+0000"),
            (
                "urn:li:dataset:(urn:li:dataPlatform:hive,a\u{7f},PROD)",
                "U+007F",
            ),
            ("urn:li:domain:a\u{9c}b", "U+009C"),
            ("urn:foo:domain:a", "the namespace 'foo'"),
            ("urn:LI:domain:a", "the namespace 'LI'"),
        ] {
            let message = Urn::parse(text).unwrap_err().to_string();
            assert!(message.contains(reason), "{text}: {message}");
        }
    }
}
