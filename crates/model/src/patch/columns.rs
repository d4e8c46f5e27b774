//! The lineage of columns, a list in which one element stands for several relations.
//!
//! A path names one relation: `/<transformation>/<downstream column>/<query>/<upstream column>`, with `NONE` for a
//! transformation or a query that is not said. Elements are taken apart only where a path names a part of them.
//!
//! Lists have tens of thousands of relations and so have patches, so nothing here goes over all of them for one
//! operation: elements are found by the columns of either side ([`Columns::having`]).

mod names;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;

use serde_json::{Map, Value, json};

use super::document::{Place, Put, flatten};
use super::plain;
use names::Names;

/// How many segments name one relation.
pub(super) const WIDTH: usize = 4;

const NOT_SAID: &str = "NONE";
const UPSTREAMS: &str = "upstreams";
const DOWNSTREAMS: &str = "downstreams";
/// How many relations one operation may be about. An element of a thousand columns by a thousand has a million.
const MAX_RELATIONS: usize = 1_000_000;
/// How many elements one patch may look at. Only lists that were made to be slow have so many that cannot be told apart
/// by the columns of one side.
const MAX_LOOKED_AT: usize = 20_000_000;

/// Where an element stands: its place in the list, and a number for what comes behind it when it is taken apart.
type Position = (usize, usize);

#[derive(Debug, Default)]
pub(super) struct Columns {
    elements: BTreeMap<Position, Element>,
    /// By transformation, downstream column and query.
    by_downstream: BTreeMap<Vec<String>, BTreeSet<Position>>,
    /// By transformation, query and upstream column.
    by_upstream: HashMap<[String; 3], BTreeSet<Position>>,
    /// Elements of one downstream column by transformation, column, query and details: they take in more relations.
    by_details: HashMap<[String; 4], BTreeSet<Position>>,
    /// Numbers given to elements so far.
    given: usize,
    looked_at: usize,
}

