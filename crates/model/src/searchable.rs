//! Extracts the searchable values of an aspect, as described by the registry's search annotations.
//!
//! To make a member of an aspect searchable, add a `searchable` annotation to it in
//! `registry.json`; nothing changes here. This module must not know any aspect by name, nor the
//! format of the index. Skips values that do not match their field, because values stored by other
//! servers may not be valid here.

mod text;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

pub use crate::search_field::{SearchField, SearchKind};

use crate::registry::{Plan, PlanId, SearchPlans};
use crate::{AspectName, EntitySpec, Registry};

/// Deeper objects are not searched; valid aspects never reach this depth.
const MAX_DEPTH: usize = 100;

/// A value of a search field. The variant follows from the field's kind: `Text` for texts,
/// keywords, URNs and maps, `Flag` for booleans, `Number` for counts and times, `Real` for doubles.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchValue<'v> {
    Text(Cow<'v, str>),
    Flag(bool),
    Number(i64),
    Real(f64),
}

/// Calls `found` for every searchable value of an aspect, in document order. A map such as
/// `customProperties` yields one text `key=value` per entry.
pub fn search_values<'v>(
    aspect: AspectName,
    value: &'v Value,
    found: &mut dyn FnMut(&'static SearchField, SearchValue<'v>),
) {
    Registry::get().search_values(aspect, value, found);
}

/// The same for an aspect as stored JSON text, without building a tree. Fails if the text is not
/// valid JSON, possibly after calling `found` for some values.
pub fn search_values_in_json<'v>(
    aspect: AspectName,
    text: &'v str,
    found: &mut dyn FnMut(&'static SearchField, SearchValue<'v>),
) -> serde_json::Result<()> {
    let plans = Registry::get().search_plans();
    match plans.root(aspect.as_str()) {
        Some(root) => text::read(plans, root, text, found),
        None => Ok(()),
    }
}

/// Removes the suffix `.keyword`, which clients append to a field name to request exact values.
pub fn strip_keyword_suffix(field: &str) -> &str {
    field.strip_suffix(".keyword").unwrap_or(field)
}

impl Registry {
    /// Every search field, sorted by name.
    pub fn search_fields(&self) -> &'static [SearchField] {
        self.search_plans().fields()
    }

    /// The search field with this name or alias, with or without `.keyword`. A shared alias
    /// resolves to the field that most records use it for.
    pub fn search_field(&self, name: &str) -> Option<&'static SearchField> {
        self.search_plans().field(strip_keyword_suffix(name))
    }

    /// The fields with a facet that entities of a type have, sorted by name.
    pub fn facet_fields(&self, entity: &EntitySpec) -> Vec<&'static str> {
        let mut names = BTreeSet::new();
        let aspects = entity.aspects.iter().chain([&entity.key_aspect]);
        for aspect in aspects.filter(|it| !self.is_timeseries(**it)) {
            self.search_plans()
                .each_field(aspect.as_str(), &mut |field| {
                    if field.filter_label.is_some() && field.kind != SearchKind::Map {
                        names.insert(field.name);
                    }
                });
        }
        names.into_iter().collect()
    }

    pub(crate) fn search_values<'v>(
        &self,
        aspect: AspectName,
        value: &'v Value,
        found: &mut dyn FnMut(&'static SearchField, SearchValue<'v>),
    ) {
        let plans = self.search_plans();
        if let Some(root) = plans.root(aspect.as_str()) {
            ValueWalk { plans, found }.members(root, value, 0);
        }
    }
}

struct ValueWalk<'w, 'v> {
    plans: &'w SearchPlans,
    found: &'w mut dyn FnMut(&'static SearchField, SearchValue<'v>),
}

impl<'v> ValueWalk<'_, 'v> {
    fn members(&mut self, id: PlanId, value: &'v Value, depth: usize) {
        let Value::Object(members) = value else {
            return;
        };
        if depth > MAX_DEPTH {
            return;
        }
        let plans = self.plans;
        for (name, member) in members {
            if let Some(plan) = plans.member(id, name) {
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
                if let Some(converted) = convert(field.kind, value) {
                    (self.found)(field, converted);
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

/// Calls `found` with the texts of a map entry.
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

/// Converts a value for a field; `None` if the types do not match.
fn convert(kind: SearchKind, value: &Value) -> Option<SearchValue<'_>> {
    match kind {
        SearchKind::Text | SearchKind::Keyword | SearchKind::Urn | SearchKind::Map => value
            .as_str()
            .map(|text| SearchValue::Text(Cow::Borrowed(text))),
        SearchKind::Boolean => value.as_bool().map(SearchValue::Flag),
        SearchKind::Count => match value {
            Value::Array(items) => length(items.len()),
            Value::Object(entries) => length(entries.len()),
            _ => value.as_i64().map(SearchValue::Number),
        },
        SearchKind::DateTime => value.as_i64().map(SearchValue::Number),
        SearchKind::Double => value.as_f64().map(SearchValue::Real),
    }
}

fn length(length: usize) -> Option<SearchValue<'static>> {
    i64::try_from(length).ok().map(SearchValue::Number)
}

#[cfg(test)]
mod tests;
