//! The expected search values of a valid aspect, from `registry.json`, independently of the crate's
//! own interpretation.

use serde_json::Value;

use crate::generate::REGISTRY;

/// An annotation with the remaining path to its value.
type Annotation = (Vec<&'static str>, &'static Value);

/// The search fields and their values, in document order.
pub(crate) fn expected(aspect: &str, value: &Value) -> Vec<(String, String)> {
    let record = REGISTRY["aspects"][aspect]["record"].as_str().unwrap();
    let mut found = Vec::new();
    record_values(record, &[], value, &mut found);
    found
}

type SearchValues = Vec<(String, String)>;

fn record_values(record: &str, outer: &[Annotation], value: &Value, found: &mut SearchValues) {
    for (name, member) in value.as_object().unwrap() {
        let (name, field) = REGISTRY["records"][record]
            .as_object()
            .unwrap()
            .get_key_value(name)
            .unwrap();
        let mut annotations = descend(outer, name);
        annotations.extend(own(field));
        values(&field["type"], name, &annotations, member, found);
    }
}

fn own(field: &'static Value) -> Vec<Annotation> {
    let Some(members) = field.get("searchable").and_then(Value::as_object) else {
        return Vec::new();
    };
    if !members.keys().any(|key| key.starts_with('/')) {
        return vec![(Vec::new(), &field["searchable"])];
    }
    members
        .iter()
        .filter(|(_, annotation)| **annotation != serde_json::json!({}))
        .map(|(path, annotation)| (path.split('/').skip(1).collect(), annotation))
        .collect()
}

fn values(
    shape: &'static Value,
    name: &'static str,
    annotations: &[Annotation],
    value: &Value,
    found: &mut SearchValues,
) {
    if value.is_null() {
        return;
    }
    let field_name =
        |annotation: &Value| annotation["fieldName"].as_str().unwrap_or(name).to_owned();
    if let Some(items) = shape.get("array") {
        for item in value.as_array().unwrap() {
            values(items, name, &descend(annotations, "*"), item, found);
        }
    } else if let Some(inner) = shape.get("map") {
        // Maps are only annotated as a whole.
        let whole = annotations
            .iter()
            .find(|(path, _)| *path == ["*"] || *path == ["$key"]);
        for (key, entry) in value.as_object().unwrap() {
            let Some((_, annotation)) = whole else {
                values(inner, name, &[], entry, found);
                continue;
            };
            let single = std::slice::from_ref(entry);
            for text in entry.as_array().map_or(single, Vec::as_slice) {
                let text = format!("{key}={}", text.as_str().unwrap());
                found.push((field_name(annotation), Value::from(text).to_string()));
            }
        }
    } else if shape.get("union").is_some() {
        let (member, inner) = value.as_object().unwrap().iter().next().unwrap();
        let shapes = shape["union"].as_array().unwrap();
        let shape = shapes.iter().find(|shape| *shape == member).unwrap();
        values(shape, name, &descend(annotations, member), inner, found);
    } else if value.is_object() {
        record_values(shape.as_str().unwrap(), annotations, value, found);
    } else if let Some((_, annotation)) = annotations.first() {
        found.push((field_name(annotation), value.to_string()));
    }
}

fn descend(annotations: &[Annotation], segment: &str) -> Vec<Annotation> {
    annotations
        .iter()
        .filter(|(path, _)| path.first() == Some(&segment))
        .map(|(path, annotation)| (path[1..].to_vec(), *annotation))
        .collect()
}
