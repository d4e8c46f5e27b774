//! `POST /runs?action=list|describe|rollback`: ingestion runs and their rollback.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::response::Response;
use docent_catalog::runs::RunAspect;
use docent_catalog::search::whole;
use docent_catalog::{Caller, ReadRequest};
use docent_model::Registry;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Action, unknown_action};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::conditions;
use crate::error::ErrorResponse;
use crate::query::Query;
use crate::reply_budget::{READ_CHUNK, ReplyBudget, escaped_length};
use crate::wire::{parse, reply};

const DEFAULT_RUNS: usize = 20;
const DEFAULT_ROWS: usize = 100;

pub(crate) async fn act(
    Authenticated { state, caller }: Authenticated,
    Query(Action { action }): Query<Action>,
    condition: conditions::UnsupportedCondition,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    match action.as_deref() {
        Some("list") => list(&state, &bytes).await,
        Some("describe") => describe(&state, &bytes).await,
        Some("rollback") => {
            condition.reject("A rollback covers everything that the run wrote.")?;
            rollback(&state, &caller, &bytes).await
        }
        other => Err(unknown_action(
            "/runs",
            other,
            "list, describe and rollback",
        )),
    }
}

#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with pageOffset and pageSize"
)]
struct ListInput {
    page_offset: Option<i64>,
    page_size: Option<i64>,
    include_soft: Option<bool>,
}

/// The offset counts runs, not pages, as clients expect.
async fn list(state: &AppState, bytes: &[u8]) -> Result<Response, ErrorResponse> {
    let input: ListInput = parse(bytes).await?;
    let start = whole("pageOffset", input.page_offset, 0)?;
    let count = whole("pageSize", input.page_size, DEFAULT_RUNS)?;
    let include_removed = input.include_soft.unwrap_or(false);
    let runs = state.catalog().runs(include_removed, start, count).await?;
    let runs: Vec<Value> = runs
        .into_iter()
        .map(|run| json!({"runId": run.id, "rows": run.rows, "timestamp": run.time_ms}))
        .collect();
    Ok(reply(&json!({"value": runs})))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with runId")]
struct DescribeInput {
    run_id: String,
    start: Option<i64>,
    count: Option<i64>,
    include_soft: Option<bool>,
    include_aspect: Option<bool>,
}

async fn describe(state: &AppState, bytes: &[u8]) -> Result<Response, ErrorResponse> {
    let input: DescribeInput = parse(bytes).await?;
    let rows = state
        .catalog()
        .run_aspects(
            &input.run_id,
            input.include_soft.unwrap_or(false),
            whole("start", input.start, 0)?,
            whole("count", input.count, DEFAULT_ROWS)?,
        )
        .await?;
    let mut summaries: Vec<Summary> = rows
        .iter()
        .map(|row| Summary {
            row: summary(&input.run_id, row),
            aspect: None,
            metadata: None,
        })
        .collect();
    let mut budget = ReplyBudget::new(state.reply_memory());
    if input.include_aspect.unwrap_or(false) {
        for (rows, summaries) in rows
            .chunks(READ_CHUNK)
            .zip(summaries.chunks_mut(READ_CHUNK))
        {
            let keys: Vec<_> = rows.iter().map(|row| row.key.clone()).collect();
            let request = ReadRequest::rows(&keys);
            let stored = budget.read(state.catalog(), request).await?.rows;
            let build = |budget: &mut ReplyBudget<'_>| {
                for ((key, stored), summary) in keys.iter().zip(stored).zip(summaries) {
                    if let Some(stored) = stored {
                        let text = Arc::unwrap_or_clone(stored).metadata;
                        budget.add(escaped_length(&text))?;
                        let value = budget.raw(text.clone())?;
                        let record = Registry::get().record_name(key.aspect).unwrap_or_default();
                        summary.aspect = Some(BTreeMap::from([(record, value)]));
                        summary.metadata = Some(text);
                    }
                }
                Ok::<_, ErrorResponse>(())
            };
            budget.build(build).await?;
        }
    }
    let reply = BTreeMap::from([("value", summaries)]);
    budget.build(|budget| budget.reply(&reply)).await
}

/// A row of a run. On request it has the aspect, as an object under the name of its record and as
/// text.
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
struct RollbackInput {
    run_id: String,
    dry_run: Option<bool>,
    /// The older parameter, with the opposite meaning of `safe`.
    hard_delete: Option<bool>,
    safe: Option<bool>,
}

async fn rollback(
    state: &AppState,
    caller: &Caller,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let input: RollbackInput = parse(bytes).await?;
    let all = match input.safe {
        Some(safe) => !safe,
        None => input.hard_delete.unwrap_or(false),
    };
    let dry_run = input.dry_run.unwrap_or(false);
    let done = state
        .catalog()
        .roll_back(caller, &input.run_id, dry_run, all)
        .await?;
    let rows: Vec<Value> = done
        .aspects
        .iter()
        .map(|row| summary(&input.run_id, row))
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
