//! What the timeline compares in two versions of an aspect.
//!
//! Each rule names a list or a single text whose entries have a key. Comparing two versions by key
//! shows which entries were added, removed or modified.
//!
//! To report another kind of change: a line in [`RULES`], or in [`added`] if DataHub's timeline
//! does not report it.

pub(super) mod added;

use std::collections::BTreeMap;

use docent_model::Urn;
use serde_json::{Map, Value};

use super::{Category, Event, Operation, Weight, columns};

pub(super) struct Rule {
    pub(super) category: Category,
    pub(super) aspect: &'static str,
    /// The path to the entries: members, `*` for each item of a list.
    path: &'static [&'static str],
    /// The member that identifies an entry; `""` if it is the entry itself, `None` if there is only
    /// one.
    key: Option<&'static str>,
    /// Further members that distinguish entries.
    also: &'static [&'static str],
    /// The member that names the column of the entry.
    column: Option<&'static str>,
    /// The members whose change makes an entry modified.
    content: &'static [&'static str],
    /// The member that must be true; otherwise there is no entry.
    flag: Option<&'static str>,
    /// The name of an entry.
    noun: &'static str,
    /// The weight of an added or removed entry, and of a modified one.
    weights: (Weight, Weight),
    parameters: Parameters,
}

/// What the parameters of a change tell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parameters {
    None,
    /// The new and the old text.
    Texts(&'static str, &'static str),
    /// The key of the entry, by this name, and why it is there.
    Association(&'static str),
    /// The key of the entry, by this name, and the relationship.
    Relationship(&'static str, &'static str),
    /// The version and its set.
    Version,
    /// These members, new and old.
    Members(&'static [(&'static str, &'static str)]),
}

const DOCUMENT: &str = "documentInfo";
const COLUMN: Option<&str> = Some("fieldPath");
const DESCRIPTIONS: Parameters = Parameters::Texts("description", "previousDescription");

const fn rule(category: Category, aspect: &'static str, noun: &'static str) -> Rule {
    Rule {
        category,
        aspect,
        path: &[],
        key: None,
        also: &[],
        column: None,
        content: &[],
        flag: None,
        noun,
        weights: (Weight::Minor, Weight::Minor),
        parameters: Parameters::None,
    }
}

/// A text of the entity itself.
const fn text(aspect: &'static str, path: &'static [&'static str]) -> Rule {
    Rule {
        path,
        content: &[""],
        parameters: DESCRIPTIONS,
        ..rule(Category::Documentation, aspect, "documentation")
    }
}

/// The name of the entity.
const fn name(aspect: &'static str) -> Rule {
    Rule {
        path: &["name"],
        content: &[""],
        parameters: Parameters::Texts("name", "previousName"),
        ..rule(Category::Documentation, aspect, "name")
    }
}

/// The descriptions of columns.
const fn column_texts(aspect: &'static str, path: &'static [&'static str]) -> Rule {
    Rule {
        path,
        key: COLUMN,
        content: &["description"],
        weights: (Weight::Minor, Weight::Patch),
        parameters: DESCRIPTIONS,
        ..rule(Category::Documentation, aspect, "documentation of column")
    }
}

const fn tags(
    aspect: &'static str,
    path: &'static [&'static str],
    column: Option<&'static str>,
) -> Rule {
    Rule {
        path,
        column,
        key: Some("tag"),
        parameters: Parameters::Association("tagUrn"),
        ..rule(Category::Tag, aspect, "tag")
    }
}

const fn terms(
    aspect: &'static str,
    path: &'static [&'static str],
    column: Option<&'static str>,
) -> Rule {
    Rule {
        path,
        column,
        key: Some("urn"),
        parameters: Parameters::Association("termUrn"),
        ..rule(Category::GlossaryTerm, aspect, "term")
    }
}

/// The terms that a term is related to.
const fn related(path: &'static [&'static str], relationship: &'static str) -> Rule {
    Rule {
        path,
        key: Some(""),
        parameters: Parameters::Relationship("termUrn", relationship),
        ..rule(
            Category::GlossaryTerm,
            "glossaryRelatedTerms",
            "related term",
        )
    }
}

