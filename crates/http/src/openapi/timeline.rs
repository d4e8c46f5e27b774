//! `GET /openapi/v2/timeline/v1/{urn}?categories=TAG,…`: the change history of an entity.

use axum::http::Uri;
use axum::response::Response;
use docent_catalog::timeline::{Category, Event, Moment, Operation, Weight};
use docent_model::Urn;
use serde_json::{Value, json};

use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::query::Parameters;
use crate::wire::{reply, urn_in_path};

pub(crate) async fn read(
    Authenticated { state, .. }: Authenticated,
    parameters: Parameters,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let urn = urn_in_path(&uri, "/openapi/v2/timeline/v1/")?;
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
    let moments = state
        .catalog()
        .timeline(
            &urn,
            &categories,
            parameters.number("startTime")?,
            parameters.number("endTime")?,
        )
        .await?;
    let mut version = SemanticVersion::default();
    let moments: Vec<Value> = moments
        .iter()
        .map(|moment| {
            let weight = moment.events.iter().map(|event| event.weight).max();
            version.advance(weight);
            transaction(&urn, moment, &version, weight)
        })
        .collect();
    Ok(reply(&moments))
}

/// A semantic version, advanced by the weight of each change.
#[derive(Default)]
struct SemanticVersion {
    major: u64,
    minor: u64,
    patch: u64,
}

impl SemanticVersion {
    fn advance(&mut self, weight: Option<Weight>) {
        match weight {
            Some(Weight::Major) => {
                *self = Self {
                    major: self.major + 1,
                    ..Self::default()
                };
            }
            Some(Weight::Minor) => {
                self.minor += 1;
                self.patch = 0;
            }
            Some(Weight::Patch) => self.patch += 1,
            None => {}
        }
    }
}

fn transaction(
    urn: &Urn,
    moment: &Moment,
    version: &SemanticVersion,
    weight: Option<Weight>,
) -> Value {
    let stamp = json!({"time": moment.time_ms, "actor": moment.actor});
    let events: Vec<Value> = moment
        .events
        .iter()
        .map(|event| change_event(urn, event, &stamp))
        .collect();
    json!({
        "timestamp": moment.time_ms,
        "actor": moment.actor,
        "semVer": format!("{}.{}.{}", version.major, version.minor, version.patch),
        "semVerChange": weight_name(weight),
        "changeEvents": events,
    })
}

fn change_event(urn: &Urn, event: &Event, stamp: &Value) -> Value {
    let operation = match event.operation {
        Operation::Add => "ADD",
        Operation::Modify => "MODIFY",
        Operation::Remove => "REMOVE",
    };
    let parameters = event
        .column
        .as_ref()
        .map(|column| json!({"fieldPath": column}));
    json!({
        "entityUrn": urn,
        "category": event.category.name(),
        "operation": operation,
        "modifier": event.modifier,
        "parameters": parameters,
        "semVerChange": weight_name(Some(event.weight)),
        "description": event.description,
        "auditStamp": stamp,
    })
}

fn weight_name(weight: Option<Weight>) -> &'static str {
    match weight {
        None => "NONE",
        Some(Weight::Patch) => "PATCH",
        Some(Weight::Minor) => "MINOR",
        Some(Weight::Major) => "MAJOR",
    }
}
