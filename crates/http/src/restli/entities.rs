//! `GET /entitiesV2/{urn}` and `POST /entities?action=…`.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use docent_catalog::{Caller, Catalog, Change, Proposal, StoredAspect};
use docent_model::{AspectName, Registry, Urn};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::{Action, json as reply, parse_aspect, parse_urn, raw, search, urn_in_path};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::error::Refusal;
use crate::query::Query;

#[derive(Debug, Deserialize)]
pub(crate) struct Wanted {
    aspects: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntityReply<'a> {
    entity_name: &'a str,
    urn: &'a Urn,
    aspects: BTreeMap<&'static str, AspectReply>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AspectReply {
    name: &'static str,
    r#type: &'static str,
    version: i64,
    value: Box<RawValue>,
    created: Stamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_metadata: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Stamp {
    time: i64,
    actor: String,
}

/// All aspects of an entity, or those named by `?aspects=List(a,b)`. An entity that does not exist has its key
/// aspect and nothing else: that is how clients are told.
pub(crate) async fn read(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Query(wanted): Query<Wanted>,
    uri: Uri,
) -> Result<Response, Refusal> {
    let urn = urn_in_path(&uri, "/entitiesV2/")?;
    let entity = Registry::get()
        .check_urn(&urn)
        .map_err(|error| Refusal::bad_request(error.to_string()))?;
    let wanted = wanted.aspects.as_deref().map(parse_list).transpose()?;
    let rows = state
        .catalog()
        .read_entities(&caller, std::slice::from_ref(&urn))
        .await?
        .pop()
        .unwrap_or_default();
    let mut aspects = BTreeMap::new();
    for (aspect, row) in rows {
        let asked = wanted
            .as_ref()
            .is_none_or(|wanted| wanted.contains(&aspect));
        if (asked && !Catalog::is_secret(aspect)) || aspect == entity.key_aspect {
            aspects.insert(aspect.as_str(), aspect_reply(aspect, row)?);
        }
    }
    if aspects.is_empty()
        && let Some(key) = Registry::get().key_aspect_value(&urn)
    {
        let made_up = StoredAspect {
            version: 0,
            metadata: key.to_string(),
            system_metadata: None,
            created_on_ms: 0,
            created_by: docent_catalog::SYSTEM_ACTOR.to_owned(),
            created_for: None,
        };
        let name = entity.key_aspect;
        aspects.insert(name.as_str(), aspect_reply(name, made_up)?);
    }
    Ok(reply(&EntityReply {
        entity_name: entity.name,
        urn: &urn,
        aspects,
    }))
}

fn aspect_reply(aspect: AspectName, row: StoredAspect) -> Result<AspectReply, Refusal> {
    Ok(AspectReply {
        name: aspect.as_str(),
        r#type: "VERSIONED",
        version: row.version,
        value: raw(&row.metadata)?,
        created: Stamp {
            time: row.created_on_ms,
            actor: row.created_by,
        },
        system_metadata: row.system_metadata.as_deref().map(raw).transpose()?,
    })
}

/// `List(a,b)`; a single name is taken as well.
fn parse_list(text: &str) -> Result<Vec<AspectName>, Refusal> {
    let inner = text
        .strip_prefix("List(")
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or(text);
    inner
        .split(',')
        .filter(|name| !name.is_empty())
        .map(parse_aspect)
        .collect()
}

/// The verbs on entities.
pub(crate) async fn act(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Query(Action { action }): Query<Action>,
    WholeBody(bytes): WholeBody,
) -> Result<Response, Refusal> {
    match action.as_deref() {
        Some("delete") => delete(&state, &caller, &bytes).await,
        Some("search") => search::search(&state, &caller, &bytes).await,
        Some("autocomplete") => search::autocomplete(&state, &caller, &bytes).await,
        Some("browse") => search::browse(&state, &caller, &bytes).await,
        Some(other) => Err(Refusal::bad_request(format!(
            "/entities has no action '{other}'; it has 'search', 'autocomplete', 'browse' and 'delete'"
        ))),
        None => Err(Refusal::bad_request(
            "say what to do: POST /entities?action=search",
        )),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with urn")]
struct Deletion {
    urn: String,
    aspect_name: Option<String>,
}

/// Removes an entity with everything about it, or one aspect of it. What is not there needs no removal.
async fn delete(state: &AppState, caller: &Caller, bytes: &[u8]) -> Result<Response, Refusal> {
    let deletion: Deletion = serde_json::from_slice(bytes).map_err(|error| {
        Refusal::bad_request(format!(
            "The body is not what this action takes: {error}. Send {{\"urn\": \"urn:li:…\"}}."
        ))
    })?;
    let urn = parse_urn(&deletion.urn)?;
    let change = match &deletion.aspect_name {
        Some(name) => Change::DeleteAspect {
            aspect: parse_aspect(name)?,
        },
        None => Change::DeleteEntity,
    };
    let applied = state
        .catalog()
        .ingest(caller, vec![Proposal::new(urn.clone(), change)])
        .await?;
    Ok(reply(&json!({"value": {
        "urn": urn,
        "rows": applied.deleted_rows,
        "timeseriesRows": applied.deleted_timeseries_rows,
    }})))
}
