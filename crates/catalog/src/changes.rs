//! The changes of the catalog, newest first: who changed what, and when.
//!
//! The source is the change log. One line of the list stands for everything that belongs together:
//! an ingestion run, a request that changed many entities, or a user's edits of one entity. The
//! state of the server itself, such as sessions and tokens, is not part of the catalog
//! ([`docent_store::change_log`]).
//!
//! A page reads a limited part of the log and continues from there, so it may have fewer lines than
//! requested. To add a kind of change: a variant of [`ChangeKind`], and its aspects in
//! [`ChangeKind::of`].

mod groups;

use std::collections::HashSet;

use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::change_log::is_internal;
use docent_store::{AspectKey, BrowsedEntry, LogEntryKind, LogKey, ReadRequest};
use serde_json::Value;

use crate::about_assets::urns_in;
use crate::domains::MAX_DEPTH;
use crate::limits::check_count;
use crate::stored::aspect_value;
use crate::times::check_period;
use crate::{Catalog, Error};
use groups::Groups;
pub use groups::{ChangeGroup, ChangedEntity, MAX_LISTED};

/// How many lines a page has at most.
pub const MAX_COUNT: usize = 100;
/// How many entries of the log a page reads at most.
const MAX_EXAMINED: usize = 20_000;
/// How many entries are read at once.
const CHUNK: usize = 1_000;
/// Entries of the log are in the order of time, except for transactions that overlapped.
const OVERLAP_MS: i64 = 5 * 60 * 1000;

/// What a change is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    Creation,
    /// Hard and soft deletion, and its undoing.
    Deletion,
    /// Descriptions, names and other texts of an entity.
    Documentation,
    /// Texts and labels of columns.
    Columns,
    Schema,
    Tags,
    Terms,
    Owners,
    Domain,
    Links,
    Deprecation,
    Properties,
    Lineage,
    Other,
}

impl ChangeKind {
    const ALL: [(Self, &'static str); 14] = [
        (Self::Creation, "CREATION"),
        (Self::Deletion, "DELETION"),
        (Self::Documentation, "DOCUMENTATION"),
        (Self::Columns, "COLUMNS"),
        (Self::Schema, "SCHEMA"),
        (Self::Tags, "TAGS"),
        (Self::Terms, "TERMS"),
        (Self::Owners, "OWNERS"),
        (Self::Domain, "DOMAIN"),
        (Self::Links, "LINKS"),
        (Self::Deprecation, "DEPRECATION"),
        (Self::Properties, "PROPERTIES"),
        (Self::Lineage, "LINEAGE"),
        (Self::Other, "OTHER"),
    ];

    pub fn parse(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(kind, _)| *kind)
    }

    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(kind, _)| *kind == self);
        found.map_or("OTHER", |(_, name)| name)
    }

    /// The kind of an entry of the log.
    fn of(entry: &BrowsedEntry) -> Self {
        let AspectKey { urn, aspect } = &entry.key;
        let is_key = Registry::get().is_key_aspect(urn, *aspect);
        match (entry.kind, aspect.as_str()) {
            (LogEntryKind::Delete, _) if is_key => Self::Deletion,
            (LogEntryKind::Put, _) if is_key => Self::Creation,
            (_, "status") => Self::Deletion,
            (_, "editableSchemaMetadata") => Self::Columns,
            (_, "schemaMetadata") => Self::Schema,
            (_, "globalTags") => Self::Tags,
            (_, "glossaryTerms" | "glossaryRelatedTerms") => Self::Terms,
            (_, "ownership") => Self::Owners,
            (_, "domains") => Self::Domain,
            (_, "institutionalMemory") => Self::Links,
            (_, "deprecation" | "datasetDeprecation") => Self::Deprecation,
            (_, "structuredProperties") => Self::Properties,
            (_, "upstreamLineage" | "dataJobInputOutput" | "siblings") => Self::Lineage,
            (_, name) if name.ends_with("Properties") || name.ends_with("Info") => {
                Self::Documentation
            }
            _ => Self::Other,
        }
    }
}

/// Which changes to list, newest first; what is empty or `None` does not filter.
#[derive(Debug, Clone, Default)]
pub struct ChangesQuery {
    /// The URNs of users.
    pub actors: Vec<Urn>,
    pub kinds: Vec<ChangeKind>,
    /// Only entities in this domain or a subdomain, as they are now.
    pub domain: Option<Urn>,
    pub since_ms: Option<EpochMillis>,
    /// Only changes before this time.
    pub until_ms: Option<EpochMillis>,
    /// Without ingestion runs and the server itself. A hard deletion has no system metadata that
    /// names a run, so it counts as a change of the person whose token was used.
    pub people_only: bool,
    /// Continues after this entry.
    pub after: Option<LogKey>,
}

/// A page of changes.
#[derive(Debug, Clone, Default)]
pub struct ChangesPage {
    pub groups: Vec<ChangeGroup>,
    /// Where to continue. A page with few changes may have one: it read its limit.
    pub next: Option<LogKey>,
    /// The time of the last entry that was read.
    pub read_through_ms: Option<EpochMillis>,
}

impl ChangesQuery {
    fn check(&self, count: usize) -> Result<(), Error> {
        check_count("count", count, MAX_COUNT)?;
        check_period(self.since_ms, self.until_ms)?;
        if let Some(domain) = &self.domain {
            domain.expect_type("domain")?;
        }
        Ok(())
    }

