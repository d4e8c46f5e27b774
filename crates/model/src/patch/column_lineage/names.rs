//! The columns on one side of a lineage element.

use std::collections::HashMap;

use super::NONE;

/// An ordered list of names with fast lookup and removal.
#[derive(Debug, Clone)]
pub(super) struct ColumnNames {
    /// Removed names become `None`.
    items: Vec<Option<String>>,
    /// Indexes by name. Lists written by other programs may have duplicates.
    indexes: HashMap<String, Vec<usize>>,
    length: usize,
    is_changed: bool,
}

impl ColumnNames {
    pub(super) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = Self {
            items: Vec::new(),
            indexes: HashMap::new(),
            length: 0,
            is_changed: false,
        };
        for name in names {
            all.push(name);
        }
        all
    }

    /// Names that differ from the stored element.
    pub(super) fn changed<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            is_changed: true,
            ..Self::new(names)
        }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.items.iter().flatten().map(String::as_str)
    }

    fn push(&mut self, name: &str) {
        let indexes = self.indexes.entry(name.to_owned()).or_default();
        indexes.push(self.items.len());
        self.items.push(Some(name.to_owned()));
        self.length += 1;
    }

    /// Adds a name. Returns whether it replaced the placeholder for no columns.
    pub(super) fn push_replacing_none(&mut self, name: &str) -> bool {
        let was_none = self.length == 1 && self.indexes.contains_key(NONE);
        if was_none {
            self.remove(NONE);
        }
        self.push(name);
        self.is_changed = true;
        was_none
    }

    pub(super) fn remove(&mut self, name: &str) {
        for index in self.indexes.remove(name).unwrap_or_default() {
            self.items[index] = None;
            self.length -= 1;
            self.is_changed = true;
        }
    }

    /// The names, if they differ from the stored element.
    pub(super) fn into_changed(self) -> Option<Vec<String>> {
        self.is_changed
            .then(|| self.items.into_iter().flatten().collect())
    }
}
