//! A list whose elements are addressed by key members.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde_json::{Map, Value};

use super::document::{Node, PatchContext, PutMode, flatten, normalize};
use super::{initial, plain};

/// The paths of the key members; empty if the elements are strings.
type KeyMembers = Vec<Vec<String>>;

#[derive(Debug)]
pub(super) struct KeyedList {
    members: KeyMembers,
    /// Removed elements become `None`, so that indexes stay valid.
    elements: Vec<Option<Node>>,
    /// Indexes by key. Lists written by other programs may have duplicate keys.
    by_key: BTreeMap<Vec<String>, Vec<usize>>,
}

impl KeyedList {
    pub(super) fn new(members: &KeyMembers, elements: Vec<Value>) -> Self {
        let mut list = Self {
            members: members.clone(),
            elements: Vec::with_capacity(elements.len()),
            by_key: BTreeMap::new(),
        };
        for element in elements {
            list.push(Node::Plain(element));
        }
        list
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
        context: PatchContext<'_>,
        segments: &[String],
    ) -> Result<Option<Value>, String> {
        let width = self.width();
        if segments.len() >= width {
            let (key, rest) = segments.split_at(width);
            let index = self.by_key.get(key).and_then(|indexes| indexes.first());
            return match index.and_then(|index| self.elements[*index].as_mut()) {
                Some(element) => element.get(context.element(), rest),
                None => Ok(None),
            };
        }
        let mut map = Map::new();
        for (key, index) in self.with_prefix(segments) {
            let Some(element) = &self.elements[index] else {
                continue;
            };
            plain::set_member(&mut map, &key[segments.len()..], element.to_value())?;
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
        let width = self.width();
        if segments.len() < width {
            let mut new = Vec::new();
            flatten(width - segments.len(), segments.to_vec(), value, &mut new)?;
            // Elements that are kept also keep their index.
            let kept: BTreeSet<&Vec<String>> = new.iter().map(|(key, _)| key).collect();
            let existing = self.with_prefix(segments);
            let removed: Vec<_> = existing.filter(|(key, _)| !kept.contains(key)).collect();
            for (key, _) in removed {
                self.remove_key(&key);
            }
            for (key, element) in new {
                self.put_element(context, &key, element, mode)?;
            }
            return Ok(());
        }
        let (key, rest) = segments.split_at(width);
        if rest.is_empty() {
            return self.put_element(context, key, value, mode);
        }
        let existing = self.by_key.get(key).and_then(|indexes| indexes.first());
        let index = if let Some(index) = existing {
            *index
        } else {
            let initial = initial::parent(context.element());
            let element = self.with_key(key, initial, PutMode::Add)?;
            self.push(Node::Plain(element))
        };
        self.change(context, index, key, |element| {
            element.put(context.element(), rest, value, mode)
        })
    }

    /// Removes an element, a part of one, or all elements whose keys start with the segments.
    pub(super) fn remove(
        &mut self,
        context: PatchContext<'_>,
        segments: &[String],
    ) -> Result<(), String> {
        let width = self.width();
        if segments.len() <= width {
            let removed: Vec<_> = self.with_prefix(segments).collect();
            for (key, _) in removed {
                self.remove_key(&key);
            }
            return Ok(());
        }
        let (key, rest) = segments.split_at(width);
        let Some(index) = self.by_key.get(key).and_then(|indexes| indexes.first()) else {
            return Ok(());
        };
        self.change(context, *index, key, |element| {
            element.remove(context.element(), rest)
        })
    }

    fn width(&self) -> usize {
        self.members.len().max(1)
    }

    /// The keys and indexes of the elements whose keys start with a prefix.
    fn with_prefix(&self, prefix: &[String]) -> impl Iterator<Item = (Vec<String>, usize)> {
        let from = (Bound::Included(prefix.to_vec()), Bound::Unbounded);
        self.by_key
            .range(from)
            .take_while(move |(key, _)| key.starts_with(prefix))
            .flat_map(|(key, indexes)| indexes.iter().map(|index| (key.clone(), *index)))
    }

    fn put_element(
        &mut self,
        context: PatchContext<'_>,
        key: &[String],
        value: Value,
        mode: PutMode,
    ) -> Result<(), String> {
        let element = normalize(context.element(), self.with_key(key, value, mode)?)?;
        let element = Node::Plain(element);
        // The path may leave a key empty that the element has.
        let own_key = self.key_of(&element);
        let existing = [key, &own_key]
            .into_iter()
            .find_map(|key| self.by_key.get(key)?.first().copied());
        for key in [key, &own_key] {
            self.remove_key(key);
        }
        match existing {
            Some(index) => {
                self.elements[index] = Some(element);
                self.by_key.entry(own_key).or_default().push(index);
            }
            None => {
                self.push(element);
            }
        }
        Ok(())
    }

    /// Sets the keys in the path on the element, unless it has them.
    fn with_key(&self, key: &[String], value: Value, mode: PutMode) -> Result<Value, String> {
        let text = || key.first().cloned().unwrap_or_default();
        if self.members.is_empty() {
            return Ok(Value::String(text()));
        }
        let mut members = match value {
            Value::Object(members) => members,
            // An element may be sent as its key alone.
            Value::String(value) if self.members.len() == 1 && value == text() => Map::new(),
            other => {
                return Err(format!(
                    "the elements of this list are objects, found {}",
                    plain::describe(&other)
                ));
            }
        };
        for (path, segment) in self.members.iter().zip(key) {
            if segment.is_empty() {
                continue;
            }
            let value = Value::Object(members);
            let current = plain::key_text(plain::get(&value, path));
            let Value::Object(unchanged) = value else {
                return Err("the element is not an object".to_owned());
            };
            members = unchanged;
            if current.is_empty() || (current != *segment && mode == PutMode::Copy) {
                plain::set_member(&mut members, path, Value::from(segment.as_str()))?;
            } else if current != *segment {
                return Err(format!(
                    "{} is '{}' in the path but '{}' in the value",
                    path.join("."),
                    plain::shorten(segment),
                    plain::shorten(&current)
                ));
            }
        }
        Ok(Value::Object(members))
    }

    /// Changes a part of an element and updates its key.
    fn change(
        &mut self,
        context: PatchContext<'_>,
        index: usize,
        key: &[String],
        change: impl FnOnce(&mut Node) -> Result<(), String>,
    ) -> Result<(), String> {
        let Some(element) = &mut self.elements[index] else {
            return Ok(());
        };
        change(element)?;
        let new_key = self.elements[index]
            .as_ref()
            .map(|element| self.key_of(element));
        // A key may be a large value.
        let length = |key: &Vec<String>| key.iter().map(String::len).sum();
        context.budget.charge(new_key.as_ref().map_or(0, length))?;
        if let Some(new_key) = new_key
            && new_key != key
        {
            if let Some(indexes) = self.by_key.get_mut(key) {
                context.budget.charge(indexes.len())?;
                indexes.retain(|other| *other != index);
            }
            self.by_key.entry(new_key).or_default().push(index);
        }
        Ok(())
    }

    fn push(&mut self, element: Node) -> usize {
        let index = self.elements.len();
        let key = self.key_of(&element);
        self.elements.push(Some(element));
        self.by_key.entry(key).or_default().push(index);
        index
    }

    fn remove_key(&mut self, key: &[String]) {
        for index in self.by_key.remove(key).unwrap_or_default() {
            self.elements[index] = None;
        }
    }

    fn key_of(&self, element: &Node) -> Vec<String> {
        if self.members.is_empty() {
            return vec![element.key_text(&[])];
        }
        let members = self.members.iter();
        members.map(|path| element.key_text(path)).collect()
    }
}
