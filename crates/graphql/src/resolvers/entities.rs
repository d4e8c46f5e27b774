//! Small computed fields of entities.

use docent_catalog::Error;
use docent_catalog::view::stand_in;
use docent_model::{Registry, Urn};
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

/// Splits stored browse paths such as `/prod/hive/x` into their elements.
pub(super) fn browse_paths(entity: &EntityView<'_>) -> Value {
    let paths = Registry::get().aspect("browsePaths");
    let Some(row) = paths.and_then(|aspect| entity.aspect(aspect)) else {
        return Value::Null;
    };
    let stored: Value = serde_json::from_str(&row.metadata).unwrap_or_default();
    let paths: Vec<Value> = stored["paths"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|path| {
            let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
            json!({"path": parts})
        })
        .collect();
    json!(paths)
}

/// The assignees of an incident.
pub(super) fn incident_assignees(entity: &EntityView<'_>) -> Value {
    members(entity, "incidentInfo", "assignees", |assignee| {
        Some(json!(assignee["actor"].as_str()?))
    })
}

/// The subjects of a query; a column comes with its dataset.
pub(super) fn query_subjects(entity: &EntityView<'_>) -> Value {
    members(entity, "querySubjects", "subjects", |subject| {
        let urn = Urn::parse(subject["entity"].as_str()?).ok()?;
        match urn.entity_type() {
            "dataset" => Some(json!({"dataset": urn})),
            "schemaField" => {
                let dataset = urn.key_parts().first().copied()?.to_owned();
                Some(json!({"dataset": dataset, "schemaField": urn}))
            }
            _ => None,
        }
    })
}

/// Maps the elements of a list in an aspect; null if the entity does not have the aspect.
fn members(
    entity: &EntityView<'_>,
    aspect: &str,
    list: &str,
    map: impl FnMut(&Value) -> Option<Value>,
) -> Value {
    let aspect = Registry::get().aspect(aspect);
    let Some(row) = aspect.and_then(|aspect| entity.aspect(aspect)) else {
        return Value::Null;
    };
    let stored: Value = serde_json::from_str(&row.metadata).unwrap_or_default();
    let elements = stored[list].as_array().into_iter().flatten();
    elements.filter_map(map).collect()
}

/// The field path of each column URN, or the URN that stands for a column of a hidden dataset.
pub(super) async fn schema_field_path(
    context: &Context,
    columns: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let urn = |column: &EntityView<'_>| Urn::parse(column.value().as_str()?).ok();
    let urns: Vec<Option<Urn>> = columns.iter().map(urn).collect();
    let hidden = context.catalog.hidden_among(urns.iter().flatten()).await?;
    let path = |urn: Urn| -> Result<Value, Error> {
        if hidden.contains(&urn) {
            return Ok(json!(stand_in(&urn)?));
        }
        Ok(json!(urn.key_parts().last()))
    };
    let paths = urns.into_iter();
    Ok(paths.map(|urn| urn.map_or(Ok(Value::Null), path)).collect())
}

/// The values of a structured property that are URNs.
pub(super) fn value_entities(entity: &EntityView<'_>) -> Value {
    let values = entity.value()["values"].as_array().into_iter().flatten();
    // A stored union wraps a string as {"string": …}.
    let texts = values.filter_map(|value| value.as_str().or(value["string"].as_str()));
    let urns: Vec<&str> = texts.filter(|text| Urn::parse(text).is_ok()).collect();
    if urns.is_empty() {
        Value::Null
    } else {
        json!(urns)
    }
}
