//! Column lineage: a list in which one element holds several relations.
//!
//! A path addresses one relation: `/<transformation>/<downstream column>/<query>/<upstream
//! column>`, with `NONE` for a missing transformation or query. Elements are split only when a path
//! addresses a part of them.
//!
//! Both lists and patches can have tens of thousands of relations, so no operation scans the whole
//! list: elements are indexed by the columns of both sides ([`ColumnLineage::elements_with`]).

mod canonical;
mod names;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;

use serde_json::{Map, Value, json};

use super::document::{PatchContext, PutMode, flatten};
use super::plain;
use canonical::canonical;
use names::ColumnNames;

/// The number of path segments that address one relation.
pub(super) const WIDTH: usize = 4;

/// The placeholder for a missing transformation, query or column.
const NONE: &str = "NONE";
const UPSTREAMS: &str = "upstreams";
const DOWNSTREAMS: &str = "downstreams";
/// The limit on relations in one operation. An element of a thousand by a thousand columns has a
/// million.
const MAX_RELATIONS: usize = 1_000_000;

/// The position of an element: its index in the list, and a sequence number for parts split off it.
type Position = (usize, usize);

#[derive(Debug, Default)]
pub(super) struct ColumnLineage {
    elements: BTreeMap<Position, Element>,
    /// By transformation, downstream column and query.
    by_downstream: BTreeMap<Vec<String>, BTreeSet<Position>>,
    /// By transformation, query and upstream column.
    by_upstream: HashMap<[String; 3], BTreeSet<Position>>,
    /// Elements with one downstream column, by transformation, column, query and details. New
    /// relations with the same key are added to them.
    by_details: HashMap<[String; 4], BTreeSet<Position>>,
    /// The last sequence number used.
    sequence: usize,
}

#[derive(Debug, Clone)]
struct Element {
    /// The original value; changed column lists are written into it at the end.
    value: Value,
    upstreams: ColumnNames,
    downstreams: ColumnNames,
    /// The canonical JSON of all members except the columns.
    details: String,
}

/// The four key parts of a relation.
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

impl ColumnLineage {
    pub(super) fn new(elements: Vec<Value>) -> Self {
        let mut columns = Self::default();
        for value in elements {
            columns.push(Element::new(value));
        }
        columns
    }

    pub(super) fn elements(&self) -> impl Iterator<Item = Value> {
        self.elements.values().cloned().map(Element::into_value)
    }

    pub(super) fn into_elements(self) -> Vec<Value> {
        let elements = self.elements.into_values();
        elements.map(Element::into_value).collect()
    }

    /// The details of a relation, or nested maps by the remaining keys if the path is shorter.
    pub(super) fn get(
        &self,
        context: PatchContext<'_>,
        segments: &[String],
    ) -> Result<Option<Value>, String> {
        let (key, rest) = segments.split_at(segments.len().min(WIDTH));
        if key.len() == WIDTH {
            let first = self.elements_with(context, key)?.first().copied();
            let element = first.and_then(|position| self.elements.get(&position));
            return Ok(
                element.and_then(|element| plain::get(&details(&element.value), rest).cloned())
            );
        }
        let mut map = Map::new();
        for (relation, position) in self.relations(context, key)? {
            if let Some(element) = self.elements.get(&position) {
                plain::set_member(&mut map, &relation[key.len()..], details(&element.value))?;
            }
        }
        Ok((!map.is_empty()).then_some(Value::Object(map)))
    }

