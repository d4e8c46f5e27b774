//! `POST /usageStats?action=batchIngest|query|queryRange`: how datasets are used.

use axum::extract::State;
use axum::response::Response;
use docent_catalog::Caller;
use docent_catalog::search::whole;
use docent_catalog::usage::{Bucket, Period};
use serde::Deserialize;
use serde_json::json;

use super::{Action, json as reply, no_action, parse, parse_urn};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::conditions;
use crate::error::ErrorResponse;
use crate::query::Query;

pub(crate) async fn act(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Query(Action { action }): Query<Action>,
    condition: conditions::Named,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    match action.as_deref() {
        Some("batchIngest") => {
            condition.refuse("Usage is a time series, which has no versions.")?;
            ingest(&state, &caller, &bytes).await
        }
        Some("query" | "queryRange") => query(&state, &caller, &bytes).await,
        other => Err(no_action(
            "/usageStats",
            other,
            "batchIngest, query and queryRange",
        )),
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an object with buckets")]
struct Buckets {
    buckets: Vec<Bucket>,
}

async fn ingest(
    state: &AppState,
    caller: &Caller,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let Buckets { buckets } = parse(bytes)?;
    state.catalog().ingest_usage(caller, buckets).await?;
    Ok(reply(&json!({})))
}

#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with resource and duration"
)]
struct Asked {
    resource: String,
    duration: String,
    start_time: Option<i64>,
    end_time: Option<i64>,
    max_buckets: Option<i64>,
    range: Option<String>,
}

/// Both forms: between two times, or from some time ago until now.
async fn query(state: &AppState, caller: &Caller, bytes: &[u8]) -> Result<Response, ErrorResponse> {
    let asked: Asked = parse(bytes)?;
    let resource = parse_urn(&asked.resource)?;
    let period = match &asked.range {
        Some(range) => state.catalog().period_until_now(asked.duration, range)?,
        None => Period {
            duration: asked.duration,
            from_ms: asked.start_time,
            through_ms: asked.end_time,
            max_buckets: asked
                .max_buckets
                .map(|count| whole("maxBuckets", Some(count), 0))
                .transpose()?,
        },
    };
    let usage = state.catalog().usage(caller, &resource, &period).await?;
    Ok(reply(&json!({"value": usage})))
}
