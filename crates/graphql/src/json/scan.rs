//! Reads the projected members of stored JSON text.
//!
//! Hand-written for speed: most of an aspect is skipped, and skipping only needs the ends of
//! strings and brackets. docs/ARCHITECTURE.md has the figures. Stored text was validated when it
//! was written, so skipped values are trusted; projected values are validated as far as they could
//! break the reply.

use memchr::{memchr, memchr2};
use serde_json::Value;

use super::{Children, Kind, Node, Parsed, Projection};

/// Limit on the nesting, as in `serde_json`.
const MAX_DEPTH: usize = 128;

/// A stored text that is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not JSON at byte {at}")]
pub(crate) struct NotJson {
    at: usize,
}

/// The initial capacity; most aspects have fewer nodes.
const NODES: usize = 32;

pub(super) fn parse(projection: &Projection, text: &str) -> Result<Parsed, NotJson> {
    let mut scanner = Scanner {
        text,
        bytes: text.as_bytes(),
        at: 0,
        nodes: Vec::with_capacity(NODES),
        open: Vec::with_capacity(NODES),
    };
    let kind = scanner.value(projection, 0)?;
    scanner.nodes.push(Node { member: 0, kind });
    match scanner.peek() {
        None => Ok(Parsed {
            nodes: scanner.nodes,
        }),
        Some(_) => Err(scanner.not_json()),
    }
}

/// The skipped text before, between and after the projected values of an object.
///
/// The elements of a list usually have the same members in the same order, and often equal skipped
/// values (types, flags): comparing the skipped text as a whole is far cheaper than scanning it
/// again.
#[derive(Clone, Copy)]
struct Gap {
    start: usize,
    end: usize,
    /// The projected member whose value follows; `None` at the end of the object.
    next: Option<usize>,
}

struct Scanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    nodes: Vec<Node>,
    /// The children of the objects and lists that are being read.
    open: Vec<Node>,
}

impl<'t> Scanner<'t> {
    fn not_json(&self) -> NotJson {
        NotJson { at: self.at }
    }

    /// Skips white space and returns the next byte.
    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn expect(&mut self, byte: u8) -> Result<(), NotJson> {
        if self.peek() != Some(byte) {
            return Err(self.not_json());
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, projection: &Projection, depth: usize) -> Result<Kind, NotJson> {
        let first = self.peek();
        if depth > MAX_DEPTH {
            return Err(self.not_json());
        }
        match first {
            Some(b'{') if !projection.whole => self.object(projection, depth, &mut Vec::new()),
            Some(b'[') if !projection.whole => self.array(projection, depth),
            // A scalar in place of an object is included.
            _ => self.slice(),
        }
    }

    /// Reads a value as a slice of the text.
    fn slice(&mut self) -> Result<Kind, NotJson> {
        let start = self.at;
        self.skip()?;
        self.check(start)?;
        Ok(Kind::Slice {
            start: saturating_u32(start),
            end: saturating_u32(self.at),
        })
    }

    /// Closes an object or a list whose children start at `first` in `open`.
    fn close(&mut self, first: usize) -> Children {
        let children = Children {
            first: saturating_u32(self.nodes.len()),
            count: saturating_u32(self.open.len() - first),
        };
        self.nodes.extend_from_slice(&self.open[first..]);
        self.open.truncate(first);
        children
    }

    /// Reads an object. `gaps` has the gaps of the previous element of the list, and is updated.
    fn object(
        &mut self,
        projection: &Projection,
        depth: usize,
        gaps: &mut Vec<Gap>,
    ) -> Result<Kind, NotJson> {
        let first = self.open.len();
        self.at += 1;
        for number in 0.. {
            let next = match gaps.get(number) {
                Some(previous) if self.starts_with(previous) => {
                    self.at += previous.end - previous.start;
                    previous.next
                }
                previous => {
                    let is_new = previous.is_none();
                    let start = self.at;
                    let next = self.next_projected(projection, number == 0)?;
                    let end = self.at;
                    let gap = Gap { start, end, next };
                    if is_new {
                        gaps.push(gap);
                    } else {
                        gaps[number] = gap;
                    }
                    next
                }
            };
            let Some(index) = next else {
                break;
            };
            let kind = self.value(&projection.members[index].1, depth + 1)?;
            let member = u16::try_from(index).unwrap_or(u16::MAX);
            self.open.push(Node { member, kind });
        }
        Ok(Kind::Object(self.close(first)))
    }

    /// Whether the text continues with the same gap.
    fn starts_with(&self, gap: &Gap) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let gap = self.bytes.get(gap.start..gap.end);
        gap.is_some_and(|gap| rest.starts_with(gap))
    }

