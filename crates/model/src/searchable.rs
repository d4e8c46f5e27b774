//! What can be searched: the registry's search annotations, and the values that an aspect has for them.
//!
//! Which fields there are is data. To make a member of an aspect searchable, add a `searchable` annotation to it in
//! `registry.json`; nothing here changes. This module must not know any aspect by name, nor how an index keeps what it is
//! given. Values are not validated: what does not fit its field is passed over, because values stored by
//! other servers are indexed, too.

mod text;

use std::borrow::Cow;

use serde_json::Value;

use crate::registry::{Plan, PlanId, Searches};
use crate::{AspectName, Registry};

/// Objects that are nested deeper hold nothing that people look for; valid aspects never are.
const MAX_DEPTH: usize = 100;

/// What may be done with the values of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchKind {
    /// Found by its words.
    Text,
    /// Found as a whole.
    Keyword,
    /// The URN of an entity.
    Urn,
    Boolean,
    /// A whole number, or how long a list is.
    Count,
    /// Milliseconds since the epoch.
    DateTime,
    /// A number with a fraction.
    Double,
    /// Texts of the form `key=value`.
    Map,
}

/// A field of the search index. Records that annotate the same name share one field, which can do what any of them asks.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchField {
    pub name: &'static str,
    pub kind: SearchKind,
    /// Other names of the field. Several fields may have the same, such as `_entityName`.
    pub aliases: Vec<&'static str>,
    /// How much a match counts; 1 is usual.
    pub boost: f32,
    /// Whether words without a field are looked for here.
    pub query_by_default: bool,
    pub autocomplete: bool,
    /// The label when people may narrow a search by it.
    pub filter_label: Option<&'static str>,
    /// The name under which people ask whether there is any value, such as `hasDescription`; several fields may
    /// share one.
    pub has_values: Option<&'static str>,
    /// The text is Markdown, or HTML.
    pub rich_text: bool,
}

/// A value of a field. Its variant follows from the field's kind: `Text` for texts, keywords, URNs and maps, `Flag` for
/// booleans, `Number` for counts and times, `Real` for doubles.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchValue<'v> {
    Text(Cow<'v, str>),
    Flag(bool),
    Number(i64),
    Real(f64),
}

/// Calls `found` for every searchable value of an aspect, in the order of the value. A map (`customProperties`)
/// gives one text `key=value` per entry under its field's name.
pub fn search_values<'v>(
    aspect: AspectName,
    value: &'v Value,
    found: &mut dyn FnMut(&'static SearchField, SearchValue<'v>),
) {
    Registry::get().search_values(aspect, value, found);
}

/// The same for an aspect as it is stored, in less time. An error means that the text is not JSON; some values may
/// have been found before.
pub fn search_values_of_text<'v>(
    aspect: AspectName,
    text: &'v str,
    found: &mut dyn FnMut(&'static SearchField, SearchValue<'v>),
) -> serde_json::Result<()> {
    let searches = Registry::get().searches();
    match searches.root(aspect.as_str()) {
        Some(root) => text::read(searches, root, text, found),
        None => Ok(()),
    }
}

/// The name of a field, which clients may write with `.keyword` behind it to say that they mean whole values.
pub fn bare_name(field: &str) -> &str {
    field.strip_suffix(".keyword").unwrap_or(field)
}

impl Registry {
    /// Every search field, by name.
    pub fn search_fields(&self) -> &'static [SearchField] {
        self.searches().fields()
    }

    /// The search field of this name or alias, with or without `.keyword` behind it. An alias that several fields have
    /// is the one that most records mean.
    pub fn search_field(&self, name: &str) -> Option<&'static SearchField> {
        self.searches().field(bare_name(name))
    }

    pub(crate) fn search_values<'v>(
        &self,
        aspect: AspectName,
        value: &'v Value,
        found: &mut dyn FnMut(&'static SearchField, SearchValue<'v>),
    ) {
        let searches = self.searches();
        if let Some(root) = searches.root(aspect.as_str()) {
            Walk { searches, found }.members(root, value, 0);
        }
    }
}

struct Walk<'w, 'v> {
    searches: &'w Searches,
    found: &'w mut dyn FnMut(&'static SearchField, SearchValue<'v>),
}

impl<'v> Walk<'_, 'v> {
    fn members(&mut self, id: PlanId, value: &'v Value, depth: usize) {
        let Value::Object(members) = value else {
            return;
        };
        if depth > MAX_DEPTH {
            return;
        }
        let searches = self.searches;
        for (name, member) in members {
            if let Some(plan) = searches.member(id, name) {
                self.value(plan, member, depth + 1);
            }
        }
    }

    fn value(&mut self, plan: &Plan, value: &'v Value, depth: usize) {
        match plan {
            Plan::Members(id) => self.members(*id, value, depth),
            Plan::Each(inner) => match value {
                Value::Array(items) => {
                    for item in items {
                        self.value(inner, item, depth);
                    }
                }
                Value::Object(entries) => {
                    for entry in entries.values() {
                        self.value(inner, entry, depth);
                    }
                }
                _ => {}
            },
            Plan::Value(field) => {
                if let Some(fitting) = fitting(field.kind, value) {
                    (self.found)(field, fitting);
                }
            }
            Plan::Entries(field) => {
                if let Value::Object(entries) = value {
                    for (key, entry) in entries {
                        each_entry(key, entry, &mut |text| {
                            (self.found)(field, SearchValue::Text(Cow::Owned(text)));
                        });
                    }
                }
            }
        }
    }
}

/// Calls `found` with the texts of an entry of a map.
fn each_entry(key: &str, value: &Value, found: &mut dyn FnMut(String)) {
    match value {
        Value::Array(items) => {
            for item in items.iter().filter(|item| !item.is_array()) {
                each_entry(key, item, found);
            }
        }
        Value::String(text) => found(format!("{key}={text}")),
        Value::Bool(_) | Value::Number(_) => found(format!("{key}={value}")),
        Value::Null | Value::Object(_) => {}
    }
}

/// The value as its kind needs it; `None` if it is of another type.
fn fitting(kind: SearchKind, value: &Value) -> Option<SearchValue<'_>> {
    match kind {
        SearchKind::Text | SearchKind::Keyword | SearchKind::Urn | SearchKind::Map => value
            .as_str()
            .map(|text| SearchValue::Text(Cow::Borrowed(text))),
        SearchKind::Boolean => value.as_bool().map(SearchValue::Flag),
        SearchKind::Count => match value {
            Value::Array(items) => Some(SearchValue::Number(items.len() as i64)),
            Value::Object(entries) => Some(SearchValue::Number(entries.len() as i64)),
            _ => value.as_i64().map(SearchValue::Number),
        },
        SearchKind::DateTime => value.as_i64().map(SearchValue::Number),
        SearchKind::Double => value.as_f64().map(SearchValue::Real),
    }
}

#[cfg(test)]
mod tests;