    pub(super) fn put(
        &mut self,
        context: PatchContext<'_>,
        segments: &[String],
        value: Value,
        mode: PutMode,
    ) -> Result<(), String> {
        let (key, rest) = segments.split_at(segments.len().min(WIDTH));
        if key.len() < WIDTH {
            let mut new = Vec::new();
            flatten(WIDTH - key.len(), key.to_vec(), value, &mut new)?;
            let kept: HashSet<&Vec<String>> = new.iter().map(|(key, _)| key).collect();
            let existing = self.relations(context, key)?.into_iter();
            let removed = existing.filter(|(relation, _)| !kept.contains(relation));
            for (relation, _) in removed.collect::<Vec<_>>() {
                self.remove_relations(context, &relation)?;
            }
            for (key, value) in new {
                self.put_relation(context, &key, value)?;
            }
            return Ok(());
        }
        let mut new = value;
        if !rest.is_empty() {
            let mut details = self.get(context, key)?.unwrap_or_else(|| json!({}));
            plain::put(&mut details, context.element(), rest, new, mode)?;
            new = details;
        }
        self.put_relation(context, key, new)
    }

    pub(super) fn remove(
        &mut self,
        context: PatchContext<'_>,
        segments: &[String],
    ) -> Result<(), String> {
        let (key, rest) = segments.split_at(segments.len().min(WIDTH));
        if rest.is_empty() {
            return self.remove_relations(context, key);
        }
        let Some(mut details) = self.get(context, key)? else {
            return Ok(());
        };
        plain::remove(&mut details, context.element(), rest)?;
        self.put(context, key, details, PutMode::Add)
    }

    fn put_relation(
        &mut self,
        context: PatchContext<'_>,
        key: &[String],
        value: Value,
    ) -> Result<(), String> {
        let Value::Object(new) = value else {
            return Err(format!(
                "the details of column lineage are an object such as {{\"confidenceScore\": 1.0}}, found {}",
                plain::describe(&value)
            ));
        };
        let Some(relation) = Relation::from(key) else {
            return Err(
                "expected a transformation, a downstream column, a query and an upstream column"
                    .to_owned(),
            );
        };
        let new = Value::Object(new);
        let details = canonical(&with_score(&new));
        let existing = self.elements_with(context, key)?;
        let has_same_details = |position: &Position| {
            self.elements
                .get(position)
                .is_some_and(|element| element.details == details)
        };
        if existing.iter().any(has_same_details) {
            return Ok(());
        }
        for position in existing {
            self.remove_relation(context, position, &relation)?;
        }
        let details_key = [
            relation.transformation,
            relation.downstream,
            relation.query,
            &details,
        ];
        let matching = self.by_details.get(&details_key.map(str::to_owned));
        let matching = matching.and_then(BTreeSet::first).copied();
        if let Some(position) = matching
            && let Some(element) = self.elements.get_mut(&position)
            && element.value.get(UPSTREAMS).is_some_and(Value::is_array)
        {
            let with_none = [relation.transformation, relation.query, NONE].map(str::to_owned);
            if element.upstreams.push_replacing_none(relation.upstream) {
                remove_from(&mut self.by_upstream, &with_none, position);
            }
            let key = [relation.transformation, relation.query, relation.upstream];
            let positions = self.by_upstream.entry(key.map(str::to_owned));
            positions.or_default().insert(position);
            return Ok(());
        }
        self.push(Element::new(relation.element(new)));
        Ok(())
    }

    /// Removes all relations whose keys start with a prefix.
    fn remove_relations(
        &mut self,
        context: PatchContext<'_>,
        key: &[String],
    ) -> Result<(), String> {
        if let Some(relation) = Relation::from(key) {
            for position in self.elements_with(context, key)? {
                self.remove_relation(context, position, &relation)?;
            }
            return Ok(());
        }
        let matches = self.with_prefix(key);
        context.budget.charge(matches.len())?;
        for (downstream, position) in matches {
            if key.len() > 1 {
                self.remove_downstream(position, &downstream[1]);
            } else {
                self.remove_element(position);
            }
        }
        Ok(())
    }

