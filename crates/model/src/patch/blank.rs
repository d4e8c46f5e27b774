//! What a value begins as that is not there yet.

use serde_json::{Map, Value, json};

use super::document::Place;
use super::template::Template;
use crate::aspects::AuditStamp;
use crate::registry::{Record, RecordId, Shape};
use crate::{AspectName, Registry};

/// Audit stamps that are optional by their record, but that clients expect in an aspect made by a patch.
const STAMPS: [(AspectName, &[&str]); 2] = [
    (AspectName::OWNERSHIP, &["lastModified"]),
    (
        AspectName::EDITABLE_SCHEMA_METADATA,
        &["created", "lastModified"],
    ),
];

/// Records in records, before it is given up.
const MAX_LEVELS: usize = 4;

/// What an aspect has when its first patch comes: whatever of the required members can be empty. `generous` is for the
/// aspects that have a built-in template: their texts begin empty as well, and their flags false.
pub(super) fn aspect(aspect: AspectName, generous: bool, stamp: &AuditStamp) -> Value {
    let Some(record) = Registry::get().aspect_record(aspect) else {
        return json!({});
    };
    let mut members = record_members(record, generous, stamp, 0);
    let stamps = STAMPS.iter().filter(|(known, _)| *known == aspect);
    for name in stamps.flat_map(|(_, names)| *names) {
        members.insert((*name).to_owned(), stamp_value(stamp));
    }
    Value::Object(members)
}

/// A value on the way to a path.
pub(super) fn at(place: Place<'_>) -> Value {
    match (place.template, place.shape) {
        (Some(Template::List { .. }), _) | (_, Some(Shape::Array(_))) => json!([]),
        (_, Some(Shape::Record(id))) => Value::Object(record_members(*id, false, place.stamp, 0)),
        _ => json!({}),
    }
}

fn record_members(
    id: RecordId,
    generous: bool,
    stamp: &AuditStamp,
    level: usize,
) -> Map<String, Value> {
    let mut members = Map::new();
    let record = Registry::get().record(id);
    for field in record.fields.iter().filter(|field| field.required) {
        let value = match &field.shape {
            Shape::Array(_) => json!([]),
            Shape::Map(_) => json!({}),
            Shape::Text if generous => json!(""),
            Shape::Boolean if generous => json!(false),
            Shape::Record(inner) if is_stamp(Registry::get().record(*inner)) => stamp_value(stamp),
            Shape::Record(inner) if level < MAX_LEVELS => {
                Value::Object(record_members(*inner, generous, stamp, level + 1))
            }
            _ => continue,
        };
        members.insert(field.name.to_owned(), value);
    }
    members
}

/// Says who and when, and needs nothing else.
fn is_stamp(record: &Record) -> bool {
    let is_required = |name: &str| record.field(name).is_some_and(|field| field.required);
    record.required == 2 && is_required("time") && is_required("actor")
}

fn stamp_value(stamp: &AuditStamp) -> Value {
    json!({"time": stamp.time, "actor": stamp.actor})
}
