//! `POST /usageStats?action=batchIngest|query|queryRange`: how datasets are used.

use axum::response::Response;
use docent_catalog::Caller;
use docent_catalog::search::whole;
use docent_catalog::usage::{Bucket, Period};
use serde::Deserialize;
use serde_json::json;

use super::{Action, unknown_action};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::conditions;
use crate::error::ErrorResponse;
use crate::query::Query;
use crate::wire::{Items, parse, parse_urn, reply};

pub(crate) async fn act(
    Authenticated { state, caller }: Authenticated,
    Query(Action { action }): Query<Action>,
    condition: conditions::UnsupportedCondition,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    match action.as_deref() {
        Some("batchIngest") => {
            condition.reject("Usage is a time series, which has no versions.")?;
            ingest(&state, &caller, &bytes).await
        }
        Some("query" | "queryRange") => query(&state, &bytes).await,
        other => Err(unknown_action(
            "/usageStats",
            other,
            "batchIngest, query and queryRange",
        )),
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an object with buckets")]
struct Buckets {
    buckets: Items<Bucket>,
}

async fn ingest(
    state: &AppState,
    caller: &Caller,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let Buckets { buckets } = parse(bytes).await?;
    state.catalog().ingest_usage(caller, buckets.0).await?;
    Ok(reply(&json!({})))
}

#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with resource and duration"
)]
struct UsageQuery {
    resource: String,
    duration: String,
    start_time: Option<i64>,
    end_time: Option<i64>,
    max_buckets: Option<i64>,
    #[serde(alias = "rangeFromEnd")]
    range: Option<String>,
}

/// Both forms: between two times, or a range that ends now.
async fn query(state: &AppState, bytes: &[u8]) -> Result<Response, ErrorResponse> {
    let query: UsageQuery = parse(bytes).await?;
    let resource = parse_urn(&query.resource)?;
    let period = match &query.range {
        Some(range) => state.catalog().period_until_now(query.duration, range)?,
        None => Period {
            duration: query.duration,
            from_ms: query.start_time,
            through_ms: query.end_time,
            max_buckets: query
                .max_buckets
                .map(|count| whole("maxBuckets", Some(count), 0))
                .transpose()?,
        },
    };
    let usage = state.catalog().usage(&resource, &period).await?;
    Ok(reply(&json!({"value": usage})))
}
