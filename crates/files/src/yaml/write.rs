//! Writes YAML: block style, two spaces per level, texts with line breaks as block scalars.

use std::fmt::Write as _;

/// Longer texts in one line are written as block scalars, because quotes and escapes are hard to
/// edit.
const MAX_INLINE_CHARS: usize = 80;
/// Longer keys are not allowed in front of a colon.
const MAX_INLINE_KEY_CHARS: usize = 500;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Yaml {
    /// A number or a flag.
    Bare(String),
    Text(String),
    List(Vec<Item>),
    Map(Vec<Pair>),
}

/// An element of a list, with a comment above it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) comment: Option<String>,
    pub(crate) value: Yaml,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) value: Yaml,
}

impl Item {
    pub(crate) fn new(value: Yaml) -> Self {
        Self {
            comment: None,
            value,
        }
    }
}

impl Pair {
    pub(crate) fn new(key: impl Into<String>, value: Yaml) -> Self {
        Self {
            key: key.into(),
            value,
        }
    }
}

/// The text of a file.
pub(crate) fn to_text(comments: &[String], value: &Yaml) -> String {
    let mut out = String::new();
    for comment in comments {
        add_comment(&mut out, 0, comment);
    }
    match value {
        Yaml::List(items) if !items.is_empty() => list(&mut out, items, 0),
        Yaml::Map(pairs) if !pairs.is_empty() => map(&mut out, pairs, 0, false),
        scalar => after_indicator(&mut out, scalar, 0),
    }
    out
}

fn add_comment(out: &mut String, indent: usize, text: &str) {
    pad(out, indent);
    out.push_str("# ");
    // A line break would end the comment.
    out.extend(
        text.chars()
            .map(|it| if is_printable(it) { it } else { ' ' }),
    );
    out.push('\n');
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn list(out: &mut String, items: &[Item], indent: usize) {
    for item in items {
        if let Some(comment) = &item.comment {
            add_comment(out, indent, comment);
        }
        pad(out, indent);
        out.push('-');
        match &item.value {
            Yaml::Map(pairs) if !pairs.is_empty() => {
                out.push(' ');
                map(out, pairs, indent + 2, true);
            }
            value => after_indicator(out, value, indent),
        }
    }
}

/// Writes a mapping. The first line has its indentation already if it follows a dash.
fn map(out: &mut String, pairs: &[Pair], indent: usize, follows_dash: bool) {
    for (at, Pair { key, value }) in pairs.iter().enumerate() {
        if at > 0 || !follows_dash {
            pad(out, indent);
        }
        let key = inline(key);
        if key.chars().count() > MAX_INLINE_KEY_CHARS {
            out.push_str("? ");
            out.push_str(&key);
            out.push('\n');
            pad(out, indent);
        } else {
            out.push_str(&key);
        }
        out.push(':');
        after_indicator(out, value, indent);
    }
}

/// Writes a value behind a dash or a colon, up to the end of its last line.
fn after_indicator(out: &mut String, value: &Yaml, indent: usize) {
    match value {
        Yaml::Bare(text) => {
            let _ = writeln!(out, " {text}");
        }
        Yaml::Text(text) => match block(text, indent + 2) {
            Some(block) => {
                out.push(' ');
                out.push_str(&block);
            }
            None => {
                let _ = writeln!(out, " {}", inline(text));
            }
        },
        Yaml::List(items) if items.is_empty() => out.push_str(" []\n"),
        Yaml::Map(pairs) if pairs.is_empty() => out.push_str(" {}\n"),
        Yaml::List(items) => {
            out.push('\n');
            list(out, items, indent + 2);
        }
        Yaml::Map(pairs) => {
            out.push('\n');
            map(out, pairs, indent + 2, false);
        }
    }
}

/// A text as literal block scalar, if that is easier to edit and possible.
fn block(text: &str, indent: usize) -> Option<String> {
    // A long word, such as a URN, is no easier to edit as a block.
    let is_prose = text.contains(' ') && text.chars().count() > MAX_INLINE_CHARS;
    let is_long = text.contains('\n') || is_prose;
    let is_literal = |it: char| it == '\n' || it == '\t' || is_printable(it);
    // Lines of only spaces, and texts without visible characters, read differently by parser.
    let is_blank = |line: &str| !line.is_empty() && line.trim_matches([' ', '\t']).is_empty();
    if !is_long || !text.chars().all(is_literal) || text.split('\n').any(is_blank) {
        return None;
    }
    let content = text.trim_end_matches('\n');
    if content.is_empty() || content.starts_with([' ', '\t', '\n']) {
        return None;
    }
    let mut out = String::from(match text.len() - content.len() {
        0 => "|-\n",
        1 => "|\n",
        _ => "|+\n",
    });
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    for line in lines {
        if !line.is_empty() {
            pad(&mut out, indent);
            out.push_str(line);
        }
        out.push('\n');
    }
    Some(out)
}

/// A text in one line: plain if it can be read as nothing else, otherwise in quotes.
fn inline(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            it if is_printable(it) => quoted.push(it),
            it => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(it));
            }
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a text without quotes means itself to every YAML parser, of version 1.1, too.
fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let is_start = |it: char| it.is_alphanumeric() || matches!(it, '_' | '/' | '(' | '$');
    let may_be_number = first.is_numeric() && {
        let mut rest = text.chars();
        rest.all(|it| {
            it.is_ascii_hexdigit()
                || matches!(
                    it,
                    '.' | '_' | ':' | '+' | '-' | 'x' | 'o' | 'T' | 'Z' | ' '
                )
        })
    };
    let word = text.to_lowercase();
    is_start(first)
        && !may_be_number
        && !["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&word.as_str())
        && text.chars().all(is_printable)
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with([':', ' '])
}

