//! How datasets are used and changed, by day and over a month.

use docent_catalog::Error;
use docent_catalog::operations::OperationCounts;
use docent_catalog::times::time_zone;
use docent_catalog::usage::Period;
use docent_model::EpochMillis;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

const DAY: &str = "DAY";
const MONTH: &str = "MONTH";
/// The users in a summary who use the dataset the most.
const TOP_USERS: usize = 5;

pub(super) async fn usage_stats(
    context: &Context,
    datasets: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let range: Option<String> = arguments.member("range")?;
    let start: Option<EpochMillis> = arguments.member("startTimeMillis")?;
    let zone: Option<String> = arguments.member("timeZone")?;
    let zone = time_zone(zone.as_deref())?;
    let mut period = period(context, range.as_deref())?;
    period.from_ms = start.or(period.from_ms);
    let mut results = Vec::with_capacity(datasets.len());
    for dataset in datasets {
        let usage = context.catalog.daily_usage(dataset.urn(), &period, &zone);
        results.push(Ok(json!(usage.await?)));
    }
    Ok(results)
}

/// The usage over the last month.
pub(super) async fn stats_summary(
    context: &Context,
    datasets: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let (period, zone) = (period(context, None)?, time_zone(None)?);
    let mut results = Vec::with_capacity(datasets.len());
    for dataset in datasets {
        let usage = context.catalog.daily_usage(dataset.urn(), &period, &zone);
        let usage = usage.await?;
        let counts = usage.buckets.iter();
        let are_counted = counts
            .map(|bucket| bucket.metrics.total_sql_queries)
            .any(|count| count.is_some());
        let users = usage.aggregations.users.iter().flatten();
        let users = users.filter_map(|user| user.user.as_deref());
        results.push(Ok(json!({
            "queryCountLast30Days": usage.aggregations.total_sql_queries.filter(|_| are_counted),
            "uniqueUserCountLast30Days": usage.aggregations.unique_user_count,
            "topUsersLast30Days": users.take(TOP_USERS).collect::<Vec<_>>(),
        })));
    }
    Ok(results)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OperationsStatsInput {
    range: Option<String>,
    time_zone: Option<String>,
}

/// The operations on datasets, counted by type.
pub(super) async fn operations_stats(
    context: &Context,
    datasets: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let input: Option<OperationsStatsInput> = arguments.input()?;
    let input = input.unwrap_or_default();
    let zone = time_zone(input.time_zone.as_deref())?;
    let period = period(context, input.range.as_deref())?;
    let mut results = Vec::with_capacity(datasets.len());
    for dataset in datasets {
        let urn = dataset.urn();
        let counted = context.catalog.daily_operations(urn, &period, &zone);
        let counted = counted.await?;
        let bucket = |(start, counts): (&EpochMillis, &OperationCounts)| json!({"bucket": start, "duration": DAY, "resource": urn, "aggregations": counts});
        let buckets: Vec<Value> = counted.days.iter().map(bucket).collect();
        results.push(Ok(json!({"buckets": buckets, "aggregations": counted.all})));
    }
    Ok(results)
}

/// The days until now; a month if the query does not say how many.
fn period(context: &Context, range: Option<&str>) -> Result<Period, Error> {
    let range = range.unwrap_or(MONTH);
    context.catalog.period_until_now(DAY.to_owned(), range)
}