/// A text of a document, whose changes do not count as versions.
const fn of_document(
    category: Category,
    path: &'static [&'static str],
    noun: &'static str,
    parameters: Parameters,
) -> Rule {
    Rule {
        path,
        content: &[""],
        weights: (Weight::None, Weight::None),
        parameters,
        ..rule(category, DOCUMENT, noun)
    }
}

pub(super) const RULES: [Rule; 38] = [
    text("datasetProperties", &["description"]),
    text("editableDatasetProperties", &["description"]),
    text("containerProperties", &["description"]),
    text("editableContainerProperties", &["description"]),
    name("domainProperties"),
    text("domainProperties", &["description"]),
    name("dataProductProperties"),
    text("dataProductProperties", &["description"]),
    name("glossaryTermInfo"),
    text("glossaryTermInfo", &["definition"]),
    text("glossaryNodeInfo", &["definition"]),
    text("tagProperties", &["description"]),
    Rule {
        path: &["elements", "*"],
        key: Some("url"),
        content: &["description"],
        weights: (Weight::Minor, Weight::Patch),
        parameters: DESCRIPTIONS,
        ..rule(Category::Documentation, "institutionalMemory", "link")
    },
    column_texts("schemaMetadata", &["fields", "*"]),
    column_texts("editableSchemaMetadata", &["editableSchemaFieldInfo", "*"]),
    tags("globalTags", &["tags", "*"], None),
    tags(
        "schemaMetadata",
        &["fields", "*", "globalTags", "tags", "*"],
        COLUMN,
    ),
    tags(
        "editableSchemaMetadata",
        &["editableSchemaFieldInfo", "*", "globalTags", "tags", "*"],
        COLUMN,
    ),
    terms("glossaryTerms", &["terms", "*"], None),
    terms(
        "schemaMetadata",
        &["fields", "*", "glossaryTerms", "terms", "*"],
        COLUMN,
    ),
    terms(
        "editableSchemaMetadata",
        &[
            "editableSchemaFieldInfo",
            "*",
            "glossaryTerms",
            "terms",
            "*",
        ],
        COLUMN,
    ),
    related(&["isRelatedTerms", "*"], "IsA"),
    related(&["hasRelatedTerms", "*"], "HasA"),
    related(&["values", "*"], "HasValue"),
    related(&["relatedTerms", "*"], "IsRelatedTo"),
    Rule {
        path: &["owners", "*"],
        key: Some("owner"),
        // A user can be an owner of several types.
        also: &["type", "typeUrn"],
        parameters: Parameters::Association("ownerUrn"),
        ..rule(Category::Ownership, "ownership", "owner")
    },
    rule(Category::TechnicalSchema, "schemaMetadata", "column"),
    Rule {
        path: &["domains", "*"],
        key: Some(""),
        parameters: Parameters::Association("domainUrn"),
        ..rule(Category::Domain, "domains", "domain")
    },
    Rule {
        path: &["properties", "*"],
        key: Some("propertyUrn"),
        content: &["values"],
        parameters: Parameters::Association("propertyUrn"),
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
        content: &["version"],
        weights: (Weight::Minor, Weight::Patch),
        parameters: Parameters::Version,
        ..rule(Category::Versioning, "versionProperties", "version")
    },
    of_document(
        Category::Documentation,
        &["title"],
        "title",
        Parameters::Texts("newTitle", "oldTitle"),
    ),
    of_document(
        Category::Documentation,
        &["contents", "text"],
        "content",
        Parameters::Texts("newContent", "oldContent"),
    ),
    of_document(
        Category::Parent,
        &["parentDocument", "document"],
        "parent document",
        Parameters::Texts("newParent", "oldParent"),
    ),
    Rule {
        key: Some("asset"),
        content: &[],
        ..of_document(
            Category::RelatedEntities,
            &["relatedAssets", "*"],
            "related asset",
            Parameters::None,
        )
    },
    Rule {
        key: Some("document"),
        content: &[],
        ..of_document(
            Category::RelatedEntities,
            &["relatedDocuments", "*"],
            "related document",
            Parameters::None,
        )
    },
    of_document(
        Category::Lifecycle,
        &["status", "state"],
        "state",
        Parameters::Texts("newState", "oldState"),
    ),
];

