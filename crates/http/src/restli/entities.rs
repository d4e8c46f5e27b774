//! `GET /entitiesV2/{urn}`, `GET /entitiesV2?ids=List(…)` and `POST /entities?action=…`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::http::Uri;
use axum::response::Response;
use docent_catalog::search::whole;
use docent_catalog::{
    AspectKey, Caller, Change, Conditions, EntityAspects, PointRange, Proposal, ReadRequest,
    RowVersion, StoredAspect,
};
use docent_model::{AspectName, EntitySpec, Registry, Urn};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::search::SearchAction;
use super::{Action, parse_list, search, snapshots, unknown_action};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::conditions::{self, Conditional};
use crate::error::ErrorResponse;
use crate::query::Query;
use crate::reply_budget::{READ_CHUNK, ReplyBudget};
use crate::wire::{parse, parse_aspect, parse_like, parse_urn, reply, urn_in_path};

const DEFAULT_COUNT: usize = 10;
/// The entities that one request reads.
const MAX_IDS: usize = 1_000;

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
    let entity = spec(&urn)?;
    let requested = query.aspects.as_deref().map(parse_aspects);
    let mut budget = ReplyBudget::new(state.reply_memory());
    let urns = std::slice::from_ref(&urn);
    let mut rows = read_rows(&state, urns, requested.as_deref(), &mut budget).await?;
    let build = |budget: &mut ReplyBudget<'_>| {
        let reply = entity_reply(&urn, entity, rows.pop().unwrap_or_default(), budget)?;
        budget.reply(&reply)
    };
    budget.build(build).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct EntitiesQuery {
    ids: Option<String>,
    aspects: Option<String>,
}

#[derive(Serialize)]
struct EntitiesReply<'a> {
    results: BTreeMap<&'a str, EntityReply<'a>>,
    statuses: BTreeMap<&'a str, u16>,
    errors: BTreeMap<&'a str, Value>,
}

/// The entities in `?ids=List(…)`. Commas inside of an id are percent-encoded.
pub(crate) async fn read_many(
    Authenticated { state, .. }: Authenticated,
    Query(query): Query<EntitiesQuery>,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    if query.ids.is_none() {
        return Err(ErrorResponse::bad_request(
            "the parameter ids is missing: send ids=List(…) with percent-encoded URNs",
        ));
    }
    let urns = ids(&uri)?;
    let requested = query.aspects.as_deref().map(parse_aspects);
    let mut budget = ReplyBudget::new(state.reply_memory());
    let mut reply = EntitiesReply {
        results: BTreeMap::new(),
        statuses: BTreeMap::new(),
        errors: BTreeMap::new(),
    };
    for urns in urns.chunks(READ_CHUNK) {
        let rows = read_rows(&state, urns, requested.as_deref(), &mut budget).await?;
        let build = |budget: &mut ReplyBudget<'_>| {
            for (urn, rows) in urns.iter().zip(rows) {
                let entity = entity_reply(urn, spec(urn)?, rows, budget)?;
                reply.results.insert(urn.as_str(), entity);
            }
            Ok::<_, ErrorResponse>(())
        };
        budget.build(build).await?;
    }
    budget.build(|budget| budget.reply(&reply)).await
}

fn spec(urn: &Urn) -> Result<&'static EntitySpec, ErrorResponse> {
    let spec = Registry::get().check_urn(urn);
    spec.map_err(|error| ErrorResponse::bad_request(error.to_string()))
}

/// The URNs of the parameter `ids`, which is split before it is decoded.
fn ids(uri: &Uri) -> Result<Vec<Urn>, ErrorResponse> {
    let mut parameters = uri.query().unwrap_or_default().split('&');
    let raw = parameters.find_map(|it| it.strip_prefix("ids="));
    let raw = raw.unwrap_or_default();
    // Some clients encode the parentheses of the list.
    let encoded = raw.strip_prefix("List%28");
    let encoded = encoded.and_then(|raw| raw.strip_suffix("%29"));
    let texts = parse_list(encoded.unwrap_or(raw));
    if texts.len() > MAX_IDS {
        return Err(ErrorResponse::bad_request(format!(
            "there are {} ids: at most {MAX_IDS} are allowed",
            texts.len()
        )));
    }
    let mut urns = BTreeSet::new();
    for text in texts {
        let text = percent_decode_str(text).decode_utf8();
        let text = text.map_err(|_| ErrorResponse::bad_request("an id is not UTF-8"))?;
        urns.insert(parse_urn(&text)?);
    }
    Ok(urns.into_iter().collect())
}

