//! The change history of an entity, from the stored versions of its aspects.
//!
//! Each rule of [`RULES`] names a list (or a single text) in an aspect whose entries have a key.
//! Comparing two versions by key shows which entries were added, removed or modified.
//!
//! To report another kind of change: a line in [`RULES`].

use std::collections::{BTreeMap, BTreeSet};

use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{AspectKey, LogicalVersion, StoredAspect, version};
use serde_json::Value;

use crate::view::stand_in;
use crate::{Catalog, Error, long_work};

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
}

impl Category {
    const ALL: [(Self, &'static str); 10] = [
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
    ];

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
    Patch,
    Minor,
    Major,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Add,
    Modify,
    Remove,
}

#[derive(Debug)]
pub struct Event {
    pub category: Category,
    pub operation: Operation,
    pub weight: Weight,
    /// The URN or URL that was added, modified or removed; `None` for the entity's own text. A URN
    /// that the caller may not see is replaced.
    pub modifier: Option<String>,
    /// The column that it belongs to.
    pub column: Option<String>,
    pub description: String,
}

/// The changes of one time.
#[derive(Debug)]
pub struct Moment {
    pub time_ms: EpochMillis,
    pub actor: String,
    pub events: Vec<Event>,
}

struct Rule {
    category: Category,
    aspect: &'static str,
    /// The path to the entries: members, `*` for each item of a list.
    path: &'static [&'static str],
    /// The member that identifies an entry; `""` if it is the entry itself, `None` if there is only
    /// one.
    key: Option<&'static str>,
    /// The member that names the column of the entry.
    column: Option<&'static str>,
    /// The members whose change makes an entry modified.
    content: &'static [&'static str],
    /// The name of an entry.
    noun: &'static str,
}

const fn rule(category: Category, aspect: &'static str, noun: &'static str) -> Rule {
    Rule {
        category,
        aspect,
        path: &[],
        key: None,
        column: None,
        content: &[],
        noun,
    }
}