    /// Moves to the next projected value of an object, or past its end.
    fn next_projected(
        &mut self,
        projection: &Projection,
        is_first: bool,
    ) -> Result<Option<usize>, NotJson> {
        if is_first && self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(None);
        }
        if !is_first && !self.has_next(b'}')? {
            return Ok(None);
        }
        loop {
            let member = self.member_name(projection)?;
            self.expect(b':')?;
            self.peek();
            if member.is_some() {
                return Ok(member);
            }
            self.skip()?;
            if !self.has_next(b'}')? {
                return Ok(None);
            }
        }
    }

    fn array(&mut self, projection: &Projection, depth: usize) -> Result<Kind, NotJson> {
        let first = self.open.len();
        let mut gaps = Vec::new();
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Kind::Array(self.close(first)));
        }
        loop {
            let kind = if self.peek() == Some(b'{') && depth < MAX_DEPTH {
                self.object(projection, depth + 1, &mut gaps)?
            } else {
                self.value(projection, depth + 1)?
            };
            self.open.push(Node { member: 0, kind });
            if !self.has_next(b']')? {
                return Ok(Kind::Array(self.close(first)));
            }
        }
    }

    /// Skips a comma and returns true, or skips the end of the object or list and returns false.
    fn has_next(&mut self, end: u8) -> Result<bool, NotJson> {
        let byte = self.peek();
        self.at += 1;
        match byte {
            Some(b',') => Ok(true),
            Some(byte) if byte == end => Ok(false),
            _ => Err(self.not_json()),
        }
    }

    /// Reads the name of a member; returns its index in the projection.
    fn member_name(&mut self, projection: &Projection) -> Result<Option<usize>, NotJson> {
        if self.peek() != Some(b'"') {
            return Err(self.not_json());
        }
        let start = self.at;
        self.string()?;
        let name = &self.bytes[start + 1..self.at - 1];
        // Comparing the first bytes avoids most calls of memcmp.
        let position = projection.members.iter().position(|(known, _)| {
            let known = known.as_bytes();
            known.first() == name.first() && known == name
        });
        if position.is_some() || !name.contains(&b'\\') {
            return Ok(position);
        }
        let unescaped = self.scalar(start)?;
        Ok(unescaped.as_str().and_then(|name| projection.find(name)))
    }

    /// Skips a value.
    fn skip(&mut self) -> Result<(), NotJson> {
        match self.bytes.get(self.at) {
            Some(b'"') => self.string(),
            Some(b'{' | b'[') => self.nested(),
            _ => {
                let rest = self.bytes.get(self.at..).unwrap_or_default();
                let is_part =
                    |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                let length = rest.iter().take_while(|byte| is_part(byte)).count();
                if length == 0 {
                    return Err(self.not_json());
                }
                self.at += length;
                Ok(())
            }
        }
    }

    fn string(&mut self) -> Result<(), NotJson> {
        let mut at = self.at + 1;
        while let Some(rest) = self.bytes.get(at..) {
            let Some(length) = memchr2(b'"', b'\\', rest) else {
                break;
            };
            at += length;
            if self.bytes[at] == b'"' {
                self.at = at + 1;
                return Ok(());
            }
            // The escaped character may be a quote.
            at += 2;
        }
        Err(self.not_json())
    }

    fn nested(&mut self) -> Result<(), NotJson> {
        let mut depth = 0_usize;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
        Err(self.not_json())
    }

    /// Validates the value that ends here. Strings without escapes and control characters are
    /// valid.
    fn check(&self, start: usize) -> Result<(), NotJson> {
        let slice = &self.bytes[start..self.at];
        // Without an early exit, so that the compiler vectorises it.
        let least = slice.iter().fold(u8::MAX, |least, byte| least.min(*byte));
        if slice.first() == Some(&b'"') && least >= 0x20 && memchr(b'\\', slice).is_none() {
            return Ok(());
        }
        serde_json::from_slice::<serde::de::IgnoredAny>(slice)
            .map(drop)
            .map_err(|_| NotJson { at: start })
    }

    fn scalar(&self, start: usize) -> Result<Value, NotJson> {
        let text: &'t str = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(text).map_err(|_| NotJson { at: start })
    }
}

