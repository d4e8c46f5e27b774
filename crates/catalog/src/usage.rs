//! Usage of datasets in time buckets, stored as points of the time series `datasetUsageStatistics`.

use std::collections::BTreeMap;

use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{AspectKey, PointRange};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::search::Filter;
use crate::times::start_of_day;
use crate::timeseries::{ParsedPoints, TimeseriesQuery};
use crate::{Caller, Catalog, Error, ErrorSubject, Proposal};

const ASPECT: AspectName = AspectName::DATASET_USAGE_STATISTICS;
const MAX_BUCKETS: usize = 10_000;
const MAX_BYTES: u64 = 32 * 1024 * 1024;
const DAY_MS: EpochMillis = 24 * 60 * 60 * 1000;
const DAY: &str = "DAY";

/// The usage of a dataset in one time bucket.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "a bucket with bucket, duration, resource and metrics"
)]
pub struct Bucket {
    /// When the bucket begins.
    pub bucket: EpochMillis,
    /// YEAR, MONTH, WEEK, DAY or HOUR.
    pub duration: String,
    pub resource: String,
    pub metrics: Metrics,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique_user_count: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<UserCount>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_sql_queries: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_sql_queries: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<FieldCount>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserCount {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    pub count: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_email: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldCount {
    pub field_name: String,
    pub count: i64,
}

/// Buckets of a dataset, and their totals.
#[derive(Debug, Serialize)]
pub struct Usage {
    pub buckets: Vec<Bucket>,
    pub aggregations: Metrics,
}

/// What was reported about one day, newest first.
#[derive(Debug, Default)]
struct Day {
    whole: Option<Metrics>,
    parts: Vec<Bucket>,
}

impl Day {
    fn metrics(self) -> Metrics {
        self.whole.unwrap_or_else(|| {
            let parts = || self.parts.iter().map(|part| &part.metrics);
            let sum = together(&self.parts);
            Metrics {
                // Not every source lists the users.
                unique_user_count: parts()
                    .filter_map(|part| part.unique_user_count)
                    .chain(sum.unique_user_count)
                    .max(),
                top_sql_queries: parts().find_map(|part| part.top_sql_queries.clone()),
                ..sum
            }
        })
    }
}

/// Which buckets to read.
#[derive(Debug)]
pub struct Period {
    pub duration: String,
    pub from_ms: Option<EpochMillis>,
    pub through_ms: Option<EpochMillis>,
    pub max_buckets: Option<usize>,
}

impl Period {
    /// The points of the period.
    pub(crate) fn points(&self) -> PointRange {
        PointRange {
            from_ms: self.from_ms,
            through_ms: self.through_ms,
            run: None,
        }
    }
}

impl Catalog {
    /// Writes buckets, all or none.
    pub async fn ingest_usage(&self, caller: &Caller, buckets: Vec<Bucket>) -> Result<(), Error> {
        let proposals = buckets
            .into_iter()
            .enumerate()
            .map(|(position, bucket)| {
                let item = ErrorSubject::item(position).with_urn(bucket.resource.as_str());
                let proposal = proposal(bucket).map_err(|error| error.about(item))?;
                Ok(Proposal {
                    position: Some(position),
                    ..proposal
                })
            })
            .collect::<Result<_, Error>>()?;
        self.ingest(caller, proposals).await.map(drop)
    }

    /// The buckets of a period, newest first, with an empty one wherever nothing was reported
    /// between two others.
    pub async fn usage(&self, resource: &Urn, period: &Period) -> Result<Usage, Error> {
        let points = self.usage_points(resource, period).await?;
        let values = points.points.iter().map(|point| &point.value);
        let reported = values
            .filter(|value| unit(value).is_none_or(|unit| unit == period.duration))
            .map(|value| bucket(resource, &period.duration, value));
        let reported: Vec<Bucket> = reported.collect();
        let aggregations = together(&reported);
        let count = period.max_buckets.unwrap_or(MAX_BUCKETS);
        Ok(Usage {
            buckets: without_gaps(reported, count.min(MAX_BUCKETS)),
            aggregations,
        })
    }

    /// The usage of a period by day, oldest first. A day that was reported as a whole counts as it
    /// was reported; otherwise its shorter buckets are added up.
    pub async fn daily_usage(
        &self,
        resource: &Urn,
        period: &Period,
        zone: &TimeZone,
    ) -> Result<Usage, Error> {
        let points = self.usage_points(resource, period).await?;
        let mut days: BTreeMap<EpochMillis, Day> = BTreeMap::new();
        for point in &points.points {
            let bucket = bucket(resource, DAY, &point.value);
            let day = days.entry(start_of_day(bucket.bucket, zone)).or_default();
            match unit(&point.value) {
                None | Some(DAY) => day.whole = day.whole.take().or(Some(bucket.metrics)),
                Some(_) => day.parts.push(bucket),
            }
        }
        let buckets: Vec<Bucket> = days
            .into_iter()
            .map(|(start, day)| Bucket {
                bucket: start,
                duration: DAY.to_owned(),
                resource: resource.to_string(),
                metrics: day.metrics(),
            })
            .collect();
        let aggregations = together(&buckets);
        Ok(Usage {
            buckets,
            aggregations,
        })
    }

    async fn usage_points(&self, resource: &Urn, period: &Period) -> Result<ParsedPoints, Error> {
        let query = TimeseriesQuery {
            key: AspectKey::new(resource, ASPECT),
            range: period.points(),
            filter: Filter::default(),
            sort: None,
            limit: MAX_BUCKETS,
        };
        self.parsed_timeseries(&query, MAX_BYTES).await
    }

    /// The period from some time ago until now: `DAY`, `WEEK`, `MONTH`, `QUARTER`, `HALF_YEAR`,
    /// `YEAR` or `ALL`.
    pub fn period_until_now(&self, duration: String, range: &str) -> Result<Period, Error> {
        let days = match range {
            "DAY" => Some(1),
            "WEEK" => Some(7),
            "MONTH" => Some(31),
            "QUARTER" => Some(92),
            "HALF_YEAR" => Some(184),
            "YEAR" => Some(366),
            "ALL" => None,
            other => {
                return Err(Error::invalid(format!(
                    "range is '{other}': use DAY, WEEK, MONTH, QUARTER, HALF_YEAR, YEAR or ALL"
                )));
            }
        };
        Ok(Period {
            duration,
            from_ms: days.map(|days| self.now_ms() - days * DAY_MS),
            through_ms: None,
            max_buckets: None,
        })
    }
}

/// Up to `count` buckets, with empty ones in the gaps between them. Newest first.
fn without_gaps(reported: Vec<Bucket>, count: usize) -> Vec<Bucket> {
    let mut buckets: Vec<Bucket> = Vec::new();
    for bucket in reported {
        while buckets.len() < count
            && let Some(newer) = buckets.last()
            && let Some(start) = start_before(newer.bucket, &newer.duration)
            && start_before(start, &newer.duration).is_some_and(|next| next >= bucket.bucket)
        {
            let empty = Bucket {
                bucket: start,
                metrics: Metrics::default(),
                ..newer.clone()
            };
            buckets.push(empty);
        }
        if buckets.len() >= count {
            break;
        }
        buckets.push(bucket);
    }
    buckets
}

/// When the bucket before another one begins. `None` for unknown durations.
fn start_before(start_ms: EpochMillis, duration: &str) -> Option<EpochMillis> {
    let span = match duration {
        "HOUR" => Span::new().hours(1),
        DAY => Span::new().days(1),
        "WEEK" => Span::new().weeks(1),
        "MONTH" => Span::new().months(1),
        "YEAR" => Span::new().years(1),
        _ => return None,
    };
    let start = Timestamp::from_millisecond(start_ms).ok()?;
    let before = start.to_zoned(TimeZone::UTC).checked_sub(span).ok()?;
    Some(before.timestamp().as_millisecond())
}

fn proposal(bucket: Bucket) -> Result<Proposal, Error> {
    let resource = Registry::get().parse_urn(&bucket.resource);
    let resource = resource.map_err(|error| Error::invalid(format!("resource: {error}")))?;
    let text = point(bucket)?.to_string();
    Ok(Proposal::upsert(resource, ASPECT, text))
}

/// The point of a bucket. Unknown members are left out.
fn point(bucket: Bucket) -> Result<Value, Error> {
    let Metrics {
        unique_user_count,
        users,
        total_sql_queries,
        top_sql_queries,
        fields,
    } = bucket.metrics;
    let users = users
        .map(|users| users.into_iter().map(user).collect::<Result<Vec<_>, _>>())
        .transpose()?;
    let fields = fields.map(|fields| {
        let field = |it: FieldCount| json!({"fieldPath": it.field_name, "count": it.count});
        fields.into_iter().map(field).collect::<Vec<_>>()
    });
    let mut point = json!({
        "timestampMillis": bucket.bucket,
        "eventGranularity": {"unit": bucket.duration, "multiple": 1},
        "uniqueUserCount": unique_user_count,
        "totalSqlQueries": total_sql_queries,
        "topSqlQueries": top_sql_queries,
        "userCounts": users,
        "fieldCounts": fields,
    });
    if let Value::Object(members) = &mut point {
        members.retain(|_, member| !member.is_null());
    }
    Ok(point)
}

/// A user known only by an e-mail address is the user of that name.
fn user(it: UserCount) -> Result<Value, Error> {
    let named = it.user_email.as_deref().and_then(|email| {
        let name = email.split('@').next().filter(|name| !name.is_empty())?;
        Some(format!("urn:li:corpuser:{name}"))
    });
    let user = it.user.or(named).ok_or_else(|| {
        Error::invalid("an entry of metrics.users has neither a user nor a userEmail")
    })?;
    Ok(json!({"user": user, "count": it.count, "userEmail": it.user_email}))
}

/// The width of a bucket, if it says so.
fn unit(value: &Value) -> Option<&str> {
    value.pointer("/eventGranularity/unit")?.as_str()
}

fn bucket(resource: &Urn, duration: &str, value: &Value) -> Bucket {
    let number = |name: &str| value.get(name).and_then(Value::as_i64);
    let items = |name: &str| value.get(name).and_then(Value::as_array);
    let text = |item: &Value, name: &str| Some(item.get(name)?.as_str()?.to_owned());
    let count = |item: &Value| item.get("count").and_then(Value::as_i64).unwrap_or(0);
    Bucket {
        bucket: number("timestampMillis").unwrap_or_default(),
        duration: duration.to_owned(),
        resource: resource.to_string(),
        metrics: Metrics {
            unique_user_count: number("uniqueUserCount"),
            users: items("userCounts").map(|users| {
                let user = |item| UserCount {
                    user: text(item, "user"),
                    count: count(item),
                    user_email: text(item, "userEmail"),
                };
                users.iter().map(user).collect()
            }),
            total_sql_queries: number("totalSqlQueries"),
            top_sql_queries: items("topSqlQueries").map(|queries| {
                let texts = queries.iter().filter_map(Value::as_str);
                texts.map(str::to_owned).collect()
            }),
            fields: items("fieldCounts").map(|fields| {
                let field = |item| {
                    Some(FieldCount {
                        field_name: text(item, "fieldPath")?,
                        count: count(item),
                    })
                };
                fields.iter().filter_map(field).collect()
            }),
        },
    }
}

fn together(buckets: &[Bucket]) -> Metrics {
    let mut users: BTreeMap<(Option<String>, Option<String>), i64> = BTreeMap::new();
    let mut fields: BTreeMap<String, i64> = BTreeMap::new();
    let mut queries = 0_i64;
    for Bucket { metrics, .. } in buckets {
        queries = queries.saturating_add(metrics.total_sql_queries.unwrap_or(0));
        for user in metrics.users.iter().flatten() {
            let sum = users
                .entry((user.user.clone(), user.user_email.clone()))
                .or_default();
            *sum = sum.saturating_add(user.count);
        }
        for field in metrics.fields.iter().flatten() {
            let sum = fields.entry(field.field_name.clone()).or_default();
            *sum = sum.saturating_add(field.count);
        }
    }
    let mut users: Vec<UserCount> = users
        .into_iter()
        .map(|((user, user_email), count)| UserCount {
            user,
            count,
            user_email,
        })
        .collect();
    users.sort_by_key(|user| std::cmp::Reverse(user.count));
    let mut fields: Vec<FieldCount> = fields
        .into_iter()
        .map(|(field_name, count)| FieldCount { field_name, count })
        .collect();
    fields.sort_by_key(|field| std::cmp::Reverse(field.count));
    Metrics {
        unique_user_count: Some(i64::try_from(users.len()).unwrap_or(i64::MAX)),
        users: Some(users),
        total_sql_queries: Some(queries),
        top_sql_queries: None,
        fields: Some(fields),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> EpochMillis {
        let time: Timestamp = format!("{text}Z").parse().unwrap();
        time.as_millisecond()
    }

    fn filled(duration: &str, reported: &[&str], count: usize) -> Vec<(String, bool)> {
        let reported = reported.iter().map(|start| Bucket {
            bucket: time(start),
            duration: duration.to_owned(),
            resource: String::new(),
            metrics: Metrics {
                total_sql_queries: Some(1),
                ..Metrics::default()
            },
        });
        let buckets = without_gaps(reported.collect(), count).into_iter();
        let starts = buckets.map(|bucket| {
            let start = Timestamp::from_millisecond(bucket.bucket).unwrap();
            let is_empty = bucket.metrics.total_sql_queries.is_none();
            (start.strftime("%m-%d %H").to_string(), is_empty)
        });
        starts.collect()
    }

    #[test]
    fn gaps_are_filled_in_the_steps_of_the_duration() {
        for (duration, reported, expected) in [
            (
                "HOUR",
                ["2026-03-01T01:00:00", "2026-02-28T23:00:00"],
                ["03-01 01", "03-01 00", "02-28 23"],
            ),
            (
                "WEEK",
                ["2026-03-09T00:00:00", "2026-02-23T00:00:00"],
                ["03-09 00", "03-02 00", "02-23 00"],
            ),
            (
                "MONTH",
                ["2026-03-01T00:00:00", "2026-01-01T00:00:00"],
                ["03-01 00", "02-01 00", "01-01 00"],
            ),
        ] {
            let expected = expected.iter().zip([false, true, false]);
            let expected = expected.map(|(start, is_empty)| ((*start).to_owned(), is_empty));
            let expected: Vec<_> = expected.collect();
            assert_eq!(filled(duration, &reported, 10), expected, "{duration}");
        }
        let unknown = ["2026-03-01T00:00:00", "2026-01-01T00:00:00"];
        assert_eq!(filled("SECOND", &unknown, 10).len(), 2);
    }

    #[test]
    fn empty_buckets_count_for_the_limit() {
        let reported = [
            "2026-03-05T00:00:00",
            "2026-03-01T00:00:00",
            "2026-02-01T00:00:00",
        ];
        let days = filled(DAY, &reported, 3);
        let expected = [("03-05 00", false), ("03-04 00", true), ("03-03 00", true)];
        assert_eq!(
            days,
            expected.map(|(start, empty)| (start.to_owned(), empty))
        );
        assert_eq!(filled(DAY, &reported, 6).len(), 6);
        assert!(filled(DAY, &reported, 0).is_empty());
    }
}
