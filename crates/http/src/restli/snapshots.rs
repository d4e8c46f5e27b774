//! Snapshots, the format before change proposals: `POST /entities?action=ingest`, `batchIngest` and
//! `GET /entities/{urn}`. A snapshot lists aspects by the qualified names of their records.

use std::collections::BTreeMap;

use axum::http::{StatusCode, Uri};
use axum::response::Response;
use docent_catalog::{Caller, Change, Conditions, Error, ErrorSubject, Proposal};
use docent_model::{Registry, SystemMetadata, Urn};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::AppState;
use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::reply_budget::ReplyBudget;
use crate::wire::{Items, parse, parse_urn, reply, urn_in_path};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with entity")]
struct IngestInput {
    entity: EntityInput,
    system_metadata: Option<SystemMetadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with entities")]
struct BatchInput {
    entities: Items<EntityInput>,
    system_metadata: Option<Items<SystemMetadata>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an entity with value")]
struct EntityInput {
    /// One snapshot by the name of its record.
    value: BTreeMap<String, Snapshot>,
}

#[derive(Deserialize)]
#[serde(expecting = "a snapshot with urn and aspects")]
struct Snapshot {
    urn: String,
    aspects: Items<BTreeMap<String, Box<RawValue>>>,
}

pub(super) async fn ingest(
    state: &AppState,
    caller: &Caller,
    conditions: &Conditions,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let input: IngestInput = parse(bytes).await?;
    let metadata = input.system_metadata.unwrap_or_default();
    let proposals =
        proposals(input.entity, &metadata, None).map_err(ErrorResponse::with_subject)?;
    let proposals = with_conditions(proposals, conditions)?;
    state.catalog().ingest(caller, proposals).await?;
    Ok(reply(&json!({})))
}

pub(super) async fn ingest_all(
    state: &AppState,
    caller: &Caller,
    conditions: &Conditions,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let input: BatchInput = parse(bytes).await?;
    let Items(entities) = input.entities;
    let metadata = input.system_metadata.map(|all| all.0).unwrap_or_default();
    if !metadata.is_empty() && metadata.len() != entities.len() {
        return Err(ErrorResponse::bad_request(format!(
            "there are {} entities and {} systemMetadata: send one for each, or none",
            entities.len(),
            metadata.len()
        )));
    }
    let mut metadata = metadata.into_iter();
    let mut all = Vec::new();
    for (position, entity) in entities.into_iter().enumerate() {
        let metadata = metadata.next().unwrap_or_default();
        all.extend(proposals(entity, &metadata, Some(position))?);
    }
    let all = with_conditions(all, conditions)?;
    state.catalog().ingest(caller, all).await?;
    Ok(reply(&json!({})))
}

/// Applies the preconditions of the request to all proposals. A version needs a single aspect, key
/// aspects aside.
fn with_conditions(
    proposals: Vec<Proposal>,
    conditions: &Conditions,
) -> Result<Vec<Proposal>, ErrorResponse> {
    let is_key = |proposal: &&Proposal| match &proposal.change {
        Change::Upsert { aspect, .. } => Registry::get().is_key_aspect(&proposal.urn, *aspect),
        _ => false,
    };
    let count = proposals.iter().filter(|it| !is_key(it)).count();
    if conditions.version.is_some() && count > 1 {
        return Err(ErrorResponse::bad_request(format!(
            "If-Version-Match is the version of one aspect, but {count} are sent: send them separately, or as \
             proposals with their own headers"
        )));
    }
    let proposals = proposals.into_iter();
    Ok(proposals.map(|it| conditions.apply_to(it)).collect())
}

fn proposals(
    entity: EntityInput,
    system_metadata: &SystemMetadata,
    position: Option<usize>,
) -> Result<Vec<Proposal>, Error> {
    let item = ErrorSubject::default().at(position);
    let mut snapshots = entity.value.into_iter();
    let (Some((name, snapshot)), None) = (snapshots.next(), snapshots.next()) else {
        let message = "value must have one snapshot, by the name of its record: {\"value\": \
             {\"com.linkedin.metadata.snapshot.DatasetSnapshot\": {\"urn\": …, \"aspects\": […]}}}";
        return Err(Error::invalid(message).about(item));
    };
    // The message quotes a URN that is malformed.
    let urn = parse_urn(&snapshot.urn).map_err(|error| error.about(item.clone()))?;
    let subject = item.with_urn(urn.as_str());
    let invalid = |message: String| Error::invalid(message).about(subject.clone());
    let registry = Registry::get();
    let kind = registry
        .check_urn(&urn)
        .map_err(|error| invalid(error.to_string()))?;
    let expected = snapshot_name(kind.name);
    if !name.eq_ignore_ascii_case(&expected) {
        return Err(invalid(format!(
            "its snapshot is called {expected}, not {name}"
        )));
    }
    let Items(aspects) = snapshot.aspects;
    if aspects.iter().all(BTreeMap::is_empty) {
        return Err(invalid("the snapshot has no aspects".to_owned()));
    }
    let aspects = aspects.into_iter().flatten();
    aspects
        .map(|(record, value)| {
            let aspect = registry.aspect_of_record(kind, &record).ok_or_else(|| {
                invalid(format!(
                    "it cannot have an aspect {record}: no aspect of {} is one",
                    kind.name
                ))
            })?;
            let text = Box::<str>::from(value).into_string();
            let mut proposal = Proposal::upsert(urn.clone(), aspect, text)
                .with_system_metadata(Some(system_metadata.clone()));
            proposal.position = position;
            Ok(proposal)
        })
        .collect()
}

/// All aspects of an entity.
pub(crate) async fn read(
    Authenticated { state, .. }: Authenticated,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let urn = urn_in_path(&uri, "/entities/")?;
    let mut budget = ReplyBudget::new(state.reply_memory());
    let rows = budget.read_entity(state.catalog(), &urn).await?;
    if rows.is_empty() {
        return Err(ErrorResponse::new(
            StatusCode::NOT_FOUND,
            format!("{urn} does not exist"),
        ));
    }
    let build = |budget: &mut ReplyBudget<'_>| {
        let aspects = rows
            .into_iter()
            .map(|(aspect, row)| {
                let record = Registry::get().record_name(aspect).unwrap_or_default();
                Ok(BTreeMap::from([(record, budget.raw(row.metadata)?)]))
            })
            .collect::<Result<Vec<_>, ErrorResponse>>()?;
        let name = snapshot_name(urn.entity_type());
        let snapshot = SnapshotReply { urn, aspects };
        budget.reply(&BTreeMap::from([(
            "value",
            BTreeMap::from([(name, snapshot)]),
        )]))
    };
    budget.build(build).await
}

/// Each aspect is under the name of its record.
#[derive(Serialize)]
struct SnapshotReply {
    urn: Urn,
    aspects: Vec<BTreeMap<&'static str, Box<RawValue>>>,
}

/// The record name of a snapshot: the capitalized entity type, with two exceptions.
fn snapshot_name(entity_type: &str) -> String {
    let capitalized = if entity_type == "corpuser" {
        "CorpUser".to_owned()
    } else if let Some(rest) = entity_type.strip_prefix("ml") {
        format!("ML{rest}")
    } else {
        let mut letters = entity_type.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect()
    };
    format!("com.linkedin.metadata.snapshot.{capitalized}Snapshot")
}