    /// The elements that contain a relation, in order.
    fn elements_with(
        &self,
        context: PatchContext<'_>,
        key: &[String],
    ) -> Result<Vec<Position>, String> {
        let Some(relation) = Relation::from(key) else {
            return Ok(Vec::new());
        };
        let upstream = [relation.transformation, relation.query, relation.upstream];
        let (Some(by_downstream), Some(by_upstream)) = (
            self.by_downstream.get(&key[..3]),
            self.by_upstream.get(&upstream.map(str::to_owned)),
        ) else {
            return Ok(Vec::new());
        };
        let (fewer, more) = if by_downstream.len() < by_upstream.len() {
            (by_downstream, by_upstream)
        } else {
            (by_upstream, by_downstream)
        };
        context.budget.charge(fewer.len())?;
        let both = fewer.iter().filter(|position| more.contains(position));
        Ok(both.copied().collect())
    }

    /// The downstream keys that start with a prefix, with their elements.
    fn with_prefix(&self, prefix: &[String]) -> Vec<(Vec<String>, Position)> {
        let from = (Bound::Included(prefix.to_vec()), Bound::Unbounded);
        let keys = self.by_downstream.range(from);
        keys.take_while(|(key, _)| key.starts_with(prefix))
            .flat_map(|(key, positions)| positions.iter().map(|position| (key.clone(), *position)))
            .collect()
    }

    /// The keys of all relations that start with a prefix.
    fn relations(
        &self,
        context: PatchContext<'_>,
        prefix: &[String],
    ) -> Result<Vec<(Vec<String>, Position)>, String> {
        let mut relations = Vec::new();
        for (key, position) in self.with_prefix(prefix) {
            let Some(element) = self.elements.get(&position) else {
                continue;
            };
            if relations.len() + element.upstreams.len() > MAX_RELATIONS {
                return Err(format!(
                    "the path matches more than {MAX_RELATIONS} relations: add a query and an upstream column to it"
                ));
            }
            context.budget.charge(element.upstreams.len())?;
            for upstream in element.upstreams.iter() {
                let mut key = key.clone();
                key.push(upstream.to_owned());
                relations.push((key, position));
            }
        }
        Ok(relations)
    }

    fn push(&mut self, element: Element) {
        self.sequence += 1;
        self.insert((self.sequence, 0), element);
    }

    fn insert(&mut self, position: Position, element: Element) {
        let (transformation, query) = (element.transformation(), element.query());
        for downstream in element.downstreams.iter() {
            let key = [transformation, downstream, query].map(str::to_owned);
            let positions = self.by_downstream.entry(key.to_vec());
            positions.or_default().insert(position);
        }
        for upstream in element.upstreams.iter() {
            let key = [transformation, query, upstream].map(str::to_owned);
            self.by_upstream.entry(key).or_default().insert(position);
        }
        if let Some(key) = element.details_key() {
            self.by_details.entry(key).or_default().insert(position);
        }
        self.elements.insert(position, element);
    }

    fn remove_element(&mut self, position: Position) -> Option<Element> {
        let element = self.elements.remove(&position)?;
        let (transformation, query) = (element.transformation(), element.query());
        for downstream in element.downstreams.iter() {
            let key = [transformation, downstream, query].map(str::to_owned);
            remove_from_sorted(&mut self.by_downstream, &key, position);
        }
        for upstream in element.upstreams.iter() {
            let key = [transformation, query, upstream].map(str::to_owned);
            remove_from(&mut self.by_upstream, &key, position);
        }
        if let Some(key) = element.details_key() {
            remove_from(&mut self.by_details, &key, position);
        }
        Some(element)
    }

    /// Removes one relation from an element, splitting the element if necessary.
    fn remove_relation(
        &mut self,
        context: PatchContext<'_>,
        position: Position,
        relation: &Relation<'_>,
    ) -> Result<(), String> {
        let Some(element) = self.elements.get_mut(&position) else {
            return Ok(());
        };

        if element.downstreams.len() == 1 {
            element.upstreams.remove(relation.upstream);
            let key = [relation.transformation, relation.query, relation.upstream];
            remove_from(&mut self.by_upstream, &key.map(str::to_owned), position);
            if element.upstreams.len() == 0 {
                self.remove_element(position);
            }
            return Ok(());
        }
        context
            .budget
            .charge(element.upstreams.len() + element.downstreams.len())?;
        let mut split = element.clone();
        split.downstreams = ColumnNames::changed([relation.downstream]);
        split.upstreams.remove(relation.upstream);
        self.remove_downstream(position, relation.downstream);
        if split.upstreams.len() > 0 {
            self.sequence += 1;
            self.insert((position.0, self.sequence), split);
        }
        Ok(())
    }

