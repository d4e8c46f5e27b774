//! Aggregates points of time series, of all entities of a type.
//!
//! Points are grouped by their members and by windows of time. Each group is a row, with the values
//! of its metrics. Points are read one by one, newest first, and not kept.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use docent_model::searchable::strip_keyword_suffix;
use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::AspectKey;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::Value;

use crate::long_work::{self, LONG_TEXT_BYTES};
use crate::search::{Criterion, Filter, Operator};
use crate::timeseries::{
    MAX_READ, PointScroll, TIME, TimeseriesRow, check, check_series, matches, values,
};
use crate::{Catalog, Error, LoadedBytes, PointRange};

const MAX_METRICS: usize = 50;
const MAX_GROUPINGS: usize = 10;

/// The most groups of one table, and the bytes of their values.
const MAX_ROWS: usize = 10_000;
const MAX_TABLE_BYTES: usize = 16 * 1024 * 1024;
const PAGE_POINTS: usize = 1000;
const PAGE_BYTES: u64 = 8 * 1024 * 1024;
/// What a table has for a metric without values, as in DataHub.
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

/// A value that distinguishes groups. Numbers come in their order, before other texts.
#[derive(Debug)]
struct Key {
    /// Infinite for other texts.
    number: f64,
    text: String,
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
        self.stats_within(query, MAX_READ).await
    }

    async fn stats_within(&self, query: &StatsQuery, max_read: usize) -> Result<StatsTable, Error> {
        query.check()?;
        let Some(scope) = Scope::of(query) else {
            return Ok(query.table(Groups::default()));
        };
        let mut groups = Groups::default();
        let mut read = 0;
        if let Some(urn) = scope.urn {
            let key = AspectKey::new(&urn, query.aspect);
            let mut loaded = LoadedBytes::default();
            loop {
                let points = self.next_points(&key, &scope.range, read, &mut loaded);
                let points = points.await?;
                if points.is_empty() {
                    return Ok(query.table(groups));
                }
                if read >= max_read {
                    return Err(query.too_many(max_read));
                }
                read += points.len();
                let points = points.iter().map(|point| (&urn, point));
                query.add_all(points, &mut groups).await?;
            }
        }
        let mut scroll = PointScroll {
            entity_type: query.entity_type,
            aspect: query.aspect,
            range: scope.range,
            after: None,
            count: PAGE_POINTS.min(max_read),
        };
        loop {
            let page = self.scroll_points(&scroll, PAGE_BYTES).await?;
            read += page.points.len();
            let points = page.points.iter().map(|(urn, point)| (urn, point));
            query.add_all(points, &mut groups).await?;
            scroll.after = page.next;
            if scroll.after.is_none() {
                return Ok(query.table(groups));
            }
            if read >= max_read {
                return Err(query.too_many(max_read));
            }
        }
    }
}

/// The points that can meet a filter, by what the store can look up.
struct Scope {
    /// Of this entity alone.
    urn: Option<Urn>,
    range: PointRange,
}

impl Scope {
    /// `None` if no point can.
    fn of(query: &StatsQuery) -> Option<Self> {
        let mut scope = Self {
            urn: None,
            range: PointRange::default(),
        };
        let [conditions] = query.filter.any.as_slice() else {
            return Some(scope);
        };
        for condition in conditions.iter().filter(|condition| !condition.negated) {
            match strip_keyword_suffix(&condition.field) {
                "urn" => {
                    if let (Operator::Equal, [urn]) =
                        (condition.operator, condition.values.as_slice())
                    {
                        let urn = Registry::get().parse_urn(urn).ok();
                        let urn = urn.filter(|urn| urn.entity_type() == query.entity_type)?;
                        scope.urn = Some(urn);
                    }
                }
                TIME => scope.narrow(condition),
                _ => {}
            }
        }
        Some(scope)
    }

    fn narrow(&mut self, condition: &Criterion) {
        let times = condition.values.iter().map(|value| value.parse());
        // Conditions with other texts are left to the filter.
        let Ok(times) = times.collect::<Result<Vec<EpochMillis>, _>>() else {
            return;
        };
        let (Some(&first), Some(&last)) = (times.iter().min(), times.iter().max()) else {
            return;
        };
        let range = &mut self.range;
        let (from, through) = match condition.operator {
            Operator::Equal => (Some(first), Some(last)),
            Operator::Greater => (Some(first.saturating_add(1)), None),
            Operator::GreaterOrEqual => (Some(first), None),
            Operator::Less => (None, Some(last.saturating_sub(1))),
            Operator::LessOrEqual => (None, Some(last)),
            _ => (None, None),
        };
        range.from_ms = range.from_ms.max(from);
        range.through_ms = range.through_ms.into_iter().chain(through).min();
    }
}

