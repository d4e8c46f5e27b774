//! The key members by which list elements are addressed.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::AspectName;

/// Separates the segments of a nested name: `attribution␟source`.
const NAME_SEPARATOR: char = '\u{241F}';
/// The maximum number of key members of a list.
const MAX_KEYS: usize = 8;

/// How the members of an object or the elements of a list are addressed.
#[derive(Debug, Clone)]
pub(super) enum Template {
    Object(Vec<(String, Template)>),
    List { keys: Keys, element: Box<Template> },
}

/// The keys of a list.
#[derive(Debug, Clone)]
pub(super) enum Keys {
    /// The paths of the key members. Empty if the elements are strings, which are their own keys.
    Members(Vec<Vec<String>>),
    /// Column lineage: transformation, downstream, query, upstream ([`super::column_lineage`]).
    ColumnLineage,
}

/// A row of the table below.
enum BuiltIn {
    KeyedBy(&'static [&'static str]),
    Strings,
    ColumnLineage,
}

use BuiltIn::{KeyedBy, Strings};

/// The lists that have keys by default. A nested name passes through the elements of outer lists.
const BUILT_IN: &[(&str, &[(&str, BuiltIn)])] = &[
    (
        "chartInfo",
        &[
            ("inputEdges", KeyedBy(&["destinationUrn"])),
            // A union with one type.
            ("inputs", KeyedBy(&["string"])),
        ],
    ),
    (
        "dashboardInfo",
        &[
            ("chartEdges", KeyedBy(&["destinationUrn"])),
            ("charts", Strings),
            ("dashboards", KeyedBy(&["destinationUrn"])),
            ("datasetEdges", KeyedBy(&["destinationUrn"])),
            ("datasets", Strings),
        ],
    ),
    (
        "dataJobInputOutput",
        &[
            ("fineGrainedLineages", BuiltIn::ColumnLineage),
            ("inputDatajobEdges", KeyedBy(&["destinationUrn"])),
            ("inputDatajobs", Strings),
            ("inputDatasetEdges", KeyedBy(&["destinationUrn"])),
            ("inputDatasetFields", Strings),
            ("inputDatasets", Strings),
            ("outputDatasetEdges", KeyedBy(&["destinationUrn"])),
            ("outputDatasetFields", Strings),
            ("outputDatasets", Strings),
        ],
    ),
    (
        "dataProductProperties",
        &[("assets", KeyedBy(&["destinationUrn"]))],
    ),
    ("datasetProperties", &[("tags", Strings)]),
    (
        "documentation",
        &[("documentations", KeyedBy(&["attribution␟source"]))],
    ),
    ("domains", &[("domains", Strings)]),
    (
        "editableSchemaMetadata",
        &[
            ("editableSchemaFieldInfo", KeyedBy(&["fieldPath"])),
            ("editableSchemaFieldInfo␟globalTags␟tags", KeyedBy(&["tag"])),
            (
                "editableSchemaFieldInfo␟glossaryTerms␟terms",
                KeyedBy(&["urn"]),
            ),
        ],
    ),
    ("formInfo", &[("prompts", KeyedBy(&["id"]))]),
    ("globalTags", &[("tags", KeyedBy(&["tag"]))]),
    ("glossaryTerms", &[("terms", KeyedBy(&["urn"]))]),
    ("ownership", &[("owners", KeyedBy(&["owner", "type"]))]),
    (
        "propertyDefinition",
        &[
            ("allowedValues", KeyedBy(&["value"])),
            ("entityTypes", Strings),
        ],
    ),
    ("siblings", &[("siblings", Strings)]),
    (
        "structuredProperties",
        &[("properties", KeyedBy(&["propertyUrn"]))],
    ),
    (
        "upstreamLineage",
        &[
            ("fineGrainedLineages", BuiltIn::ColumnLineage),
            ("upstreams", KeyedBy(&["dataset"])),
        ],
    ),
];

impl Default for Template {
    /// A template without keyed lists.
    fn default() -> Self {
        Self::Object(Vec::new())
    }
}

