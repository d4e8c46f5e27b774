//! `POST /openapi/openlineage/api/v1/lineage`: run events of OpenLineage.

use axum::http::StatusCode;
use docent_catalog::openlineage::RunEvent;

use super::error_response;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::conditions::UnsupportedCondition;
use crate::error::ErrorResponse;
use crate::wire::parse;

pub(crate) async fn post(
    Authenticated { state, caller }: Authenticated,
    condition: UnsupportedCondition,
    JsonBody(bytes): JsonBody,
) -> Result<StatusCode, ErrorResponse> {
    condition.reject("An event changes several entities.")?;
    let event: RunEvent = parse(&bytes).await?;
    let written = state
        .catalog()
        .ingest_run_event(&caller, &event, bytes.len());
    written.await.map_err(error_response)?;
    Ok(StatusCode::OK)
}
