//! `/openapi/v2/entity`: the format before version 3, in which an entity has its aspects in
//! `aspects`, and the body of an aspect is its value. Requests are converted, and the handlers of
//! version 3 answer them.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{Method, Uri, header};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::address::PREFIX;
use super::{entities, read, write};
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::conditions::Conditional;
use crate::error::ErrorResponse;
use crate::query::{Parameters, Path};
use crate::wire::parse_like;

const V2_PREFIX: &str = "/openapi/v2/entity/";

/// An entity of a request.
#[derive(Deserialize)]
#[serde(expecting = "an object with urn and aspects")]
struct EntityInput {
    urn: String,
    aspects: BTreeMap<String, Box<RawValue>>,
}

/// The members of an object of version 3.
type Members<'b> = BTreeMap<String, &'b RawValue>;

#[derive(Serialize)]
struct Entity<'b> {
    urn: &'b RawValue,
    aspects: Members<'b>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'b> {
    results: Vec<Entity<'b>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scroll_id: Option<&'b RawValue>,
}

/// What the body of a response has.
#[derive(Clone, Copy)]
enum Shape {
    /// An entity, or an aspect, which has the same form in both versions.
    Entity,
    Entities,
    Page,
}

pub(crate) async fn list(
    authenticated: Authenticated,
    path: Path,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let response = entities::list(authenticated, path, parameters).await?;
    convert(response, Shape::Page).await
}

pub(crate) async fn post(
    authenticated: Authenticated,
    path: Path,
    parameters: Parameters,
    conditional: Conditional,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let example = "[{\"urn\": \"urn:li:…\", \"aspects\": {\"status\": {\"value\": {…}}}}]";
    let inputs: Vec<EntityInput> = parse_like(&bytes, example).await?;
    let entity = |mut input: EntityInput| {
        input
            .aspects
            .insert("urn".to_owned(), to_raw_value(&input.urn)?);
        Ok(input.aspects)
    };
    let entities: Result<Vec<_>, serde_json::Error> = inputs.into_iter().map(entity).collect();
    let body = entities.and_then(|entities| serde_json::to_vec(&entities));
    let body = JsonBody(body.map_err(|error| unconverted(&error))?.into());
    let response = write::post(authenticated, path, parameters, conditional, body).await?;
    convert(response, Shape::Entities).await
}

pub(crate) async fn read_one(
    authenticated: Authenticated,
    parameters: Parameters,
    method: Method,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let response = read::one(authenticated, parameters, method, version_3(&uri)?).await?;
    convert(response, Shape::Entity).await
}

pub(crate) async fn post_one(
    authenticated: Authenticated,
    parameters: Parameters,
    conditional: Conditional,
    uri: Uri,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let value: Box<RawValue> = parse_like(&bytes, "the value of the aspect").await?;
    let body = serde_json::to_vec(&BTreeMap::from([("value", value)]));
    let body = JsonBody(body.map_err(|error| unconverted(&error))?.into());
    let uri = version_3(&uri)?;
    let response = write::post_one(authenticated, parameters, conditional, uri, body).await?;
    convert(response, Shape::Entity).await
}

pub(crate) async fn patch_one(
    authenticated: Authenticated,
    parameters: Parameters,
    conditional: Conditional,
    uri: Uri,
    body: JsonBody,
) -> Result<Response, ErrorResponse> {
    let uri = version_3(&uri)?;
    let response = write::patch_one(authenticated, parameters, conditional, uri, body).await?;
    convert(response, Shape::Entity).await
}

pub(crate) async fn delete(
    authenticated: Authenticated,
    parameters: Parameters,
    conditional: Conditional,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    write::delete(authenticated, parameters, conditional, version_3(&uri)?).await
}

/// The same address in version 3.
fn version_3(uri: &Uri) -> Result<Uri, ErrorResponse> {
    let path = uri.path_and_query().map_or("", |it| it.as_str());
    let rest = path.strip_prefix(V2_PREFIX).unwrap_or_default();
    format!("{PREFIX}{rest}")
        .parse()
        .map_err(|_| ErrorResponse::bad_request(format!("the path '{}' is invalid", uri.path())))
}

/// Converts the body of a response.
async fn convert(response: Response, shape: Shape) -> Result<Response, ErrorResponse> {
    let (mut parts, body) = response.into_parts();
    let bytes = body.collect().await.map_err(|error| {
        ErrorResponse::bad_request(format!("the response cannot be read: {error}"))
    })?;
    let bytes = bytes.to_bytes();
    if bytes.is_empty() {
        return Ok(Response::from_parts(parts, Body::empty()));
    }
    let converted = converted(&bytes, shape).map_err(|error| unconverted(&error))?;
    parts.headers.remove(header::CONTENT_LENGTH);
    Ok(Response::from_parts(parts, Body::from(converted)))
}

fn converted(bytes: &Bytes, shape: Shape) -> Result<Vec<u8>, serde_json::Error> {
    match shape {
        Shape::Entity => {
            let members: Members<'_> = serde_json::from_slice(bytes)?;
            match entity(members) {
                Some(entity) => serde_json::to_vec(&entity),
                None => Ok(bytes.to_vec()),
            }
        }
        Shape::Entities => serde_json::to_vec(&all(bytes)?),
        Shape::Page => {
            let members: Members<'_> = serde_json::from_slice(bytes)?;
            let entities = members.get("entities").map_or("[]", |it| it.get());
            let page = Page {
                results: all(entities.as_bytes())?,
                scroll_id: members.get("scrollId").copied(),
            };
            serde_json::to_vec(&page)
        }
    }
}

fn all(bytes: &[u8]) -> Result<Vec<Entity<'_>>, serde_json::Error> {
    let entities: Vec<Members<'_>> = serde_json::from_slice(bytes)?;
    Ok(entities.into_iter().filter_map(entity).collect())
}

/// `None` if the object is not an entity.
fn entity(mut members: Members<'_>) -> Option<Entity<'_>> {
    let urn = members.remove("urn")?;
    Some(Entity {
        urn,
        aspects: members,
    })
}

fn unconverted(error: &serde_json::Error) -> ErrorResponse {
    ErrorResponse::bad_request(format!("the entity cannot be converted: {error}"))
}
