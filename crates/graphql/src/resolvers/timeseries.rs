//! Points of time series: profiles and operations of datasets, runs of assertions and of jobs.

use docent_catalog::search::{Criterion, Filter, Sort, whole};
use docent_catalog::timeseries::{ParsedPoint, TimeseriesQuery};
use docent_catalog::{AspectKey, Error, PointRange};
use docent_model::AspectName;
use serde_json::{Value, json};

use super::search::input::AndFilter;
use crate::{Args, BatchResult, Context, EntityView};

/// The points of one entity, if the query does not say how many.
const DEFAULT_LIMIT: usize = 10_000;
/// The text of all points that one call reads.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

pub(super) async fn dataset_profiles(
    context: &Context,
    datasets: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let request = Request::of(&arguments, AspectName::DATASET_PROFILE)?;
    request.lists(context, datasets).await
}

/// The operations on datasets, the latest first. A source may report them in another order.
pub(super) async fn operations(
    context: &Context,
    datasets: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let mut request = Request::of(&arguments, AspectName::OPERATION)?;
    request.sort = Some(Sort {
        field: "lastUpdatedTimestamp".to_owned(),
        descending: true,
    });
    request.lists(context, datasets).await
}

/// What was reported about runs of jobs, newest first.
pub(super) async fn run_states(
    context: &Context,
    runs: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let aspect = AspectName::DATA_PROCESS_INSTANCE_RUN_EVENT;
    Request::of(&arguments, aspect)?.lists(context, runs).await
}

/// The results of assertions, newest first, with counts.
pub(super) async fn assertion_runs(
    context: &Context,
    assertions: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let mut request = Request::of(&arguments, AspectName::ASSERTION_RUN_EVENT)?;
    if let Some(status) = arguments.member::<Option<String>>("status")? {
        request.filter = request.filter.and(Criterion::equal("status", &status));
    }
    let lists = request.points(context, assertions).await?;
    Ok(lists
        .into_iter()
        .map(|points| Ok(with_counts(points)))
        .collect())
}

/// Since when there are statistics of datasets.
pub(super) async fn capabilities(
    context: &Context,
    datasets: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let mut results = Vec::with_capacity(datasets.len());
    for dataset in datasets {
        let start = |aspect| {
            let key = AspectKey::new(dataset.urn(), aspect);
            async move { context.catalog.timeseries_start(&key).await }
        };
        results.push(Ok(json!({"assetStats": {
            "oldestOperationTime": start(AspectName::OPERATION).await?,
            "oldestDatasetUsageTime": start(AspectName::DATASET_USAGE_STATISTICS).await?,
            "oldestDatasetProfileTime": start(AspectName::DATASET_PROFILE).await?,
        }})));
    }
    Ok(results)
}

/// The length of a time window, of which a unit and how many of it are stored.
pub(super) fn window_millis(window: &EntityView<'_>) -> Value {
    const SECOND: i64 = 1000;
    const DAY: i64 = 24 * 60 * 60 * SECOND;
    let length = &window.value()["length"];
    let unit = match length["unit"].as_str() {
        Some("SECOND") => SECOND,
        Some("MINUTE") => 60 * SECOND,
        Some("HOUR") => 60 * 60 * SECOND,
        Some("DAY") => DAY,
        Some("WEEK") => 7 * DAY,
        Some("MONTH") => 30 * DAY,
        Some("QUARTER") => 91 * DAY,
        Some("YEAR") => 365 * DAY,
        _ => return json!(0),
    };
    json!(
        length["multiple"]
            .as_i64()
            .unwrap_or(1)
            .saturating_mul(unit)
    )
}

/// Which points of a time series a query selects of each entity.
struct Request {
    aspect: AspectName,
    range: PointRange,
    filter: Filter,
    sort: Option<Sort>,
    limit: usize,
}

impl Request {
    fn of(arguments: &Args<'_>, aspect: AspectName) -> Result<Self, Error> {
        let filter: Option<AndFilter> = arguments.member("filter")?;
        let criteria = filter.into_iter().filter_map(|filter| filter.and);
        let mut all = Filter::default();
        for criterion in criteria.flatten() {
            all = all.and(criterion.criterion()?);
        }
        Ok(Self {
            aspect,
            range: PointRange {
                from_ms: arguments.member("startTimeMillis")?,
                through_ms: arguments.member("endTimeMillis")?,
                run: None,
            },
            filter: all,
            sort: None,
            limit: whole("limit", arguments.member("limit")?, DEFAULT_LIMIT)?,
        })
    }

    /// The values of the points of each entity.
    async fn lists(self, context: &Context, entities: &[EntityView<'_>]) -> BatchResult {
        let lists = self.points(context, entities).await?;
        let values = |points: Vec<ParsedPoint>| -> Value {
            points.into_iter().map(|point| point.value).collect()
        };
        Ok(lists.into_iter().map(|points| Ok(values(points))).collect())
    }

    async fn points(
        self,
        context: &Context,
        entities: &[EntityView<'_>],
    ) -> Result<Vec<Vec<ParsedPoint>>, Error> {
        let mut lists = Vec::with_capacity(entities.len());
        let mut left = MAX_BYTES;
        for entity in entities {
            let query = TimeseriesQuery {
                key: AspectKey::new(entity.urn(), self.aspect),
                range: self.range.clone(),
                filter: self.filter.clone(),
                sort: self.sort.clone(),
                limit: self.limit,
            };
            let found = context.catalog.parsed_timeseries(&query, left).await?;
            left = left.saturating_sub(found.text_bytes);
            lists.push(found.points);
        }
        Ok(lists)
    }
}

fn with_counts(points: Vec<ParsedPoint>) -> Value {
    let count = |result: &str| {
        let has_result = |point: &&ParsedPoint| {
            point.value["status"] == "COMPLETE" && point.value["result"]["type"] == result
        };
        points.iter().filter(has_result).count()
    };
    json!({
        "total": points.len(),
        "failed": count("FAILURE"),
        "succeeded": count("SUCCESS"),
        "errored": count("ERROR"),
        "runEvents": points.into_iter().map(run_event).collect::<Vec<_>>(),
    })
}

fn run_event(point: ParsedPoint) -> Value {
    let ParsedPoint {
        mut value,
        observed_ms,
    } = point;
    if let Value::Object(members) = &mut value {
        members.insert("lastObservedMillis".to_owned(), json!(observed_ms));
    }
    value
}
