//! Limits the size of answers, and says where they come from. An agent reads answers with a limited
//! attention, and pays for each word.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::call::AgentCall;
use crate::summary;

/// The most bytes of an answer.
const MAX_BYTES: usize = 48 * 1024;
/// The most characters of one text in a list.
const MAX_TEXT: usize = 1_000;
/// The most items of a list inside an item.
const MAX_INNER_ITEMS: usize = 100;

/// The answer of a tool.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    members: Map<String, Value>,
    list: Option<List>,
    max_text: Option<usize>,
}

/// What an answer says about the items that do not fit.
#[derive(Debug)]
enum Rest {
    /// Where they begin in the whole result, which has a page behind this one.
    NextStart { start: usize, total: usize },
    /// Their URNs, which the same tool accepts.
    Urns,
}

/// The items of an answer. What does not fit is left out, from the end.
#[derive(Debug)]
struct List {
    name: &'static str,
    items: Vec<Value>,
    rest: Rest,
}

impl Answer {
    pub(crate) fn new(members: Map<String, Value>) -> Self {
        Self {
            members,
            ..Self::default()
        }
    }

    /// An answer with a page of a list.
    pub(crate) fn page(name: &'static str, items: Vec<Value>, start: usize, total: usize) -> Self {
        let list = List {
            name,
            items,
            rest: Rest::NextStart { start, total },
        };
        Self {
            list: Some(list),
            ..Self::default()
        }
    }

    /// An answer with all items that were requested by their URNs.
    pub(crate) fn named(name: &'static str, items: Vec<Value>) -> Self {
        let list = List {
            name,
            items,
            rest: Rest::Urns,
        };
        Self {
            list: Some(list),
            ..Self::default()
        }
    }

    pub(crate) fn with(mut self, name: &str, value: Value) -> Self {
        self.members.insert(name.to_owned(), value);
        self
    }

    /// The same answer, with texts of up to this many characters.
    pub(crate) fn with_texts_of(mut self, max_text: usize) -> Self {
        self.max_text = Some(max_text);
        self
    }

    /// The whole answer, with its source, as a JSON object.
    pub(crate) fn finish(self, call: &AgentCall) -> Value {
        let max_text = self.max_text.unwrap_or(MAX_TEXT);
        let mut members = self.members;
        for value in members.values_mut() {
            shorten(value, max_text);
        }
        if let Some(list) = self.list {
            list.add_to(&mut members, max_text);
        }
        members.insert("source".to_owned(), source(call));
        Value::Object(members)
    }
}

impl List {
    fn add_to(mut self, members: &mut Map<String, Value>, max_text: usize) {
        let mut left = MAX_BYTES.saturating_sub(bytes_of(&*members));
        let mut fitting = 0;
        let first = self.items.first().cloned();
        for item in &mut self.items {
            shorten(item, max_text);
            let bytes = bytes_of(item);
            if bytes > left {
                break;
            }
            left -= bytes;
            fitting += 1;
        }
        if let Some(first) = first.filter(|_| fitting == 0) {
            // Otherwise the agent could never read it, or what follows.
            self.items[0] = shortened_to(&first, max_text, left);
            fitting = 1;
        }
        let rest = self.items.split_off(fitting);
        match self.rest {
            Rest::NextStart { start, total } => {
                let end = start + fitting;
                members.insert("total".to_owned(), json!(total));
                if end < total && fitting > 0 {
                    members.insert("next_start".to_owned(), json!(end));
                }
            }
            Rest::Urns if rest.is_empty() => {}
            Rest::Urns => {
                let urns = rest.iter().map(|item| item["urn"].clone()).collect();
                members.insert("not_shown".to_owned(), urns);
            }
        }
        members.insert(self.name.to_owned(), Value::Array(self.items));
    }
}

/// A long item with shorter texts, so that it fits into so many bytes.
fn shortened_to(item: &Value, max_text: usize, bytes: usize) -> Value {
    let limits = [max_text / 8, max_text / 64].into_iter();
    let shortened = limits.map(|limit| {
        let mut shortened = item.clone();
        shorten(&mut shortened, limit);
        shortened
    });
    let mut fitting = shortened.filter(|shortened| bytes_of(shortened) <= bytes);
    fitting.next().unwrap_or_else(|| stub(item))
}

/// An item that does not fit: what names it.
fn stub(item: &Value) -> Value {
    let mut stub = Map::new();
    for name in ["urn", "type", "name", "path", "page"] {
        if let Some(value) = item.get(name) {
            stub.insert(name.to_owned(), value.clone());
        }
    }
    stub.insert("cut".to_owned(), json!("too long to show here"));
    Value::Object(stub)
}

fn bytes_of(value: &impl serde::Serialize) -> usize {
    serde_json::to_vec(value).map_or(MAX_BYTES, |text| text.len() + 1)
}

