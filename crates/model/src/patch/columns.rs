//! The lineage of columns, a list in which one element stands for several relations.
//!
//! A path names one relation: `/<transformation>/<downstream column>/<query>/<upstream column>`, with `NONE` for a
//! transformation or a query that is not said. Elements are taken apart only where a path names a part of them.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::document::{Place, Put, flatten};
use super::plain;

/// How many segments name one relation.
pub(super) const WIDTH: usize = 4;

const NOT_SAID: &str = "NONE";

#[derive(Debug)]
pub(super) struct Columns(Vec<Value>);

/// The four parts of a path.
struct Relation<'a> {
    transformation: &'a str,
    downstream: &'a str,
    query: &'a str,
    upstream: &'a str,
}

impl<'a> Relation<'a> {
    fn from(key: &'a [String]) -> Option<Self> {
        let [transformation, downstream, query, upstream] = key else {
            return None;
        };
        Some(Self {
            transformation,
            downstream,
            query,
            upstream,
        })
    }
}

impl Columns {
    pub(super) fn new(elements: Vec<Value>) -> Self {
        Self(elements)
    }

    pub(super) fn elements(&self) -> &[Value] {
        &self.0
    }

    pub(super) fn into_elements(self) -> Vec<Value> {
        self.0
    }

    pub(super) fn get(&self, segments: &[String]) -> Option<Value> {
        let (key, rest) = segments.split_at(segments.len().min(WIDTH));
        let mut map = Map::new();
        for element in self.0.iter().filter(|element| has(element, key)) {
            if key.len() == WIDTH {
                return plain::get(&details(element), rest).cloned();
            }
            for relation in relations(element).filter(|relation| relation.starts_with(key)) {
                plain::set_member(&mut map, &relation[key.len()..], details(element)).ok()?;
            }
        }
        (!map.is_empty()).then_some(Value::Object(map))
    }

    pub(super) fn put(
        &mut self,
        place: Place<'_>,
        segments: &[String],
        value: Value,
        how: Put,
    ) -> Result<(), String> {
        let (key, rest) = segments.split_at(segments.len().min(WIDTH));
        if key.len() < WIDTH {
            let mut found = Vec::new();
            flatten(WIDTH - key.len(), key.to_vec(), value, &mut found)?;
            let named: HashSet<&Vec<String>> = found.iter().map(|(key, _)| key).collect();
            let old = self.0.iter().filter(|element| has(element, key));
            let old = old.flat_map(relations);
            let gone: Vec<_> = old
                .filter(|relation| relation.starts_with(key) && !named.contains(relation))
                .collect();
            for relation in gone {
                self.forget(&relation);
            }
            for (key, value) in found {
                self.put_relation(&key, value)?;
            }
            return Ok(());
        }
        let mut new = value;
        if !rest.is_empty() {
            let mut known = self.get(key).unwrap_or_else(|| json!({}));
            plain::put(&mut known, place.element(), rest, new, how)?;
            new = known;
        }
        self.put_relation(key, new)
    }

    pub(super) fn remove(&mut self, place: Place<'_>, segments: &[String]) -> Result<(), String> {
        let (key, rest) = segments.split_at(segments.len().min(WIDTH));
        if rest.is_empty() {
            self.forget(key);
            return Ok(());
        }
        let Some(mut known) = self.get(key) else {
            return Ok(());
        };
        plain::remove(&mut known, rest);
        self.put(place, key, known, Put::Add)
    }

    fn put_relation(&mut self, key: &[String], value: Value) -> Result<(), String> {
        let Value::Object(new) = value else {
            return Err(format!(
                "what is said of a column's lineage is an object such as {{\"confidenceScore\": 1.0}}, and {} is given",
                plain::describe(&value)
            ));
        };
        let Some(relation) = Relation::from(key) else {
            return Err("a transformation, a column, a query and a column are expected".to_owned());
        };
        let new = Value::Object(new);
        let says_the_same =
            |element: &Value| plain::is_same(&with_score(&details(element)), &with_score(&new));
        let is_there = |element: &Value| has(element, key) && says_the_same(element);
        if self.0.iter().any(is_there) {
            return Ok(());
        }
        self.forget(key);
        let fits = |element: &&mut Value| {
            has(element, &key[..3])
                && columns(element, "downstreams").count() == 1
                && says_the_same(element)
        };
        if let Some(element) = self.0.iter_mut().find(fits)
            && let Some(Value::Array(upstreams)) = element.get_mut("upstreams")
        {
            upstreams.push(Value::from(relation.upstream));
            return Ok(());
        }
        self.0.push(relation.element(new));
        Ok(())
    }

