//! Tables of what the points of a time series add up to, for all entities of a type.
//!
//! Points are grouped by their members and by windows of time. Each group is a row, with the values
//! of its metrics. Points are read one by one, newest first, and not kept.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use docent_model::{AspectName, EpochMillis, Urn};
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::Value;

use crate::long_work::{self, LONG_TEXT_BYTES};
use crate::search::Filter;
use crate::timeseries::{MAX_READ, PointScroll, TimeseriesRow, matches, values};
use crate::{Catalog, Error, PointRange};

/// The most groups of one table, and the bytes of their values.
const MAX_ROWS: usize = 10_000;
const MAX_TABLE_BYTES: usize = 16 * 1024 * 1024;
const PAGE_POINTS: usize = 1000;
const PAGE_BYTES: u64 = 8 * 1024 * 1024;
/// What a table has where a point has no value, as in DataHub.
const MISSING: &str = "NULL";

/// Which points to read, and what to compute of them.
#[derive(Debug)]
pub struct StatsQuery {
    pub entity_type: &'static str,
    pub aspect: AspectName,
    pub filter: Filter,
    pub metrics: Vec<Metric>,
    pub groups: Vec<Grouping>,
}

/// A value that is computed for each group.
#[derive(Debug)]
pub struct Metric {
    /// The path of the member.
    pub path: String,
    pub aggregation: Aggregation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregation {
    /// The value of the newest point that has one.
    Latest,
    Sum,
    /// The number of different values.
    Cardinality,
}

impl Aggregation {
    pub fn parse(name: &str) -> Result<Self, Error> {
        match name {
            "LATEST" => Ok(Self::Latest),
            "SUM" => Ok(Self::Sum),
            "CARDINALITY" => Ok(Self::Cardinality),
            other => Err(Error::invalid(format!(
                "there is no aggregation '{other}': use LATEST, SUM or CARDINALITY"
            ))),
        }
    }
}

/// What distinguishes groups: the values of a member, or the windows that its times are in.
#[derive(Debug)]
pub struct Grouping {
    /// The path of the member.
    pub path: String,
    pub window: Option<(Window, TimeZone)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl Window {
    pub fn parse(name: &str) -> Result<Self, Error> {
        match name {
            "MINUTE" => Ok(Self::Minute),
            "HOUR" => Ok(Self::Hour),
            "DAY" => Ok(Self::Day),
            "WEEK" => Ok(Self::Week),
            "MONTH" => Ok(Self::Month),
            "QUARTER" => Ok(Self::Quarter),
            "YEAR" => Ok(Self::Year),
            other => Err(Error::invalid(format!(
                "there is no unit '{other}': use MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER or YEAR"
            ))),
        }
    }

    /// When the window of a time begins. `None` for times that no calendar has.
    fn start(self, time_ms: EpochMillis, zone: &TimeZone) -> Option<EpochMillis> {
        const MINUTE_MS: EpochMillis = 60_000;
        let time = Timestamp::from_millisecond(time_ms).ok()?;
        let time = time.to_zoned(zone.clone());
        let day = |time: Zoned| time.start_of_day().ok();
        let month = |time: &Zoned, month: i8| day(time.with().month(month).day(1).build().ok()?);
        let start = match self {
            Self::Minute => return Some(time_ms - time_ms.rem_euclid(MINUTE_MS)),
            Self::Hour => {
                let hour = time.with().minute(0).second(0).subsec_nanosecond(0);
                hour.build().ok()?
            }
            Self::Day => day(time)?,
            Self::Week => {
                let since = time.weekday().since(Weekday::Monday);
                day(time.checked_sub(jiff::Span::new().days(since)).ok()?)?
            }
            Self::Month => month(&time, time.month())?,
            Self::Quarter => month(&time, (time.month() - 1) / 3 * 3 + 1)?,
            Self::Year => month(&time, 1)?,
        };
        Some(start.timestamp().as_millisecond())
    }
}

/// A row for each group, in the order of the values that distinguish them.
#[derive(Debug, PartialEq, Eq)]
pub struct StatsTable {
    pub column_names: Vec<String>,
    pub column_types: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

/// A value that distinguishes groups.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Time(EpochMillis),
    Text(String),
}

/// What is known of a metric of a group.
#[derive(Debug)]
enum State {
    Latest(Option<String>),
    Sum(Option<f64>),
    /// The hashes of the values.
    Cardinality(HashSet<u64>),
}

/// The groups so far, with the bytes that they take.
#[derive(Debug, Default)]
struct Groups {
    states: BTreeMap<Vec<Key>, Vec<State>>,
    bytes: usize,
    hasher: RandomState,
}

impl Catalog {
    /// A table of the points that the caller may see.
    pub async fn timeseries_stats(&self, query: &StatsQuery) -> Result<StatsTable, Error> {
        let mut groups = Groups::default();
        let mut scroll = PointScroll {
            entity_type: query.entity_type,
            aspect: query.aspect,
            range: PointRange::default(),
            after: None,
            count: PAGE_POINTS,
        };
        let mut read = 0;
        loop {
            let page = self.scroll_points(&scroll, PAGE_BYTES).await?;
            read += page.points.len();
            let bytes: usize = page.points.iter().map(|(_, it)| it.metadata.len()).sum();
            let add_all = || {
                let mut points = page.points.iter();
                points.try_for_each(|(urn, point)| query.add(urn, point, &mut groups))
            };
            long_work::run(bytes > LONG_TEXT_BYTES, add_all).await?;
            scroll.after = page.next;
            if scroll.after.is_none() {
                return Ok(query.table(groups));
            }
            if read >= MAX_READ {
                return Err(Error::too_large(format!(
                    "there are more than {MAX_READ} points of {}: read those of single entities",
                    query.aspect
                )));
            }
        }
    }
}

impl StatsQuery {
    fn add(&self, urn: &Urn, point: &TimeseriesRow, groups: &mut Groups) -> Result<(), Error> {
        let value: Value = serde_json::from_str(&point.metadata).unwrap_or_default();
        if !matches(&self.filter, urn, point, &value) {
            return Ok(());
        }
        let first = |path: &str| values(urn, point, &value, path).into_iter().next();
        let keys = self.groups.iter().map(|group| {
            let text = first(&group.path).unwrap_or_else(|| MISSING.to_owned());
            let start = group.window.as_ref().and_then(|(window, zone)| {
                let time = text.parse().ok()?;
                window.start(time, zone)
            });
            start.map_or(Key::Text(text), Key::Time)
        });
        let keys: Vec<Key> = keys.collect();
        let Groups {
            states,
            bytes,
            hasher,
        } = groups;
        let states = states.entry(keys).or_insert_with_key(|keys| {
            *bytes += keys.iter().map(Key::bytes).sum::<usize>();
            self.metrics.iter().map(State::of).collect()
        });
        for (metric, state) in self.metrics.iter().zip(states) {
            *bytes += state.add(values(urn, point, &value, &metric.path), hasher);
        }
        if groups.states.len() > MAX_ROWS || groups.bytes > MAX_TABLE_BYTES {
            return Err(Error::too_large(format!(
                "the table would have more than {MAX_ROWS} rows or {} MiB: filter more points out",
                MAX_TABLE_BYTES / 1024 / 1024
            )));
        }
        Ok(())
    }

