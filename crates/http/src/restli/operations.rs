//! `POST /operations?action=restoreIndices`, and what operators ask DataHub: consumer lag,
//! throttles, and who they are. DataHub processes writes asynchronously; here there is nothing to
//! wait for.

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use super::{Action, unknown_action};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::error::ErrorResponse;
use crate::openapi::system_info::authorize;
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
const QUEUES: [&str; 4] = ["mcp", "mcl", "mcl-timeseries", "usage-events"];

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

/// DataHub slows writes down if its consumers lag behind. There is no such throttle here.
pub(crate) async fn throttles(
    Authenticated { caller, state }: Authenticated,
) -> Result<Response, ErrorResponse> {
    authorize(&state, &caller).await?;
    Ok(reply(&json!({})))
}

/// The user of the token or session.
pub(crate) async fn identity(Authenticated { caller, .. }: Authenticated) -> Response {
    reply(&json!({"urn": caller.actor()}))
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
