//! Finding what a projection wants in stored JSON text.
//!
//! Written by hand for its speed: most of an aspect is passed over, and passing over needs no more than to know where
//! strings and brackets end. A parser that checks every byte it ignores (`serde_json`) makes a read of ten columns about 2 µs
//! longer, of 23. The text was checked when it was written, so what is not wanted is trusted here; what is wanted is
//! checked as far as a reply could be spoilt by it.

use memchr::{memchr, memchr2};
use serde_json::Value;

use super::{Children, Kind, Node, Parsed, Projection};

/// Lists may stand in lists this deep, which is as deep as `serde_json` reads.
const MAX_DEPTH: usize = 128;

/// A stored text that is damaged, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not JSON at byte {at}")]
pub(crate) struct NotJson {
    at: usize,
}

/// How many nodes most aspects come to.
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

/// What stands between two wanted values of an object, or before the first, or behind the last.
///
/// The next element of a list most often has the same members in the same order, and the same values where they are not
/// wanted (types, flags): comparing the stretch as a whole is far cheaper than finding out again where it ends.
#[derive(Clone, Copy)]
struct Stretch {
    start: usize,
    end: usize,
    /// The wanted member whose value begins at the end; `None` where the object has ended.
    next: Option<usize>,
}

struct Scanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    nodes: Vec<Node>,
    /// The children of the objects and lists that have not ended yet.
    open: Vec<Node>,
}

impl<'t> Scanner<'t> {
    fn not_json(&self) -> NotJson {
        NotJson { at: self.at }
    }

    /// The next byte that is not white space.
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
            // A scalar where members were wanted is kept.
            _ => self.slice(),
        }
    }

    /// A value that stays as it is.
    fn slice(&mut self) -> Result<Kind, NotJson> {
        let start = self.at;
        self.skip()?;
        self.check(start)?;
        Ok(Kind::Slice {
            start: start as u32,
            end: self.at as u32,
        })
    }

    /// Closes an object or a list whose children are the open ones behind `mark`.
    fn close(&mut self, mark: usize) -> Children {
        let children = Children {
            first: self.nodes.len() as u32,
            count: (self.open.len() - mark) as u32,
        };
        self.nodes.extend_from_slice(&self.open[mark..]);
        self.open.truncate(mark);
        children
    }

    /// An object. `seen` has the stretches of the element before it in the list, and takes down those of this one.
    fn object(
        &mut self,
        projection: &Projection,
        depth: usize,
        seen: &mut Vec<Stretch>,
    ) -> Result<Kind, NotJson> {
        let mark = self.open.len();
        self.at += 1;
        for number in 0.. {
            let next = match seen.get(number) {
                Some(before) if self.continues_as(before) => {
                    self.at += before.end - before.start;
                    before.next
                }
                before => {
                    let is_new = before.is_none();
                    let start = self.at;
                    let next = self.next_wanted(projection, number == 0)?;
                    let end = self.at;
                    let stretch = Stretch { start, end, next };
                    if is_new {
                        seen.push(stretch);
                    } else {
                        seen[number] = stretch;
                    }
                    next
                }
            };
            let Some(index) = next else {
                break;
            };
            let kind = self.value(&projection.members[index].1, depth + 1)?;
            let member = index as u16;
            self.open.push(Node { member, kind });
        }
        Ok(Kind::Object(self.close(mark)))
    }

    /// Whether the same text as there stands here.
    fn continues_as(&self, there: &Stretch) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let there = self.bytes.get(there.start..there.end);
        there.is_some_and(|there| rest.starts_with(there))
    }

    /// Goes to the next value of an object that is wanted, or behind its end.
    fn next_wanted(
        &mut self,
        projection: &Projection,
        is_first: bool,
    ) -> Result<Option<usize>, NotJson> {
        if is_first && self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(None);
        }
        if !is_first && !self.another(b'}')? {
            return Ok(None);
        }
        loop {
            let wanted = self.member_name(projection)?;
            self.expect(b':')?;
            self.peek();
            if wanted.is_some() {
                return Ok(wanted);
            }
            self.skip()?;
            if !self.another(b'}')? {
                return Ok(None);
            }
        }
    }

    fn array(&mut self, projection: &Projection, depth: usize) -> Result<Kind, NotJson> {
        let mark = self.open.len();
        let mut seen = Vec::new();
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Kind::Array(self.close(mark)));
        }
        loop {
            let kind = if self.peek() == Some(b'{') && depth < MAX_DEPTH {
                self.object(projection, depth + 1, &mut seen)?
            } else {
                self.value(projection, depth + 1)?
            };
            self.open.push(Node { member: 0, kind });
            if !self.another(b']')? {
                return Ok(Kind::Array(self.close(mark)));
            }
        }
    }

    /// Passes over a comma, or over the end of the object or list.
    fn another(&mut self, end: u8) -> Result<bool, NotJson> {
        let byte = self.peek();
        self.at += 1;
        match byte {
            Some(b',') => Ok(true),
            Some(byte) if byte == end => Ok(false),
            _ => Err(self.not_json()),
        }
    }

    /// The number of a member in the projection, if it is wanted.
    fn member_name(&mut self, projection: &Projection) -> Result<Option<usize>, NotJson> {
        if self.peek() != Some(b'"') {
            return Err(self.not_json());
        }
        let start = self.at;
        self.string()?;
        let name = &self.bytes[start + 1..self.at - 1];
        // Most names differ in their first letter or their length; comparing the rest is a call.
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

    /// Passes over a value, which begins here.
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

    /// Checks a wanted value that ends here, except for a plain string: there is nothing in it to go wrong.
    fn check(&self, start: usize) -> Result<(), NotJson> {
        let slice = &self.bytes[start..self.at];
        // Looked through to the end, which the compiler does for many bytes at a time.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::View;
    use super::*;
    use crate::path::Path;

    fn wanting(paths: &[&str]) -> Projection {
        let mut projection = Projection::default();
        for path in paths {
            projection.add(&Path::parse(path), Projection::whole());
        }
        projection
    }

    #[test]
    fn broken_json_is_an_error() {
        let projection = wanting(&["name", "list.name"]);
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
    fn escaped_names_and_repeated_members_are_read_as_every_parser_reads_them() {
        let projection = wanting(&["name"]);
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
        fn what_is_found_is_what_serde_json_finds(value in any_json(), pretty in any::<bool>()) {
            let text = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            let expected: Value = serde_json::from_str(&text).unwrap();
            let whole = Projection::whole();
            let parsed = parse(&whole, &text).unwrap();
            prop_assert_eq!(View::parsed(&parsed, &whole, &text).to_value(), expected.clone());
            let projection = wanting(&["a", "b.c"]);
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
