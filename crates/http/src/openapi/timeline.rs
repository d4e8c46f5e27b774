//! `GET /openapi/v2/timeline/v1/{urn}?categories=TAG,…`: the change history of an entity.

use axum::http::Uri;
use axum::response::Response;
use docent_catalog::timeline::{Category, Event, Moment};
use serde_json::{Map, Value, json};

use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::query::Parameters;
use crate::wire::{reply, urn_in_path};

/// The second is older.
const PREFIXES: [&str; 2] = ["/openapi/v2/timeline/v1/", "/openapi/timeline/v1/"];

pub(crate) async fn read(
    Authenticated { state, .. }: Authenticated,
    parameters: Parameters,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let path = uri.path();
    let prefix = PREFIXES.iter().find(|it| path.starts_with(**it));
    let urn = urn_in_path(&uri, prefix.unwrap_or(&PREFIXES[0]))?;
    let categories = parameters
        .all("categories")
        .iter()
        .map(|name| Category::parse(name))
        .collect::<Result<Vec<_>, _>>()?;
    if categories.is_empty() {
        return Err(ErrorResponse::bad_request(
            "the parameter categories is missing: send ?categories=DOCUMENTATION,TAG",
        ));
    }
    let catalog = state.catalog();
    let moments = if parameters.flag("includeVersionSet")? {
        let merged = catalog.timeline_of_versions(&urn, &categories).await?;
        merged.moments
    } else {
        // DataHub's client sends -1 and 0 if there are no limits.
        let from = parameters.number("startTime")?.filter(|time| *time >= 0);
        let through = parameters.number("endTime")?.filter(|time| *time > 0);
        catalog.timeline(&urn, &categories, from, through).await?
    };
    let moments: Vec<Value> = moments.iter().map(transaction).collect();
    Ok(reply(&moments))
}

fn transaction(moment: &Moment) -> Value {
    let events: Vec<Value> = moment.events.iter().map(change_event).collect();
    json!({
        "timestamp": moment.time_ms,
        "actor": moment.actor,
        "semVer": format!("{}-computed", moment.version),
        "semVerChange": moment.weight.name(),
        "changeEvents": events,
        "versionStamp": moment.version_stamp,
    })
}

fn change_event(event: &Event) -> Value {
    // Lists and objects are JSON texts, as in DataHub.
    let parameters: Map<String, Value> = event
        .parameters
        .iter()
        .map(|(name, value)| {
            let value = match value {
                Value::Array(_) | Value::Object(_) => value.to_string().into(),
                other => other.clone(),
            };
            (name.clone(), value)
        })
        .collect();
    let mut change = json!({
        "entityUrn": event.entity,
        "category": event.category.name(),
        "operation": event.operation.name(),
        "semVerChange": event.weight.name(),
        "description": event.description,
    });
    if let Some(modifier) = &event.modifier {
        change["modifier"] = modifier.as_str().into();
    }
    if !parameters.is_empty() {
        change["parameters"] = parameters.into();
    }
    change
}
