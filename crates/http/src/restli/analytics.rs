//! `POST /analytics?action=getTimeseriesStats`: aggregates points of time series.

use std::collections::BTreeMap;

use axum::response::Response;
use docent_catalog::timeseries_stats::{Aggregation, Grouping, Metric, StatsQuery, Window};
use docent_catalog::{Error, times};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Action, unknown_action};
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::error::ErrorResponse;
use crate::filter::WireFilter;
use crate::openapi::entity_type;
use crate::query::Query;
use crate::wire::{Items, parse, parse_aspect, reply};

/// Members stay text, because the reply repeats them.

#[derive(Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with entityName, aspectName and metrics"
)]
struct Input<'a> {
    entity_name: String,
    aspect_name: String,
    #[serde(borrow)]
    metrics: &'a RawValue,
    filter: Option<&'a RawValue>,
    buckets: Option<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reply<'a> {
    entity_name: &'a str,
    aspect_name: &'a str,
    aggregation_specs: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grouping_buckets: Option<&'a RawValue>,
    table: Table,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Table {
    column_names: Vec<String>,
    column_types: Vec<&'static str>,
    rows: Vec<Vec<String>>,
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
    let input: Input<'_> = parse(&bytes).await?;
    let spec = entity_type(&input.entity_name)?;
    let aspect = parse_aspect(&input.aspect_name)?;
    spec.check_aspect(aspect)
        .map_err(|error| ErrorResponse::bad_request(error.to_string()))?;
    let Items(metrics): Items<WireMetric> = member("metrics", input.metrics).await?;
    let filter: WireFilter = match input.filter {
        Some(filter) => member("filter", filter).await?,
        None => WireFilter::default(),
    };
    let buckets: Vec<WireBucket> = match input.buckets {
        Some(buckets) => member::<Items<_>>("buckets", buckets).await?.0,
        None => Vec::new(),
    };
    let metrics = metrics.into_iter().map(WireMetric::read);
    let buckets = buckets.into_iter().map(WireBucket::read);
    let query = StatsQuery {
        entity_type: spec.name,
        aspect,
        filter: filter.read()?,
        metrics: metrics.collect::<Result<_, Error>>()?,
        groups: buckets.collect::<Result<_, Error>>()?,
    };
    let table = state.catalog().timeseries_stats(&query).await?;
    let value = Reply {
        entity_name: spec.name,
        aspect_name: aspect.as_str(),
        aggregation_specs: input.metrics,
        filter: input.filter,
        grouping_buckets: input.buckets,
        table: Table {
            column_names: table.column_names,
            column_types: table.column_types,
            rows: table.rows,
        },
    };
    Ok(reply(&BTreeMap::from([("value", value)])))
}

/// Parses a member of the request.
async fn member<'a, T: Deserialize<'a>>(name: &str, raw: &'a RawValue) -> Result<T, ErrorResponse> {
    let parsed = parse(raw.get().as_bytes()).await;
    parsed.map_err(|error| error.about(name))
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
