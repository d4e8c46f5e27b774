//! The columns of one side of an element.

use std::collections::HashMap;

use super::NOT_SAID;

/// Names in an order, found and removed without going over all of them.
#[derive(Debug, Clone)]
pub(super) struct Names {
    /// Removed ones leave a gap.
    items: Vec<Option<String>>,
    /// Lists that other programs wrote may have a name several times.
    at: HashMap<String, Vec<usize>>,
    left: usize,
    is_changed: bool,
}

impl Names {
    pub(super) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = Self {
            items: Vec::new(),
            at: HashMap::new(),
            left: 0,
            is_changed: false,
        };
        for name in names {
            all.push(name);
        }
        all
    }

    /// Names that are not those of the stored element.
    pub(super) fn changed<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            is_changed: true,
            ..Self::new(names)
        }
    }

    pub(super) fn len(&self) -> usize {
        self.left
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.items.iter().flatten().map(String::as_str)
    }

    fn push(&mut self, name: &str) {
        let places = self.at.entry(name.to_owned()).or_default();
        places.push(self.items.len());
        self.items.push(Some(name.to_owned()));
        self.left += 1;
    }

    /// Adds a name; says whether it takes the place of the one that stands for none.
    pub(super) fn push_said(&mut self, name: &str) -> bool {
        let said_nothing = self.left == 1 && self.at.contains_key(NOT_SAID);
        if said_nothing {
            self.remove(NOT_SAID);
        }
        self.push(name);
        self.is_changed = true;
        said_nothing
    }

    pub(super) fn remove(&mut self, name: &str) {
        for place in self.at.remove(name).unwrap_or_default() {
            self.items[place] = None;
            self.left -= 1;
            self.is_changed = true;
        }
    }

    /// The names, if they are not those of the stored element.
    pub(super) fn into_changed(self) -> Option<Vec<String>> {
        self.is_changed
            .then(|| self.items.into_iter().flatten().collect())
    }
}