impl Template {
    /// The built-in template of an aspect.
    pub(super) fn of(aspect: AspectName) -> Option<&'static Self> {
        static TEMPLATES: LazyLock<HashMap<&str, Template>> = LazyLock::new(|| {
            let built = BUILT_IN.iter().map(|(aspect, lists)| {
                let mut template = Template::default();
                for (name, keys) in *lists {
                    template.set(segments(name), keys.keys());
                }
                (*aspect, template)
            });
            built.collect()
        });
        TEMPLATES.get(aspect.as_str())
    }

    /// From `{"tags": ["attribution␟source", "tag"]}`.
    pub(super) fn from_wire(wire: &Map<String, Value>) -> Result<Self, String> {
        let mut lists = Vec::with_capacity(wire.len());
        for (name, keys) in wire {
            let members = keys.as_array().and_then(|keys| {
                let members = keys.iter().map(|key| key.as_str().map(segments));
                members.collect::<Option<Vec<_>>>()
            });
            let members = members.filter(|members| members.len() <= MAX_KEYS);
            let members = members.ok_or_else(|| {
                format!(
                    "arrayPrimaryKeys of '{name}' must be a list of at most {MAX_KEYS} member names"
                )
            })?;
            lists.push((segments(name), Keys::Members(members)));
        }
        // Outer lists come before the lists inside their elements.
        lists.sort_by_key(|(path, _)| path.len());
        let mut template = Self::default();
        for (path, keys) in lists {
            template.set(path, keys);
        }
        Ok(template)
    }

    /// The template of a member.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else {
            return None;
        };
        let member = members.iter().find(|(other, _)| other == name);
        member.map(|(_, template)| template)
    }

    fn set(&mut self, path: Vec<String>, keys: Keys) {
        let mut target = self;
        for segment in path {
            target = target.child(segment);
        }
        *target = Self::List {
            keys,
            element: Box::default(),
        };
    }

    fn child(&mut self, name: String) -> &mut Self {
        match self {
            Self::List { element, .. } => element.child(name),
            Self::Object(members) => {
                let existing = members.iter().position(|(other, _)| *other == name);
                let index = existing.unwrap_or_else(|| {
                    members.push((name, Self::default()));
                    members.len() - 1
                });
                &mut members[index].1
            }
        }
    }
}

impl BuiltIn {
    fn keys(&self) -> Keys {
        match self {
            Self::KeyedBy(names) => {
                Keys::Members(names.iter().map(|name| segments(name)).collect())
            }
            Self::Strings => Keys::Members(Vec::new()),
            Self::ColumnLineage => Keys::ColumnLineage,
        }
    }
}

fn segments(name: &str) -> Vec<String> {
    name.split(NAME_SEPARATOR).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;
    use crate::registry::{RecordId, Shape};

    /// The shape at a path, through lists.
    fn follow(record: RecordId, path: &[String]) -> Option<&'static Shape> {
        let (last, before) = path.split_last()?;
        let registry = Registry::get();
        let mut record = record;
        for segment in before {
            record = record_of(&registry.record(record).field(segment)?.shape)?;
        }
        Some(&registry.record(record).field(last)?.shape)
    }

    fn record_of(shape: &Shape) -> Option<RecordId> {
        match shape {
            Shape::Record(id) => Some(*id),
            Shape::Array(inner) => record_of(inner),
            _ => None,
        }
    }

    #[test]
    fn every_built_in_list_and_its_keys_are_in_the_registry() {
        let registry = Registry::get();
        for (aspect, lists) in BUILT_IN {
            let known = registry.aspect(aspect).unwrap();
            assert_eq!(known.as_str(), *aspect);
            assert!(Template::of(known).is_some());
            let root = registry.aspect_record(known).unwrap();
            for (name, keys) in *lists {
                let list = follow(root, &segments(name));
                let Some(Shape::Array(element)) = list else {
                    panic!("{aspect} {name} is not a list: {list:?}");
                };
                match (keys, &**element) {
                    (KeyedBy(members), Shape::Record(id)) => {
                        for member in *members {
                            assert!(
                                follow(*id, &segments(member)).is_some(),
                                "{aspect} {member}"
                            );
                        }
                    }
                    (KeyedBy(members), Shape::Union(types)) => {
                        assert!(types.iter().any(|member| members.contains(&member.name)));
                    }
                    (Strings, Shape::Text | Shape::Urn(_)) | (BuiltIn::ColumnLineage, _) => {}
                    other => panic!("{aspect} {name}: {:?}", other.1),
                }
            }
        }
    }
}
