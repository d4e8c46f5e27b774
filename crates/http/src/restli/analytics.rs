//! `POST /analytics?action=getTimeseriesStats`: tables of what time series add up to.

use axum::response::Response;
use docent_catalog::timeseries_stats::{Aggregation, Grouping, Metric, StatsQuery, Window};
use docent_catalog::{Error, times};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Action, unknown_action};
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::error::ErrorResponse;
use crate::filter::WireFilter;
use crate::openapi::entity_type;
use crate::query::Query;
use crate::wire::{parse, parse_aspect, reply};

#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with entityName, aspectName and metrics"
)]
struct Input {
    entity_name: String,
    aspect_name: String,
    metrics: Vec<WireMetric>,
    filter: Option<WireFilter>,
    buckets: Option<Vec<WireBucket>>,
}

#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "a metric with fieldPath and aggregationType"
)]
struct WireMetric {
    field_path: String,
    aggregation_type: String,
}

/// Members that would change the order or the number of rows are unknown, and errors.
#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a bucket with key and type"
)]
struct WireBucket {
    key: String,
    #[serde(rename = "type")]
    kind: String,
    time_window_size: Option<WireWindow>,
    time_zone: Option<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with unit")]
struct WireWindow {
    unit: String,
    multiple: Option<i64>,
}

pub(crate) async fn act(
    Authenticated { state, .. }: Authenticated,
    Query(Action { action }): Query<Action>,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    if action.as_deref() != Some("getTimeseriesStats") {
        let action = action.as_deref();
        return Err(unknown_action("/analytics", action, "getTimeseriesStats"));
    }
    let request: Value = parse(&bytes).await?;
    let input: Input = parse(&bytes).await?;
    let spec = entity_type(&input.entity_name)?;
    let aspect = parse_aspect(&input.aspect_name)?;
    spec.check_aspect(aspect)
        .map_err(|error| ErrorResponse::bad_request(error.to_string()))?;
    let metrics = input.metrics.into_iter().map(WireMetric::read);
    let buckets = input.buckets.unwrap_or_default().into_iter();
    let query = StatsQuery {
        entity_type: spec.name,
        aspect,
        filter: input.filter.unwrap_or_default().read()?,
        metrics: metrics.collect::<Result<_, Error>>()?,
        groups: buckets
            .map(WireBucket::read)
            .collect::<Result<_, Error>>()?,
    };
    let table = state.catalog().timeseries_stats(&query).await?;
    let mut value = json!({
        "entityName": spec.name,
        "aspectName": aspect.as_str(),
        "aggregationSpecs": request["metrics"],
        "table": {
            "columnNames": table.column_names,
            "columnTypes": table.column_types,
            "rows": table.rows,
        },
    });
    for (member, name) in [("filter", "filter"), ("buckets", "groupingBuckets")] {
        if let Some(sent) = request.get(member) {
            value[name] = sent.clone();
        }
    }
    Ok(reply(&json!({ "value": value })))
}

impl WireMetric {
    fn read(self) -> Result<Metric, Error> {
        Ok(Metric {
            aggregation: Aggregation::parse(&self.aggregation_type)?,
            path: self.field_path,
        })
    }
}

impl WireBucket {
    fn read(self) -> Result<Grouping, Error> {
        let window = match self.kind.as_str() {
            "STRING_GROUPING_BUCKET" => None,
            "DATE_GROUPING_BUCKET" => {
                let size = self.time_window_size;
                let size = size.filter(|size| size.multiple.is_none_or(|multiple| multiple == 1));
                let size = size.ok_or_else(|| {
                    let key = &self.key;
                    Error::invalid(format!(
                        "the bucket {key} needs a timeWindowSize with a unit, and a multiple of 1"
                    ))
                })?;
                let zone = times::time_zone(self.time_zone.as_deref())?;
                Some((Window::parse(&size.unit)?, zone))
            }
            other => {
                return Err(Error::invalid(format!(
                    "there is no type '{other}' of buckets: use STRING_GROUPING_BUCKET or \
                     DATE_GROUPING_BUCKET"
                )));
            }
        };
        Ok(Grouping {
            path: self.key,
            window,
        })
    }
}