/// Texts and indexes are far shorter than 4 GiB: bodies of requests are limited to 16 MiB.
fn saturating_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::View;
    use super::*;
    use crate::path::Path;

    fn project(paths: &[&str]) -> Projection {
        let mut projection = Projection::default();
        for path in paths {
            projection.add(&Path::parse(path), Projection::whole());
        }
        projection
    }

    #[test]
    fn invalid_json_is_an_error() {
        let projection = project(&["name", "list.name"]);
        for text in [
            "",
            "{",
            "{} x",
            "{]",
            "[1,]",
            "nul",
            r#"{"name"}"#,
            r#"{"name": }"#,
            r#"{"name": "x}"#,
            r#"{"name": "\q"}"#,
            "{\"name\": \"a\nb\"}",
            r#"{"name": 1e}"#,
            r#"{"name": [1,]}"#,
            r#"{"name": 1 "skip": 2}"#,
            r#"{"skip": [1}"#,
            r#"{"skip": "}"#,
            r#"{"skip": }"#,
            "{name: 1}",
            r#"{"list": [{"name": 1}"#,
            &"[".repeat(100_000),
        ] {
            assert!(parse(&projection, text).is_err(), "{text:.50}");
        }
    }

    #[test]
    fn escaped_names_match_and_the_last_of_repeated_members_wins() {
        let projection = project(&["name"]);
        let text = r#"{"\u006eame": 1, "other": {"name": 2}, "name": 3}"#;
        let parsed = parse(&projection, text).unwrap();
        let name = View::parsed(&parsed, &projection, text).member("name");
        assert_eq!(name.to_value(), json!(3));
        let text = r#"{"\u006eame": 1}"#;
        let parsed = parse(&projection, text).unwrap();
        assert_eq!(
            View::parsed(&parsed, &projection, text)
                .member("name")
                .to_value(),
            json!(1)
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[a-c\"\\\\\\n{}\\[\\]é ]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec(("[a-c\"\\\\]{1,2}", inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_equal_those_of_serde_json(value in any_json(), pretty in any::<bool>()) {
            let text = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            let expected: Value = serde_json::from_str(&text).unwrap();
            let whole = Projection::whole();
            let parsed = parse(&whole, &text).unwrap();
            prop_assert_eq!(View::parsed(&parsed, &whole, &text).to_value(), expected.clone());
            let projection = project(&["a", "b.c"]);
            let parsed = parse(&projection, &text).unwrap();
            let view = View::parsed(&parsed, &projection, &text);
            if expected.is_object() {
                let found = view.member("a").to_value();
                prop_assert_eq!(&found, expected.get("a").unwrap_or(&Value::Null));
                if let Some(Value::Object(inner)) = expected.get("b") {
                    let found = view.at(&Path::parse("b.c")).to_value();
                    prop_assert_eq!(&found, inner.get("c").unwrap_or(&Value::Null));
                }
            }
        }
    }
}