    /// Removes a downstream column from an element.
    fn remove_downstream(&mut self, position: Position, downstream: &str) {
        let Some(element) = self.elements.get_mut(&position) else {
            return;
        };
        if element.downstreams.len() == 1 {
            self.remove_element(position);
            return;
        }
        element.downstreams.remove(downstream);
        let key = [element.transformation(), downstream, element.query()].map(str::to_owned);
        if let Some(key) = element.details_key() {
            self.by_details.entry(key).or_default().insert(position);
        }
        let is_empty = element.downstreams.len() == 0;
        remove_from_sorted(&mut self.by_downstream, &key, position);
        if is_empty {
            self.remove_element(position);
        }
    }
}

fn remove_from<K: std::hash::Hash + Eq>(
    index: &mut HashMap<K, BTreeSet<Position>>,
    key: &K,
    position: Position,
) {
    if let Some(positions) = index.get_mut(key) {
        positions.remove(&position);
        if positions.is_empty() {
            index.remove(key);
        }
    }
}

fn remove_from_sorted(
    index: &mut BTreeMap<Vec<String>, BTreeSet<Position>>,
    key: &[String],
    position: Position,
) {
    if let Some(positions) = index.get_mut(key) {
        positions.remove(&position);
        if positions.is_empty() {
            index.remove(key);
        }
    }
}

impl Element {
    fn new(value: Value) -> Self {
        Self {
            upstreams: ColumnNames::new(columns(&value, UPSTREAMS)),
            downstreams: ColumnNames::new(columns(&value, DOWNSTREAMS)),
            details: canonical(&with_score(&details(&value))),
            value,
        }
    }

    fn transformation(&self) -> &str {
        text(&self.value, "transformOperation")
    }

    fn query(&self) -> &str {
        text(&self.value, "query")
    }

    /// The key under which more relations are added to it.
    fn details_key(&self) -> Option<[String; 4]> {
        let mut downstreams = self.downstreams.iter();
        let (Some(downstream), None) = (downstreams.next(), downstreams.next()) else {
            return None;
        };
        let key = [
            self.transformation(),
            downstream,
            self.query(),
            &self.details,
        ];
        Some(key.map(str::to_owned))
    }

    fn into_value(mut self) -> Value {
        for (member, names) in [(UPSTREAMS, self.upstreams), (DOWNSTREAMS, self.downstreams)] {
            if let Some(names) = names.into_changed() {
                self.value[member] = Value::from(names);
            }
        }
        self.value
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
            if value != NONE {
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

fn text<'v>(element: &'v Value, member: &str) -> &'v str {
    let value = element.get(member).and_then(Value::as_str);
    value.unwrap_or(NONE)
}

/// The columns of one side, or the placeholder if there are none.
fn columns<'v>(element: &'v Value, member: &str) -> impl Iterator<Item = &'v str> {
    let list = element.get(member).and_then(Value::as_array);
    let list = list.filter(|columns| !columns.is_empty());
    let none = list.is_none().then_some(NONE);
    let columns = list.into_iter().flatten().filter_map(Value::as_str);
    columns.chain(none)
}

/// The members of an element except its columns.
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

/// Adds the default score of 1.
fn with_score(details: &Value) -> Value {
    let mut members = details.as_object().cloned().unwrap_or_default();
    members.retain(|_, value| !value.is_null());
    members
        .entry("confidenceScore")
        .or_insert_with(|| json!(1.0));
    Value::Object(members)
}

#[cfg(test)]
mod tests;
