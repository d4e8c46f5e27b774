//! The kinds of entity by their two names: `CORP_USER` in the schema, `corpuser` in the registry.

use std::collections::HashMap;
use std::sync::LazyLock;

use apollo_compiler::ast::{Definition, Document};
use docent_catalog::Error;
use docent_catalog::search::{ENTITY_TYPE, PAIR};
use docent_model::Registry;
use docent_model::searchable::bare_name;

use crate::schema::source;
use crate::sdl::SDL;

static KINDS: LazyLock<Kinds> = LazyLock::new(Kinds::read);

struct Kinds {
    in_registry: HashMap<String, &'static str>,
    in_schema: HashMap<&'static str, String>,
}

impl Kinds {
    /// Resolvers know no schema, so the one place that has the names is read again: once, and it is checked at start.
    fn read() -> Self {
        let mut kinds = Self {
            in_registry: HashMap::new(),
            in_schema: HashMap::new(),
        };
        let text = SDL.iter().find(|(name, _)| *name == "enums.graphql");
        let document = text.and_then(|(name, text)| Document::parse(*text, name).ok());
        for definition in document.iter().flat_map(|document| &document.definitions) {
            let Definition::EnumTypeDefinition(ty) = definition else {
                continue;
            };
            for value in &ty.values {
                let kind = source::text(value.directives.get("entity"), "type");
                if let Some(spec) = kind.and_then(|kind| Registry::get().entity(kind)) {
                    let name = value.value.as_str().to_owned();
                    kinds.in_schema.insert(spec.name, name.clone());
                    kinds.in_registry.insert(name, spec.name);
                }
            }
        }
        kinds
    }
}

/// The names in the registry of kinds named as in the schema.
pub(in crate::resolvers) fn in_registry(names: &[String]) -> Result<Vec<String>, Error> {
    let known = |name: &String| {
        let kind = KINDS.in_registry.get(name).copied();
        kind.map(str::to_owned).ok_or_else(|| {
            Error::invalid(format!(
                "entities of type {name} cannot be searched for: name another type, or none for all"
            ))
        })
    };
    names.iter().map(known).collect()
}

/// The name in the schema; a kind that has none is called by its name in the registry.
pub(in crate::resolvers) fn in_schema(kind: &str) -> &str {
    KINDS.in_schema.get(kind).map_or(kind, String::as_str)
}

/// A value of a field, or of a pair of fields, with kinds by their names in the registry. They may be given by either
/// name, in any case.
pub(super) fn filter_value(field: &str, value: &str) -> String {
    by_field(field, value, |name| {
        by_either_name(name).unwrap_or(name).to_owned()
    })
}

/// The name in the registry of a kind that is given by either name, in any case.
pub(in crate::resolvers) fn by_either_name(name: &str) -> Option<&'static str> {
    let by_name = KINDS.in_registry.get(&name.to_uppercase()).copied();
    by_name.or_else(|| {
        let mut all = Registry::get().entities();
        all.find(|spec| spec.name.eq_ignore_ascii_case(name))
            .map(|spec| spec.name)
    })
}

/// A value of a field, or of a pair of fields, with kinds by their names in the schema.
pub(super) fn facet_value(field: &str, value: &str) -> String {
    by_field(field, value, |name| in_schema(name).to_owned())
}

fn by_field(field: &str, value: &str, named: impl Fn(&str) -> String) -> String {
    let mut fields = field.split(PAIR);
    let parts: Vec<String> = value
        .split(PAIR)
        .map(|part| match fields.next() {
            Some(field) if is_kind(field) => named(part),
            _ => part.to_owned(),
        })
        .collect();
    parts.join(&PAIR.to_string())
}

fn is_kind(field: &str) -> bool {
    bare_name(field) == ENTITY_TYPE
}

/// The name that the index has for a field.
pub(super) fn field_name(field: &str) -> String {
    let names: Vec<&str> = field
        .split(PAIR)
        .map(|name| if is_kind(name) { ENTITY_TYPE } else { name })
        .collect();
    names.join(&PAIR.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_their_names_from_the_schema_files() {
        assert!(KINDS.in_schema.len() > 40);
        assert_eq!(in_schema("corpuser"), "CORP_USER");
        assert_eq!(in_schema("nonsense"), "nonsense");
        assert_eq!(in_registry(&["MLMODEL".to_owned()]).unwrap(), ["mlModel"]);
        let error = in_registry(&["RESTRICTED".to_owned()]).unwrap_err();
        assert_eq!(error.kind(), docent_catalog::ErrorKind::Invalid);
    }

    #[test]
    fn the_names_of_kinds_are_those_of_the_schema() {
        let enums = include_str!("../../../schema/enums.graphql");
        for kind in [
            "dataset",
            "dataJob",
            "dataFlow",
            "chart",
            "dashboard",
            "mlModel",
            "mlModelGroup",
            "mlFeature",
            "mlFeatureTable",
            "mlPrimaryKey",
            "dataProcessInstance",
            "schemaField",
            "application",
            "metric",
            "semanticModel",
        ] {
            let name = in_schema(kind);
            assert!(
                enums.contains(&format!("  {name} @entity(type: \"{kind}\")")),
                "{name}"
            );
            assert_eq!(by_either_name(name), Some(kind));
            assert_eq!(by_either_name(kind), Some(kind));
        }
        assert_ne!(by_either_name("DATA_JOB"), Some("dataFlow"));
    }

    #[test]
    fn filters_name_kinds_either_way_and_facets_as_the_schema_does() {
        for name in ["DATA_PRODUCT", "dataProduct", "dataproduct"] {
            assert_eq!(filter_value("_entityType", name), "dataProduct");
        }
        assert_eq!(filter_value("name", "DATASET"), "DATASET");
        let pair = "_entityType␞typeNames";
        assert_eq!(filter_value(pair, "DATASET␞View"), "dataset␞View");
        assert_eq!(facet_value(pair, "dataset␞View"), "DATASET␞View");
        assert_eq!(
            facet_value("typeNames␞_entityType", "View␞chart"),
            "View␞CHART"
        );
        assert_eq!(field_name("_entityType.keyword"), "_entityType");
        // What an assertion is about.
        assert_eq!(field_name("entity"), "entity");
    }
}