impl StatsQuery {
    fn check(&self) -> Result<(), Error> {
        for (name, count, most) in [
            ("metrics", self.metrics.len(), MAX_METRICS),
            ("buckets", self.groups.len(), MAX_GROUPINGS),
        ] {
            if count > most {
                return Err(Error::invalid(format!(
                    "a request may have at most {most} {name}, and this one has {count}"
                )));
            }
        }
        check_series(self.aspect)?;
        check(&self.filter)
    }

    fn too_many(&self, max_read: usize) -> Error {
        Error::too_large(format!(
            "there are more than {max_read} points of {}: filter by {TIME}, or by one urn",
            self.aspect
        ))
    }

    /// How often the text of a point is gone through.
    fn passes(&self) -> usize {
        let conditions = self.filter.any.iter().flatten();
        let compared: usize = conditions.map(|it| it.values.len().max(1)).sum();
        1 + self.metrics.len() + self.groups.len() + compared
    }

    async fn add_all<'p>(
        &self,
        points: impl Iterator<Item = (&'p Urn, &'p TimeseriesRow)> + Clone,
        groups: &mut Groups,
    ) -> Result<(), Error> {
        let bytes: usize = points.clone().map(|(_, it)| it.metadata.len()).sum();
        let is_long = bytes.saturating_mul(self.passes()) > LONG_TEXT_BYTES;
        let mut points = points;
        let add_all = || points.try_for_each(|(urn, point)| self.add(urn, point, groups));
        long_work::run(is_long, add_all).await
    }

    fn add(&self, urn: &Urn, point: &TimeseriesRow, groups: &mut Groups) -> Result<(), Error> {
        let value: Value = serde_json::from_str(&point.metadata).unwrap_or_default();
        if !matches(&self.filter, urn, point, &value) {
            return Ok(());
        }
        let keys = self.groups.iter().map(|group| {
            let text = values(urn, point, &value, &group.path).into_iter().next()?;
            match &group.window {
                Some((window, zone)) => {
                    let start = window.start(text.parse().ok()?, zone)?;
                    Some(Key::of(start.to_string()))
                }
                None => Some(Key::of(text)),
            }
        });
        let Some(keys) = keys.collect::<Option<Vec<Key>>>() else {
            return Ok(());
        };
        if !groups.states.contains_key(&keys) {
            groups.start(keys.iter().map(Key::bytes).sum(), self.metrics.len())?;
        }
        let states = groups.states.entry(keys);
        let states = states.or_insert_with(|| self.metrics.iter().map(State::of).collect());
        for (metric, state) in self.metrics.iter().zip(states) {
            groups.bytes += state.add(values(urn, point, &value, &metric.path), &groups.hasher);
            check_table(groups.bytes <= MAX_TABLE_BYTES)?;
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
            let keys = keys.into_iter().map(|key| key.text);
            let states = states.into_iter().map(State::text);
            table.rows.push(keys.chain(states).collect());
        }
        table
    }
}

impl Groups {
    /// Counts the bytes of another group, before it takes them.
    fn start(&mut self, key_bytes: usize, metrics: usize) -> Result<(), Error> {
        self.bytes += size_of::<(Vec<Key>, Vec<State>)>() + key_bytes;
        self.bytes += metrics * size_of::<State>();
        check_table(self.states.len() < MAX_ROWS && self.bytes <= MAX_TABLE_BYTES)
    }
}

fn check_table(fits: bool) -> Result<(), Error> {
    if fits {
        return Ok(());
    }
    Err(Error::too_large(format!(
        "the table would have more than {MAX_ROWS} rows or {} MiB: filter more points out",
        MAX_TABLE_BYTES / 1024 / 1024
    )))
}

impl Key {
    fn of(text: String) -> Self {
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        Self {
            number: number.unwrap_or(f64::INFINITY),
            text,
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.text.len()
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.number.total_cmp(&other.number);
        order.then_with(|| self.text.cmp(&other.text))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

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
                let before = different.capacity();
                different.extend(found.iter().map(|text| hasher.hash_one(text)));
                // A table of hashes has a byte more for each place.
                (different.capacity() - before) * (size_of::<u64>() + 1)
            }
        }
    }

    fn text(self) -> String {
        match self {
            Self::Latest(latest) => latest.unwrap_or_else(|| MISSING.to_owned()),
            Self::Sum(sum) => sum.map_or_else(|| MISSING.to_owned(), number),
            Self::Cardinality(different) => different.len().to_string(),
        }
    }
}

/// Without hundreds of zeros.
fn number(number: f64) -> String {
    let is_plain = number == 0.0 || (1e-6..1e16).contains(&number.abs());
    if is_plain {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}

#[cfg(test)]
mod tests;
