//! `GET /aspects/{urn}?aspect=NAME&version=N` returns one aspect under the full name of its record;
//! `POST /aspects?action=…` runs an action.

use std::collections::BTreeMap;

use axum::http::{StatusCode, Uri};
use axum::response::Response;
use docent_catalog::{AspectKey, RowVersion};
use docent_model::Registry;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::{Action, proposals, timeseries};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::conditions::Conditional;
use crate::error::ErrorResponse;
use crate::query::{Parameters, Query};
use crate::reply_budget::ReplyBudget;
use crate::wire::{check_not_secret, parse, parse_aspect, reply, urn_in_path};

#[derive(Debug, Deserialize)]
pub(crate) struct AspectQuery {
    aspect: Option<String>,
    #[serde(default)]
    version: i64,
}

#[derive(Serialize)]
struct Reply {
    version: i64,
    aspect: BTreeMap<&'static str, Box<RawValue>>,
}

/// Actions on aspects. Those that write are in [`proposals`].
pub(crate) async fn act(
    Authenticated { state, caller }: Authenticated,
    Query(Action { action }): Query<Action>,
    parameters: Parameters,
    conditions: Result<Conditional, ErrorResponse>,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    match action.as_deref() {
        Some("getTimeseriesAspectValues") => timeseries::values(&state, &bytes).await,
        Some("getCount") => count(&state, &bytes).await,
        action => {
            let Conditional(conditions) = conditions?;
            let request = proposals::Request {
                action,
                parameters: &parameters,
                conditions: &conditions,
            };
            proposals::ingest(&state, &caller, request, &bytes).await
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with aspect")]
struct CountInput {
    aspect: String,
    urn_like: Option<String>,
}

/// Counts the entities with an aspect; `%` in `urnLike` matches any text.
async fn count(state: &AppState, bytes: &[u8]) -> Result<Response, ErrorResponse> {
    let input: CountInput = parse(bytes).await?;
    let aspect = parse_aspect(&input.aspect)?;
    let count = state
        .catalog()
        .count_aspects(aspect, input.urn_like.as_deref())
        .await?;
    Ok(reply(&json!({"value": count})))
}

pub(crate) async fn read(
    Authenticated { state, .. }: Authenticated,
    Query(query): Query<AspectQuery>,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let urn = urn_in_path(&uri, "/aspects/")?;
    let name = query.aspect.ok_or_else(|| {
        ErrorResponse::bad_request(
            "the parameter aspect is missing: send ?aspect=datasetProperties&version=0",
        )
    })?;
    let aspect = parse_aspect(&name)?;
    check_not_secret(aspect)?;
    let key = AspectKey::new(&urn, aspect);
    let version = RowVersion::new(query.version);
    let mut budget = ReplyBudget::new(state.reply_memory());
    let row = budget.read_version(state.catalog(), &key, version).await?;
    let Some(row) = row else {
        return Err(ErrorResponse::new(
            StatusCode::NOT_FOUND,
            format!("{urn} has no {aspect} in version {}", query.version),
        ));
    };
    let record = Registry::get().record_name(aspect).unwrap_or_default();
    let build = |budget: &mut ReplyBudget<'_>| {
        let value = budget.raw(row.metadata)?;
        budget.reply(&Reply {
            version: query.version,
            aspect: BTreeMap::from([(record, value)]),
        })
    };
    budget.build(build).await
}
