//! A list whose elements are addressed by some of their members.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde_json::{Map, Value};

use super::document::{Node, Place, Put, flatten, in_full};
use super::{blank, plain};

/// The members that are keys, each as the steps to it; none if the elements are texts.
type KeyMembers = Vec<Vec<String>>;

#[derive(Debug)]
pub(super) struct Keyed {
    members: KeyMembers,
    /// Removed ones leave a gap until the end, so that positions stay.
    elements: Vec<Option<Node>>,
    /// Positions by keys. Lists that other programs wrote may have several elements of one key.
    by_key: BTreeMap<Vec<String>, Vec<usize>>,
}

impl Keyed {
    pub(super) fn new(members: &KeyMembers, elements: Vec<Value>) -> Self {
        let mut keyed = Self {
            members: members.clone(),
            elements: Vec::with_capacity(elements.len()),
            by_key: BTreeMap::new(),
        };
        for element in elements {
            keyed.push(Node::Plain(element));
        }
        keyed
    }

    pub(super) fn elements(&self) -> impl Iterator<Item = &Node> {
        self.elements.iter().flatten()
    }

    pub(super) fn into_elements(self) -> Vec<Value> {
        let elements = self.elements.into_iter().flatten();
        elements.map(Node::into_value).collect()
    }

    pub(super) fn get(
        &mut self,
        place: Place<'_>,
        segments: &[String],
    ) -> Result<Option<Value>, String> {
        let width = self.width();
        if segments.len() >= width {
            let (key, rest) = segments.split_at(width);
            let at = self.by_key.get(key).and_then(|found| found.first());
            return match at.and_then(|at| self.elements[*at].as_mut()) {
                Some(element) => element.get(place.element(), rest),
                None => Ok(None),
            };
        }
        let mut map = Map::new();
        for (key, at) in self.below(segments) {
            let Some(element) = &self.elements[at] else {
                continue;
            };
            plain::set_member(&mut map, &key[segments.len()..], element.to_value())?;
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
        let width = self.width();
        if segments.len() < width {
            let mut found = Vec::new();
            flatten(width - segments.len(), segments.to_vec(), value, &mut found)?;
            // What is named again keeps its place.
            let named: BTreeSet<&Vec<String>> = found.iter().map(|(key, _)| key).collect();
            let below = self.below(segments);
            let gone: Vec<_> = below.filter(|(key, _)| !named.contains(key)).collect();
            for (key, _) in gone {
                self.forget(&key);
            }
            for (key, element) in found {
                self.put_element(place, &key, element, how)?;
            }
            return Ok(());
        }
        let (key, rest) = segments.split_at(width);
        if rest.is_empty() {
            return self.put_element(place, key, value, how);
        }
        let known = self.by_key.get(key).and_then(|positions| positions.first());
        let at = if let Some(at) = known {
            *at
        } else {
            let element = self.with_key(key, blank::at(place.element()), Put::Add)?;
            self.push(Node::Plain(element))
        };
        self.change(at, key, |element| {
            element.put(place.element(), rest, value, how)
        })
    }

    /// Removes an element, a part of one, or all that begin with these keys.
    pub(super) fn remove(&mut self, place: Place<'_>, segments: &[String]) -> Result<(), String> {
        let width = self.width();
        if segments.len() <= width {
            let gone: Vec<_> = self.below(segments).collect();
            for (key, _) in gone {
                self.forget(&key);
            }
            return Ok(());
        }
        let (key, rest) = segments.split_at(width);
        let Some(at) = self.by_key.get(key).and_then(|found| found.first()) else {
            return Ok(());
        };
        self.change(*at, key, |element| element.remove(place.element(), rest))
    }

    fn width(&self) -> usize {
        self.members.len().max(1)
    }

    /// Keys and positions of the elements whose keys begin like this.
    fn below(&self, begin: &[String]) -> impl Iterator<Item = (Vec<String>, usize)> {
        let from = (Bound::Included(begin.to_vec()), Bound::Unbounded);
        self.by_key
            .range(from)
            .take_while(move |(key, _)| key.starts_with(begin))
            .flat_map(|(key, positions)| positions.iter().map(|at| (key.clone(), *at)))
    }

    fn put_element(
        &mut self,
        place: Place<'_>,
        key: &[String],
        value: Value,
        how: Put,
    ) -> Result<(), String> {
        let element = in_full(place.element(), self.with_key(key, value, how)?)?;
        let element = Node::Plain(element);
        // A path may leave a key empty that the element has.
        let own_key = self.key_of(&element);
        let known = [key, &own_key]
            .into_iter()
            .find_map(|key| self.by_key.get(key)?.first().copied());
        for key in [key, &own_key] {
            self.forget(key);
        }
        match known {
            Some(at) => {
                self.elements[at] = Some(element);
                self.by_key.entry(own_key).or_default().push(at);
            }
            None => {
                self.push(element);
            }
        }
        Ok(())
    }

    /// Puts keys that stand only in the path into the element.
    fn with_key(&self, key: &[String], value: Value, how: Put) -> Result<Value, String> {
        let text = || key.first().cloned().unwrap_or_default();
        if self.members.is_empty() {
            return Ok(Value::String(text()));
        }
        let mut members = match value {
            Value::Object(members) => members,
            // The key alone, where nothing else is to be said.
            Value::String(value) if self.members.len() == 1 && value == text() => Map::new(),
            other => {
                return Err(format!(
                    "the elements of this list are objects, and {} is given",
                    plain::describe(&other)
                ));
            }
        };
        for (steps, segment) in self.members.iter().zip(key) {
            if segment.is_empty() {
                continue;
            }
            let value = Value::Object(members);
            let said = plain::key_text(plain::get(&value, steps));
            let Value::Object(again) = value else {
                return Err("the element is no object".to_owned());
            };
            members = again;
            if said.is_empty() || (said != *segment && how == Put::Copy) {
                plain::set_member(&mut members, steps, Value::from(segment.as_str()))?;
            } else if said != *segment {
                return Err(format!(
                    "the path says that {} is '{}', and the value says '{}'",
                    steps.join("."),
                    plain::shorten(segment),
                    plain::shorten(&said)
                ));
            }
        }
        Ok(Value::Object(members))
    }

    /// Changes a part of an element, which may be a key of it.
    fn change(
        &mut self,
        at: usize,
        key: &[String],
        change: impl FnOnce(&mut Node) -> Result<(), String>,
    ) -> Result<(), String> {
        let Some(element) = &mut self.elements[at] else {
            return Ok(());
        };
        change(element)?;
        let new_key = self.elements[at].as_ref().map(|it| self.key_of(it));
        if let Some(new_key) = new_key
            && new_key != key
        {
            if let Some(positions) = self.by_key.get_mut(key) {
                positions.retain(|known| *known != at);
            }
            self.by_key.entry(new_key).or_default().push(at);
        }
        Ok(())
    }

    fn push(&mut self, element: Node) -> usize {
        let at = self.elements.len();
        let key = self.key_of(&element);
        self.elements.push(Some(element));
        self.by_key.entry(key).or_default().push(at);
        at
    }

    fn forget(&mut self, key: &[String]) {
        for at in self.by_key.remove(key).unwrap_or_default() {
            self.elements[at] = None;
        }
    }

    fn key_of(&self, element: &Node) -> Vec<String> {
        if self.members.is_empty() {
            return vec![element.key_text(&[])];
        }
        let members = self.members.iter();
        members.map(|steps| element.key_text(steps)).collect()
    }
}
