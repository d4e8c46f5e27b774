//! `GET /openapi/v1/registry/models/entity/specifications`: the aspects of each entity type.
//! Clients read it to learn what the server can store.

use axum::response::Response;
use docent_catalog::search::{MAX_COUNT, whole};
use docent_model::{AspectName, EntitySpec, Registry};
use serde_json::{Value, json};

use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::query::Parameters;
use crate::wire::reply;

const DEFAULT_COUNT: usize = 20;

pub(crate) async fn entities(
    _: Authenticated,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let start = whole("start", parameters.number("start")?, 0)?;
    let count = whole("count", parameters.number("count")?, DEFAULT_COUNT)?;
    let all: Vec<&EntitySpec> = Registry::get().entities().collect();
    let page = all.iter().skip(start).take(count.min(MAX_COUNT));
    let elements: Vec<Value> = page.map(|entity| specification(entity)).collect();
    Ok(reply(&json!({
        "start": start,
        "count": elements.len(),
        "total": all.len(),
        "elements": elements,
    })))
}

fn specification(entity: &EntitySpec) -> Value {
    let aspect = |aspect: &AspectName| {
        let timeseries = Registry::get().is_timeseries(*aspect);
        // Aspects have had one schema so far.
        let annotation =
            json!({"name": aspect.as_str(), "timeseries": timeseries, "schemaVersion": 1});
        json!({"aspectAnnotation": annotation})
    };
    let aspects = std::iter::once(&entity.key_aspect).chain(&entity.aspects);
    json!({
        "name": entity.name,
        "keyAspectName": entity.key_aspect.as_str(),
        "keyAspectSpec": aspect(&entity.key_aspect),
        "aspectSpecs": aspects.map(aspect).collect::<Vec<Value>>(),
    })
}
