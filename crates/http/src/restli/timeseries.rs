//! `POST /aspects?action=getTimeseriesAspectValues`: points of a time series.

use axum::response::Response;
use docent_catalog::search::whole;
use docent_catalog::timeseries::{TimeseriesRow, Wanted};
use docent_catalog::{AspectKey, Caller, PointRange};
use serde::Deserialize;
use serde_json::{Value, json};

use super::search::WireSort;
use super::{check_aspect, json as reply, parse, parse_aspect, parse_urn, raw};
use crate::AppState;
use crate::error::ErrorResponse;
use crate::filter::WireFilter;

const DEFAULT_LIMIT: usize = 10_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with urn and aspect")]
struct Asked {
    urn: String,
    entity: Option<String>,
    aspect: String,
    start_time_millis: Option<i64>,
    end_time_millis: Option<i64>,
    limit: Option<i64>,
    /// Only the newest, whatever the limit.
    latest_value: Option<bool>,
    filter: Option<WireFilter>,
    sort: Option<WireSort>,
}

pub(super) async fn values(
    state: &AppState,
    caller: &Caller,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let asked: Asked = parse(bytes)?;
    let urn = parse_urn(&asked.urn)?;
    let aspect = parse_aspect(&asked.aspect)?;
    if let Some(entity) = &asked.entity
        && !entity.eq_ignore_ascii_case(urn.entity_type())
    {
        return Err(ErrorResponse::bad_request(format!(
            "entity {entity} does not fit the URN {urn}"
        )));
    }
    check_aspect(&urn, aspect)?;
    let limit = if asked.latest_value.unwrap_or(false) {
        1
    } else {
        whole("limit", asked.limit, DEFAULT_LIMIT)?
    };
    let wanted = Wanted {
        key: AspectKey::new(&urn, aspect),
        range: PointRange {
            from_ms: asked.start_time_millis,
            through_ms: asked.end_time_millis,
            run: None,
        },
        filter: asked.filter.unwrap_or_default().read()?,
        sort: asked.sort.map(WireSort::read),
        limit,
    };
    let points = state.catalog().timeseries(caller, &wanted).await?;
    let values = points.iter().map(value).collect::<Result<Vec<_>, _>>()?;
    Ok(reply(&json!({"value": {
        "entityName": urn.entity_type(),
        "aspectName": aspect.as_str(),
        "startTimeMillis": asked.start_time_millis,
        "endTimeMillis": asked.end_time_millis,
        "limit": limit,
        "values": values,
    }})))
}

/// The point travels as JSON in a string, exactly as it was written.
fn value(point: &TimeseriesRow) -> Result<Value, ErrorResponse> {
    let mut value = json!({
        "aspect": {"contentType": "application/json", "value": point.metadata},
    });
    if let Some(noted) = &point.system_metadata {
        value["systemMetadata"] = json!(raw(noted)?);
    }
    Ok(value)
}
