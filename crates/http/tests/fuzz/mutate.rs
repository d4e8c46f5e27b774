//! Changes inputs by their structure: tokens of a text, nodes of a JSON value. Most results are
//! still nearly valid, so they get past the first check of a parser.

use docent_e2e::load::Random;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

/// Texts at the limits of what parsers expect.
const TEXTS: [&str; 28] = [
    "",
    " ",
    "\n",
    "\t",
    "\r\n",
    "\0",
    "\u{7f}",
    "\u{feff}",
    "\u{241f}",
    "\u{241e}",
    "\u{202e}",
    "é",
    "e\u{301}",
    "ﬀ",
    "İ",
    "💥",
    "\u{10ffff}",
    "\\",
    "\\u0000",
    "\"",
    "'",
    "%",
    "%00",
    "%2F",
    "..",
    "*",
    "null",
    "true",
];

const NUMBERS: [&str; 14] = [
    "0",
    "-0",
    "1",
    "-1",
    "2147483647",
    "2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551616",
    "1e400",
    "0.1",
    "1E-7",
];

/// Words, numbers, and single other characters.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |it: char| it.is_alphanumeric() || it == '_';
        let end = if is_word(first) {
            rest.find(|it| !is_word(it)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts
}

pub(crate) struct Mutator<'a> {
    random: &'a mut Random,
    dictionary: &'a [&'a str],
}

impl<'a> Mutator<'a> {
    pub(crate) fn new(random: &'a mut Random, dictionary: &'a [&'a str]) -> Self {
        Self { random, dictionary }
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.random.below(count) == 0
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.random.index(texts.len())]
    }

    /// A text that may stand anywhere.
    fn word(&mut self) -> String {
        match self.random.below(6) {
            0 => self.pick(&TEXTS).to_owned(),
            1 => self.pick(&NUMBERS).to_owned(),
            2 => self.character().to_string(),
            _ if self.dictionary.is_empty() => "x".to_owned(),
            _ => self.pick(self.dictionary).to_owned(),
        }
    }

    fn character(&mut self) -> char {
        let limit = if self.one_in(3) { 0x11_0000 } else { 0x80 };
        let number = u32::try_from(self.random.below(limit)).unwrap_or(0);
        char::from_u32(number).unwrap_or('\u{fffd}')
    }

    /// Repeats a part of a text, so that it has nearly so many bytes.
    pub(crate) fn stretched(&mut self, base: &str, bytes: usize) -> String {
        const MAX_TOKENS: usize = 12;
        let parts = tokens(base);
        if parts.is_empty() {
            return String::new();
        }
        let start = self.random.index(parts.len());
        let length = 1 + self.random.index(MAX_TOKENS.min(parts.len() - start));
        let repeated = parts[start..start + length].concat();
        let count = bytes.saturating_sub(base.len()) / repeated.len();
        let (before, after) = (parts[..start].concat(), parts[start..].concat());
        [before, repeated.repeat(count), after].concat()
    }

    /// A few changes of a text.
    pub(crate) fn text(&mut self, base: &str, other: &str) -> String {
        let mut parts: Vec<String> = tokens(base).into_iter().map(str::to_owned).collect();
        let others = tokens(other);
        for _ in 0..=self.random.below(4) {
            let at = self.random.index(parts.len() + 1);
            let last = parts.len().saturating_sub(1);
            let length = 1 + self.random.index(1 + parts.len() / 4);
            let end = (at + length).min(parts.len());
            match self.random.below(10) {
                0 => drop(parts.drain(at..end)),
                1 => parts.insert(at, self.word()),
                2 if !parts.is_empty() => parts[at.min(last)] = self.word(),
                3 if !parts.is_empty() => {
                    let to = self.random.index(parts.len());
                    parts.swap(at.min(last), to);
                }
                // Nesting and repetition.
                4 => {
                    let most = if self.one_in(8) { 60 } else { 3 };
                    let times = 1 + self.random.index(most);
                    let repeated = vec![parts[at..end].concat(); times];
                    parts.splice(at..at, repeated);
                }
                5 | 6 if !others.is_empty() => {
                    let from = self.random.index(others.len());
                    let to = (from + length).min(others.len());
                    let taken = others[from..to].iter().map(|part| (*part).to_owned());
                    parts.splice(at..at, taken);
                }
                7 if !parts.is_empty() => {
                    let part = &mut parts[at.min(last)];
                    *part = match self.random.below(3) {
                        0 => part.to_uppercase(),
                        1 => utf8_percent_encode(part, NON_ALPHANUMERIC).to_string(),
                        _ => part.chars().skip(1).collect(),
                    };
                }
                8 => {
                    let character = self.character();
                    parts.insert(at, character.to_string());
                }
                _ => parts.truncate(at.max(1)),
            }
        }
        parts.concat()
    }