    fn matches(&self, entry: &BrowsedEntry) -> bool {
        let AspectKey { urn, aspect } = &entry.key;
        Registry::get().entity(urn.entity_type()).is_some()
            && !is_internal(urn, *aspect)
            && !Catalog::is_secret(*aspect)
            && self.since_ms.is_none_or(|since| entry.time_ms >= since)
            && self.until_ms.is_none_or(|until| entry.time_ms < until)
            && (self.actors.is_empty() || self.actors.iter().any(|it| it.as_str() == entry.actor))
            && (self.kinds.is_empty() || self.kinds.contains(&ChangeKind::of(entry)))
    }
}

impl Catalog {
    /// The changes of what the caller of this catalog may see, in up to `count` lines.
    pub async fn changes(&self, query: &ChangesQuery, count: usize) -> Result<ChangesPage, Error> {
        query.check(count)?;
        let mut before = match (query.after, query.until_ms) {
            (Some(after), _) => after,
            (None, Some(until_ms)) if until_ms <= self.now_ms() => {
                self.log_key_at(until_ms.saturating_add(OVERLAP_MS)).await?
            }
            _ => LogKey::END,
        };
        let mut page = ChangesPage::default();
        let mut groups = Groups::new(count);
        let mut examined = 0;
        while examined < MAX_EXAMINED {
            let store = self.store();
            let entries = store.log_browse(before, query.people_only, CHUNK).await?;
            let is_last = entries.len() < CHUNK;
            examined += entries.len();
            let shown = self.shown_among(query, &entries).await?;
            for entry in entries {
                let is_before =
                    |since: EpochMillis| entry.time_ms < since.saturating_sub(OVERLAP_MS);
                if query.since_ms.is_some_and(is_before) {
                    return Ok(page.ended(groups));
                }
                let is_shown = shown.contains(&entry.key.urn) && query.matches(&entry);
                if is_shown && !groups.add(&entry) {
                    page.next = Some(before);
                    page.groups = groups.finish();
                    return Ok(page);
                }
                before = entry.position;
                page.read_through_ms = Some(entry.time_ms);
            }
            if is_last {
                return Ok(page.ended(groups));
            }
        }
        page.next = Some(before);
        page.groups = groups.finish();
        Ok(page)
    }

    /// The entities among matching entries that the caller sees, and that are in the domain.
    async fn shown_among(
        &self,
        query: &ChangesQuery,
        entries: &[BrowsedEntry],
    ) -> Result<HashSet<Urn>, Error> {
        let matching = entries.iter().filter(|entry| query.matches(entry));
        let mut shown: HashSet<Urn> = matching.map(|entry| entry.key.urn.clone()).collect();
        let hidden = self.hidden_among(&shown).await?;
        shown.retain(|urn| !hidden.contains(urn));
        if let Some(domain) = &query.domain {
            self.retain_in_domain(&mut shown, domain).await?;
        }
        Ok(shown)
    }

    async fn retain_in_domain(&self, urns: &mut HashSet<Urn>, domain: &Urn) -> Result<(), Error> {
        let all: Vec<Urn> = urns.iter().cloned().collect();
        let keys: Vec<AspectKey> = all
            .iter()
            .map(|urn| AspectKey::new(urn, AspectName::DOMAINS))
            .collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let mut domains: Vec<Vec<Urn>> = Vec::with_capacity(all.len());
        for (urn, row) in all.iter().zip(&rows) {
            domains.push(if urn.entity_type() == "domain" {
                vec![urn.clone()]
            } else {
                let value: Value = aspect_value(row).unwrap_or_default();
                urns_in(&value["domains"])
            });
        }
        let distinct: HashSet<Urn> = domains.iter().flatten().cloned().collect();
        let distinct: Vec<Urn> = distinct.into_iter().collect();
        let ancestors = self
            .store()
            .placement_ancestors(&distinct, MAX_DEPTH)
            .await?;
        let within: HashSet<&Urn> = distinct
            .iter()
            .zip(&ancestors)
            .filter(|(own, above)| *own == domain || above.contains(domain))
            .map(|(own, _)| own)
            .collect();
        for (urn, of) in all.iter().zip(&domains) {
            if !of.iter().any(|it| within.contains(it)) {
                urns.remove(urn);
            }
        }
        Ok(())
    }

    /// A key behind all entries of before a time, found by binary search.
    async fn log_key_at(&self, time_ms: EpochMillis) -> Result<LogKey, Error> {
        let newest = self.store().log_browse(LogKey::END, false, 1).await?;
        let Some(newest) = newest.first() else {
            return Ok(LogKey::END);
        };
        if newest.time_ms < time_ms {
            return Ok(LogKey::END);
        }
        let (mut earlier, mut later) = (0, newest.position.transaction.saturating_add(1));
        while later - earlier > 1 {
            let middle = earlier.midpoint(later);
            let key = LogKey::before(middle);
            let last = self.store().log_browse(key, false, 1).await?;
            if last.first().is_none_or(|entry| entry.time_ms < time_ms) {
                earlier = middle;
            } else {
                later = middle;
            }
        }
        Ok(LogKey::before(later))
    }
}

impl ChangesPage {
    /// The last page.
    fn ended(self, groups: Groups) -> Self {
        Self {
            groups: groups.finish(),
            next: None,
            ..self
        }
    }
}
