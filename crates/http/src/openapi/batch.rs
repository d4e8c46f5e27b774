//! `POST /openapi/v2/entity/batch/{type}`: aspects of several entities, in the format before
//! version 3.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use axum::response::Response;
use docent_catalog::{AspectKey, Catalog, EntityAspects, ReadRequest};
use docent_model::{AspectName, Urn};
use serde::{Deserialize, Serialize};

use super::address::Kind;
use super::entities::{aspect_keys, by_entity};
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::error::ErrorResponse;
use crate::query::Path;
use crate::reply_budget::{AspectReply, READ_CHUNK, ReplyBudget};
use crate::wire::{parse, parse_aspect};

const MAX_URNS: usize = 10_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with urns")]
struct BatchInput {
    urns: Vec<String>,
    /// Missing or empty means all.
    aspect_names: Option<Vec<String>>,
    with_system_metadata: Option<bool>,
}

#[derive(Serialize)]
struct Reply<'a> {
    entities: Vec<EntityReply<'a>>,
}

#[derive(Serialize)]
struct EntityReply<'a> {
    urn: &'a Urn,
    aspects: BTreeMap<&'static str, AspectReply>,
}

/// Missing entities are omitted, duplicates are returned once.
pub(crate) async fn read(
    Authenticated { state, .. }: Authenticated,
    Path(entity_type): Path,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let input: BatchInput = parse(&bytes).await?;
    let kind = Kind::one(&entity_type)?;
    if input.urns.len() > MAX_URNS {
        return Err(ErrorResponse::bad_request(format!(
            "there are {} urns: at most {MAX_URNS} are allowed",
            input.urns.len()
        )));
    }
    let mut urns = input
        .urns
        .iter()
        .map(|text| kind.urn(text))
        .collect::<Result<Vec<Urn>, ErrorResponse>>()?;
    let mut seen = HashSet::with_capacity(urns.len());
    urns.retain(|urn| seen.insert(urn.clone()));
    let names = input.aspect_names.unwrap_or_default();
    let names = names
        .iter()
        .map(|name| parse_aspect(name))
        .collect::<Result<BTreeSet<AspectName>, docent_catalog::Error>>()?;
    let names: Vec<AspectName> = names.into_iter().collect();
    let with_system_metadata = input.with_system_metadata.unwrap_or(false);
    let mut budget = ReplyBudget::new(state.reply_memory());
    let mut entities = Vec::with_capacity(urns.len());
    for urns in urns.chunks(READ_CHUNK) {
        let rows = read_chunk(state.catalog(), urns, &names, &mut budget).await?;
        let build = |budget: &mut ReplyBudget<'_>| {
            for (urn, rows) in urns.iter().zip(rows) {
                let Some(rows) = rows else { continue };
                let aspects = budget.aspects(rows, with_system_metadata)?;
                entities.push(EntityReply { urn, aspects });
            }
            Ok::<_, ErrorResponse>(())
        };
        budget.build(build).await?;
    }
    let reply = Reply { entities };
    budget.build(|budget| budget.reply(&reply)).await
}

/// The aspects of each entity that exists; no names mean all.
async fn read_chunk(
    catalog: &Catalog,
    urns: &[Urn],
    names: &[AspectName],
    budget: &mut ReplyBudget<'_>,
) -> Result<Vec<Option<EntityAspects>>, ErrorResponse> {
    if names.is_empty() {
        let reply = budget.read(catalog, ReadRequest::entities(urns)).await?;
        let entities = reply.entities.into_iter();
        return Ok(entities
            .map(|rows| Some(rows).filter(|rows| !rows.is_empty()))
            .collect());
    }
    let keys = aspect_keys(urns, names);
    let own: Vec<AspectKey> = urns.iter().filter_map(AspectKey::of_entity).collect();
    // In one read: an entity may be deleted meanwhile.
    let request = ReadRequest {
        rows: &keys,
        exists: &own,
        entities: &[],
    };
    let reply = budget.read(catalog, request).await?;
    let entities = by_entity(reply.rows, names).into_iter().zip(reply.exists);
    Ok(entities
        .map(|(rows, exists)| exists.then_some(rows))
        .collect())
}
