//! Values in the form of DataHub's first OpenAPI.
//!
//! There, a value of a union is not wrapped in an object with the name of its type. Its type is a
//! member of the value itself, `__type`, without the namespace: `{"__type": "StringType"}` for
//! `{"com.linkedin.schema.StringType": {}}`. An aspect has that member, too.

use serde_json::{Map, Value};

use crate::registry::{Member, Shape};
use crate::{AspectName, EntitySpec, Registry};

const TYPE: &str = "__type";

/// Converts a value of an aspect to the stored form. The error says which type is unknown.
pub fn without_types(aspect: AspectName, value: Value) -> Result<Value, String> {
    match Registry::get().aspect_record(aspect).map(Shape::Record) {
        Some(shape) => stored(&shape, value),
        None => Ok(value),
    }
}

/// Converts a stored value of an aspect.
pub fn with_types(aspect: AspectName, value: Value) -> Value {
    let registry = Registry::get();
    let shape = registry.aspect_record(aspect).map(Shape::Record);
    match (shape, registry.record_name(aspect)) {
        (Some(shape), Some(name)) => named(name, typed(&shape, value)),
        _ => value,
    }
}

/// The aspect whose record has this name, without its namespace, among those of an entity.
pub fn aspect_of_type(entity: &EntitySpec, name: &str) -> Option<AspectName> {
    let registry = Registry::get();
    let aspects = std::iter::once(&entity.key_aspect).chain(&entity.aspects);
    let mut aspects = aspects.copied();
    aspects.find(|aspect| registry.record_name(*aspect).map(simple) == Some(name))
}

fn stored(shape: &Shape, value: Value) -> Result<Value, String> {
    match (shape, value) {
        (Shape::Record(id), Value::Object(members)) => {
            let record = Registry::get().record(*id);
            let members = members.into_iter().filter(|(name, _)| name != TYPE);
            let members = members.map(|(name, value)| {
                let value = match record.field(&name) {
                    Some(field) => stored(&field.shape, value)?,
                    None => value,
                };
                Ok((name, value))
            });
            members.collect::<Result<Map<_, _>, _>>().map(Value::Object)
        }
        (Shape::Array(inner), Value::Array(items)) => {
            let items = items.into_iter().map(|item| stored(inner, item));
            items.collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        (Shape::Map(inner), Value::Object(members)) => {
            let members = members.into_iter();
            let members = members.map(|(name, value)| Ok((name, stored(inner, value)?)));
            members.collect::<Result<Map<_, _>, _>>().map(Value::Object)
        }
        (Shape::Union(types), Value::Object(mut members)) => {
            let Some(name) = members.remove(TYPE) else {
                return Ok(Value::Object(members));
            };
            let name = name.as_str().unwrap_or_default();
            let found = types.iter().find(|member| simple(member.name) == name);
            let member = found.ok_or_else(|| {
                let known: Vec<&str> = types.iter().map(|member| simple(member.name)).collect();
                format!("{TYPE} is '{name}': use {}", known.join(", "))
            })?;
            let value = stored(&member.shape, Value::Object(members))?;
            let wrapper = std::iter::once((member.name.to_owned(), value));
            Ok(Value::Object(wrapper.collect()))
        }
        (_, value) => Ok(value),
    }
}

fn typed(shape: &Shape, value: Value) -> Value {
    match (shape, value) {
        (Shape::Record(id), Value::Object(members)) => {
            let record = Registry::get().record(*id);
            let members = members.into_iter().map(|(name, value)| {
                let value = match record.field(&name) {
                    Some(field) => typed(&field.shape, value),
                    None => value,
                };
                (name, value)
            });
            Value::Object(members.collect())
        }
        (Shape::Array(inner), Value::Array(items)) => {
            items.into_iter().map(|item| typed(inner, item)).collect()
        }
        (Shape::Map(inner), Value::Object(members)) => {
            let members = members.into_iter();
            let members = members.map(|(name, value)| (name, typed(inner, value)));
            Value::Object(members.collect())
        }
        (Shape::Union(types), Value::Object(members)) => union_value(types, members),
        (_, value) => value,
    }
}

/// The value in the wrapper of a union, with its type. One that is not an object keeps the wrapper.
fn union_value(types: &[Member], mut wrapper: Map<String, Value>) -> Value {
    let is_type = |member: &&Member| wrapper.get(member.name).is_some_and(Value::is_object);
    let found = types.iter().find(is_type);
    let found = found.and_then(|member| Some((member, wrapper.remove(member.name)?)));
    match found {
        Some((member, value)) => named(member.name, typed(&member.shape, value)),
        None => Value::Object(wrapper),
    }
}

/// A value with its type as the first member.
fn named(name: &str, value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let name = (TYPE.to_owned(), Value::from(simple(name)));
            Value::Object(std::iter::once(name).chain(members).collect())
        }
        other => other,
    }
}

/// A name without its namespace.
fn simple(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(platform: &Value, column: &Value) -> Value {
        json!({
            "schemaName": "s", "platformSchema": platform,
            "fields": [{"fieldPath": "c", "type": {"type": column}}],
        })
    }

    #[test]
    fn types_are_members_of_the_values_of_unions() {
        let aspect = AspectName::SCHEMA_METADATA;
        let mut outside = schema(
            &json!({"__type": "MySqlDDL", "tableSchema": "t"}),
            &json!({"__type": "StringType"}),
        );
        let inside = schema(
            &json!({"com.linkedin.schema.MySqlDDL": {"tableSchema": "t"}}),
            &json!({"com.linkedin.schema.StringType": {}}),
        );
        assert_eq!(without_types(aspect, outside.clone()).unwrap(), inside);
        outside["__type"] = json!("SchemaMetadata");
        assert_eq!(with_types(aspect, inside.clone()), outside);
        assert_eq!(without_types(aspect, outside).unwrap(), inside);
        // The stored form is accepted as it is.
        assert_eq!(without_types(aspect, inside.clone()).unwrap(), inside);
    }

    #[test]
    fn unknown_types_are_rejected() {
        let wrong = schema(&json!({}), &json!({"__type": "Text"}));
        let error = without_types(AspectName::SCHEMA_METADATA, wrong).unwrap_err();
        assert!(
            error.contains("'Text'") && error.contains("StringType"),
            "{error}"
        );
    }

    #[test]
    fn aspects_are_found_by_the_names_of_their_records() {
        let dataset = Registry::get().entity("dataset").unwrap();
        let found = aspect_of_type(dataset, "SchemaMetadata");
        assert_eq!(found, Some(AspectName::SCHEMA_METADATA));
        assert_eq!(aspect_of_type(dataset, "DomainProperties"), None);
    }
}