/// What identifies an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct EntryKey {
    key: String,
    column: Option<String>,
    also: Vec<String>,
}

/// The entries of a version.
type Entries<'v> = BTreeMap<EntryKey, &'v Value>;

impl Rule {
    /// The changes from one version to the next; `old` is `None` if there was no version before.
    pub(super) fn compare(&self, urn: &Urn, old: Option<&Value>, new: &Value) -> Vec<Event> {
        if self.category == Category::TechnicalSchema {
            return columns::compare(urn, old, new);
        }
        if self.aspect == DOCUMENT && old.is_none() {
            return self.creation(urn).into_iter().collect();
        }
        let mut old = old.map(|value| self.entries(value)).unwrap_or_default();
        let mut events = Vec::new();
        for (key, entry) in self.entries(new) {
            match old.remove(&key) {
                None => events.push(self.event(urn, Operation::Add, key, (None, Some(entry)))),
                Some(former) if self.content_of(former) != self.content_of(entry) => {
                    let entries = (Some(former), Some(entry));
                    events.push(self.event(urn, Operation::Modify, key, entries));
                }
                Some(_) => {}
            }
        }
        for (key, entry) in old {
            events.push(self.event(urn, Operation::Remove, key, (Some(entry), None)));
        }
        events
    }

    /// A new document is one event, not one for each of its members.
    fn creation(&self, urn: &Urn) -> Option<Event> {
        let event = || Event {
            entity: urn.as_str().to_owned(),
            aspect: self.aspect,
            category: self.category,
            operation: Operation::Create,
            weight: Weight::None,
            modifier: None,
            column: None,
            parameters: Map::new(),
            description: "The document was created.".to_owned(),
        };
        (self.category == Category::Lifecycle).then(event)
    }

