//! The change history of an entity, from the stored versions of its aspects.
//!
//! [`rules`] says what is compared: lists and texts in aspects. [`columns`] compares the columns of
//! two schemas, where a rename and a change of type are told apart from an addition. [`schemas`]
//! reads the versions of a schema from the changes.
//!
//! To report another kind of change: a line in the table of [`rules`].

mod columns;
mod documents;
mod rules;
mod schemas;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{AspectKey, LogicalVersion, RowVersion, StoredAspect, version};
use serde_json::{Map, Value};

use crate::view::stand_in;
use crate::{Catalog, Error, ReadRequest, long_work};
use rules::added::ADDED_RULES;
use rules::{RULES, Rule};

pub use documents::{DocumentChange, DocumentChangeKind};
pub use schemas::{ColumnChange, SchemaBlame, SchemaVersion};
pub(crate) use values::compare_values;

/// How many versions of an asset are merged into one timeline.
const MAX_MERGED_VERSIONS: usize = 50;

/// The category of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    Documentation,
    Tag,
    GlossaryTerm,
    Ownership,
    TechnicalSchema,
    Domain,
    StructuredProperty,
    Application,
    AssetMembership,
    Versioning,
    Parent,
    RelatedEntities,
    /// The state of a document. Not in DataHub's GraphQL schema.
    Lifecycle,
    /// The name of an entity. Like the next two, DataHub's timeline does not have it, so it is
    /// returned only if it is asked for.
    Name,
    Deprecation,
    /// Soft deletion.
    Deletion,
}

impl Category {
    const ALL: [(Self, &'static str); 16] = [
        (Self::Documentation, "DOCUMENTATION"),
        (Self::Tag, "TAG"),
        (Self::GlossaryTerm, "GLOSSARY_TERM"),
        (Self::Ownership, "OWNERSHIP"),
        (Self::TechnicalSchema, "TECHNICAL_SCHEMA"),
        (Self::Domain, "DOMAIN"),
        (Self::StructuredProperty, "STRUCTURED_PROPERTY"),
        (Self::Application, "APPLICATION"),
        (Self::AssetMembership, "ASSET_MEMBERSHIP"),
        (Self::Versioning, "VERSIONING"),
        (Self::Parent, "PARENT"),
        (Self::RelatedEntities, "RELATED_ENTITIES"),
        (Self::Lifecycle, "LIFECYCLE"),
        (Self::Name, "NAME"),
        (Self::Deprecation, "DEPRECATION"),
        (Self::Deletion, "DELETION"),
    ];
    const ADDED: [Self; 3] = [Self::Name, Self::Deprecation, Self::Deletion];

    /// All categories of DataHub.
    pub fn all() -> Vec<Self> {
        let all = Self::ALL.iter().map(|(category, _)| *category);
        all.filter(|category| !Self::ADDED.contains(category))
            .collect()
    }

    pub fn parse(name: &str) -> Result<Self, Error> {
        let name = name.to_ascii_uppercase();
        let name = match name.as_str() {
            "OWNER" => "OWNERSHIP",
            "TERM" => "GLOSSARY_TERM",
            other => other,
        };
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(category, _)| *category).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|(_, known)| *known).collect();
            Error::invalid(format!(
                "there is no category '{name}': use {}",
                known.join(", ")
            ))
        })
    }

    pub fn name(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(category, _)| *category == self)
            .map_or("", |(_, name)| name)
    }
}

/// The impact of a change on users of the entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    None,
    Patch,
    Minor,
    Major,
}

impl Weight {
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Patch => "PATCH",
            Self::Minor => "MINOR",
            Self::Major => "MAJOR",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Of the entity itself. Only documents have it.
    Create,
    Add,
    Modify,
    Remove,
}

impl Operation {
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Add => "ADD",
            Self::Modify => "MODIFY",
            Self::Remove => "REMOVE",
        }
    }
}

