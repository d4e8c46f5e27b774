//! `POST /openapi/v1/tracking/track`: what people do on DataHub's web page. Nothing is recorded.

use axum::Json;
use serde_json::{Value, json};

use crate::auth::Authenticated;
use crate::body::{MAX_SMALL_BODY_BYTES, WholeBody};
use crate::error::ErrorResponse;

/// Accepts an event, because the page sends one for each click, and forgets it.
pub(crate) async fn track(
    _: Authenticated,
    WholeBody(bytes): WholeBody<MAX_SMALL_BODY_BYTES>,
) -> Result<Json<Value>, ErrorResponse> {
    serde_json::from_slice::<serde::de::IgnoredAny>(&bytes)
        .map_err(|error| ErrorResponse::bad_request(format!("The event is not JSON: {error}")))?;
    Ok(Json(json!({})))
}
