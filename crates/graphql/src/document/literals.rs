//! Strings in the text of a document, separated from the rest of it.
//!
//! Many clients write URNs into the text instead of using variables. Texts that differ only in the
//! strings of arguments have the same [`shape`](Literals::shape), and share one document, in which
//! the strings are variables ([`extract`]). Everything else stays part of the shape: numbers, names
//! and comments, and which strings are equal, because fields can only be merged if their arguments
//! are.

use std::borrow::Cow;
use std::mem;
use std::ops::Range;

use apollo_compiler::ast::{Type, Value as Literal};
use apollo_compiler::executable::{Selection, SelectionSet};
use apollo_compiler::schema::ExtendedType;
use apollo_compiler::{ExecutableDocument, Name, Node};
use foldhash::{HashMap, HashMapExt as _};
use serde_json::Value;

use super::source::SourceText;

/// Longer texts are parsed with memory reserved for them.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// The shape has the index of a string in one byte.
const MAX_VALUES: usize = 255;
/// No byte of a text.
const PLACEHOLDER: u8 = 0xff;

/// The strings in the arguments of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Literals {
    shape: Vec<u8>,
    occurrences: Vec<Occurrence>,
    /// Each value once.
    values: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Occurrence {
    /// Where it is in the text, with its quotes.
    range: Range<usize>,
    /// The index of its value.
    value: u8,
}

impl Literals {
    /// Returns `None` if there are no strings, or if they are better parsed: block strings, strings
    /// with Unicode escapes, and those of documents with introspection.
    pub(crate) fn separate(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() > MAX_TEXT_BYTES || memchr::memchr(b'"', bytes).is_none() {
            return None;
        }
        let mut found = Self {
            shape: Vec::with_capacity(bytes.len()),
            occurrences: Vec::new(),
            values: Vec::new(),
        };
        let mut indexes = HashMap::new();
        let (mut selections, mut arguments) = (0_usize, 0_usize);
        // End of the text copied so far.
        let mut copied = 0;
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'#' => {
                    let rest = &bytes[at..];
                    at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                    continue;
                }
                b'(' => arguments += 1,
                b')' => arguments = arguments.checked_sub(1)?,
                b'{' if arguments == 0 => selections += 1,
                b'}' if arguments == 0 => selections = selections.checked_sub(1)?,
                b'_' if is_introspection(text, at) => return None,
                b'"' => {
                    let (value, end) = string(text, at)?;
                    // Others are defaults of variables.
                    if selections > 0 && arguments > 0 {
                        let next = indexes.len();
                        let index = *indexes.entry(value.clone()).or_insert(next);
                        if index == next {
                            found.values.push(Value::String(value.into_owned()));
                        }
                        let value = u8::try_from(index).ok().filter(|_| index < MAX_VALUES)?;
                        found.shape.extend_from_slice(&bytes[copied..at]);
                        found.shape.extend_from_slice(&[PLACEHOLDER, value]);
                        found.occurrences.push(Occurrence {
                            range: at..end,
                            value,
                        });
                        copied = end;
                    }
                    at = end;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        if found.occurrences.is_empty() {
            return None;
        }
        found.shape.extend_from_slice(&bytes[copied..]);
        Some(found)
    }

    /// What texts with the same document have in common. It is no valid UTF-8, so it differs from
    /// all texts.
    pub(crate) fn shape(&self) -> &[u8] {
        &self.shape
    }

    /// Removes the values, which are those of the variables named by [`variable_name`].
    pub(crate) fn take_values(&mut self) -> Vec<Value> {
        mem::take(&mut self.values)
    }

    /// Converts an offset outside of strings to that in another text with the same shape.
    pub(super) fn offset_in(&self, other: &Self, offset: usize) -> usize {
        let before = |occurrence: &Occurrence| occurrence.range.end <= offset;
        let count = self.occurrences.partition_point(before);
        let last = count.checked_sub(1);
        match last.and_then(|last| Some((&self.occurrences[last], other.occurrences.get(last)?))) {
            Some((here, there)) => offset - here.range.end + there.range.end,
            None => offset,
        }
    }

    /// The value of the string that begins at an offset.
    fn value_at(&self, offset: usize) -> Option<(usize, &str)> {
        let at = |occurrence: &Occurrence| occurrence.range.start.cmp(&offset);
        let found = self.occurrences.binary_search_by(at).ok()?;
        let index = usize::from(self.occurrences[found].value);
        Some((index, self.values.get(index)?.as_str()?))
    }

    pub(super) fn count(&self) -> usize {
        self.values.len()
    }
}

/// The variable that stands for a value in the document. A text with names like it has no shape.
pub(super) fn variable_name(value: usize) -> String {
    format!("__literal{value}")
}

/// Returns the document with variables in place of the strings; `None` if one of them is neither a
/// `String` nor an `ID`, because its value decides whether the text is valid.
pub(super) fn extract(
    schema: &apollo_compiler::Schema,
    document: &ExecutableDocument,
    literals: &Literals,
    source: &SourceText,
) -> Option<ExecutableDocument> {
    let mut document = document.clone();
    let mut extraction = Extraction {
        schema,
        literals,
        source,
        count: 0,
    };
    let operations = &mut document.operations;
    let anonymous = operations.anonymous.iter_mut();
    for operation in anonymous.chain(operations.named.values_mut()) {
        extraction.selections(&mut operation.make_mut().selection_set);
    }
    for fragment in document.fragments.values_mut() {
        extraction.selections(&mut fragment.make_mut().selection_set);
    }
    (extraction.count == literals.occurrences.len()).then_some(document)
}

struct Extraction<'e> {
    schema: &'e apollo_compiler::Schema,
    literals: &'e Literals,
    source: &'e SourceText,
    /// How many strings were replaced.
    count: usize,
}

