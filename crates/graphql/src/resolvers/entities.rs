//! Small computed fields of entities.

use docent_catalog::Error;
use docent_catalog::view::stand_in;
use docent_model::{AspectName, Registry, Urn};
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

/// Splits stored browse paths such as `/prod/hive/x` into their elements.
pub(super) fn browse_paths(entity: &EntityView<'_>) -> Value {
    let paths = Registry::get().aspect("browsePaths");
    let Some(row) = paths.and_then(|aspect| entity.aspect(aspect)) else {
        return Value::Null;
    };
    split_paths(&row.metadata)
}

/// The paths of a `browsePaths` aspect, as `BrowsePath`.
pub(super) fn split_paths(text: &str) -> Value {
    let stored: Value = serde_json::from_str(text).unwrap_or_default();
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

/// One of the hyperparameters of a model in their legacy form; DataHub's schema has room for one.
pub(super) fn hyper_parameter(properties: &EntityView<'_>) -> Value {
    let stored = properties.value()["hyperParameters"].as_object();
    let last = stored.and_then(|map| map.iter().next_back());
    last.map_or(
        Value::Null,
        |(key, value)| json!({"key": key, "value": value}),
    )
}

pub(super) fn unitary_results(analyses: &EntityView<'_>) -> Value {
    wrapped(&analyses.value()["unitaryResults"])
}

pub(super) fn intersectional_results(analyses: &EntityView<'_>) -> Value {
    wrapped(&analyses.value()["intersectionalResults"])
}

/// A text as the member of a union. DataHub's clients write the text alone where a union has no
/// other member.
fn wrapped(text: &Value) -> Value {
    text.as_str()
        .map_or(Value::Null, |text| json!({"string": text}))
}

/// When a post was changed, and by whom it was created; only the time of a change is stored.
pub(super) fn post_modified(post: &EntityView<'_>) -> Value {
    let row = post.aspect(AspectName::POST_INFO);
    let info = row.and_then(|row| serde_json::from_str::<Value>(&row.metadata).ok());
    let info = info.unwrap_or_default();
    let actor = info["auditStamp"]["actor"].as_str();
    json!({
        "time": info["lastModified"].as_i64().unwrap_or_default(),
        "actor": actor.or(row.map(|row| row.created_by.as_str())),
    })
}

/// The filter of a view: conditions that must all hold, or alternatives of one condition each.
pub(super) fn view_filter(definition: &EntityView<'_>) -> Value {
    let alternatives = definition.value()["filter"]["or"].as_array();
    let alternatives = alternatives.map(Vec::as_slice).unwrap_or_default();
    let operator = if alternatives.len() > 1 { "OR" } else { "AND" };
    let conditions = alternatives.iter().filter_map(|it| it["and"].as_array());
    let filters = conditions.flatten().map(|condition| {
        let values = match condition["values"].as_array() {
            Some(values) if !values.is_empty() => values.clone(),
            _ => vec![condition["value"].clone()],
        };
        json!({
            "field": condition["field"],
            "values": values,
            "condition": condition["condition"],
            "negated": condition["negated"],
        })
    });
    json!({"operator": operator, "filters": filters.collect::<Vec<Value>>()})
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

/// The columns of a custom assertion. Older clients write a single one.
pub(super) fn asserted_columns(assertion: &EntityView<'_>) -> Value {
    let value = assertion.value();
    let columns = value["fields"].as_array().into_iter().flatten();
    let mut columns: Vec<&Value> = columns.collect();
    let single = &value["field"];
    if !single.is_null() && !columns.contains(&single) {
        columns.push(single);
    }
    json!(columns)
}

/// The column that a chart or dashboard uses, with its URN: it belongs to another entity.
pub(super) fn input_column(input: &EntityView<'_>) -> Value {
    let input = input.value();
    let mut column = input["schemaField"].clone();
    if let Value::Object(members) = &mut column {
        members.insert("urn".to_owned(), input["schemaFieldUrn"].clone());
    }
    column
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
