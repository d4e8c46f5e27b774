//! Links between two entities, under `/openapi/v3`: versions of a set, and physical datasets of a
//! logical one.

use std::collections::BTreeMap;

use axum::response::Response;
use docent_catalog::AspectKey;
use docent_catalog::logical_parents::ColumnMapping;
use docent_catalog::versions::NewVersion;
use docent_model::{AspectName, Urn};
use serde::Deserialize;

use super::error_response;
use super::write::written_reply;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::conditions::UnsupportedCondition;
use crate::error::ErrorResponse;
use crate::query::Path;
use crate::wire::{parse_like, parse_urn, reply};

const WHY: &str = "The request changes several aspects.";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with version")]
struct VersionInput {
    version: String,
    comment: Option<String>,
    source_creation_timestamp: Option<i64>,
    source_creator: Option<String>,
}

/// Makes an entity the latest version of a set, and returns its `versionProperties`.
pub(crate) async fn link_version(
    Authenticated { state, caller }: Authenticated,
    Path((set, entity)): Path<(String, String)>,
    condition: UnsupportedCondition,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    condition.reject(WHY)?;
    let (set, entity) = (parse_urn(&set)?, parse_urn(&entity)?);
    let input: VersionInput = parse_like(&bytes, "{\"version\": \"v1\"}").await?;
    let new = NewVersion {
        tag: input.version,
        comment: input.comment,
        source_time_ms: input.source_creation_timestamp,
        source_creator: input.source_creator,
    };
    let catalog = state.catalog();
    let linked = catalog.link_version(&caller, &set, &entity, new).await;
    linked.map_err(error_response)?;
    let keys = [AspectKey::new(&entity, AspectName::VERSION_PROPERTIES)];
    written_reply(&state, &keys).await
}

/// Removes an entity from a set, and returns its URN if it was a version.
pub(crate) async fn unlink_version(
    Authenticated { state, caller }: Authenticated,
    Path((set, entity)): Path<(String, String)>,
    condition: UnsupportedCondition,
) -> Result<Response, ErrorResponse> {
    condition.reject(WHY)?;
    let (set, entity) = (parse_urn(&set)?, parse_urn(&entity)?);
    let catalog = state.catalog();
    let unlinked = catalog.unlink_version(&caller, &set, &entity).await;
    let is_unlinked = unlinked.map_err(error_response)?;
    let unlinked: Vec<Urn> = is_unlinked.then_some(entity).into_iter().collect();
    Ok(reply(&unlinked))
}

/// Links a physical dataset with the logical one that it implements. The body maps columns of the
/// logical dataset to those of the physical one.
pub(crate) async fn link_physical(
    Authenticated { state, caller }: Authenticated,
    Path((child, parent)): Path<(String, String)>,
    condition: UnsupportedCondition,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    condition.reject(WHY)?;
    let (child, parent) = (parse_urn(&child)?, parse_urn(&parent)?);
    let example = "{\"column of the logical dataset\": \"column of the physical one\"}";
    let columns: BTreeMap<String, String> = parse_like(&bytes, example).await?;
    let mapping = |(parent, child)| ColumnMapping { parent, child };
    let mappings: Vec<ColumnMapping> = columns.into_iter().map(mapping).collect();
    let catalog = state.catalog();
    let linked = catalog.link_physical_child(&caller, &parent, &child, &mappings);
    linked.await.map_err(error_response)?;
    written_reply(&state, &[parent_of(&child)]).await
}

/// Removes the link of a physical dataset, and those of its columns.
pub(crate) async fn unlink_physical(
    Authenticated { state, caller }: Authenticated,
    Path(child): Path,
    condition: UnsupportedCondition,
) -> Result<Response, ErrorResponse> {
    condition.reject(WHY)?;
    let child = parse_urn(&child)?;
    let unlinked = state.catalog().unlink_physical_child(&caller, &child).await;
    unlinked.map_err(error_response)?;
    written_reply(&state, &[parent_of(&child)]).await
}

fn parent_of(child: &Urn) -> AspectKey {
    AspectKey::new(child, AspectName::LOGICAL_PARENT)
}
