//! The records of the registry as JSON Schema, for the OpenAPI document.

use serde_json::{Map, Value, json};

/// A schema for each record and enum, by qualified name. `reference` builds references to others.
pub fn json_schemas(reference: &dyn Fn(&str) -> Value) -> Map<String, Value> {
    let source: Value = serde_json::from_str(super::SOURCE).unwrap_or_default();
    let records = source.get("records").and_then(Value::as_object);
    records
        .into_iter()
        .flatten()
        .map(|(name, record)| (name.clone(), record_schema(record, reference)))
        .collect()
}

fn record_schema(record: &Value, reference: &dyn Fn(&str) -> Value) -> Value {
    if let Some(symbols) = record.get("enum").filter(|symbols| symbols.is_array()) {
        return json!({"type": "string", "enum": symbols});
    }
    let fields = || record.as_object().into_iter().flatten();
    let properties: Map<String, Value> = fields()
        .map(|(name, field)| (name.clone(), field_schema(field, reference)))
        .collect();
    let is_required =
        |field: &Value| field["optional"] != json!(true) && field.get("default").is_none();
    let required: Vec<&String> = fields()
        .filter(|(_, field)| is_required(field))
        .map(|(name, _)| name)
        .collect();
    let mut schema = json!({"type": "object", "properties": properties});
    // OpenAPI does not allow an empty list here.
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn field_schema(field: &Value, reference: &dyn Fn(&str) -> Value) -> Value {
    let mut schema = type_schema(&field["type"], reference);
    // A reference must not have sibling members.
    let is_reference = schema.get("$ref").is_some();
    if let Some(members) = schema.as_object_mut().filter(|_| !is_reference) {
        if field["urn"] == json!(true) {
            members.insert("format".to_owned(), json!("urn"));
        }
        if field["optional"] == json!(true) {
            members.insert("nullable".to_owned(), json!(true));
        }
        if let Some(default) = field.get("default") {
            members.insert("default".to_owned(), default.clone());
        }
    }
    schema
}

fn type_schema(kind: &Value, reference: &dyn Fn(&str) -> Value) -> Value {
    match kind {
        Value::String(name) => match name.as_str() {
            "string" | "bytes" => json!({"type": "string"}),
            "boolean" => json!({"type": "boolean"}),
            "int" => json!({"type": "integer", "format": "int32"}),
            "long" => json!({"type": "integer", "format": "int64"}),
            "float" | "double" => json!({"type": "number", "format": name}),
            "null" => json!({"nullable": true}),
            record => reference(record),
        },
        Value::Object(of) => match of.iter().next() {
            Some((wrapper, inner)) => match wrapper.as_str() {
                "array" => json!({"type": "array", "items": type_schema(inner, reference)}),
                "map" => {
                    json!({"type": "object", "additionalProperties": type_schema(inner, reference)})
                }
                _ => union_schema(inner, reference),
            },
            None => json!({}),
        },
        _ => json!({}),
    }
}

/// An object with one member, named after the type.
fn union_schema(types: &Value, reference: &dyn Fn(&str) -> Value) -> Value {
    let types = types.as_array().into_iter().flatten();
    let properties: Map<String, Value> = types
        .filter_map(|kind| {
            let name = match kind {
                Value::String(name) => name.clone(),
                other => other.as_object()?.keys().next()?.clone(),
            };
            Some((name, type_schema(kind, reference)))
        })
        .collect();
    json!({"type": "object", "properties": properties, "minProperties": 1, "maxProperties": 1})
}
