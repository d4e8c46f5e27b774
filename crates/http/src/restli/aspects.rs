//! `GET /aspects/{urn}?aspect=NAME&version=N`: one aspect, by its record's full name; and `POST /aspects?action=…`.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use docent_catalog::{AspectKey, Caller, RowVersion};
use docent_model::Registry;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::{
    Action, check_shown, json, parse, parse_aspect, proposals, raw, timeseries, urn_in_path,
};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::conditions::Conditional;
use crate::error::ErrorResponse;
use crate::query::Query;

#[derive(Debug, Deserialize)]
pub(crate) struct Wanted {
    aspect: Option<String>,
    #[serde(default)]
    version: i64,
}

#[derive(Serialize)]
struct Reply {
    version: i64,
    aspect: BTreeMap<&'static str, Box<RawValue>>,
}

/// The verbs on aspects. Those that write are in [`proposals`].
pub(crate) async fn act(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Query(Action { action }): Query<Action>,
    conditions: Result<Conditional, ErrorResponse>,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    match action.as_deref() {
        Some("getTimeseriesAspectValues") => timeseries::values(&state, &caller, &bytes).await,
        Some("getCount") => count(&state, &caller, &bytes).await,
        action => {
            let Conditional(conditions) = conditions?;
            proposals::ingest(&state, &caller, action, &conditions, &bytes).await
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with aspect")]
struct Counted {
    aspect: String,
    urn_like: Option<String>,
}

/// How many entities have an aspect; in `urnLike` `%` stands for any text.
async fn count(state: &AppState, caller: &Caller, bytes: &[u8]) -> Result<Response, ErrorResponse> {
    let counted: Counted = parse(bytes)?;
    let aspect = parse_aspect(&counted.aspect)?;
    let count = state
        .catalog()
        .count_aspects(caller, aspect, counted.urn_like.as_deref())
        .await?;
    Ok(json(&json!({"value": count})))
}

pub(crate) async fn read(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Query(wanted): Query<Wanted>,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let urn = urn_in_path(&uri, "/aspects/")?;
    let name = wanted.aspect.ok_or_else(|| {
        ErrorResponse::bad_request("say which aspect you want: ?aspect=datasetProperties&version=0")
    })?;
    let aspect = parse_aspect(&name)?;
    check_shown(aspect)?;
    let key = AspectKey::new(&urn, aspect);
    let row = state
        .catalog()
        .read_version(&caller, &key, RowVersion::new(wanted.version))
        .await?;
    let Some(row) = row else {
        return Err(ErrorResponse::new(
            StatusCode::NOT_FOUND,
            format!("{urn} has no {aspect} in version {}", wanted.version),
        ));
    };
    let record = Registry::get().record_name(aspect).unwrap_or_default();
    Ok(json(&Reply {
        version: wanted.version,
        aspect: BTreeMap::from([(record, raw(&row.metadata)?)]),
    }))
}