/// A text of the entity itself.
const fn text(aspect: &'static str, path: &'static [&'static str]) -> Rule {
    Rule {
        path,
        content: &[""],
        ..rule(Category::Documentation, aspect, "documentation")
    }
}

const COLUMN: Option<&str> = Some("fieldPath");

const RULES: [Rule; 23] = [
    text("datasetProperties", &["description"]),
    text("editableDatasetProperties", &["description"]),
    text("containerProperties", &["description"]),
    text("editableContainerProperties", &["description"]),
    text("domainProperties", &["description"]),
    text("dataProductProperties", &["description"]),
    text("glossaryTermInfo", &["definition"]),
    text("glossaryNodeInfo", &["definition"]),
    text("tagProperties", &["description"]),
    Rule {
        path: &["elements", "*"],
        key: Some("url"),
        content: &["description"],
        ..rule(Category::Documentation, "institutionalMemory", "link")
    },
    Rule {
        path: &["fields", "*"],
        key: COLUMN,
        content: &["description"],
        ..rule(
            Category::Documentation,
            "schemaMetadata",
            "documentation of column",
        )
    },
    Rule {
        path: &["editableSchemaFieldInfo", "*"],
        key: COLUMN,
        content: &["description"],
        ..rule(
            Category::Documentation,
            "editableSchemaMetadata",
            "documentation of column",
        )
    },
    Rule {
        path: &["tags", "*"],
        key: Some("tag"),
        ..rule(Category::Tag, "globalTags", "tag")
    },
    Rule {
        path: &["editableSchemaFieldInfo", "*", "globalTags", "tags", "*"],
        key: Some("tag"),
        column: COLUMN,
        ..rule(Category::Tag, "editableSchemaMetadata", "tag")
    },
    Rule {
        path: &["terms", "*"],
        key: Some("urn"),
        ..rule(Category::GlossaryTerm, "glossaryTerms", "term")
    },
    Rule {
        path: &[
            "editableSchemaFieldInfo",
            "*",
            "glossaryTerms",
            "terms",
            "*",
        ],
        key: Some("urn"),
        column: COLUMN,
        ..rule(Category::GlossaryTerm, "editableSchemaMetadata", "term")
    },
    Rule {
        path: &["owners", "*"],
        key: Some("owner"),
        content: &["type", "typeUrn"],
        ..rule(Category::Ownership, "ownership", "owner")
    },
    Rule {
        path: &["fields", "*"],
        key: COLUMN,
        content: &["type", "nativeDataType", "nullable", "isPartOfKey"],
        ..rule(Category::TechnicalSchema, "schemaMetadata", "column")
    },
    Rule {
        path: &["domains", "*"],
        key: Some(""),
        ..rule(Category::Domain, "domains", "domain")
    },
    Rule {
        path: &["properties", "*"],
        key: Some("propertyUrn"),
        content: &["values"],
        ..rule(
            Category::StructuredProperty,
            "structuredProperties",
            "structured property",
        )
    },
    Rule {
        path: &["applications", "*"],
        key: Some(""),
        ..rule(Category::Application, "applications", "application")
    },
    Rule {
        path: &["assets", "*"],
        key: Some("destinationUrn"),
        ..rule(Category::AssetMembership, "dataProductProperties", "asset")
    },
    Rule {
        path: &["version", "versionTag"],
        content: &[""],
        ..rule(Category::Versioning, "versionProperties", "version")
    },
];

/// The entries of a version, by key and column, with the compared content.
type Entries = BTreeMap<(String, Option<String>), Value>;

impl Catalog {
    /// The changes of an entity in some categories, oldest first, as far back as versions are
    /// retained.
    pub async fn timeline(
        &self,
        urn: &Urn,
        categories: &[Category],
        from_ms: Option<EpochMillis>,
        through_ms: Option<EpochMillis>,
    ) -> Result<Vec<Moment>, Error> {
        let entity = Registry::get().check_urn(urn)?;
        let rules: Vec<(&Rule, AspectName)> = RULES
            .iter()
            .filter(|rule| categories.contains(&rule.category))
            .filter_map(|rule| Some((rule, Registry::get().aspect(rule.aspect)?)))
            .filter(|(_, aspect)| entity.has_aspect(*aspect))
            .collect();
        let aspects: BTreeSet<AspectName> = rules.iter().map(|(_, aspect)| *aspect).collect();
        let mut moments: BTreeMap<(EpochMillis, String), Vec<(usize, Event)>> = BTreeMap::new();
        for aspect in aspects {
            let versions = self.versions_of(&AspectKey::new(urn, aspect)).await?;
            let of_aspect = rules.iter().enumerate().filter(|(_, it)| it.1 == aspect);
            let of_aspect: Vec<_> = of_aspect.map(|(index, it)| (index, it.0)).collect();
            let compare = || {
                for (moment, events) in compare_versions(urn, &of_aspect, &versions.rows) {
                    moments.entry(moment).or_default().extend(events);
                }
            };
            long_work::run(versions.are_long(), compare).await;
        }
        let in_range = |time: EpochMillis| {
            from_ms.is_none_or(|from| time >= from) && through_ms.is_none_or(|last| time <= last)
        };
        let mut moments: Vec<Moment> = moments
            .into_iter()
            .filter(|((time_ms, _), _)| in_range(*time_ms))
            .map(|((time_ms, actor), mut events)| {
                // In the order of the rules.
                events.sort_by_key(|(rule, _)| *rule);
                Moment {
                    time_ms,
                    actor,
                    events: events.into_iter().map(|(_, event)| event).collect(),
                }
            })
            .collect();
        self.hide_modifiers(&mut moments).await?;
        Ok(moments)
    }

    /// Replaces the URNs of what the caller may not see.
    async fn hide_modifiers(&self, moments: &mut [Moment]) -> Result<(), Error> {
        let modifier = |event: &Event| Urn::parse(event.modifier.as_deref()?).ok();
        let events = moments.iter().flat_map(|moment| &moment.events);
        let modifiers: Vec<Urn> = events.filter_map(modifier).collect();
        let hidden = self.hidden_among(&modifiers).await?;
        for event in moments.iter_mut().flat_map(|moment| &mut moment.events) {
            if let Some(urn) = modifier(event).filter(|urn| hidden.contains(urn)) {
                let shown = stand_in(&urn)?;
                event.description = event.description.replace(urn.as_str(), shown.as_str());
                event.modifier = Some(shown.as_str().to_owned());
            }
        }
        Ok(())
    }
}

/// When and by whom a version was written, and its changes by the index of their rule.
type VersionChanges = ((EpochMillis, String), Vec<(usize, Event)>);

/// The changes between the versions of an aspect, oldest first.
fn compare_versions(
    urn: &Urn,
    rules: &[(usize, &Rule)],
    versions: &[StoredAspect],
) -> Vec<VersionChanges> {
    let mut changes = Vec::new();
    let mut before: Option<Vec<Entries>> = None;
    for row in versions {
        let value = serde_json::from_str::<Value>(&row.metadata).unwrap_or_default();
        let entries = rules.iter().map(|(_, rule)| rule.entries(&value));
        let after: Vec<Entries> = entries.collect();
        let is_first = version::logical_version_of(row) <= LogicalVersion::FIRST;
        let old = match before.take() {
            Some(before) => before,
            None if is_first => vec![Entries::new(); rules.len()],
            // The changes of the oldest retained version are unknown.
            None => after.clone(),
        };
        let compared = rules.iter().zip(old.into_iter().zip(&after));
        let events = compared.flat_map(|((index, rule), (old, new))| {
            let events = rule.compare(urn, old, new);
            events.into_iter().map(|event| (*index, event))
        });
        changes.push((
            (row.created_on_ms, row.created_by.clone()),
            events.collect(),
        ));
        before = Some(after);
    }
    changes.retain(|(_, events): &VersionChanges| !events.is_empty());
    changes
}

impl Rule {
    fn compare(&self, urn: &Urn, mut old: Entries, new: &Entries) -> Vec<Event> {
        let mut events = Vec::new();
        for (key, content) in new {
            match old.remove(key) {
                None => events.push(self.event(urn, Operation::Add, key.clone())),
                Some(former) if former != *content => {
                    events.push(self.event(urn, Operation::Modify, key.clone()));
                }
                Some(_) => {}
            }
        }
        for key in old.into_keys() {
            events.push(self.event(urn, Operation::Remove, key));
        }
        events
    }

    fn entries(&self, value: &Value) -> Entries {
        let mut entries = Entries::new();
        self.collect(value, self.path, None, &mut entries);
        entries
    }

    fn collect(&self, value: &Value, path: &[&str], column: Option<&str>, entries: &mut Entries) {
        let Some((step, rest)) = path.split_first() else {
            self.collect_entry(value, column, entries);
            return;
        };
        if *step != "*" {
            if let Some(inner) = value.get(*step) {
                self.collect(inner, rest, column, entries);
            }
            return;
        }
        for item in value.as_array().into_iter().flatten() {
            let own = self.column.and_then(|member| item.get(member)?.as_str());
            self.collect(item, rest, own.or(column), entries);
        }
    }

    fn collect_entry(&self, entry: &Value, column: Option<&str>, entries: &mut Entries) {
        let key = match self.key {
            None => Some(""),
            Some("") => entry.as_str(),
            Some(member) => entry.get(member).and_then(Value::as_str),
        };
        let content: Vec<Value> = self
            .content
            .iter()
            .map(|member| match *member {
                "" => entry.clone(),
                member => entry.get(member).cloned().unwrap_or_default(),
            })
            .collect();
        // A missing text is no entry, and neither is a column without one.
        let is_text = self.category == Category::Documentation;
        let is_empty = |value: &Value| value.is_null() || value == "";
        if is_text && content.iter().all(is_empty) {
            return;
        }
        if let Some(key) = key {
            let column = if self.key == COLUMN {
                Some(key)
            } else {
                column
            };
            let entry_key = (key.to_owned(), column.map(str::to_owned));
            entries.insert(entry_key, Value::Array(content));
        }
    }

    fn event(
        &self,
        urn: &Urn,
        operation: Operation,
        (key, column): (String, Option<String>),
    ) -> Event {
        let weight = match (self.category, operation) {
            (Category::TechnicalSchema, Operation::Add) => Weight::Minor,
            (Category::TechnicalSchema, _) => Weight::Major,
            (Category::Documentation, _) => Weight::Patch,
            _ => Weight::Minor,
        };
        let verb = match operation {
            Operation::Add => "added",
            Operation::Modify => "changed",
            Operation::Remove => "removed",
        };
        let mut what = format!("The {}", self.noun);
        if !key.is_empty() {
            what = format!("{what} '{key}'");
        }
        let modifier = match &column {
            Some(column) if self.key == COLUMN => format!("urn:li:schemaField:({urn},{column})"),
            Some(column) => {
                what = format!("{what} of column '{column}'");
                key
            }
            None => key,
        };
        Event {
            category: self.category,
            operation,
            weight,
            modifier: Some(modifier).filter(|modifier| !modifier.is_empty()),
            column,
            description: format!("{what} was {verb}."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_about_an_aspect_of_the_registry() {
        for rule in &RULES {
            assert!(
                Registry::get().aspect(rule.aspect).is_some(),
                "{}",
                rule.aspect
            );
        }
    }
}
