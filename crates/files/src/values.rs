//! The plain values of the parts of entities.

use serde_json::Value;

use crate::entity::{COLUMNS_ASPECT, COLUMNS_LIST, Entity, PartId, PartValues};
use crate::kinds::{COLUMN_PARTS, Kind};

/// The values of all parts of an entity.
pub(crate) fn part_values(kind: &Kind, entity: &Entity) -> PartValues {
    let mut values = PartValues::new();
    for aspect in kind.written_aspects() {
        if let Some(value) = entity.value(aspect) {
            values.extend(values_in(kind, aspect, value));
        }
    }
    values
}

/// The values of the parts in one aspect.
pub(crate) fn values_in(kind: &Kind, aspect: &str, value: &Value) -> PartValues {
    let mut values = PartValues::new();
    for part in kind.parts.iter().filter(|part| part.aspect == aspect) {
        if let Some(value) = part.codec.read(value) {
            let id = PartId {
                column: None,
                key: part.key,
            };
            values.insert(id, value);
        }
    }
    if kind.has_columns && aspect == COLUMNS_ASPECT {
        for column in value[COLUMNS_LIST].as_array().into_iter().flatten() {
            let Some(path) = column["fieldPath"].as_str() else {
                continue;
            };
            for part in &COLUMN_PARTS {
                let id = PartId {
                    column: Some(path.to_owned()),
                    key: part.key,
                };
                if let Some(value) = part.codec.read(column) {
                    // Of several records about a column, the first counts, as in the catalog.
                    values.entry(id).or_insert(value);
                }
            }
        }
    }
    values
}