impl Extraction<'_> {
    fn selections(&mut self, set: &mut SelectionSet) {
        for selection in &mut set.selections {
            match selection {
                Selection::Field(field) => {
                    let field = field.make_mut();
                    for argument in &mut field.arguments {
                        if let Some(definition) = field.definition.argument_by_name(&argument.name)
                        {
                            self.value(&definition.ty, &mut argument.make_mut().value);
                        }
                    }
                    self.selections(&mut field.selection_set);
                }
                Selection::InlineFragment(fragment) => {
                    self.selections(&mut fragment.make_mut().selection_set);
                }
                Selection::FragmentSpread(_) => {}
            }
        }
    }

    fn value(&mut self, ty: &Type, node: &mut Node<Literal>) {
        let location = node.location();
        match (ty, node.make_mut()) {
            (Type::Named(name) | Type::NonNullNamed(name), value @ Literal::String(_))
                if name == "String" || name == "ID" =>
            {
                let offset = location.map(|span| self.source.offset(span.offset()));
                if let Some(offset) = offset
                    && let Some((index, known)) = self.literals.value_at(offset)
                    && value.as_str() == Some(known)
                {
                    *value = Literal::Variable(Name::new_unchecked(&variable_name(index)));
                    self.count += 1;
                }
            }
            (Type::List(inner) | Type::NonNullList(inner), Literal::List(items)) => {
                for item in items {
                    self.value(inner, item);
                }
            }
            (Type::Named(name) | Type::NonNullNamed(name), Literal::Object(members)) => {
                let Some(ExtendedType::InputObject(input)) = self.schema.types.get(name) else {
                    return;
                };
                for (name, value) in members {
                    if let Some(field) = input.fields.get(name) {
                        self.value(&field.ty, value);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether a name that begins here belongs to the introspection system.
fn is_introspection(text: &str, at: usize) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let bytes = text.as_bytes();
    let begins = !at
        .checked_sub(1)
        .is_some_and(|before| is_name(&bytes[before]));
    if !begins || !bytes[at..].starts_with(b"__") {
        return false;
    }
    let length = bytes[at..].iter().take_while(|byte| is_name(byte)).count();
    bytes[at..at + length] != *b"__typename"
}

/// The value of the quoted string that begins here, and the offset after it. Raw line breaks are
/// accepted, as [`super::repair`] does.
fn string(text: &str, start: usize) -> Option<(Cow<'_, str>, usize)> {
    let bytes = text.as_bytes();
    if bytes[start..].starts_with(b"\"\"\"") {
        return None;
    }
    let mut value = Cow::Borrowed("");
    // Start of the part that is not in the value yet.
    let mut copied = start + 1;
    let mut at = copied;
    loop {
        match bytes.get(at)? {
            b'"' => {
                value += &text[copied..at];
                return Some((value, at + 1));
            }
            b'\\' => {
                value += &text[copied..at];
                value += match bytes.get(at + 1)? {
                    b'"' => "\"",
                    b'\\' => "\\",
                    b'/' => "/",
                    b'b' => "\u{8}",
                    b'f' => "\u{c}",
                    b'n' => "\n",
                    b'r' => "\r",
                    b't' => "\t",
                    _ => return None,
                };
                at += 2;
                copied = at;
            }
            b'\n' | b'\r' | b'\t' | 0x20.. => at += 1,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shape with the indexes of strings as letters, and the strings.
    fn separated(text: &str) -> Option<(String, Vec<String>)> {
        let found = Literals::separate(text)?;
        let mut shape = String::new();
        let mut parts = found.shape().split(|byte| *byte == PLACEHOLDER);
        shape.push_str(std::str::from_utf8(parts.next()?).unwrap());
        for part in parts {
            shape.push(char::from(b'A' + part[0]));
            shape.push_str(std::str::from_utf8(&part[1..]).unwrap());
        }
        let values = found.values.iter().map(|value| value.as_str().unwrap());
        Some((shape, values.map(str::to_owned).collect()))
    }

    #[test]
    fn strings_of_arguments_are_separated_and_equal_ones_have_one_value() {
        let text = r#"{ a(x: "1", y: ["é", "1"], z: {k: "a\"\\\/\b\f\n\r\tb"}) { b(x: "") } }"#;
        let (shape, values) = separated(text).unwrap();
        assert_eq!(shape, "{ a(x: A, y: [B, A], z: {k: C}) { b(x: D) } }");
        assert_eq!(
            values,
            ["1", "é", "a\"\\/\u{8}\u{c}\n\r\tb", ""].map(str::to_owned)
        );
    }

    #[test]
    fn raw_line_breaks_are_part_of_a_string() {
        let (shape, values) = separated("{ a(x: \"1\n\t2\r\n\") }").unwrap();
        assert_eq!((shape.as_str(), &*values[0]), ("{ a(x: A) }", "1\n\t2\r\n"));
    }

    #[test]
    fn comments_and_defaults_of_variables_stay_in_the_shape() {
        let text = "query($v: T = {k: \"d\"}) { # \"no string\n a(x: \"s\") }";
        let (shape, values) = separated(text).unwrap();
        assert_eq!(
            shape,
            "query($v: T = {k: \"d\"}) { # \"no string\n a(x: A) }"
        );
        assert_eq!(values, ["s"]);
    }

    #[test]
    fn texts_that_must_be_parsed_have_no_shape() {
        for text in [
            "{ a }",
            "query($v: String = \"d\") { a(x: $v) }",
            r#"{ a(x: """block""") }"#,
            r#"{ a(x: "s", y: """block""") }"#,
            r#"{ a(x: "\u0041") }"#,
            r#"{ a(x: "\q") }"#,
            "{ a(x: \"\u{1}\") }",
            r#"{ a(x: "s }"#,
            r#"{ a(x: "s\"#,
            r#"} a(x: "s") }"#,
            r#"{ ) a(x: "s") }"#,
            r#"{ __type(name: "s") { name } }"#,
            r#"query($__literal0: ID) { a(x: "s", y: $__literal0) }"#,
        ] {
            assert_eq!(separated(text), None, "{text}");
        }
        let many: Vec<_> = (0..=MAX_VALUES).map(|n| n.to_string()).collect();
        assert_eq!(separated(&format!("{{ a(x: {many:?}) }}")), None);
        let long = "x".repeat(MAX_TEXT_BYTES);
        assert_eq!(separated(&format!("{{ a(x: \"{long}\") }}")), None);
    }

    #[test]
    fn typename_and_names_with_underscores_inside_are_no_introspection() {
        let (shape, _) = separated(r#"{ __typename a__b(_x: "s") }"#).unwrap();
        assert_eq!(shape, "{ __typename a__b(_x: A) }");
    }

    #[test]
    fn offsets_are_converted_between_texts_of_a_shape() {
        let short = r#"{ a(x: "1") b(x: "", y: "1") c }"#;
        let long = "{ a(x: \"two\nlines\") b(x: \"empty\", y: \"two\nlines\") c }";
        let [from, to] = [short, long].map(|text| Literals::separate(text).unwrap());
        assert_ne!(
            from.shape(),
            Literals::separate("{ a(x: \"1\") b }").unwrap().shape()
        );
        assert_eq!(from.shape(), to.shape());
        for name in ["a(", "b(", "y:", "c "] {
            let find = |text: &str| text.find(name).unwrap();
            assert_eq!(from.offset_in(&to, find(short)), find(long), "{name}");
            assert_eq!(to.offset_in(&from, find(long)), find(short), "{name}");
        }
    }
}
