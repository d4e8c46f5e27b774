//! Entities as snapshots, the form from before proposals: `POST /entities?action=ingest`, `batchIngest` and
//! `GET /entities/{urn}`. A snapshot lists aspects by the qualified names of their records.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use docent_catalog::{Caller, Catalog, Change, Conditions, ErrorSubject, Proposal};
use docent_model::{Registry, SystemMetadata};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::{json as reply, parse, parse_urn, raw, urn_in_path};
use crate::AppState;
use crate::auth::Authenticated;
use crate::error::ErrorResponse;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with entity")]
struct One {
    entity: Entity,
    system_metadata: Option<SystemMetadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with entities")]
struct Many {
    entities: Vec<Entity>,
    system_metadata: Option<Vec<SystemMetadata>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an entity with value")]
struct Entity {
    /// One snapshot by the name of its record. The URN says what it is of.
    value: BTreeMap<String, Snapshot>,
}

#[derive(Deserialize)]
#[serde(expecting = "a snapshot with urn and aspects")]
struct Snapshot {
    urn: String,
    aspects: Vec<BTreeMap<String, Box<RawValue>>>,
}

pub(super) async fn ingest(
    state: &AppState,
    caller: &Caller,
    conditions: &Conditions,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let one: One = parse(bytes)?;
    let proposals = proposals(one.entity, &one.system_metadata.unwrap_or_default())
        .map_err(ErrorResponse::bad_request)?;
    let proposals = conditional(proposals, conditions)?;
    state.catalog().ingest(caller, proposals).await?;
    Ok(reply(&json!({})))
}

pub(super) async fn ingest_all(
    state: &AppState,
    caller: &Caller,
    conditions: &Conditions,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let many: Many = parse(bytes)?;
    let noted = many.system_metadata.unwrap_or_default();
    if !noted.is_empty() && noted.len() != many.entities.len() {
        return Err(ErrorResponse::bad_request(format!(
            "there are {} entities and {} systemMetadata: send one for each, or none",
            many.entities.len(),
            noted.len()
        )));
    }
    let mut noted = noted.into_iter();
    let mut all = Vec::new();
    for (position, entity) in many.entities.into_iter().enumerate() {
        let at_item = |message: String| {
            ErrorResponse::bad_request(message).about(ErrorSubject::item(position))
        };
        let of_entity = proposals(entity, &noted.next().unwrap_or_default()).map_err(at_item)?;
        all.extend(of_entity.into_iter().map(|proposal| Proposal {
            position: Some(position),
            ..proposal
        }));
    }
    let all = conditional(all, conditions)?;
    state.catalog().ingest(caller, all).await?;
    Ok(reply(&json!({})))
}

/// Puts the conditions of the request on all aspects. A version is that of one, those that follow from the URN aside.
fn conditional(
    proposals: Vec<Proposal>,
    conditions: &Conditions,
) -> Result<Vec<Proposal>, ErrorResponse> {
    let is_key = |proposal: &&Proposal| match &proposal.change {
        Change::Upsert { aspect, .. } => Registry::get().is_key_aspect(&proposal.urn, *aspect),
        _ => false,
    };
    let count = proposals.iter().filter(|it| !is_key(it)).count();
    if conditions.version().is_some() && count > 1 {
        return Err(ErrorResponse::bad_request(format!(
            "If-Version-Match is the version of one aspect, and {count} are sent: send them one by one, or as proposals \
             with headers of their own"
        )));
    }
    let proposals = proposals.into_iter();
    Ok(proposals.map(|it| conditions.put_on(it)).collect())
}

fn proposals(entity: Entity, noted: &SystemMetadata) -> Result<Vec<Proposal>, String> {
    let mut snapshots = entity.value.into_iter();
    let (Some((name, snapshot)), None) = (snapshots.next(), snapshots.next()) else {
        return Err(
            "value must have one snapshot, by the name of its record: {\"value\": \
             {\"com.linkedin.metadata.snapshot.DatasetSnapshot\": {\"urn\": …, \"aspects\": […]}}}"
                .to_owned(),
        );
    };
    let urn = parse_urn(&snapshot.urn).map_err(ErrorResponse::into_message)?;
    let registry = Registry::get();
    let kind = registry
        .check_urn(&urn)
        .map_err(|error| error.to_string())?;
    let expected = snapshot_name(kind.name);
    if !name.eq_ignore_ascii_case(&expected) {
        return Err(format!(
            "{urn} cannot be in a {name}: its snapshot is called {expected}"
        ));
    }
    if snapshot.aspects.iter().all(BTreeMap::is_empty) {
        return Err(format!("the snapshot of {urn} has no aspects"));
    }
    let aspects = snapshot.aspects.into_iter().flatten();
    aspects
        .map(|(record, value)| {
            let aspect = registry.aspect_of_record(kind, &record).ok_or_else(|| {
                format!(
                    "{urn} cannot have an aspect {record}: no aspect of {} is one",
                    kind.name
                )
            })?;
            let text = Box::<str>::from(value).into_string();
            Ok(Proposal::upsert(urn.clone(), aspect, text)
                .with_system_metadata(Some(noted.clone())))
        })
        .collect()
}

/// All aspects of an entity.
pub(crate) async fn read(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let urn = urn_in_path(&uri, "/entities/")?;
    let rows = state
        .catalog()
        .read_entities(&caller, std::slice::from_ref(&urn))
        .await?
        .pop()
        .unwrap_or_default();
    if rows.is_empty() {
        return Err(ErrorResponse::new(
            StatusCode::NOT_FOUND,
            format!("there is no entity {urn}"),
        ));
    }
    let aspects = rows
        .iter()
        .filter(|(aspect, _)| !Catalog::is_secret(*aspect))
        .map(|(aspect, row)| {
            let record = Registry::get().record_name(*aspect).unwrap_or_default();
            Ok(json!({record: raw(&row.metadata)?}))
        })
        .collect::<Result<Vec<_>, ErrorResponse>>()?;
    let name = snapshot_name(urn.entity_type());
    Ok(reply(
        &json!({"value": {name: {"urn": urn, "aspects": aspects}}}),
    ))
}

/// The name of an entity type's snapshot: the type with a capital letter, save for two old spellings.
fn snapshot_name(entity_type: &str) -> String {
    let capitalised = if entity_type == "corpuser" {
        "CorpUser".to_owned()
    } else if let Some(rest) = entity_type.strip_prefix("ml") {
        format!("ML{rest}")
    } else {
        let mut letters = entity_type.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect()
    };
    format!("com.linkedin.metadata.snapshot.{capitalised}Snapshot")
}