fn is_printable(character: char) -> bool {
    !character.is_control()
        && !matches!(
            character,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::super::node::{Content, Node, parse};
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Yaml {
        Yaml::Text(text.to_owned())
    }

    #[test]
    fn files_are_readable() {
        let column = Yaml::Map(vec![
            Pair::new("name", text("user_id")),
            Pair::new("description", text("The user.\n\nNever null.\n")),
        ]);
        let file = Yaml::Map(vec![
            Pair::new(
                "urn",
                text("urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)"),
            ),
            Pair::new("description", text("One: \"row\"")),
            Pair::new(
                "tags",
                Yaml::List(vec![Item::new(text("no")), Item::new(text("pii"))]),
            ),
            Pair::new("terms", Yaml::List(Vec::new())),
            Pair::new("rows", Yaml::Bare("7".to_owned())),
            Pair::new(
                "columns",
                Yaml::List(vec![Item {
                    comment: Some("varchar(20)\nnot null".to_owned()),
                    value: column,
                }]),
            ),
        ]);
        let expected = "\
# a dataset
urn: urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)
description: \"One: \\\"row\\\"\"
tags:
  - \"no\"
  - pii
terms: []
rows: 7
columns:
  # varchar(20) not null
  - name: user_id
    description: |
      The user.

      Never null.
";
        assert_eq!(to_text(&["a dataset".to_owned()], &file), expected);
    }

    fn texts() -> impl Strategy<Value = String> {
        let words = prop::sample::select(vec![
            "",
            " ",
            "\n",
            "\t",
            "\n\n",
            "  ",
            "a",
            "- b",
            "# c",
            ": d",
            "'",
            "\"",
            "\\",
            "null",
            "~",
            "0x1F",
            "1e3",
            "12:30",
            "2026-01-31",
            "yes",
            "|",
            ">",
            "&a",
            "*a",
            "!x",
            "%y",
            "@z",
            "`",
            "{",
            "}",
            "[",
            "]",
            ",",
            "?",
            "---",
            "...",
            "é",
            "東京",
            "🚀",
            "\u{85}",
            "\u{2028}",
            "\u{feff}",
            "\r",
            "\u{7f}",
            "\u{0}",
            "\u{1b}",
            "word",
            "=",
            "<<",
            ".inf",
        ]);
        let mixed = prop::collection::vec(words, 0..8).prop_map(|words| words.concat());
        let long = "[a-z :#\\n-]{75,120}";
        prop_oneof![4 => mixed, 1 => any::<String>(), 1 => long]
    }

    fn trees() -> impl Strategy<Value = Yaml> {
        texts()
            .prop_map(Yaml::Text)
            .prop_recursive(4, 24, 4, |inner| {
                let keys = prop_oneof![4 => texts(), 1 => "[a-z]{499,520}"];
                prop_oneof![
                    prop::collection::vec(inner.clone(), 0..4).prop_map(|items| {
                        Yaml::List(items.into_iter().map(Item::new).collect())
                    }),
                    prop::collection::btree_map(keys, inner, 0..4).prop_map(|pairs| {
                        let pairs = pairs.into_iter();
                        Yaml::Map(pairs.map(|(key, value)| Pair::new(key, value)).collect())
                    }),
                ]
            })
    }

    fn read_back(node: &Node) -> Yaml {
        match &node.content {
            Content::Scalar { text, .. } => Yaml::Text(text.clone()),
            Content::List(items) => {
                Yaml::List(items.iter().map(|it| Item::new(read_back(it))).collect())
            }
            Content::Map(entries) => {
                let pairs = entries.iter();
                Yaml::Map(
                    pairs
                        .map(|it| Pair::new(it.key.clone(), read_back(&it.value)))
                        .collect(),
                )
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(tree in trees()) {
            let tree = Yaml::Map(vec![Pair::new("root", tree), Pair::new("end", text("end"))]);
            let written = to_text(&[], &tree);
            let node = parse(&written).map_err(|error| TestCaseError::fail(format!("{error:?}\n{written}")))?;
            let read = read_back(&node.unwrap());
            prop_assert_eq!(read, tree, "{}", written);
        }
    }
}
