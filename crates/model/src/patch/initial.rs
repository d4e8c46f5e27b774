//! Initial values for aspects and members that do not exist yet.

use serde_json::{Map, Value, json};

use super::document::PatchContext;
use super::template::Template;
use crate::aspects::AuditStamp;
use crate::registry::{Record, RecordId, Shape};
use crate::{AspectName, Registry};

/// Optional audit stamps that clients expect in an aspect created by a patch.
const STAMPS: [(AspectName, &[&str]); 2] = [
    (AspectName::OWNERSHIP, &["lastModified"]),
    (
        AspectName::EDITABLE_SCHEMA_METADATA,
        &["created", "lastModified"],
    ),
];

/// The stamps of a record about changes, such as the `lastModified` of charts.
const CHANGE_STAMPS: [&str; 2] = ["created", "lastModified"];

/// The limit on nested records.
const MAX_LEVELS: usize = 4;

/// The initial value of an aspect: all required members that can be empty. Aspects with a built-in
/// template also get empty strings and false flags (`with_scalars`).
pub(super) fn aspect(aspect: AspectName, with_scalars: bool, stamp: &AuditStamp) -> Value {
    let Some(record) = Registry::get().aspect_record(aspect) else {
        return json!({});
    };
    let mut members = record_members(record, with_scalars, stamp, 0);
    let stamps = STAMPS.iter().filter(|(known, _)| *known == aspect);
    for name in stamps.flat_map(|(_, names)| *names) {
        members.insert((*name).to_owned(), stamp_value(stamp));
    }
    for (name, value) in first_values(aspect) {
        members.insert(name.to_owned(), value);
    }
    Value::Object(members)
}

/// The first values of members that cannot be empty, or that clients expect.
fn first_values(aspect: AspectName) -> Vec<(&'static str, Value)> {
    match aspect.as_str() {
        "propertyDefinition" => vec![("valueType", json!("urn:li:dataType:datahub.string"))],
        "status" => vec![("removed", json!(false))],
        "datasetProperties" => vec![("customProperties", json!({})), ("tags", json!([]))],
        "dataFlowInfo" | "dataJobInfo" => vec![("customProperties", json!({}))],
        _ => Vec::new(),
    }
}

/// The initial value of a missing parent on a path.
pub(super) fn parent(context: PatchContext<'_>) -> Value {
    match (context.template, context.shape) {
        (Some(Template::List { .. }), _) | (_, Some(Shape::Array(_))) => json!([]),
        (_, Some(Shape::Record(id))) => Value::Object(record_members(*id, false, context.stamp, 0)),
        _ => json!({}),
    }
}

fn record_members(
    id: RecordId,
    with_scalars: bool,
    stamp: &AuditStamp,
    level: usize,
) -> Map<String, Value> {
    let mut members = Map::new();
    let record = Registry::get().record(id);
    for field in record.fields.iter().filter(|field| field.required) {
        let value = match &field.shape {
            Shape::Array(_) => json!([]),
            Shape::Map(_) => json!({}),
            Shape::Text if with_scalars => json!(""),
            Shape::Boolean if with_scalars => json!(false),
            Shape::Record(inner) if is_stamp(Registry::get().record(*inner)) => stamp_value(stamp),
            Shape::Record(inner) if level < MAX_LEVELS => {
                let mut members = record_members(*inner, with_scalars, stamp, level + 1);
                if with_scalars {
                    add_change_stamps(&mut members, *inner, stamp);
                }
                Value::Object(members)
            }
            _ => continue,
        };
        members.insert(field.name.to_owned(), value);
    }
    members
}

/// Stamps a record that has a stamp of its creation and one of its last change.
fn add_change_stamps(members: &mut Map<String, Value>, id: RecordId, stamp: &AuditStamp) {
    let registry = Registry::get();
    let record = registry.record(id);
    let is_stamped = |name: &str| {
        let field = record.field(name);
        matches!(field.map(|field| &field.shape), Some(Shape::Record(inner)) if is_stamp(registry.record(*inner)))
    };
    if CHANGE_STAMPS.into_iter().all(is_stamped) {
        for name in CHANGE_STAMPS {
            members.insert(name.to_owned(), stamp_value(stamp));
        }
    }
}

/// Whether a record is an audit stamp that requires only an actor and a time.
fn is_stamp(record: &Record) -> bool {
    let is_required = |name: &str| record.field(name).is_some_and(|field| field.required);
    record.required == 2 && is_required("time") && is_required("actor")
}

fn stamp_value(stamp: &AuditStamp) -> Value {
    json!({"time": stamp.time, "actor": stamp.actor})
}
