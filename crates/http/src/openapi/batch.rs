//! `POST /openapi/v2/entity/batch/{type}`: some aspects of some entities, in the form from before version 3.

use std::collections::{BTreeMap, HashSet};

use axum::extract::{Path, State};
use axum::response::Response;
use docent_catalog::Catalog;
use docent_model::{AspectName, Urn};
use serde::{Deserialize, Serialize};

use super::address::Kind;
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::error::ErrorResponse;
use crate::restli::{json as reply, parse, parse_aspect};
use crate::shown::{AspectReply, PIECE, Shown};

const MAX_URNS: usize = 10_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with urns")]
struct Wanted {
    urns: Vec<String>,
    /// None, or an empty list, means all.
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

/// Entities that do not exist are left out, and who is asked for twice is given once.
pub(crate) async fn read(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(entity_type): Path<String>,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    let wanted: Wanted = parse(&bytes)?;
    let kind = Kind::one(&entity_type)?;
    if wanted.urns.len() > MAX_URNS {
        return Err(ErrorResponse::bad_request(format!(
            "there are {} urns: at most {MAX_URNS} can be asked for at once",
            wanted.urns.len()
        )));
    }
    let mut urns = wanted
        .urns
        .iter()
        .map(|text| kind.urn(text))
        .collect::<Result<Vec<Urn>, ErrorResponse>>()?;
    let mut seen = HashSet::with_capacity(urns.len());
    urns.retain(|urn| seen.insert(urn.clone()));
    let names = wanted.aspect_names.unwrap_or_default();
    let names = names
        .iter()
        .map(|name| parse_aspect(name))
        .collect::<Result<Vec<AspectName>, ErrorResponse>>()?;
    let noted = wanted.with_system_metadata.unwrap_or(false);
    let mut shown = Shown::default();
    let mut entities = Vec::with_capacity(urns.len());
    for urns in urns.chunks(PIECE) {
        let rows = state.catalog().read_entities(&caller, urns).await?;
        for (urn, rows) in urns.iter().zip(rows) {
            if rows.is_empty() {
                continue;
            }
            let is_shown = |aspect: AspectName| {
                !Catalog::is_secret(aspect) && (names.is_empty() || names.contains(&aspect))
            };
            let aspects = rows
                .iter()
                .filter(|(aspect, _)| is_shown(*aspect))
                .map(|(aspect, row)| Ok((aspect.as_str(), shown.aspect(row, noted)?)))
                .collect::<Result<_, ErrorResponse>>()?;
            entities.push(EntityReply { urn, aspects });
        }
    }
    Ok(reply(&Reply { entities }))
}