    /// Takes all relations out whose keys begin like this.
    fn forget(&mut self, key: &[String]) {
        let mut kept = Vec::with_capacity(self.0.len());
        for element in self.0.drain(..) {
            if has(&element, key) {
                kept.extend(without(element, key));
            } else {
                kept.push(element);
            }
        }
        self.0 = kept;
    }
}

impl Relation<'_> {
    fn element(&self, details: Value) -> Value {
        let is_column = self.upstream.starts_with("urn:li:schemaField:");
        let mut element = json!({
            "upstreamType": if is_column { "FIELD_SET" } else { "DATASET" },
            "upstreams": [self.upstream],
            "downstreamType": "FIELD",
            "downstreams": [self.downstream],
        });
        for (name, value) in [
            ("transformOperation", self.transformation),
            ("query", self.query),
        ] {
            if value != NOT_SAID {
                element[name] = Value::from(value);
            }
        }
        if let Value::Object(details) = details {
            for (name, value) in details {
                element[name] = value;
            }
        }
        element
    }
}

/// What remains of an element without the relations whose keys begin like this. Their keys are known to be in it.
fn without(mut element: Value, key: &[String]) -> Vec<Value> {
    // The transformation alone, or nothing: everything goes.
    let Some(downstream) = key.get(1) else {
        return Vec::new();
    };
    let others: Vec<String> = columns(&element, "downstreams")
        .filter(|column| column != downstream)
        .map(str::to_owned)
        .collect();
    let mut remaining = Vec::new();
    if !others.is_empty() {
        let mut other = element.clone();
        other["downstreams"] = Value::from(others);
        remaining.push(other);
    }
    if let Some(upstream) = key.get(3) {
        let upstreams: Vec<String> = columns(&element, "upstreams")
            .filter(|column| column != upstream)
            .map(str::to_owned)
            .collect();
        if !upstreams.is_empty() {
            element["downstreams"] = json!([downstream]);
            element["upstreams"] = Value::from(upstreams);
            remaining.push(element);
        }
    }
    remaining
}

/// Whether some relation of an element has a key that begins like this.
fn has(element: &Value, key: &[String]) -> bool {
    let checks: [&dyn Fn(&str) -> bool; WIDTH] = [
        &|part| text(element, "transformOperation") == part,
        &|part| columns(element, "downstreams").any(|column| column == part),
        &|part| text(element, "query") == part,
        &|part| columns(element, "upstreams").any(|column| column == part),
    ];
    key.iter().zip(checks).all(|(part, check)| check(part))
}

/// The keys of all relations of an element.
fn relations(element: &Value) -> impl Iterator<Item = Vec<String>> {
    let transformation = text(element, "transformOperation").to_owned();
    let query = text(element, "query").to_owned();
    let owned = |member| columns(element, member).map(str::to_owned);
    let upstreams: Vec<String> = owned("upstreams").collect();
    let downstreams: Vec<String> = owned("downstreams").collect();
    downstreams.into_iter().flat_map(move |downstream| {
        let key = |upstream: &String| {
            vec![
                transformation.clone(),
                downstream.clone(),
                query.clone(),
                upstream.clone(),
            ]
        };
        upstreams.iter().map(key).collect::<Vec<_>>()
    })
}

fn text<'v>(element: &'v Value, member: &str) -> &'v str {
    let said = element.get(member).and_then(Value::as_str);
    said.unwrap_or(NOT_SAID)
}

/// The columns of one side; one that is not said if there are none.
fn columns<'v>(element: &'v Value, member: &str) -> impl Iterator<Item = &'v str> {
    let list = element.get(member).and_then(Value::as_array);
    let list = list.filter(|columns| !columns.is_empty());
    let none = list.is_none().then_some(NOT_SAID);
    let columns = list.into_iter().flatten().filter_map(Value::as_str);
    columns.chain(none)
}

/// What an element says besides its columns.
fn details(element: &Value) -> Value {
    const KEYS: [&str; 6] = [
        "upstreamType",
        "upstreams",
        "downstreamType",
        "downstreams",
        "transformOperation",
        "query",
    ];
    let members = element.as_object().into_iter().flatten();
    let members = members.filter(|(name, _)| !KEYS.contains(&name.as_str()));
    Value::Object(
        members
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    )
}

/// The score is 1 where it is not said.
fn with_score(details: &Value) -> Value {
    let mut members = details.as_object().cloned().unwrap_or_default();
    members.retain(|_, value| !value.is_null());
    members
        .entry("confidenceScore")
        .or_insert_with(|| json!(1.0));
    Value::Object(members)
}
