//! How charts and dashboards are used.

use docent_catalog::report_usage::ReportUsage;
use docent_catalog::search::whole;
use docent_catalog::timeseries::ParsedPoint;
use docent_catalog::{Error, PointRange};
use docent_model::Urn;
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// The days of a summary. DataHub's name for them is "last 30 days".
const SUMMARY_DAYS: i64 = 31;
/// The users in a summary who use the report the most.
const TOP_USERS: usize = 5;
/// The totals in a result, if the query does not say how many.
const DEFAULT_LIMIT: usize = 1000;

/// The usage of dashboards by day and by user, and the totals that were reported.
pub(super) async fn dashboard_usage(
    context: &Context,
    dashboards: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let range = PointRange {
        from_ms: arguments.member("startTimeMillis")?,
        through_ms: arguments.member("endTimeMillis")?,
        run: None,
    };
    let limit = whole("limit", arguments.member("limit")?, DEFAULT_LIMIT)?;
    let mut results = Vec::with_capacity(dashboards.len());
    for dashboard in dashboards {
        let urn = dashboard.urn();
        let usage = context.catalog.report_usage(urn, &range).await?;
        let totals = context.catalog.report_totals(urn, range.clone(), limit);
        results.push(Ok(usage_result(urn, usage, totals.await?)));
    }
    Ok(results)
}

fn usage_result(urn: &Urn, usage: ReportUsage, totals: Vec<ParsedPoint>) -> Value {
    let days = usage.days.into_iter();
    let bucket = |(start, counts)| json!({"bucket": start, "duration": "DAY", "resource": urn, "metrics": counts});
    json!({
        "buckets": days.map(bucket).collect::<Vec<_>>(),
        "aggregations": {
            "uniqueUserCount": usage.users.len(),
            "users": usage.users,
            "viewsCount": usage.views_count,
            "executionsCount": usage.executions_count,
        },
        "metrics": totals.into_iter().map(|point| point.value).collect::<Vec<_>>(),
    })
}

/// The usage of charts and dashboards over the last month.
pub(super) async fn summary(
    context: &Context,
    reports: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let mut results = Vec::with_capacity(reports.len());
    for report in reports {
        results.push(Ok(summary_of(context, report.urn()).await?));
    }
    Ok(results)
}

async fn summary_of(context: &Context, report: &Urn) -> Result<Value, Error> {
    let catalog = &context.catalog;
    let totals = catalog.report_totals(report, PointRange::default(), 1);
    let totals = totals.await?;
    let range = PointRange {
        from_ms: Some(catalog.now_ms() - SUMMARY_DAYS * DAY_MS),
        ..PointRange::default()
    };
    let usage = catalog.report_usage(report, &range).await?;
    let users = usage.users.iter().map(|user| &user.user);
    Ok(json!({
        "viewCount": totals.first().map(|point| &point.value["viewsCount"]),
        "viewCountLast30Days": usage.views_count,
        "uniqueUserCountLast30Days": usage.users.len(),
        "topUsersLast30Days": users.take(TOP_USERS).collect::<Vec<_>>(),
    }))
}
