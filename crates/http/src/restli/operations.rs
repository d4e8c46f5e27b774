//! `POST /operations?action=restoreIndices` and consumer lag. DataHub processes writes
//! asynchronously; here both have nothing to do.

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use super::{Action, unknown_action};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::error::ErrorResponse;
use crate::query::{Path, Query};
use crate::wire::reply;

pub(crate) async fn act(
    State(_state): State<AppState>,
    _: Authenticated,
    Query(Action { action }): Query<Action>,
    JsonBody(_): JsonBody,
) -> Result<Response, ErrorResponse> {
    match action.as_deref() {
        Some("restoreIndices") => Ok(reply(&json!({
            "value": "Nothing to restore: the search index follows the change log on its own. \
                      'docent rebuild' recomputes derived data.",
        }))),
        other => Err(unknown_action("/operations", other, "restoreIndices")),
    }
}

/// DataHub's queues, by their names in paths.
const QUEUES: [&str; 3] = ["mcp", "mcl", "mcl-timeseries"];

/// There are no consumers, so there is no lag.
pub(crate) async fn lag(_: Authenticated, Path(queue): Path) -> Result<Response, ErrorResponse> {
    check_queue(&queue)?;
    Ok(reply(&json!({"consumerGroups": {}})))
}

/// The older form of [`lag`], by topic.
pub(crate) async fn offsets(
    _: Authenticated,
    Path(queue): Path,
) -> Result<Response, ErrorResponse> {
    check_queue(&queue)?;
    Ok(reply(&json!({})))
}

fn check_queue(queue: &str) -> Result<(), ErrorResponse> {
    if QUEUES.contains(&queue) {
        return Ok(());
    }
    Err(ErrorResponse::bad_request(format!(
        "unknown queue '{queue}'; the queues are {}",
        QUEUES.join(", ")
    )))
}
