//! `POST /operations?action=restoreIndices` and the questions about lag: what other servers have to wait for.

use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::json;

use super::{Action, json as reply, no_action};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::error::ErrorResponse;
use crate::query::Query;

pub(crate) async fn act(
    State(_state): State<AppState>,
    _: Authenticated,
    Query(Action { action }): Query<Action>,
    WholeBody(_): WholeBody,
) -> Result<Response, ErrorResponse> {
    match action.as_deref() {
        Some("restoreIndices") => Ok(reply(&json!({
            "value": "Nothing to restore: everything is written in one transaction, and the search index follows the \
                      change log by itself. 'docent rebuild' recomputes what is derived.",
        }))),
        other => Err(no_action("/operations", other, "restoreIndices")),
    }
}

/// What DataHub queues, by the names in its paths.
const QUEUES: [&str; 3] = ["mcp", "mcl", "mcl-timeseries"];

/// Nobody consumes a queue, so nobody lags behind.
pub(crate) async fn lag(
    _: Authenticated,
    Path(queue): Path<String>,
) -> Result<Response, ErrorResponse> {
    check_queue(&queue)?;
    Ok(reply(&json!({"consumerGroups": {}})))
}

/// The same question in its older form, answered by topic.
pub(crate) async fn offsets(
    _: Authenticated,
    Path(queue): Path<String>,
) -> Result<Response, ErrorResponse> {
    check_queue(&queue)?;
    Ok(reply(&json!({})))
}

fn check_queue(queue: &str) -> Result<(), ErrorResponse> {
    if QUEUES.contains(&queue) {
        return Ok(());
    }
    Err(ErrorResponse::bad_request(format!(
        "there is no queue '{queue}'; there are {}",
        QUEUES.join(", ")
    )))
}
