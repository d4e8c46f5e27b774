//! What a change means to users: DataHub's entity change events.

use docent_model::{AspectName, EpochMillis, Registry, Urn};
use serde_json::{Value, json};

use crate::timeline::{Category, Event, Operation, compare_values};

/// A change of an aspect, with the values before and after it; null is a missing one.
pub(super) struct AspectDifference<'c> {
    pub(super) urn: &'c Urn,
    pub(super) aspect: AspectName,
    pub(super) before: &'c Value,
    pub(super) after: &'c Value,
    pub(super) actor: &'c str,
    pub(super) time_ms: EpochMillis,
}

/// The events of a change; most changes have none.
pub(super) fn change_events(change: &AspectDifference<'_>) -> Vec<Value> {
    let urn = change.urn;
    if Registry::get().is_key_aspect(urn, change.aspect) {
        let operation = match (change.before.is_null(), change.after.is_null()) {
            (true, false) => "CREATE",
            (false, true) => "HARD_DELETE",
            _ => return Vec::new(),
        };
        return vec![event(change, "LIFECYCLE", operation, None, &json!({}))];
    }
    match change.aspect.as_str() {
        "status" => {
            let removed = |value: &Value| value["removed"] == json!(true);
            match (removed(change.before), removed(change.after)) {
                (false, true) => vec![event(change, "LIFECYCLE", "SOFT_DELETE", None, &json!({}))],
                (true, false) => vec![event(change, "LIFECYCLE", "REINSTATE", None, &json!({}))],
                _ => Vec::new(),
            }
        }
        "deprecation" => {
            let deprecated = |value: &Value| value["deprecated"] == json!(true);
            let now = deprecated(change.after);
            if deprecated(change.before) == now {
                return Vec::new();
            }
            let status = if now { "DEPRECATED" } else { "ACTIVE" };
            let parameters = json!({"status": status});
            vec![event(
                change,
                "DEPRECATION",
                "MODIFY",
                Some(status),
                &parameters,
            )]
        }
        _ => {
            let events = compare_values(urn, change.aspect, change.before, change.after);
            // The event of the key tells that the entity is new.
            let others = events.iter().filter(|it| it.operation != Operation::Create);
            others.map(|it| of_timeline(change, it)).collect()
        }
    }
}

/// An event of the timeline, with DataHub's names.
fn of_timeline(change: &AspectDifference<'_>, found: &Event) -> Value {
    let category = match found.category {
        Category::Ownership => "OWNER",
        other => other.name(),
    };
    let mut parameters = json!({});
    let parameter = match found.category {
        Category::Tag => Some("tagUrn"),
        Category::GlossaryTerm => Some("termUrn"),
        Category::Ownership => Some("ownerUrn"),
        Category::Domain => Some("domainUrn"),
        Category::StructuredProperty => Some("propertyUrn"),
        _ => None,
    };
    if let (Some(name), Some(modifier)) = (parameter, &found.modifier) {
        parameters[name] = json!(modifier);
    }
    if let Some(column) = &found.column {
        parameters["fieldPath"] = json!(column);
        if let Ok(field) = Urn::parse(&format!("urn:li:schemaField:({},{column})", change.urn)) {
            parameters["fieldUrn"] = json!(field);
        }
    }
    let modifier = found.modifier.as_deref();
    let operation = found.operation.name();
    event(change, category, operation, modifier, &parameters)
}

fn event(
    change: &AspectDifference<'_>,
    category: &str,
    operation: &str,
    modifier: Option<&str>,
    parameters: &Value,
) -> Value {
    let mut event = json!({
        "entityType": change.urn.entity_type(),
        "entityUrn": change.urn,
        "category": category,
        "operation": operation,
        "auditStamp": {"time": change.time_ms, "actor": change.actor},
        "version": 0,
    });
    if let Some(modifier) = modifier {
        event["modifier"] = json!(modifier);
    }
    if parameters.as_object().is_some_and(|it| !it.is_empty()) {
        event["parameters"] = parameters.clone();
    }
    event
}
