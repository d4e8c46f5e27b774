//! Which entries of the log make one line.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use docent_model::aspects::SYSTEM_ACTOR;
use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::BrowsedEntry;

use super::ChangeKind;

/// How many entities of a line are listed.
pub const MAX_LISTED: usize = 50;
/// Edits of one entity with shorter breaks are one line.
const BREAK_MS: i64 = 15 * 60 * 1000;

/// Changes that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeGroup {
    /// Identifies the line: the key of its newest entry.
    pub id: String,
    /// The time of the newest change, and of the oldest.
    pub time_ms: EpochMillis,
    pub since_ms: EpochMillis,
    pub actor: String,
    /// The ingestion run.
    pub run: Option<String>,
    /// The number of changed aspects.
    pub changes: u64,
    /// The number of entities by type.
    pub entities_by_type: BTreeMap<String, u64>,
    /// The first entities, at most [`MAX_LISTED`].
    pub entities: Vec<ChangedEntity>,
}

/// An entity of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedEntity {
    pub urn: Urn,
    /// The time of the newest change.
    pub time_ms: EpochMillis,
    pub kinds: BTreeSet<ChangeKind>,
    pub aspects: BTreeSet<AspectName>,
}

/// The lines of a page.
#[derive(Debug)]
pub(super) struct Groups {
    max: usize,
    groups: Vec<OpenGroup>,
}

#[derive(Debug)]
struct OpenGroup {
    group: ChangeGroup,
    /// Every entity, with its index among the listed ones.
    indexes: HashMap<Urn, Option<usize>>,
}

impl Groups {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            groups: Vec::new(),
        }
    }

    /// Adds the next older entry. False if it needs a line that the page has no room for.
    pub(super) fn add(&mut self, entry: &BrowsedEntry) -> bool {
        if let Some(open) = self.groups.iter_mut().rev().find(|open| open.takes(entry)) {
            open.add(entry);
            return true;
        }
        if self.groups.len() == self.max {
            return false;
        }
        let mut open = OpenGroup::new(entry);
        open.add(entry);
        self.groups.push(open);
        true
    }

    pub(super) fn finish(self) -> Vec<ChangeGroup> {
        self.groups.into_iter().map(|open| open.group).collect()
    }
}

impl OpenGroup {
    fn new(entry: &BrowsedEntry) -> Self {
        let group = ChangeGroup {
            id: entry.position.to_string(),
            time_ms: entry.time_ms,
            since_ms: entry.time_ms,
            actor: entry.actor.clone(),
            run: entry.run.clone(),
            changes: 0,
            entities_by_type: BTreeMap::new(),
            entities: Vec::new(),
        };
        Self {
            group,
            indexes: HashMap::new(),
        }
    }

    fn takes(&self, entry: &BrowsedEntry) -> bool {
        let group = &self.group;
        if group.run.is_some() || entry.run.is_some() {
            return group.run == entry.run;
        }
        if group.actor != entry.actor {
            return false;
        }
        let is_soon = group.since_ms - entry.time_ms <= BREAK_MS;
        let is_same_entity = self.indexes.len() == 1 && self.indexes.contains_key(&entry.key.urn);
        // One request has one time.
        let is_same_request = group.since_ms == entry.time_ms;
        is_same_request || is_soon && (is_same_entity || entry.actor == SYSTEM_ACTOR)
    }

    fn add(&mut self, entry: &BrowsedEntry) {
        let group = &mut self.group;
        group.changes += 1;
        group.since_ms = group.since_ms.min(entry.time_ms);
        let urn = &entry.key.urn;
        let index = *self.indexes.entry(urn.clone()).or_insert_with(|| {
            let of_type = group.entities_by_type.entry(urn.entity_type().to_owned());
            *of_type.or_default() += 1;
            (group.entities.len() < MAX_LISTED).then(|| {
                group.entities.push(ChangedEntity {
                    urn: urn.clone(),
                    time_ms: entry.time_ms,
                    kinds: BTreeSet::new(),
                    aspects: BTreeSet::new(),
                });
                group.entities.len() - 1
            })
        });
        if let Some(entity) = index.and_then(|index| group.entities.get_mut(index)) {
            entity.kinds.insert(ChangeKind::of(entry));
            entity.aspects.insert(entry.key.aspect);
        }
    }
}
