//! `/openapi/v1/registry/models`: the entity types and their aspects. Clients read them to learn
//! what the server can store.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::StatusCode;
use axum::response::Response;
use docent_catalog::search::{MAX_COUNT, whole};
use docent_model::{AspectName, EntitySpec, Registry};
use serde_json::{Value, json};

use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::query::{Parameters, Path};
use crate::wire::reply;

const DEFAULT_COUNT: usize = 20;

pub(crate) async fn entities(
    _: Authenticated,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let all: Vec<&EntitySpec> = Registry::get().entities().collect();
    page(&parameters, &all, |entity| specification(entity))
}

/// One entity type.
pub(crate) async fn entity(_: Authenticated, Path(name): Path) -> Result<Response, ErrorResponse> {
    Ok(reply(&specification(known_entity(&name)?)))
}

/// The aspects of an entity type, by name.
pub(crate) async fn entity_aspects(
    _: Authenticated,
    Path(name): Path,
) -> Result<Response, ErrorResponse> {
    let aspects = aspects_of(known_entity(&name)?);
    let aspects = aspects.map(|aspect| (aspect.as_str(), aspect_specification(aspect)));
    Ok(reply(&aspects.collect::<BTreeMap<_, _>>()))
}

/// All aspects, by name.
pub(crate) async fn aspects(
    _: Authenticated,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let all: BTreeSet<AspectName> = Registry::get().entities().flat_map(aspects_of).collect();
    let all: Vec<AspectName> = all.into_iter().collect();
    page(&parameters, &all, |aspect| aspect_specification(*aspect))
}

/// One aspect.
pub(crate) async fn aspect(_: Authenticated, Path(name): Path) -> Result<Response, ErrorResponse> {
    let aspect = Registry::get().aspect(&name);
    let aspect = aspect.ok_or_else(|| missing("aspect", &name))?;
    Ok(reply(&aspect_specification(aspect)))
}

fn known_entity(name: &str) -> Result<&'static EntitySpec, ErrorResponse> {
    let entity = Registry::get().entity(name);
    entity.ok_or_else(|| missing("entity type", name))
}

fn missing(what: &str, name: &str) -> ErrorResponse {
    ErrorResponse::new(
        StatusCode::NOT_FOUND,
        format!("there is no {what} called '{name}' in the registry"),
    )
}

fn page<T>(
    parameters: &Parameters,
    all: &[T],
    render: impl Fn(&T) -> Value,
) -> Result<Response, ErrorResponse> {
    let start = whole("start", parameters.number("start")?, 0)?;
    let count = whole("count", parameters.number("count")?, DEFAULT_COUNT)?;
    let page = all.iter().skip(start).take(count.min(MAX_COUNT));
    let elements: Vec<Value> = page.map(render).collect();
    Ok(reply(&json!({
        "start": start,
        "count": elements.len(),
        "total": all.len(),
        "elements": elements,
    })))
}

fn specification(entity: &EntitySpec) -> Value {
    let aspects = aspects_of(entity).map(aspect_specification);
    json!({
        "name": entity.name,
        "keyAspectName": entity.key_aspect.as_str(),
        "keyAspectSpec": aspect_specification(entity.key_aspect),
        "aspectSpecs": aspects.collect::<Vec<Value>>(),
    })
}

fn aspects_of(entity: &EntitySpec) -> impl Iterator<Item = AspectName> {
    let key = std::iter::once(&entity.key_aspect);
    key.chain(&entity.aspects).copied()
}

fn aspect_specification(aspect: AspectName) -> Value {
    let timeseries = Registry::get().is_timeseries(aspect);
    // Aspects have had one schema so far.
    let annotation = json!({"name": aspect.as_str(), "timeseries": timeseries, "schemaVersion": 1});
    json!({ "aspectAnnotation": annotation })
}
