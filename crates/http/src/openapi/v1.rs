//! `/openapi/entities/v1`: the first version of DataHub's OpenAPI, which its Java client writes;
//! and `/openapi/v2/platform/entities/v1`, which takes the same aspects in change proposals.
//!
//! The values of aspects have types as members ([`docent_model::typed`]).

use std::collections::{BTreeMap, BTreeSet};

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use docent_catalog::{Caller, Change, Conditions, ErrorSubject, Proposal, StoredAspect, Target};
use docent_model::{AspectName, Registry, Urn, typed};
use serde::Deserialize;
use serde_json::{Value, json};

use super::entities::{self, AspectSelection, parse_aspects};
use super::write::{ProposalList, WriteMode, WriteOptions, write_mode};
use super::{MAX_URNS, error_response, too_many};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::conditions::{Conditional, UnsupportedCondition};
use crate::error::ErrorResponse;
use crate::items::{is_atomic, with_warnings};
use crate::query::Parameters;
use crate::reply_budget::{READ_CHUNK, ReplyBudget};
use crate::wire::{Items, parse_like, parse_urn, reply};

const TYPE: &str = "__type";

#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with entityUrn and aspect"
)]
struct UpsertInput {
    entity_urn: Option<String>,
    aspect: Value,
}

/// A change proposal.
#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with entityUrn, changeType and aspect"
)]
struct ProposalInput {
    entity_urn: Option<String>,
    change_type: Option<String>,
    aspect: ProposedAspect,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with value")]
struct ProposedAspect {
    value: Value,
}

/// The aspects of entities.
pub(crate) async fn latest(
    Authenticated { state, .. }: Authenticated,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let mut urns = urns(&parameters)?;
    urns.sort_unstable();
    urns.dedup();
    let requested = parse_aspects(&parameters.all("aspectNames"))?;
    let aspects = if requested.is_empty() {
        AspectSelection::All
    } else {
        let mut names: BTreeSet<AspectName> = requested.into_iter().collect();
        names.retain(|name| !Registry::get().is_timeseries(*name));
        AspectSelection::These(names.into_iter().collect())
    };
    let mut budget = ReplyBudget::new(state.reply_memory());
    let mut responses = BTreeMap::new();
    for urns in urns.chunks(READ_CHUNK) {
        let rows = entities::read(&state, urns, &aspects, &mut budget).await?;
        let build = |budget: &mut ReplyBudget<'_>| {
            for (urn, rows) in urns.iter().zip(rows) {
                if rows.is_empty() {
                    continue;
                }
                let mut found = BTreeMap::new();
                for (name, row) in rows {
                    budget.add(row.metadata.len())?;
                    found.insert(name.as_str(), aspect(name, &row));
                }
                let entity = json!({"entityName": urn.entity_type(), "urn": urn, "aspects": found});
                responses.insert(urn.as_str(), entity);
            }
            Ok::<_, ErrorResponse>(())
        };
        budget.build(build).await?;
    }
    let body = json!({ "responses": responses });
    budget.build(|budget| budget.reply(&body)).await
}

fn aspect(name: AspectName, row: &StoredAspect) -> Value {
    let parse = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    let mut aspect = json!({
        "name": name.as_str(),
        "type": "VERSIONED",
        "version": 0,
        "value": typed::with_types(name, parse(&row.metadata)),
        "created": {"time": row.created_on_ms, "actor": row.created_by},
    });
    if let Some(text) = &row.system_metadata {
        aspect["systemMetadata"] = parse(text);
    }
    aspect
}

/// Writes aspects, and returns the URNs of their entities.
pub(crate) async fn post(
    Authenticated { state, caller }: Authenticated,
    parameters: Parameters,
    Conditional(conditions): Conditional,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let mode = write_mode(&parameters, false)?;
    let is_async = parameters.optional_flag("async")?.unwrap_or(false);
    let is_atomic = is_atomic(&parameters, is_async)?;
    let example = "[{\"entityType\": \"dataset\", \"entityUrn\": …, \"aspect\": {\"__type\": \"Status\", \"removed\": false}}]";
    let Items(inputs): Items<UpsertInput> = parse_like(&bytes, example).await?;
    let inputs = inputs.into_iter().map(|input| (mode, input)).collect();
    let is_long = bytes.len() > LONG_TEXT_BYTES;
    let list = long_work::run(is_long, || proposals(&conditions, inputs)).await;
    written(&state, &caller, list, is_atomic).await
}

