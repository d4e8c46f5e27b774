//! What a transaction has read.

use std::collections::{HashMap, HashSet};

use docent_model::Registry;
use docent_store::{AspectKey, LogicalVersion};

use super::EXPECT_UNCHANGED;
use crate::pool::Step;

/// A row as the transaction first read it.
#[derive(Debug)]
struct ReadRow {
    /// The transaction that wrote the row; `None` if it was missing.
    xmin: Option<String>,
    /// Read under a lock that excludes other writers.
    is_locked: bool,
    /// The retired version of a missing row.
    retired: Option<LogicalVersion>,
}

/// The rows that a transaction has read and not written. They must not change before it commits.
#[derive(Debug, Default)]
pub(super) struct ReadSet {
    rows: HashMap<AspectKey, ReadRow>,
    /// Written by this transaction, so no other transaction can change it.
    written: HashSet<AspectKey>,
}

impl ReadSet {
    pub(super) fn add(
        &mut self,
        key: &AspectKey,
        xmin: Option<String>,
        is_locked: bool,
        retired: Option<LogicalVersion>,
    ) {
        if !self.written.contains(key) {
            // A change since the first read must not go unnoticed.
            self.rows.entry(key.clone()).or_insert(ReadRow {
                xmin,
                is_locked,
                retired,
            });
        }
    }

    /// Whether the row was missing.
    pub(super) fn is_missing(&self, key: &AspectKey) -> bool {
        self.rows.get(key).is_some_and(|row| row.xmin.is_none())
    }

    /// The retired version of a row that was missing.
    pub(super) fn retired(&self, key: &AspectKey) -> Option<LogicalVersion> {
        self.rows.get(key)?.retired
    }

    pub(super) fn has_written(&self) -> bool {
        !self.written.is_empty()
    }

    /// The key aspects of entities that were found to exist.
    pub(super) fn existing_entities(&self) -> impl Iterator<Item = &AspectKey> {
        let is_key = |key: &AspectKey| Registry::get().is_key_aspect(&key.urn, key.aspect);
        self.rows
            .iter()
            .filter(move |(key, row)| row.xmin.is_some() && is_key(key))
            .map(|(key, _)| key)
    }

    /// Checks that rows read without a lock are unchanged. `inserted` ones need no check: their
    /// insert fails if they exist.
    pub(super) fn check(
        &self,
        is_checked: impl Fn(&AspectKey) -> bool,
        inserted: &HashSet<AspectKey>,
    ) -> Option<Step> {
        let (mut urns, mut aspects, mut xmins) = (Vec::new(), Vec::new(), Vec::new());
        for (key, row) in &self.rows {
            if !row.is_locked && is_checked(key) && !inserted.contains(key) {
                urns.push(key.urn.to_string());
                aspects.push(key.aspect.as_str());
                xmins.push(row.xmin.clone());
            }
        }
        (!urns.is_empty()).then(|| {
            Step::new(
                EXPECT_UNCHANGED,
                vec![Box::new(urns), Box::new(aspects), Box::new(xmins)],
            )
        })
    }

    /// The transaction has written these rows.
    pub(super) fn mark_written(&mut self, keys: HashSet<AspectKey>) {
        for key in &keys {
            self.rows.remove(key);
        }
        self.written.extend(keys);
    }
}