#[derive(Debug)]
pub struct Event {
    /// The entity, or its column if the change is about the description or a label of one.
    pub entity: String,
    /// The changed aspect.
    pub aspect: &'static str,
    pub category: Category,
    pub operation: Operation,
    pub weight: Weight,
    /// The URN or URL that was added, modified or removed; `None` for the entity's own text. A URN
    /// that the caller may not see is replaced.
    pub modifier: Option<String>,
    /// The column after the change, if it is about one.
    pub column: Option<String>,
    /// What a client needs to show the change, by name.
    pub parameters: Map<String, Value>,
    pub description: String,
}

/// The changes of one time.
#[derive(Debug)]
pub struct Moment {
    pub time_ms: EpochMillis,
    pub actor: String,
    /// The version of the entity after the changes.
    pub version: SemanticVersion,
    /// The largest weight of the changes.
    pub weight: Weight,
    /// The row versions of all aspects at that time, as `name:version` separated by semicolons.
    pub version_stamp: String,
    pub events: Vec<Event>,
}

/// A semantic version, advanced by the weight of each change. The first one is 0.0.0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SemanticVersion {
    major: u64,
    minor: u64,
    patch: u64,
}

impl SemanticVersion {
    fn after(self, weight: Weight) -> Self {
        match weight {
            Weight::Major => Self {
                major: self.major + 1,
                ..Self::default()
            },
            Weight::Minor => Self {
                minor: self.minor + 1,
                patch: 0,
                ..self
            },
            Weight::Patch => Self {
                patch: self.patch + 1,
                ..self
            },
            Weight::None => self,
        }
    }

    /// Reads `1.2.3`, also with fewer numbers or with the suffix that DataHub adds.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = text.strip_suffix("-computed").unwrap_or(text);
        let mut numbers = numbers.split('.').map(|part| part.parse::<u64>().ok());
        let mut next = || numbers.next().unwrap_or(Some(0));
        let version = Self {
            major: next()?,
            minor: next()?,
            patch: next()?,
        };
        numbers.next().is_none().then_some(version)
    }
}

impl fmt::Display for SemanticVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The merged timeline of the versions of an asset.
#[derive(Debug)]
pub struct MergedTimeline {
    /// Oldest first.
    pub moments: Vec<Moment>,
    /// The number of versions that are left out, because there are too many.
    pub skipped: usize,
}

/// The changes by time and actor, with the index of their rule.
type Changes = BTreeMap<(EpochMillis, String), Vec<(usize, Event)>>;
/// When which row of an aspect was written, oldest first.
type RowTimes = Vec<(EpochMillis, RowVersion)>;

impl Catalog {
    /// The changes of an entity in some categories, oldest first, as far back as versions are
    /// retained. None for a missing entity.
    pub async fn timeline(
        &self,
        urn: &Urn,
        categories: &[Category],
        from_ms: Option<EpochMillis>,
        through_ms: Option<EpochMillis>,
    ) -> Result<Vec<Moment>, Error> {
        let entity = Registry::get().check_urn(urn)?;
        let rules: Vec<(usize, &Rule, AspectName)> = RULES
            .iter()
            .chain(&ADDED_RULES)
            .enumerate()
            .filter(|(_, rule)| categories.contains(&rule.category))
            .filter_map(|(index, rule)| Some((index, rule, Registry::get().aspect(rule.aspect)?)))
            .filter(|(_, _, aspect)| entity.has_aspect(*aspect))
            .collect();
        let mut changes = Changes::new();
        let mut rows: BTreeMap<AspectName, RowTimes> = BTreeMap::new();
        for aspect in self.stored_aspects(urn).await? {
            let versions = self.versions_of(&AspectKey::new(urn, aspect)).await?;
            let row_time = |row: &StoredAspect| (row.created_on_ms, row.version);
            rows.insert(aspect, versions.rows.iter().map(row_time).collect());
            let of_aspect = rules.iter().filter(|(_, _, of)| *of == aspect);
            let of_aspect: Vec<_> = of_aspect.map(|(index, rule, _)| (*index, *rule)).collect();
            if of_aspect.is_empty() {
                continue;
            }
            let compare = || compare_versions(urn, &of_aspect, &versions.rows, &mut changes);
            long_work::run(versions.are_long(), compare).await;
        }
        let in_range = |moment: &Moment| {
            from_ms.is_none_or(|from| moment.time_ms >= from)
                && through_ms.is_none_or(|last| moment.time_ms <= last)
        };
        // The version of a change does not depend on the range that is asked for.
        let mut moments = moments(changes, &rows);
        moments.retain(in_range);
        self.hide_references(&mut moments).await?;
        Ok(moments)
    }