    fn table(&self, groups: Groups) -> StatsTable {
        let mut table = StatsTable {
            column_names: Vec::new(),
            column_types: Vec::new(),
            rows: Vec::with_capacity(groups.states.len()),
        };
        for group in &self.groups {
            table.column_names.push(group.path.clone());
            let is_time = group.window.is_some();
            table
                .column_types
                .push(if is_time { "long" } else { "string" });
        }
        for Metric { path, aggregation } in &self.metrics {
            let (prefix, kind) = match aggregation {
                Aggregation::Latest => ("latest", "string"),
                Aggregation::Sum => ("sum", "double"),
                Aggregation::Cardinality => ("cardinality", "long"),
            };
            table.column_names.push(format!("{prefix}_{path}"));
            table.column_types.push(kind);
        }
        for (keys, states) in groups.states {
            let keys = keys.into_iter().map(|key| match key {
                Key::Time(time) => time.to_string(),
                Key::Text(text) => text,
            });
            let states = states.into_iter().map(State::text);
            table.rows.push(keys.chain(states).collect());
        }
        table
    }
}

impl Key {
    fn bytes(&self) -> usize {
        match self {
            Self::Time(_) => size_of::<EpochMillis>(),
            Self::Text(text) => text.len(),
        }
    }
}

impl State {
    fn of(metric: &Metric) -> Self {
        match metric.aggregation {
            Aggregation::Latest => Self::Latest(None),
            Aggregation::Sum => Self::Sum(None),
            Aggregation::Cardinality => Self::Cardinality(HashSet::new()),
        }
    }

    /// Adds the values of a point that is older than those before. Returns the bytes that are
    /// added.
    fn add(&mut self, found: Vec<String>, hasher: &RandomState) -> usize {
        match self {
            Self::Latest(latest) => {
                if latest.is_some() {
                    return 0;
                }
                *latest = found.into_iter().next();
                latest.as_ref().map_or(0, String::len)
            }
            Self::Sum(sum) => {
                let numbers = found.iter().filter_map(|text| text.parse::<f64>().ok());
                for number in numbers {
                    *sum = Some(sum.unwrap_or_default() + number);
                }
                0
            }
            Self::Cardinality(different) => {
                let before = different.len();
                different.extend(found.iter().map(|text| hasher.hash_one(text)));
                (different.len() - before) * size_of::<u64>()
            }
        }
    }

    fn text(self) -> String {
        match self {
            Self::Latest(latest) => latest.unwrap_or_else(|| MISSING.to_owned()),
            Self::Sum(sum) => sum.map_or_else(|| MISSING.to_owned(), |sum| sum.to_string()),
            Self::Cardinality(different) => different.len().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_begin_where_the_calendar_says() {
        // Wednesday, 2026-11-18 13:45:30.
        const TIME: EpochMillis = 1_795_009_530_123;
        for (name, expected) in [
            ("MINUTE", "2026-11-18T13:45:00Z"),
            ("HOUR", "2026-11-18T13:00:00Z"),
            ("DAY", "2026-11-18T00:00:00Z"),
            ("WEEK", "2026-11-16T00:00:00Z"),
            ("MONTH", "2026-11-01T00:00:00Z"),
            ("QUARTER", "2026-10-01T00:00:00Z"),
            ("YEAR", "2026-01-01T00:00:00Z"),
        ] {
            let start = Window::parse(name).unwrap().start(TIME, &TimeZone::UTC);
            let start = Timestamp::from_millisecond(start.unwrap()).unwrap();
            assert_eq!(start.to_string(), expected, "{name}");
        }
    }
}
