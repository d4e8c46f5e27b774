//! `POST /openapi/v2/entity/batch/{type}`: some aspects of some entities, in the form from before version 3.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Response;
use docent_catalog::Catalog;
use docent_model::{AspectName, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use super::address::Kind;
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::error::Refusal;
use crate::restli::{json as reply, parse, parse_aspect, raw};

const MAX_URNS: usize = 10_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with urns")]
struct Wanted {
    urns: Vec<String>,
    /// None, or an empty list, means all.
    aspect_names: Option<Vec<String>>,
    with_system_metadata: Option<bool>,
}

/// Entities that do not exist are left out.
pub(crate) async fn read(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(entity_type): Path<String>,
    WholeBody(bytes): WholeBody,
) -> Result<Response, Refusal> {
    let wanted: Wanted = parse(&bytes)?;
    let kind = Kind::one(&entity_type)?;
    if wanted.urns.len() > MAX_URNS {
        return Err(Refusal::bad_request(format!(
            "there are {} urns: at most {MAX_URNS} can be asked for at once",
            wanted.urns.len()
        )));
    }
    let urns = wanted
        .urns
        .iter()
        .map(|text| kind.urn(text))
        .collect::<Result<Vec<Urn>, Refusal>>()?;
    let names = wanted.aspect_names.unwrap_or_default();
    let names = names
        .iter()
        .map(|name| parse_aspect(name))
        .collect::<Result<Vec<AspectName>, Refusal>>()?;
    let noted = wanted.with_system_metadata.unwrap_or(false);
    let rows = state.catalog().read_entities(&caller, &urns).await?;
    let mut entities = Vec::with_capacity(urns.len());
    for (urn, rows) in urns.iter().zip(rows) {
        let mut aspects: BTreeMap<&str, Value> = BTreeMap::new();
        for (aspect, row) in &rows {
            if Catalog::is_secret(*aspect) || !(names.is_empty() || names.contains(aspect)) {
                continue;
            }
            let mut shown = json!({"value": raw(&row.metadata)?});
            if let Some(system_metadata) = row.system_metadata.as_deref().filter(|_| noted) {
                shown["systemMetadata"] = json!(raw(system_metadata)?);
            }
            aspects.insert(aspect.as_str(), shown);
        }
        if !rows.is_empty() {
            entities.push(json!({"urn": urn, "aspects": aspects}));
        }
    }
    Ok(reply(&json!({"entities": entities})))
}