    /// A few changes of a JSON text, most of which keep it JSON.
    pub(crate) fn json_text(&mut self, base: &str, other: &str) -> String {
        let parsed = serde_json::from_str::<Value>(base);
        let Ok(mut value) = parsed else {
            return self.text(base, other);
        };
        if self.one_in(10) {
            return self.text(base, other);
        }
        let other = serde_json::from_str(other).unwrap_or(Value::Null);
        for _ in 0..=self.random.below(3) {
            self.json(&mut value, &other);
        }
        value.to_string()
    }

    /// One change of a JSON value.
    fn json(&mut self, value: &mut Value, other: &Value) {
        let mut paths = Vec::new();
        collect(value, &mut String::new(), &mut paths);
        let path = paths[self.random.index(paths.len())].clone();
        if self.one_in(6) {
            self.change_parent(value, &path);
            return;
        }
        let donor = {
            let mut paths = Vec::new();
            collect(other, &mut String::new(), &mut paths);
            let path = &paths[self.random.index(paths.len())];
            other.pointer(path).cloned().unwrap_or_default()
        };
        let Some(node) = value.pointer_mut(&path) else {
            return;
        };
        match node {
            // JSON in a string, such as the value of an aspect.
            Value::String(text) if !self.one_in(4) => {
                let inner = serde_json::from_str::<Value>(text);
                match inner
                    .ok()
                    .filter(|inner| inner.is_object() || inner.is_array())
                {
                    Some(mut inner) => {
                        self.json(&mut inner, &donor);
                        *text = inner.to_string();
                    }
                    None => *text = self.text(text, donor.as_str().unwrap_or_default()),
                }
            }
            Value::Array(items) if !items.is_empty() && self.one_in(2) => {
                let (from, to) = (
                    self.random.index(items.len()),
                    self.random.index(items.len()),
                );
                match self.random.below(3) {
                    0 => items.swap(from, to),
                    1 => items.push(items[from].clone()),
                    _ => items.insert(to, donor),
                }
            }
            Value::Object(members) if self.one_in(2) => {
                let name = self.word();
                members.insert(name, donor);
            }
            node => {
                *node = match self.random.below(4) {
                    0 => donor,
                    1 => self.wrapped(node.clone()),
                    _ => self.simple(),
                }
            }
        }
    }

    fn wrapped(&mut self, value: Value) -> Value {
        if self.one_in(2) {
            json!([value])
        } else {
            Value::Object(Map::from_iter([(self.word(), value)]))
        }
    }

    /// A value at the limit of some type.
    fn simple(&mut self) -> Value {
        match self.random.below(8) {
            0 => Value::Null,
            1 => json!([]),
            2 => json!({}),
            3 => Value::Bool(self.one_in(2)),
            4 | 5 => serde_json::from_str(self.pick(&NUMBERS)).unwrap_or_default(),
            6 => Value::String("x".repeat(self.random.index(600))),
            _ => Value::String(self.word()),
        }
    }

    /// Removes, repeats or renames a member or an element.
    fn change_parent(&mut self, value: &mut Value, path: &str) {
        let Some((parent, name)) = path.rsplit_once('/') else {
            return;
        };
        let name = name.replace("~1", "/").replace("~0", "~");
        match value.pointer_mut(parent) {
            Some(Value::Object(members)) => {
                let Some(old) = members.shift_remove(&name) else {
                    return;
                };
                if self.one_in(2) {
                    let name = self.text(&name, "");
                    members.insert(name, old);
                }
            }
            Some(Value::Array(items)) => {
                let at = name.parse().unwrap_or(0);
                if at < items.len() {
                    let item = items.remove(at);
                    if self.one_in(2) {
                        items.extend([item.clone(), item]);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The JSON pointers of all nodes.
fn collect(value: &Value, path: &mut String, paths: &mut Vec<String>) {
    paths.push(path.clone());
    let length = path.len();
    let mut descend = |name: &str, item: &Value| {
        path.push('/');
        path.push_str(&name.replace('~', "~0").replace('/', "~1"));
        collect(item, path, paths);
        path.truncate(length);
    };
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                descend(&at.to_string(), item);
            }
        }
        Value::Object(members) => {
            for (name, item) in members {
                descend(name, item);
            }
        }
        _ => {}
    }
}
