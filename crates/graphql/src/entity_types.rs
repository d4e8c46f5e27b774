//! Entity types by their two names: `CORP_USER` in the schema, `corpuser` in the registry.

use std::collections::HashMap;
use std::sync::LazyLock;

use apollo_compiler::ast::{Definition, Document};
use docent_catalog::Error;
use docent_catalog::search::{ENTITY_TYPE, PAIR_SEPARATOR};
use docent_model::Registry;
use docent_model::searchable::strip_keyword_suffix;

use crate::schema::source;
use crate::sdl::SDL;

static ENTITY_TYPES: LazyLock<EntityTypeNames> = LazyLock::new(EntityTypeNames::parse);

struct EntityTypeNames {
    registry_names: HashMap<String, &'static str>,
    schema_names: HashMap<&'static str, String>,
}

impl EntityTypeNames {
    /// Resolvers have no access to the loaded schema, so the enum is parsed again, once.
    fn parse() -> Self {
        let mut names = Self {
            registry_names: HashMap::new(),
            schema_names: HashMap::new(),
        };
        let text = SDL.iter().find(|(name, _)| *name == "enums.graphql");
        let document = text.and_then(|(name, text)| Document::parse(*text, name).ok());
        for definition in document.iter().flat_map(|document| &document.definitions) {
            let Definition::EnumTypeDefinition(ty) = definition else {
                continue;
            };
            for value in &ty.values {
                let entity_type = source::text(value.directives.get("entity"), "type");
                if let Some(spec) = entity_type.and_then(|name| Registry::get().entity(name)) {
                    let name = value.value.as_str().to_owned();
                    names.schema_names.insert(spec.name, name.clone());
                    names.registry_names.insert(name, spec.name);
                }
            }
        }
        names
    }
}

/// The registry names of entity types, given by their schema names.
pub(crate) fn registry_names(names: &[String]) -> Result<Vec<String>, Error> {
    let known = |name: &String| {
        let registry_name = ENTITY_TYPES.registry_names.get(name).copied();
        registry_name.map(str::to_owned).ok_or_else(|| {
            Error::invalid(format!(
                "entities of type {name} are not searchable: use another type, or none for all types"
            ))
        })
    };
    names.iter().map(known).collect()
}

/// The schema name of an entity type; its registry name if the schema has none.
pub(crate) fn schema_name(entity_type: &str) -> &str {
    ENTITY_TYPES
        .schema_names
        .get(entity_type)
        .map_or(entity_type, String::as_str)
}

/// A filter value of a field or pair of fields, with entity types as registry names. They may be
/// given by either name, in any case.
pub(crate) fn filter_value(field: &str, value: &str) -> String {
    convert(field, value, |name| {
        from_any_name(name).unwrap_or(name).to_owned()
    })
}

/// The registry name of an entity type that is given by either name, in any case.
pub(crate) fn from_any_name(name: &str) -> Option<&'static str> {
    let by_name = ENTITY_TYPES
        .registry_names
        .get(&name.to_uppercase())
        .copied();
    by_name.or_else(|| {
        let mut all = Registry::get().entities();
        all.find(|spec| spec.name.eq_ignore_ascii_case(name))
            .map(|spec| spec.name)
    })
}

/// A facet value of a field or pair of fields, with entity types as schema names.
pub(crate) fn facet_value(field: &str, value: &str) -> String {
    convert(field, value, |name| schema_name(name).to_owned())
}

fn convert(field: &str, value: &str, rename: impl Fn(&str) -> String) -> String {
    let mut fields = field.split(PAIR_SEPARATOR);
    let parts: Vec<String> = value
        .split(PAIR_SEPARATOR)
        .map(|part| match fields.next() {
            Some(field) if is_entity_type_field(field) => rename(part),
            _ => part.to_owned(),
        })
        .collect();
    parts.join(&PAIR_SEPARATOR.to_string())
}

fn is_entity_type_field(field: &str) -> bool {
    strip_keyword_suffix(field) == ENTITY_TYPE
}

/// The name of a field in the index.
pub(crate) fn field_name(field: &str) -> String {
    let names: Vec<&str> = field
        .split(PAIR_SEPARATOR)
        .map(|name| {
            if is_entity_type_field(name) {
                ENTITY_TYPE
            } else {
                name
            }
        })
        .collect();
    names.join(&PAIR_SEPARATOR.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_schema() {
        assert!(ENTITY_TYPES.schema_names.len() > 40);
        assert_eq!(schema_name("corpuser"), "CORP_USER");
        assert_eq!(schema_name("nonsense"), "nonsense");
        assert_eq!(
            registry_names(&["MLMODEL".to_owned()]).unwrap(),
            ["mlModel"]
        );
        let error = registry_names(&["RESTRICTED".to_owned()]).unwrap_err();
        assert_eq!(error.kind(), docent_catalog::ErrorKind::Invalid);
    }

    #[test]
    fn both_names_identify_an_entity_type() {
        let enums = include_str!("../schema/enums.graphql");
        for registry_name in [
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
            let name = schema_name(registry_name);
            assert!(
                enums.contains(&format!("  {name} @entity(type: \"{registry_name}\")")),
                "{name}"
            );
            assert_eq!(from_any_name(name), Some(registry_name));
            assert_eq!(from_any_name(registry_name), Some(registry_name));
        }
    }

    #[test]
    fn filters_accept_either_name_and_facets_use_schema_names() {
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
        // The checked entity of an assertion.
        assert_eq!(field_name("entity"), "entity");
    }
}