    fn entries<'v>(&self, value: &'v Value) -> Entries<'v> {
        let mut entries = Entries::new();
        self.collect(value, self.path, None, &mut entries);
        entries
    }

    fn collect<'v>(
        &self,
        value: &'v Value,
        path: &[&str],
        column: Option<&str>,
        entries: &mut Entries<'v>,
    ) {
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

    fn collect_entry<'v>(&self, entry: &'v Value, column: Option<&str>, entries: &mut Entries<'v>) {
        let key = match self.key {
            None => Some(""),
            Some("") => entry.as_str(),
            Some(member) => entry.get(member).and_then(Value::as_str),
        };
        // A missing text is no entry, and neither is a column without one.
        let is_empty = |value: &&Value| value.is_null() || *value == "";
        if self.is_text() && self.content_of(entry).iter().all(is_empty) {
            return;
        }
        let Some(key) = key else {
            return;
        };
        let is_set = |member: &str| entry.get(member) == Some(&Value::Bool(true));
        if !self.flag.is_none_or(is_set) {
            return;
        }
        let column = if self.key == COLUMN {
            Some(key)
        } else {
            column
        };
        let member = |member: &&str| entry.get(*member).and_then(Value::as_str);
        let also = self.also.iter().map(|it| member(it).unwrap_or_default());
        let entry_key = EntryKey {
            key: key.to_owned(),
            column: column.map(str::to_owned),
            also: also.map(str::to_owned).collect(),
        };
        entries.insert(entry_key, entry);
    }

    /// Whether entries are texts, which count only if they are not empty.
    fn is_text(&self) -> bool {
        self.category == Category::Documentation || self.content == [""]
    }

    fn content_of<'v>(&self, entry: &'v Value) -> Vec<&'v Value> {
        self.content
            .iter()
            .map(|member| match *member {
                "" => entry,
                member => entry.get(member).unwrap_or(&Value::Null),
            })
            .collect()
    }

    fn event(
        &self,
        urn: &Urn,
        operation: Operation,
        EntryKey { key, column, .. }: EntryKey,
        (old, new): (Option<&Value>, Option<&Value>),
    ) -> Event {
        let verb = match operation {
            Operation::Create => "created",
            Operation::Add => "added",
            Operation::Modify => "changed",
            Operation::Remove => "removed",
        };
        let mut what = format!("The {}", self.noun);
        if !key.is_empty() {
            what = format!("{what} '{key}'");
        }
        if let Some(column) = column.as_ref().filter(|_| self.key != COLUMN) {
            what = format!("{what} of column '{column}'");
        }
        let mut parameters = self.parameters(&key, old, new);
        let entity = match &column {
            Some(column) => {
                parameters.insert("fieldPath".to_owned(), column.as_str().into());
                parameters.insert("parentUrn".to_owned(), urn.as_str().into());
                columns::column_urn(urn, column)
            }
            None => urn.as_str().to_owned(),
        };
        let (changed, modified) = self.weights;
        Event {
            entity,
            aspect: self.aspect,
            category: self.category,
            operation,
            weight: match operation {
                Operation::Modify => modified,
                Operation::Create | Operation::Add | Operation::Remove => changed,
            },
            modifier: Some(key).filter(|key| !key.is_empty()),
            column,
            parameters,
            description: format!("{what} was {verb}."),
        }
    }

    fn parameters(
        &self,
        key: &str,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Map<String, Value> {
        let mut parameters = Map::new();
        let mut insert = |name: &str, value: Option<&Value>| {
            if let Some(value) = value.filter(|value| !value.is_null()) {
                parameters.insert(name.to_owned(), value.clone());
            }
        };
        let entry = new.or(old).unwrap_or(&Value::Null);
        let empty = Value::Object(Map::new());
        match self.parameters {
            Parameters::None => {}
            Parameters::Texts(name, previous) => {
                let text = |entry| self.content_of(entry).into_iter().next();
                insert(name, new.or(old).and_then(text));
                insert(previous, new.and(old).and_then(text));
            }
            Parameters::Association(name) => {
                insert(name, Some(&key.into()));
                match self.category {
                    Category::Ownership => {
                        insert("ownerType", entry.get("type"));
                        insert("ownerTypeUrn", entry.get("typeUrn"));
                    }
                    Category::StructuredProperty => {
                        let values: Vec<Value> = entry
                            .get("values")
                            .and_then(Value::as_array)
                            .into_iter()
                            .flatten()
                            .map(plain_value)
                            .collect();
                        insert("propertyValues", Some(&values.into()));
                    }
                    _ => insert("context", entry.get("context").or(Some(&empty))),
                }
                let details = entry.pointer("/attribution/sourceDetail");
                insert("sourceDetails", details.or(Some(&empty)));
            }
            Parameters::Relationship(name, relationship) => {
                insert(name, Some(&key.into()));
                insert("relationshipType", Some(&relationship.into()));
            }
            Parameters::Members(names) => {
                for (name, previous) in names {
                    insert(name, new.and_then(|entry| entry.get(name)));
                    insert(previous, old.and_then(|entry| entry.get(name)));
                }
            }
            Parameters::Version => {
                let tag = |entry: &'_ Value| entry.pointer("/version/versionTag").cloned();
                insert("versionTag", tag(entry).as_ref());
                insert("previousVersionTag", new.and(old).and_then(tag).as_ref());
                insert("comment", entry.get("comment"));
                insert("versionSetUrn", entry.get("versionSet"));
                let is_latest = entry.get("isLatest").unwrap_or(&Value::Bool(false));
                insert("isLatest", Some(is_latest));
            }
        }
        parameters
    }
}

/// The value of a structured property without the name of its union member.
fn plain_value(value: &Value) -> Value {
    let member = value.as_object().and_then(|union| union.values().next());
    member.unwrap_or(value).clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_model::Registry;

    #[test]
    fn every_rule_is_about_an_aspect_of_the_registry() {
        for rule in RULES.iter().chain(&added::ADDED_RULES) {
            assert!(
                Registry::get().aspect(rule.aspect).is_some(),
                "{}",
                rule.aspect
            );
        }
    }
}
