//! `GET /entitiesV2/{urn}` and `POST /entities?action=…`.

use std::collections::BTreeMap;

use axum::http::Uri;
use axum::response::Response;
use docent_catalog::search::whole;
use docent_catalog::{
    Caller, Change, Conditions, EntityAspects, PointRange, Proposal, RowVersion, StoredAspect,
};
use docent_model::{AspectName, EntitySpec, Registry, Urn};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Action, parse_list, search, snapshots, unknown_action};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::conditions::{self, Conditional};
use crate::error::ErrorResponse;
use crate::query::Query;
use crate::reply_budget::ReplyBudget;
use crate::wire::{parse, parse_aspect, parse_like, parse_urn, reply, urn_in_path};

const DEFAULT_COUNT: usize = 10;

#[derive(Debug, Deserialize)]
pub(crate) struct EntityQuery {
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

/// All aspects of an entity, or those in `?aspects=List(a,b)`. For a missing entity the reply has
/// only the key aspect, which is how clients recognize it.
pub(crate) async fn read(
    Authenticated { state, .. }: Authenticated,
    Query(query): Query<EntityQuery>,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let urn = urn_in_path(&uri, "/entitiesV2/")?;
    let entity = Registry::get()
        .check_urn(&urn)
        .map_err(|error| ErrorResponse::bad_request(error.to_string()))?;
    let requested = query.aspects.as_deref().map(parse_aspects).transpose()?;
    let mut budget = ReplyBudget::new(state.reply_memory());
    let rows = match requested {
        None => budget.read_entity(state.catalog(), &urn).await?,
        Some(mut names) => {
            names.push(entity.key_aspect);
            // Time series have endpoints of their own.
            names.retain(|name| !Registry::get().is_timeseries(*name));
            budget.read_aspects(state.catalog(), &urn, names).await?
        }
    };
    let build = |budget: &mut ReplyBudget<'_>| entity_reply(&urn, entity, rows, budget);
    budget.build(build).await
}

fn entity_reply(
    urn: &Urn,
    entity: &EntitySpec,
    rows: EntityAspects,
    budget: &mut ReplyBudget<'_>,
) -> Result<Response, ErrorResponse> {
    let mut aspects = BTreeMap::new();
    for (aspect, row) in rows {
        aspects.insert(aspect.as_str(), aspect_reply(aspect, row, budget)?);
    }
    if aspects.is_empty()
        && let Some(key) = Registry::get().key_aspect_value(urn)
    {
        let derived = StoredAspect {
            version: RowVersion::LATEST,
            metadata: key.to_string(),
            system_metadata: None,
            created_on_ms: 0,
            created_by: docent_catalog::SYSTEM_ACTOR.to_owned(),
            created_for: None,
        };
        let name = entity.key_aspect;
        aspects.insert(name.as_str(), aspect_reply(name, derived, budget)?);
    }
    budget.reply(&EntityReply {
        entity_name: entity.name,
        urn,
        aspects,
    })
}

fn aspect_reply(
    aspect: AspectName,
    row: StoredAspect,
    budget: &mut ReplyBudget<'_>,
) -> Result<AspectReply, ErrorResponse> {
    let system_metadata = row.system_metadata.map(|text| budget.raw(text));
    Ok(AspectReply {
        name: aspect.as_str(),
        r#type: "VERSIONED",
        version: row.version.get(),
        value: budget.raw(row.metadata)?,
        created: Stamp {
            time: row.created_on_ms,
            actor: row.created_by,
        },
        system_metadata: system_metadata.transpose()?,
    })
}

fn parse_aspects(text: &str) -> Result<Vec<AspectName>, ErrorResponse> {
    let names = parse_list(text).into_iter();
    names.map(|name| Ok(parse_aspect(name)?)).collect()
}

/// Actions on entities.
pub(crate) async fn act(
    Authenticated { state, caller }: Authenticated,
    Query(Action { action }): Query<Action>,
    condition: conditions::UnsupportedCondition,
    conditions: Result<Conditional, ErrorResponse>,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    // Only actions that write evaluate the preconditions.
    let conditions = || conditions.map(|Conditional(conditions)| conditions);
    match action.as_deref() {
        Some("delete") => delete(&state, &caller, &conditions()?, &bytes).await,
        Some("search") => search::search(&state, &bytes).await,
        Some("autocomplete") => search::autocomplete(&state, &bytes).await,
        Some("browse") => search::browse(&state, &bytes).await,
        Some("ingest") => snapshots::ingest(&state, &caller, &conditions()?, &bytes).await,
        Some("batchIngest") => snapshots::ingest_all(&state, &caller, &conditions()?, &bytes).await,
        Some("deleteReferences") => {
            condition.reject("References are removed from many aspects at once.")?;
            delete_references(&state, &caller, &bytes).await
        }
        Some("listUrns") => list_urns(&state, &bytes).await,
        other => Err(unknown_action(
            "/entities",
            other,
            "search, autocomplete, browse, listUrns, ingest, batchIngest, delete and deleteReferences",
        )),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with urn")]
struct DeleteInput {
    urn: String,
    aspect_name: Option<String>,
    start_time_millis: Option<i64>,
    end_time_millis: Option<i64>,
}

/// Deletes an entity, one of its aspects, or the points of a time series in a range. Missing data
/// is not an error.
async fn delete(
    state: &AppState,
    caller: &Caller,
    conditions: &Conditions,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let input: DeleteInput = parse_like(bytes, "{\"urn\": \"urn:li:…\"}").await?;
    let urn = parse_urn(&input.urn)?;
    let range = PointRange {
        from_ms: input.start_time_millis,
        through_ms: input.end_time_millis,
        run: None,
    };
    let bounded = range != PointRange::default();
    let change = match &input.aspect_name {
        Some(name) if bounded => Change::DeletePoints {
            aspect: parse_aspect(name)?,
            range,
        },
        Some(name) => Change::DeleteAspect {
            aspect: parse_aspect(name)?,
        },
        None if bounded => {
            return Err(ErrorResponse::bad_request(
                "startTimeMillis and endTimeMillis select points of a time series: send its name in aspectName",
            ));
        }
        None => Change::DeleteEntity,
    };
    let proposal = conditions.apply_to(Proposal::new(urn.clone(), change));
    let applied = state.catalog().ingest(caller, vec![proposal]).await?;
    Ok(reply(&json!({"value": {
        "urn": urn,
        "rows": applied.deleted_rows,
        "timeseriesRows": applied.deleted_timeseries_rows,
    }})))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with urn and dryRun")]
struct DeleteReferencesInput {
    urn: String,
    dry_run: Option<bool>,
}

/// Removes an entity from all aspects that refer to it.
async fn delete_references(
    state: &AppState,
    caller: &Caller,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let input: DeleteReferencesInput = parse(bytes).await?;
    let urn = parse_urn(&input.urn)?;
    let dry_run = input.dry_run.unwrap_or(false);
    let found = state
        .catalog()
        .delete_references(caller, &urn, dry_run)
        .await?;
    let related: Vec<Value> = found
        .listed
        .iter()
        .map(|related| {
            json!({
                // The CLI prints the members in this order, under its own headings.
                "relationship": related.relationship,
                "entity": related.urn,
                "aspect": related.aspect.as_str(),
            })
        })
        .collect();
    Ok(reply(
        &json!({"value": {"total": found.total, "relatedAspects": related}}),
    ))
}

#[derive(Deserialize)]
#[serde(expecting = "an object with entity, start and count")]
struct ListInput {
    entity: String,
    start: Option<i64>,
    count: Option<i64>,
}

async fn list_urns(state: &AppState, bytes: &[u8]) -> Result<Response, ErrorResponse> {
    let input: ListInput = parse(bytes).await?;
    let start = whole("start", input.start, 0)?;
    let count = whole("count", input.count, DEFAULT_COUNT)?;
    let page = state
        .catalog()
        .list_urns(&input.entity, start, count)
        .await?;
    Ok(reply(&json!({"value": {
        "start": start,
        "count": page.items.len(),
        "total": page.total,
        "entities": page.items,
    }})))
}
