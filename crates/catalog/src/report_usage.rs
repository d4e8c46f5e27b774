//! Usage of charts and dashboards: counted by day, and as totals so far.
//!
//! Both are points of one time series. A point with a granularity counts what happened in its time
//! window; one without has the totals at its time, which tools such as Looker report.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::{AspectKey, PointRange};
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::Value;

use crate::search::{Criterion, Filter};
use crate::times::start_of_day;
use crate::timeseries::{ParsedPoint, TimeseriesQuery};
use crate::{Catalog, Error};

const GRANULARITY: &str = "eventGranularity";
/// The text of all totals in one result.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// The usage in a time window. What no source counted is missing.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowCounts {
    pub unique_user_count: Option<i64>,
    pub views_count: Option<i64>,
    pub executions_count: Option<i64>,
}

/// The usage by one user.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserCounts {
    pub user: String,
    pub views_count: Option<i64>,
    pub executions_count: Option<i64>,
    /// Tools that weigh views and executions report this number as well.
    pub usage_count: Option<i64>,
}

/// The usage of a chart or dashboard over a time range.
#[derive(Debug, Default)]
pub struct ReportUsage {
    pub days: BTreeMap<EpochMillis, WindowCounts>,
    /// The most active ones first.
    pub users: Vec<UserCounts>,
    pub views_count: Option<i64>,
    pub executions_count: Option<i64>,
}

impl Catalog {
    /// Adds up the usage of a chart or dashboard by day, in UTC.
    pub async fn report_usage(
        &self,
        report: &Urn,
        range: &PointRange,
    ) -> Result<ReportUsage, Error> {
        let mut usage = ReportUsage::default();
        let mut users: BTreeMap<String, UserCounts> = BTreeMap::new();
        let Some(aspect) = usage_aspect(report) else {
            return Ok(usage);
        };
        let add_point = |point: &Value| {
            if point[GRANULARITY].is_object() {
                usage.add(point);
                for user in point["userCounts"].as_array().into_iter().flatten() {
                    add_user(&mut users, user);
                }
            }
        };
        let key = AspectKey::new(report, aspect);
        self.visit_points(&key, range, add_point).await?;
        usage.users = users.into_values().collect();
        usage.users.sort_by_key(|user| Reverse(user.weight()));
        Ok(usage)
    }

    /// The totals that were reported in a time range, newest first.
    pub async fn report_totals(
        &self,
        report: &Urn,
        range: PointRange,
        limit: usize,
    ) -> Result<Vec<ParsedPoint>, Error> {
        let Some(aspect) = usage_aspect(report) else {
            return Ok(Vec::new());
        };
        let query = TimeseriesQuery {
            key: AspectKey::new(report, aspect),
            range,
            filter: Filter::default().and(Criterion::missing(GRANULARITY)),
            sort: None,
            limit,
        };
        Ok(self.parsed_timeseries(&query, MAX_BYTES).await?.points)
    }
}

/// The time series with the usage of an entity of this type.
fn usage_aspect(report: &Urn) -> Option<AspectName> {
    match report.entity_type() {
        "chart" => Some(AspectName::CHART_USAGE_STATISTICS),
        "dashboard" => Some(AspectName::DASHBOARD_USAGE_STATISTICS),
        _ => None,
    }
}

impl ReportUsage {
    fn add(&mut self, point: &Value) {
        let time_ms = point["timestampMillis"].as_i64().unwrap_or_default();
        let day = self
            .days
            .entry(start_of_day(time_ms, &TimeZone::UTC))
            .or_default();
        add(&mut day.unique_user_count, &point["uniqueUserCount"]);
        add(&mut day.views_count, &point["viewsCount"]);
        add(&mut day.executions_count, &point["executionsCount"]);
        add(&mut self.views_count, &point["viewsCount"]);
        add(&mut self.executions_count, &point["executionsCount"]);
    }
}

impl UserCounts {
    /// Charts have no usage count.
    fn weight(&self) -> i64 {
        self.usage_count
            .or(self.views_count)
            .or(self.executions_count)
            .unwrap_or_default()
    }
}

fn add_user(users: &mut BTreeMap<String, UserCounts>, counts: &Value) {
    let Some(user) = counts["user"].as_str() else {
        return;
    };
    let known = users.entry(user.to_owned()).or_insert_with(|| UserCounts {
        user: user.to_owned(),
        ..UserCounts::default()
    });
    add(&mut known.views_count, &counts["viewsCount"]);
    add(&mut known.executions_count, &counts["executionsCount"]);
    add(&mut known.usage_count, &counts["usageCount"]);
}

fn add(sum: &mut Option<i64>, count: &Value) {
    if let Some(count) = count.as_i64() {
        *sum = Some(sum.unwrap_or_default().saturating_add(count));
    }
}