/// Writes aspects by change proposals, and returns the URNs of their entities.
pub(crate) async fn propose(
    Authenticated { state, caller }: Authenticated,
    parameters: Parameters,
    Conditional(conditions): Conditional,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let is_async = parameters.optional_flag("async")?.unwrap_or(false);
    let is_atomic = is_atomic(&parameters, is_async)?;
    let example = "[{\"entityUrn\": …, \"changeType\": \"UPSERT\", \"aspect\": {\"value\": {\"__type\": \"Status\", \"removed\": false}}}]";
    let Items(inputs): Items<ProposalInput> = parse_like(&bytes, example).await?;
    let inputs = inputs.into_iter().map(|input| {
        let mode = match input.change_type.as_deref() {
            None | Some("UPSERT") => WriteMode::Upsert,
            Some("CREATE") => WriteMode::Create,
            Some("CREATE_ENTITY") => WriteMode::CreateEntity,
            Some(other) => {
                return Err(ErrorResponse::bad_request(format!(
                    "changeType is '{other}': use UPSERT, CREATE or CREATE_ENTITY"
                )));
            }
        };
        let upsert = UpsertInput {
            entity_urn: input.entity_urn,
            aspect: input.aspect.value,
        };
        Ok((mode, upsert))
    });
    let inputs: Vec<_> = inputs.collect::<Result<_, ErrorResponse>>()?;
    let is_long = bytes.len() > LONG_TEXT_BYTES;
    let list = long_work::run(is_long, || proposals(&conditions, inputs)).await;
    written(&state, &caller, list, is_atomic).await
}

/// The proposals for a list of aspects.
fn proposals(conditions: &Conditions, inputs: Vec<(WriteMode, UpsertInput)>) -> ProposalList {
    let mut list = ProposalList::default();
    for (position, (mode, input)) in inputs.into_iter().enumerate() {
        let options = WriteOptions { mode, conditions };
        let item = ErrorSubject::item(position);
        match proposal(&options, &item, input) {
            Ok(proposal) => list.add(proposal),
            Err(error) => list.reject(item, error),
        }
    }
    list
}

/// Writes a list, and returns the URNs of its entities.
async fn written(
    state: &AppState,
    caller: &Caller,
    list: ProposalList,
    is_atomic: bool,
) -> Result<Response, ErrorResponse> {
    let (keys, warnings) = list.write(state, caller, is_atomic).await?;
    let urns: Vec<Urn> = keys.into_iter().map(|key| key.urn).collect();
    let response = (StatusCode::CREATED, axum::Json(urns)).into_response();
    Ok(with_warnings(response, &warnings))
}

fn proposal(
    options: &WriteOptions<'_>,
    item: &ErrorSubject,
    input: UpsertInput,
) -> Result<(Proposal, AspectName), ErrorResponse> {
    let invalid = |message: &str| ErrorResponse::bad_request(message).about(item);
    let urn = input
        .entity_urn
        .ok_or_else(|| invalid("it has no entityUrn"))?;
    let urn = parse_urn(&urn).map_err(|error| ErrorResponse::from(error).about(item))?;
    let spec = Registry::get().check_urn(&urn);
    let spec = spec.map_err(|error| invalid(&error.to_string()))?;
    let name = input.aspect[TYPE].as_str().unwrap_or_default();
    let aspect = typed::aspect_of_type(spec, name).ok_or_else(|| {
        let entity = spec.name;
        invalid(&format!(
            "{TYPE} of its aspect is '{name}': a {entity} has no such aspect"
        ))
    })?;
    let subject = ErrorSubject {
        aspect: Some(aspect.to_string()),
        ..item.clone().with_urn(urn.as_str())
    };
    let value = typed::without_types(aspect, input.aspect);
    let value = value.map_err(|error| ErrorResponse::bad_request(error).about(&subject))?;
    let mut proposal = options
        .simple(&urn, aspect, &value)
        .map_err(|error| error.about(&subject))?;
    proposal.position = item.position;
    Ok((proposal, aspect))
}

/// Soft-deletes entities, or with `soft=false` deletes them.
pub(crate) async fn delete(
    Authenticated { state, caller }: Authenticated,
    parameters: Parameters,
    condition: UnsupportedCondition,
) -> Result<Response, ErrorResponse> {
    condition.reject("The request deletes several entities.")?;
    parameters.expect_only(&["urns", "soft", "async"])?;
    let urns = urns(&parameters)?;
    let count = urns.len();
    if parameters.optional_flag("soft")?.unwrap_or(true) {
        let rows: Vec<Value> = urns.iter().map(|urn| json!({ "urn": urn })).collect();
        let targets: Vec<Target> = urns.into_iter().map(Target::entity).collect();
        let deleted = state.catalog().update_soft_deleted(&caller, &targets, true);
        deleted.await.map_err(error_response)?;
        return Ok(reply(
            &json!([{"rowsRolledBack": rows, "rowsDeletedFromEntityDeletion": count}]),
        ));
    }
    let urns = urns.into_iter();
    let deletions = urns.map(|urn| Proposal::new(urn, Change::DeleteEntity));
    let applied = state.catalog().ingest(&caller, deletions.collect()).await;
    let applied = applied.map_err(error_response)?;
    Ok(reply(
        &json!([{"rowsRolledBack": [], "rowsDeletedFromEntityDeletion": applied.deleted_rows}]),
    ))
}

/// The URNs of the request, each in a parameter of its own.
fn urns(parameters: &Parameters) -> Result<Vec<Urn>, ErrorResponse> {
    let texts: Vec<&str> = parameters.repeated("urns").collect();
    if texts.is_empty() {
        return Err(ErrorResponse::bad_request(
            "the parameter urns is missing: send ?urns=urn:li:…, once for each entity",
        ));
    }
    if texts.len() > MAX_URNS {
        return Err(too_many("urns", texts.len()));
    }
    texts.into_iter().map(|text| Ok(parse_urn(text)?)).collect()
}