    /// The timeline of an asset merged with those of the other assets in its version set.
    pub async fn timeline_of_versions(
        &self,
        urn: &Urn,
        categories: &[Category],
    ) -> Result<MergedTimeline, Error> {
        let (assets, skipped) = self.assets_of_version_set(urn).await?;
        let mut moments = Vec::new();
        for asset in &assets {
            moments.extend(self.timeline(asset, categories, None, None).await?);
        }
        moments.sort_by(|a, b| (a.time_ms, &a.actor).cmp(&(b.time_ms, &b.actor)));
        Ok(MergedTimeline { moments, skipped })
    }

    /// The assets in the version set of an asset, itself first, and how many more there are.
    async fn assets_of_version_set(&self, urn: &Urn) -> Result<(Vec<Urn>, usize), Error> {
        const RELATIONSHIP: &[&str] = &["VersionOf"];
        let asset = std::slice::from_ref(urn);
        let sets = self
            .public_edges(asset, true, RELATIONSHIP, 0, 1)
            .await?
            .pop();
        let mut assets = vec![urn.clone()];
        let Some(set) = sets.and_then(|page| page.items.into_iter().next()) else {
            return Ok((assets, 0));
        };
        let members = self
            .public_edges(&[set.urn], false, RELATIONSHIP, 0, MAX_MERGED_VERSIONS)
            .await?
            .pop();
        let Some(members) = members else {
            return Ok((assets, 0));
        };
        let others = members.items.into_iter().map(|member| member.urn);
        assets.extend(others.filter(|other| other != urn));
        assets.truncate(MAX_MERGED_VERSIONS);
        let skipped = members.total.saturating_sub(assets.len());
        Ok((assets, skipped))
    }

    /// The versioned aspects that the entity has.
    async fn stored_aspects(&self, urn: &Urn) -> Result<Vec<AspectName>, Error> {
        let entity = Registry::get().check_urn(urn)?;
        let is_versioned = |aspect: &AspectName| {
            !Registry::get().is_timeseries(*aspect) && !Self::is_secret(*aspect)
        };
        let key = std::iter::once(entity.key_aspect);
        let aspects = key.chain(entity.aspects.iter().copied());
        let aspects: Vec<AspectName> = aspects.filter(is_versioned).collect();
        let keys: Vec<AspectKey> = aspects
            .iter()
            .map(|aspect| AspectKey::new(urn, *aspect))
            .collect();
        let exist = self.read(ReadRequest::exists(&keys)).await?.exists;
        let stored = aspects.into_iter().zip(exist);
        Ok(stored
            .filter_map(|(aspect, exists)| exists.then_some(aspect))
            .collect())
    }

    /// Replaces the URNs of what the caller may not see.
    async fn hide_references(&self, moments: &mut [Moment]) -> Result<(), Error> {
        let mut named = BTreeSet::new();
        for event in moments.iter().flat_map(|moment| &moment.events) {
            named.extend(event.modifier.as_deref().and_then(|it| Urn::parse(it).ok()));
            event
                .parameters
                .values()
                .for_each(|value| collect_urns(value, &mut named));
        }
        let hidden = self.hidden_among(&named).await?;
        let shown = hidden
            .iter()
            .map(|urn| Ok((urn.as_str(), stand_in(urn)?)))
            .collect::<Result<BTreeMap<&str, Urn>, Error>>()?;
        if shown.is_empty() {
            return Ok(());
        }
        for event in moments.iter_mut().flat_map(|moment| &mut moment.events) {
            if let Some(modifier) = &mut event.modifier
                && let Some(stand_in) = shown.get(modifier.as_str())
            {
                let text = event
                    .description
                    .replace(modifier.as_str(), stand_in.as_str());
                event.description = text;
                *modifier = stand_in.as_str().to_owned();
            }
            for value in event.parameters.values_mut() {
                replace_urns(value, &shown);
            }
        }
        Ok(())
    }
}