/// Cuts long texts and lists inside a value, and says so.
fn shorten(value: &mut Value, max_text: usize) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(max_text) {
                let count = text.chars().count();
                text.truncate(end);
                let _ = write!(text, " … (cut: {max_text} of {count} characters)");
            }
        }
        Value::Array(items) => {
            let count = items.len();
            items.truncate(MAX_INNER_ITEMS);
            for item in items.iter_mut() {
                shorten(item, max_text);
            }
            if count > MAX_INNER_ITEMS {
                items.push(json!(format!("… (cut: {MAX_INNER_ITEMS} of {count})")));
            }
        }
        Value::Object(members) => {
            let count = members.len();
            if count > MAX_INNER_ITEMS {
                let names: Vec<String> = members.keys().skip(MAX_INNER_ITEMS).cloned().collect();
                for name in names {
                    members.shift_remove(&name);
                }
                members.insert(
                    "…".to_owned(),
                    json!(format!("cut: {MAX_INNER_ITEMS} of {count}")),
                );
            }
            for member in members.values_mut() {
                shorten(member, max_text);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn source(call: &AgentCall) -> Value {
    let catalog = call.page().unwrap_or("Docent");
    json!({
        "catalog": catalog,
        "read_at": summary::iso(jiff::Timestamp::now()),
        "as_user": call.user(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_of(items: Vec<Value>, total: usize) -> Map<String, Value> {
        let mut members = Map::new();
        let list = List {
            name: "results",
            items,
            rest: Rest::NextStart { start: 20, total },
        };
        list.add_to(&mut members, MAX_TEXT);
        members
    }

    #[test]
    fn what_does_not_fit_is_on_the_next_page() {
        let item = |index: usize| json!({"urn": index, "text": "x".repeat(MAX_TEXT)});
        let members = list_of((0..100).map(item).collect(), 500);
        let fitting = members["results"].as_array().unwrap().len();
        assert!((40..100).contains(&fitting), "{fitting}");
        assert_eq!(members["next_start"], json!(20 + fitting));
        assert!(bytes_of(&members) < MAX_BYTES + 100);
        let last = list_of((0..3).map(item).collect(), 23);
        assert!(last.get("next_start").is_none());
        assert!(list_of(Vec::new(), 23).get("next_start").is_none());
    }

    #[test]
    fn an_item_that_is_too_long_has_shorter_texts() {
        let fields: Map<String, Value> = (0..99)
            .map(|index| (format!("{index}"), json!("ä".repeat(MAX_TEXT))))
            .chain([("urn".to_owned(), json!("urn:li:tag:long"))])
            .collect();
        let members = list_of(vec![Value::Object(fields), json!({"urn": "b"})], 22);
        let first = &members["results"][0];
        assert_eq!(first["urn"], "urn:li:tag:long");
        let text = first["98"].as_str().unwrap();
        assert!(
            text.ends_with("ä … (cut: 125 of 1000 characters)"),
            "{text}"
        );
        assert_eq!(members["next_start"], json!(21));
        assert!(bytes_of(&members) < MAX_BYTES + 100);
    }

    #[test]
    fn items_that_do_not_fit_are_named_by_urn() {
        let item = |index: usize| json!({"urn": format!("u{index}"), "text": "x".repeat(MAX_TEXT)});
        let answer = |count: usize| {
            let mut members = Map::new();
            let list = Answer::named("entities", (0..count).map(item).collect()).list;
            list.unwrap().add_to(&mut members, MAX_TEXT);
            members
        };
        let members = answer(60);
        let shown = members["entities"].as_array().unwrap().len();
        assert!((40..60).contains(&shown), "{shown}");
        let expected: Vec<String> = (shown..60).map(|index| format!("u{index}")).collect();
        assert_eq!(members["not_shown"], json!(expected));
        assert!(members.get("next_start").is_none());
        assert!(answer(2).get("not_shown").is_none());
    }

    #[test]
    fn an_item_that_never_fits_is_named() {
        let texts = json!(vec!["ä".repeat(MAX_TEXT); 99]);
        let fields: Map<String, Value> = (0..99)
            .map(|index| (format!("{index}"), texts.clone()))
            .chain([("urn".to_owned(), json!("urn:li:tag:long"))])
            .collect();
        let members = list_of(vec![Value::Object(fields), json!({"urn": "b"})], 22);
        let cut = json!([{"urn": "urn:li:tag:long", "cut": "too long to show here"}]);
        assert_eq!(members["results"], cut);
        assert_eq!(members["next_start"], json!(21));
    }

    #[test]
    fn long_texts_and_lists_are_cut_between_characters() {
        let mut value = json!({"text": "äöü", "list": (0..150).collect::<Vec<_>>()});
        shorten(&mut value, 2);
        assert_eq!(value["text"], "äö … (cut: 2 of 3 characters)");
        assert_eq!(value["list"].as_array().unwrap().len(), 101);
        assert_eq!(value["list"][100], "… (cut: 100 of 150)");
        let mut short = json!("äö");
        shorten(&mut short, 2);
        assert_eq!(short, "äö");
    }
}
