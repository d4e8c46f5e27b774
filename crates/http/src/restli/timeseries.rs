//! `POST /aspects?action=getTimeseriesAspectValues`: points of a time series.

use axum::response::Response;
use docent_catalog::search::whole;
use docent_catalog::timeseries::{TimeseriesQuery, TimeseriesRow};
use docent_catalog::{AspectKey, PointRange};
use serde::Deserialize;
use serde_json::{Value, json};

use super::search::WireSort;
use crate::AppState;
use crate::error::ErrorResponse;
use crate::filter::WireFilter;
use crate::wire::{check_aspect, parse, parse_aspect, parse_urn, raw, reply};

const DEFAULT_LIMIT: usize = 10_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with urn and aspect")]
struct TimeseriesInput {
    urn: String,
    entity: Option<String>,
    aspect: String,
    start_time_millis: Option<i64>,
    end_time_millis: Option<i64>,
    limit: Option<i64>,
    /// Return only the latest point, regardless of the limit.
    latest_value: Option<bool>,
    filter: Option<WireFilter>,
    sort: Option<WireSort>,
}

pub(super) async fn values(state: &AppState, bytes: &[u8]) -> Result<Response, ErrorResponse> {
    let input: TimeseriesInput = parse(bytes).await?;
    let urn = parse_urn(&input.urn)?;
    let aspect = parse_aspect(&input.aspect)?;
    if let Some(entity) = &input.entity
        && !entity.eq_ignore_ascii_case(urn.entity_type())
    {
        return Err(ErrorResponse::bad_request(format!(
            "entity {entity} does not fit the URN {urn}"
        )));
    }
    check_aspect(&urn, aspect)?;
    let limit = if input.latest_value.unwrap_or(false) {
        1
    } else {
        whole("limit", input.limit, DEFAULT_LIMIT)?
    };
    let query = TimeseriesQuery {
        key: AspectKey::new(&urn, aspect),
        range: PointRange {
            from_ms: input.start_time_millis,
            through_ms: input.end_time_millis,
            run: None,
        },
        filter: input.filter.unwrap_or_default().read()?,
        sort: input.sort.map(WireSort::read),
        limit,
    };
    let points = state.catalog().timeseries(&query).await?;
    let values = points.iter().map(value).collect::<Result<Vec<_>, _>>()?;
    Ok(reply(&json!({"value": {
        "entityName": urn.entity_type(),
        "aspectName": aspect.as_str(),
        "startTimeMillis": input.start_time_millis,
        "endTimeMillis": input.end_time_millis,
        "limit": limit,
        "values": values,
    }})))
}

/// The point travels as JSON in a string, exactly as it was written.
fn value(point: &TimeseriesRow) -> Result<Value, ErrorResponse> {
    let mut value = json!({
        "aspect": {"contentType": "application/json", "value": point.metadata},
    });
    if let Some(system_metadata) = &point.system_metadata {
        value["systemMetadata"] = json!(raw(system_metadata)?);
    }
    Ok(value)
}
