//! `POST /runs?action=list|describe|rollback`: what ingestion runs wrote, and taking it back.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use docent_catalog::runs::RunAspect;
use docent_catalog::search::whole;
use docent_catalog::{Caller, Catalog, ReadRequest};
use docent_model::Registry;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Action, json as reply, no_action, parse};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::conditions;
use crate::error::ErrorResponse;
use crate::query::Query;
use crate::shown::{PIECE, Shown};

const DEFAULT_RUNS: usize = 20;
const DEFAULT_ROWS: usize = 100;

pub(crate) async fn act(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Query(Action { action }): Query<Action>,
    condition: conditions::Named,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    match action.as_deref() {
        Some("list") => list(&state, &caller, &bytes).await,
        Some("describe") => describe(&state, &caller, &bytes).await,
        Some("rollback") => {
            condition.refuse("A rollback is about all that the run wrote.")?;
            rollback(&state, &caller, &bytes).await
        }
        other => Err(no_action("/runs", other, "list, describe and rollback")),
    }
}

#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with pageOffset and pageSize"
)]
struct Page {
    page_offset: Option<i64>,
    page_size: Option<i64>,
    include_soft: Option<bool>,
}

/// The offset counts runs, not pages: that is how clients go on.
async fn list(state: &AppState, caller: &Caller, bytes: &[u8]) -> Result<Response, ErrorResponse> {
    let page: Page = parse(bytes)?;
    let start = whole("pageOffset", page.page_offset, 0)?;
    let count = whole("pageSize", page.page_size, DEFAULT_RUNS)?;
    let include_removed = page.include_soft.unwrap_or(false);
    let runs = state
        .catalog()
        .runs(caller, include_removed, start, count)
        .await?;
    let runs: Vec<Value> = runs
        .into_iter()
        .map(|run| json!({"runId": run.id, "rows": run.rows, "timestamp": run.time_ms}))
        .collect();
    Ok(reply(&json!({"value": runs})))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with runId")]
struct Described {
    run_id: String,
    start: Option<i64>,
    count: Option<i64>,
    include_soft: Option<bool>,
    include_aspect: Option<bool>,
}

async fn describe(
    state: &AppState,
    caller: &Caller,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let wanted: Described = parse(bytes)?;
    let rows = state
        .catalog()
        .run_aspects(
            caller,
            &wanted.run_id,
            wanted.include_soft.unwrap_or(false),
            whole("start", wanted.start, 0)?,
            whole("count", wanted.count, DEFAULT_ROWS)?,
        )
        .await?;
    let mut summaries: Vec<Summary> = rows
        .iter()
        .map(|row| Summary {
            row: summary(&wanted.run_id, row),
            aspect: None,
            metadata: None,
        })
        .collect();
    if wanted.include_aspect.unwrap_or(false) {
        let mut shown = Shown::default();
        for (rows, summaries) in rows.chunks(PIECE).zip(summaries.chunks_mut(PIECE)) {
            let keys: Vec<_> = rows.iter().map(|row| row.key.clone()).collect();
            let stored = state
                .catalog()
                .read(caller, ReadRequest::rows(&keys))
                .await?
                .rows;
            for ((key, stored), summary) in keys.iter().zip(stored).zip(summaries) {
                let visible = stored.filter(|_| !Catalog::is_secret(key.aspect));
                if let Some(stored) = visible {
                    let value = shown.raw(&stored.metadata)?;
                    let record = Registry::get().record_name(key.aspect).unwrap_or_default();
                    summary.aspect = Some(BTreeMap::from([(record, value)]));
                    summary.metadata = Some(stored.metadata.clone());
                }
            }
        }
    }
    Ok(reply(&BTreeMap::from([("value", summaries)])))
}

/// A row of a run, with the aspect if that is asked for: by the name of its record, and as a text.
#[derive(Serialize)]
struct Summary {
    #[serde(flatten)]
    row: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    aspect: Option<BTreeMap<&'static str, Box<RawValue>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with runId")]
struct Rollback {
    run_id: String,
    dry_run: Option<bool>,
    /// From before `safe`, and its opposite.
    hard_delete: Option<bool>,
    safe: Option<bool>,
}

async fn rollback(
    state: &AppState,
    caller: &Caller,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let wanted: Rollback = parse(bytes)?;
    let all = match wanted.safe {
        Some(safe) => !safe,
        None => wanted.hard_delete.unwrap_or(false),
    };
    let dry_run = wanted.dry_run.unwrap_or(false);
    let done = state
        .catalog()
        .roll_back(caller, &wanted.run_id, dry_run, all)
        .await?;
    let rows: Vec<Value> = done
        .aspects
        .iter()
        .map(|row| summary(&wanted.run_id, row))
        .collect();
    let entities: Vec<Value> = done
        .named_unsafe_entities
        .iter()
        .map(|urn| json!({"urn": urn}))
        .collect();
    Ok(reply(&json!({"value": {
        "aspectsReverted": done.aspects_reverted,
        "aspectsAffected": done.aspects_affected,
        "entitiesAffected": done.entities_affected,
        "entitiesDeleted": done.entities_affected,
        "unsafeEntitiesCount": done.unsafe_entities,
        "unsafeEntities": entities,
        "timeseriesRows": done.points,
        "aspectRowSummaries": rows,
    }})))
}

fn summary(run: &str, row: &RunAspect) -> Value {
    json!({
        "runId": run,
        "urn": row.key.urn,
        "aspectName": row.key.aspect.as_str(),
        "timestamp": row.time_ms,
        "keyAspect": Registry::get().is_key_aspect(&row.key.urn, row.key.aspect),
    })
}