#[derive(Debug, Clone)]
struct Element {
    /// As it was; a list of columns that has changed is put in at the end.
    value: Value,
    upstreams: Names,
    downstreams: Names,
    /// What it says besides its columns, such that the same is the same text.
    details: String,
}

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

    /// What is said of a relation; of several, as maps by the keys that are not named.
    pub(super) fn get(&mut self, segments: &[String]) -> Result<Option<Value>, String> {
        let (key, rest) = segments.split_at(segments.len().min(WIDTH));
        if key.len() == WIDTH {
            let found = self.having(key)?.first().copied();
            let element = found.and_then(|position| self.elements.get(&position));
            return Ok(
                element.and_then(|element| plain::get(&details(&element.value), rest).cloned())
            );
        }
        let mut map = Map::new();
        for (relation, position) in self.relations(key)? {
            if let Some(element) = self.elements.get(&position) {
                plain::set_member(&mut map, &relation[key.len()..], details(&element.value))?;
            }
        }
        Ok((!map.is_empty()).then_some(Value::Object(map)))
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
            let old = self.relations(key)?.into_iter();
            let gone = old.filter(|(relation, _)| !named.contains(relation));
            for (relation, _) in gone.collect::<Vec<_>>() {
                self.forget(&relation)?;
            }
            for (key, value) in found {
                self.put_relation(&key, value)?;
            }
            return Ok(());
        }
        let mut new = value;
        if !rest.is_empty() {
            let mut known = self.get(key)?.unwrap_or_else(|| json!({}));
            plain::put(&mut known, place.element(), rest, new, how)?;
            new = known;
        }
        self.put_relation(key, new)
    }

    pub(super) fn remove(&mut self, place: Place<'_>, segments: &[String]) -> Result<(), String> {
        let (key, rest) = segments.split_at(segments.len().min(WIDTH));
        if rest.is_empty() {
            return self.forget(key);
        }
        let Some(mut known) = self.get(key)? else {
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
        let said = canonical(&with_score(&new));
        let known = self.having(key)?;
        let says_the_same = |position: &Position| {
            self.elements
                .get(position)
                .is_some_and(|it| it.details == said)
        };
        if known.iter().any(says_the_same) {
            return Ok(());
        }
        for position in known {
            self.take_apart(position, &relation);
        }
        let place = [
            relation.transformation,
            relation.downstream,
            relation.query,
            &said,
        ];
        let fitting = self.by_details.get(&place.map(str::to_owned));
        let fitting = fitting.and_then(BTreeSet::first).copied();
        if let Some(position) = fitting
            && let Some(element) = self.elements.get_mut(&position)
            && element.value.get(UPSTREAMS).is_some_and(Value::is_array)
        {
            let with_none = [relation.transformation, relation.query, NOT_SAID].map(str::to_owned);
            if element.upstreams.push_said(relation.upstream) {
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

    /// Takes all relations out whose keys begin like this.
    fn forget(&mut self, key: &[String]) -> Result<(), String> {
        if let Some(relation) = Relation::from(key) {
            for position in self.having(key)? {
                self.take_apart(position, &relation);
            }
            return Ok(());
        }
        for (downstream, position) in self.below(key) {
            if key.len() > 1 {
                self.drop_downstream(position, &downstream[1]);
            } else {
                self.take(position);
            }
        }
        Ok(())
    }

    /// The elements that have a relation, in their order.
    fn having(&mut self, key: &[String]) -> Result<Vec<Position>, String> {
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
        self.looked_at += fewer.len();
        if self.looked_at > MAX_LOOKED_AT {
            return Err(
                "the patch has too much to look at in this lineage: send it in parts".to_owned(),
            );
        }
        let both = fewer.iter().filter(|position| more.contains(position));
        Ok(both.copied().collect())
    }

    /// The downstream columns whose keys begin like this, with the elements that have them.
    fn below(&self, begin: &[String]) -> Vec<(Vec<String>, Position)> {
        let from = (Bound::Included(begin.to_vec()), Bound::Unbounded);
        let keys = self.by_downstream.range(from);
        keys.take_while(|(key, _)| key.starts_with(begin))
            .flat_map(|(key, positions)| positions.iter().map(|at| (key.clone(), *at)))
            .collect()
    }

    /// The keys of all relations that begin like this.
    fn relations(&self, begin: &[String]) -> Result<Vec<(Vec<String>, Position)>, String> {
        let mut found = Vec::new();
        for (key, position) in self.below(begin) {
            let Some(element) = self.elements.get(&position) else {
                continue;
            };
            if found.len() + element.upstreams.len() > MAX_RELATIONS {
                return Err(format!(
                    "more than {MAX_RELATIONS} relations are there: name a transformation, a column, a query and a column"
                ));
            }
            for upstream in element.upstreams.iter() {
                let mut key = key.clone();
                key.push(upstream.to_owned());
                found.push((key, position));
            }
        }
        Ok(found)
    }

    fn push(&mut self, element: Element) {
        self.given += 1;
        self.insert((self.given, 0), element);
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

    fn take(&mut self, position: Position) -> Option<Element> {
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

    /// Takes one relation out of an element that has it.
    fn take_apart(&mut self, position: Position, relation: &Relation<'_>) {
        let Some(element) = self.elements.get_mut(&position) else {
            return;
        };
        if element.downstreams.len() == 1 {
            element.upstreams.remove(relation.upstream);
            let key = [relation.transformation, relation.query, relation.upstream];
            remove_from(&mut self.by_upstream, &key.map(str::to_owned), position);
            if element.upstreams.len() == 0 {
                self.take(position);
            }
            return;
        }
        let mut rest = element.clone();
        rest.downstreams = Names::changed([relation.downstream]);
        rest.upstreams.remove(relation.upstream);
        self.drop_downstream(position, relation.downstream);
        if rest.upstreams.len() > 0 {
            self.given += 1;
            self.insert((position.0, self.given), rest);
        }
    }

    /// Takes all relations of one downstream column out of an element.
    fn drop_downstream(&mut self, position: Position, downstream: &str) {
        let Some(element) = self.elements.get_mut(&position) else {
            return;
        };
        if element.downstreams.len() == 1 {
            self.take(position);
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
            self.take(position);
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
            upstreams: Names::new(columns(&value, UPSTREAMS)),
            downstreams: Names::new(columns(&value, DOWNSTREAMS)),
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

    /// Where it is found to take in more relations.
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

/// A text that is the same for values that are the same: members in one order, numbers by their value.
fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<&String, &Value> = members.iter().collect();
            text.push('{');
            for (name, member) in sorted {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_canonical(member, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Number(number) => match plain::whole(number) {
            Some(whole) => text.push_str(&whole.to_string()),
            None => text.push_str(&number.to_string()),
        },
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(downstream: usize, upstream: usize) -> Vec<String> {
        [
            "T",
            &format!("d{downstream}"),
            "NONE",
            &format!("u{upstream}"),
        ]
        .map(str::to_owned)
        .to_vec()
    }

    /// A patch of ten thousand operations is applied while others wait: what it looks at must not be the square of it.
    #[test]
    fn what_is_looked_at_grows_with_the_operations_and_not_with_the_list() {
        const MANY: usize = 3000;
        let mut columns = Columns::default();
        for (number, score) in (0..MANY).zip(0_u32..) {
            // Many columns, one column of many, and one of many with scores of their own.
            for (key, score) in [
                (key(number, 0), 1.0),
                (key(MANY, number), 1.0),
                (key(MANY + 1, number), f64::from(score)),
            ] {
                let value = json!({"confidenceScore": score});
                columns.put_relation(&key, value).unwrap();
            }
        }
        for number in 0..MANY {
            columns.forget(&key(MANY, number)).unwrap();
            columns.forget(&key(number, 0)[..2]).unwrap();
        }
        assert!(columns.looked_at <= 12 * MANY, "{}", columns.looked_at);
        assert_eq!(columns.into_elements().len(), MANY);
    }

    #[test]
    fn an_element_of_more_relations_than_can_be_named_is_not_expanded() {
        let many: Vec<String> = (0..1100).map(|number| number.to_string()).collect();
        let element = json!({"upstreams": many, "downstreams": many});
        let mut columns = Columns::new(vec![element.clone()]);
        let error = columns.get(&["NONE".to_owned()]).unwrap_err();
        assert!(error.contains("1000000"), "{error}");
        assert_eq!(columns.into_elements(), [element]);
    }
}