fn collect_urns(value: &Value, named: &mut BTreeSet<Urn>) {
    match value {
        Value::String(text) => named.extend(Urn::parse(text).ok()),
        Value::Array(items) => items.iter().for_each(|item| collect_urns(item, named)),
        Value::Object(members) => {
            for member in members.values() {
                collect_urns(member, named);
            }
        }
        _ => {}
    }
}

fn replace_urns(value: &mut Value, shown: &BTreeMap<&str, Urn>) {
    match value {
        Value::String(text) => {
            if let Some(stand_in) = shown.get(text.as_str()) {
                *text = stand_in.as_str().to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_urns(item, shown)),
        Value::Object(members) => {
            for member in members.values_mut() {
                replace_urns(member, shown);
            }
        }
        _ => {}
    }
}

/// Collects the changes between the versions of an aspect.
fn compare_versions(
    urn: &Urn,
    rules: &[(usize, &Rule)],
    versions: &[StoredAspect],
    changes: &mut Changes,
) {
    let mut before: Option<Value> = None;
    for row in versions {
        let after = serde_json::from_str::<Value>(&row.metadata).unwrap_or_default();
        let is_first = version::logical_version_of(row) <= LogicalVersion::FIRST;
        // The changes of the oldest retained version are unknown.
        if before.is_some() || is_first {
            let mut events = Vec::new();
            for (index, rule) in rules {
                let found = rule.compare(urn, before.as_ref(), &after);
                events.extend(found.into_iter().map(|event| (*index, event)));
            }
            if !events.is_empty() {
                let moment = (row.created_on_ms, row.created_by.clone());
                changes.entry(moment).or_default().extend(events);
            }
        }
        before = Some(after);
    }
}

/// Sums up the changes of each time.
fn moments(changes: Changes, rows: &BTreeMap<AspectName, RowTimes>) -> Vec<Moment> {
    let mut version: Option<SemanticVersion> = None;
    changes
        .into_iter()
        .map(|((time_ms, actor), mut events)| {
            // In the order of the rules.
            events.sort_by_key(|(rule, _)| *rule);
            let events: Vec<Event> = events.into_iter().map(|(_, event)| event).collect();
            let weight = events.iter().map(|event| event.weight).max();
            let weight = weight.unwrap_or(Weight::None);
            let next = version.map_or_else(SemanticVersion::default, |last| last.after(weight));
            version = Some(next);
            Moment {
                time_ms,
                actor,
                version: next,
                weight,
                version_stamp: version_stamp(rows, time_ms),
                events,
            }
        })
        .collect()
}

/// The rows that were the latest at a time.
fn version_stamp(rows: &BTreeMap<AspectName, RowTimes>, time_ms: EpochMillis) -> String {
    let mut parts: Vec<String> = rows
        .iter()
        .filter_map(|(aspect, times)| {
            let (_, row) = times.iter().rfind(|(time, _)| *time <= time_ms)?;
            Some(format!("{aspect}:{}", row.get()))
        })
        .collect();
    parts.sort();
    parts.join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semantic_versions_are_read_as_they_are_written() {
        let version = SemanticVersion::parse("1.2.3-computed").unwrap();
        assert_eq!(version.to_string(), "1.2.3");
        assert!(SemanticVersion::parse("1.10.0") > SemanticVersion::parse("1.9"));
        for wrong in ["", "1.x", "1.2.3.4", "v1"] {
            assert_eq!(SemanticVersion::parse(wrong), None, "{wrong}");
        }
    }
}
