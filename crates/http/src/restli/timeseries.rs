//! `POST /aspects?action=getTimeseriesAspectValues`: points of a time series.

use std::collections::BTreeMap;

use axum::response::Response;
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use docent_catalog::search::whole;
use docent_catalog::timeseries::{TimeseriesQuery, TimeseriesRow};
use docent_catalog::{AspectKey, PointRange};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::search::WireSort;
use crate::AppState;
use crate::error::ErrorResponse;
use crate::filter::WireFilter;
use crate::reply_budget::{MAX_BYTES, ReplyBudget, escaped_length};
use crate::wire::{check_aspect, parse, parse_aspect, parse_urn, raw_ref};

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
    let points = state.catalog().timeseries(&query, MAX_BYTES as u64).await?;
    let build = || {
        let mut budget = ReplyBudget::new(state.reply_memory());
        for point in &points.rows {
            let system_metadata = point.system_metadata.as_ref().map_or(0, String::len);
            budget.add(escaped_length(&point.metadata) + system_metadata)?;
        }
        let values = points.rows.iter().map(PointReply::new);
        let value = SeriesReply {
            entity_name: urn.entity_type(),
            aspect_name: aspect.as_str(),
            start_time_millis: input.start_time_millis,
            end_time_millis: input.end_time_millis,
            limit,
            values: values.collect::<Result<_, ErrorResponse>>()?,
        };
        budget.reply(&BTreeMap::from([("value", value)]))
    };
    let bytes: usize = points.rows.iter().map(|point| point.metadata.len()).sum();
    long_work::run(bytes > LONG_TEXT_BYTES, build).await
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SeriesReply<'p> {
    entity_name: &'p str,
    aspect_name: &'p str,
    start_time_millis: Option<i64>,
    end_time_millis: Option<i64>,
    limit: usize,
    values: Vec<PointReply<'p>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PointReply<'p> {
    aspect: PointText<'p>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_metadata: Option<&'p RawValue>,
}

/// The point travels as JSON in a string, exactly as it was written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PointText<'p> {
    content_type: &'static str,
    value: &'p str,
}

impl<'p> PointReply<'p> {
    fn new(point: &'p TimeseriesRow) -> Result<Self, ErrorResponse> {
        Ok(Self {
            aspect: PointText {
                content_type: "application/json",
                value: &point.metadata,
            },
            system_metadata: point.system_metadata.as_deref().map(raw_ref).transpose()?,
        })
    }
}
