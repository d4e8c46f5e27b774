//! By which members the elements of a list are addressed.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::AspectName;

/// Separates the steps of a nested name: `attribution␟source`.
const STEP: char = '\u{241F}';
/// No list is told apart by more.
const MAX_KEYS: usize = 8;

/// How a value is addressed: what follows for its members, or for the elements of the list that it is.
#[derive(Debug, Clone)]
pub(super) enum Template {
    Object(Vec<(String, Template)>),
    List { keys: Keys, element: Box<Template> },
}

/// What tells the elements of a list apart.
#[derive(Debug, Clone)]
pub(super) enum Keys {
    /// These members, each as the steps to it. None: the elements are texts and stand for themselves.
    Members(Vec<Vec<String>>),
    /// Lineage of columns: transformation, downstream, query, upstream ([`super::columns`]).
    ColumnLineage,
}

/// A line of the table below.
enum BuiltIn {
    By(&'static [&'static str]),
    Itself,
    ColumnLineage,
}

use BuiltIn::{By, Itself};

/// The lists that are addressed by keys when a patch does not say how. A nested name leads through the elements of
/// lists that stand above it.
const BUILT_IN: &[(&str, &[(&str, BuiltIn)])] = &[
    (
        "chartInfo",
        &[
            ("inputEdges", By(&["destinationUrn"])),
            // A union of one type.
            ("inputs", By(&["string"])),
        ],
    ),
    (
        "dashboardInfo",
        &[
            ("chartEdges", By(&["destinationUrn"])),
            ("charts", Itself),
            ("dashboards", By(&["destinationUrn"])),
            ("datasetEdges", By(&["destinationUrn"])),
            ("datasets", Itself),
        ],
    ),
    (
        "dataJobInputOutput",
        &[
            ("fineGrainedLineages", BuiltIn::ColumnLineage),
            ("inputDatajobEdges", By(&["destinationUrn"])),
            ("inputDatajobs", Itself),
            ("inputDatasetEdges", By(&["destinationUrn"])),
            ("inputDatasetFields", Itself),
            ("inputDatasets", Itself),
            ("outputDatasetEdges", By(&["destinationUrn"])),
            ("outputDatasetFields", Itself),
            ("outputDatasets", Itself),
        ],
    ),
    (
        "dataProductProperties",
        &[("assets", By(&["destinationUrn"]))],
    ),
    ("datasetProperties", &[("tags", Itself)]),
    (
        "documentation",
        &[("documentations", By(&["attribution␟source"]))],
    ),
    ("domains", &[("domains", Itself)]),
    (
        "editableSchemaMetadata",
        &[
            ("editableSchemaFieldInfo", By(&["fieldPath"])),
            ("editableSchemaFieldInfo␟globalTags␟tags", By(&["tag"])),
            ("editableSchemaFieldInfo␟glossaryTerms␟terms", By(&["urn"])),
        ],
    ),
    ("formInfo", &[("prompts", By(&["id"]))]),
    ("globalTags", &[("tags", By(&["tag"]))]),
    ("glossaryTerms", &[("terms", By(&["urn"]))]),
    ("ownership", &[("owners", By(&["owner", "type"]))]),
    (
        "propertyDefinition",
        &[("allowedValues", By(&["value"])), ("entityTypes", Itself)],
    ),
    ("siblings", &[("siblings", Itself)]),
    (
        "structuredProperties",
        &[("properties", By(&["propertyUrn"]))],
    ),
    (
        "upstreamLineage",
        &[
            ("fineGrainedLineages", BuiltIn::ColumnLineage),
            ("upstreams", By(&["dataset"])),
        ],
    ),
];

impl Default for Template {
    /// No list has keys.
    fn default() -> Self {
        Self::Object(Vec::new())
    }
}

impl Template {
    /// The built-in one of an aspect.
    pub(super) fn of(aspect: AspectName) -> Option<&'static Self> {
        static TEMPLATES: LazyLock<HashMap<&str, Template>> = LazyLock::new(|| {
            let built = BUILT_IN.iter().map(|(aspect, lists)| {
                let mut template = Template::default();
                for (name, keys) in *lists {
                    template.set(steps(name), keys.keys());
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
                let members = keys.iter().map(|key| key.as_str().map(steps));
                members.collect::<Option<Vec<_>>>()
            });
            let members = members.filter(|members| members.len() <= MAX_KEYS);
            let members = members.ok_or_else(|| {
                format!(
                    "arrayPrimaryKeys of '{name}' must be a list of at most {MAX_KEYS} names of members"
                )
            })?;
            lists.push((steps(name), Keys::Members(members)));
        }
        // A list stands before those inside of its elements.
        lists.sort_by_key(|(steps, _)| steps.len());
        let mut template = Self::default();
        for (steps, keys) in lists {
            template.set(steps, keys);
        }
        Ok(template)
    }

    /// What is said of a member, of an object or of the elements of a list.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else {
            return None;
        };
        let found = members.iter().find(|(known, _)| known == name);
        found.map(|(_, template)| template)
    }

    fn set(&mut self, steps: Vec<String>, keys: Keys) {
        let mut at = self;
        for step in steps {
            at = at.below(step);
        }
        *at = Self::List {
            keys,
            element: Box::default(),
        };
    }

    fn below(&mut self, step: String) -> &mut Self {
        match self {
            Self::List { element, .. } => element.below(step),
            Self::Object(members) => {
                let known = members.iter().position(|(name, _)| *name == step);
                let at = known.unwrap_or_else(|| {
                    members.push((step, Self::default()));
                    members.len() - 1
                });
                &mut members[at].1
            }
        }
    }
}

impl BuiltIn {
    fn keys(&self) -> Keys {
        match self {
            Self::By(names) => Keys::Members(names.iter().map(|name| steps(name)).collect()),
            Self::Itself => Keys::Members(Vec::new()),
            Self::ColumnLineage => Keys::ColumnLineage,
        }
    }
}

fn steps(name: &str) -> Vec<String> {
    name.split(STEP).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;
    use crate::registry::{RecordId, Shape};

    /// The record that stands at the end of some steps, through lists.
    fn follow(record: RecordId, steps: &[String]) -> Option<&'static Shape> {
        let (last, before) = steps.split_last()?;
        let registry = Registry::get();
        let mut record = record;
        for step in before {
            record = record_of(&registry.record(record).field(step)?.shape)?;
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
                let list = follow(root, &steps(name));
                let Some(Shape::Array(element)) = list else {
                    panic!("{aspect} {name} is no list: {list:?}");
                };
                match (keys, &**element) {
                    (By(members), Shape::Record(id)) => {
                        for member in *members {
                            assert!(follow(*id, &steps(member)).is_some(), "{aspect} {member}");
                        }
                    }
                    (By(members), Shape::Union(types)) => {
                        assert!(types.iter().any(|one| members.contains(&one.name)));
                    }
                    (Itself, Shape::Text | Shape::Urn(_)) | (BuiltIn::ColumnLineage, _) => {}
                    other => panic!("{aspect} {name}: {:?}", other.1),
                }
            }
        }
    }
}