/// All aspects of each entity, or the requested ones with the key.
async fn read_rows(
    state: &AppState,
    urns: &[Urn],
    requested: Option<&[AspectName]>,
    budget: &mut ReplyBudget<'_>,
) -> Result<Vec<EntityAspects>, ErrorResponse> {
    let catalog = state.catalog();
    let Some(requested) = requested else {
        return Ok(budget
            .read(catalog, ReadRequest::entities(urns))
            .await?
            .entities);
    };
    let mut names = Vec::with_capacity(urns.len());
    for urn in urns {
        let mut of_entity: BTreeSet<AspectName> = requested.iter().copied().collect();
        of_entity.insert(spec(urn)?.key_aspect);
        // Time series have endpoints of their own.
        of_entity.retain(|name| !Registry::get().is_timeseries(*name));
        names.push(of_entity);
    }
    let keys = urns.iter().zip(&names);
    let keys = keys.flat_map(|(urn, names)| names.iter().map(|name| AspectKey::new(urn, *name)));
    let keys: Vec<AspectKey> = keys.collect();
    let mut rows = budget.read_current(catalog, &keys).await?.into_iter();
    let entities = names.into_iter().map(|names| {
        let found = names.into_iter().zip(rows.by_ref());
        found
            .filter_map(|(name, row)| Some((name, Arc::unwrap_or_clone(row?))))
            .collect()
    });
    Ok(entities.collect())
}

fn entity_reply<'a>(
    urn: &'a Urn,
    entity: &'a EntitySpec,
    rows: EntityAspects,
    budget: &mut ReplyBudget<'_>,
) -> Result<EntityReply<'a>, ErrorResponse> {
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
    Ok(EntityReply {
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

/// The aspects in `List(a,b)`. No entity has one that is not in the registry, as in DataHub.
fn parse_aspects(text: &str) -> Vec<AspectName> {
    let names = parse_list(text).into_iter();
    let registry = Registry::get();
    names.filter_map(|name| registry.aspect(name)).collect()
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
        Some("search") => search::search(&state, SearchAction::OneType, &bytes).await,
        Some("searchAcrossEntities") => {
            search::search(&state, SearchAction::AcrossTypes, &bytes).await
        }
        Some("scrollAcrossEntities") => search::search(&state, SearchAction::Scroll, &bytes).await,
        Some("autocomplete") => search::autocomplete(&state, &bytes).await,
        Some("browse") => search::browse(&state, &bytes).await,
        Some("ingest") => snapshots::ingest(&state, &caller, &conditions()?, &bytes).await,
        Some("batchIngest") => snapshots::ingest_all(&state, &caller, &conditions()?, &bytes).await,
        Some("deleteReferences") => {
            condition.reject("References are removed from many aspects at once.")?;
            delete_references(&state, &caller, &bytes).await
        }
        Some("listUrns") => list_urns(&state, &bytes).await,
        Some("deleteAll") => delete_by_registry(&bytes).await,
        other => Err(unknown_action(
            "/entities",
            other,
            "search, searchAcrossEntities, scrollAcrossEntities, autocomplete, browse, listUrns, ingest, batchIngest, delete, deleteAll and deleteReferences",
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
#[serde(rename_all = "camelCase", expecting = "an object with registryId")]
struct DeleteByRegistryInput {
    registry_id: String,
}

/// Deletes what was written with a registry of custom models, as `datahub delete by-registry`
/// requests it. There are no such registries here, so there is nothing to delete.
async fn delete_by_registry(bytes: &[u8]) -> Result<Response, ErrorResponse> {
    let example = "{\"registryId\": \"my-models:0.0.1\", \"dryRun\": true}";
    let DeleteByRegistryInput { registry_id } = parse_like(bytes, example).await?;
    match registry_id.split_once(':') {
        Some((name, version)) if !name.is_empty() && !version.is_empty() => {}
        _ => {
            return Err(ErrorResponse::bad_request(format!(
                "registryId is '{registry_id}': it has a name and a version, such as my-models:0.0.1"
            )));
        }
    }
    Ok(reply(&json!({"value": {
        "aspectsReverted": 0,
        "aspectsAffected": 0,
        "entitiesAffected": 0,
        "entitiesDeleted": 0,
        "aspectRowSummaries": [],
    }})))
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
