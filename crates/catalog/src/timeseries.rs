//! Reads of time series: aspects whose values are events in time.
//!
//! A filter compares members of the points, by their path (`partitionSpec.partition`), or `urn` and
//! `runId`. It means the same as in a search, but points are read and compared one by one.
//!
//! A point has up to 16 MiB, so the sizes of points are read first. They decide how many are read
//! at once, and the memory for them is reserved before.

use std::cmp::Ordering;

use docent_model::searchable::strip_keyword_suffix;
use docent_model::{AspectName, EpochMillis, Registry, SystemMetadata, Urn};
use docent_store::{AspectKey, PointRange, PointSize};
use serde_json::Value;

use crate::limits::check_count;
use crate::long_work::{self, LONG_TEXT_BYTES};
use crate::search::{Criterion, Filter, Operator, Sort};
use crate::{Catalog, Error, LoadedBytes};

pub use docent_store::{PointKey, TimeseriesRow};

/// The most points of one result.
const MAX_POINTS: usize = 10_000;
/// The most points read for a filter or a sort order.
pub(crate) const MAX_READ: usize = 100_000;
/// How many points one call reads.
const CHUNK: usize = 1000;
/// The bytes that one call reads, unless a single point has more.
const CHUNK_BYTES: u64 = 8 * 1024 * 1024;
/// How many times the memory of its text a parsed point takes: short strings in a list take the
/// most.
const PARSED_FACTOR: u64 = 8;
/// The member that orders points.
pub(crate) const TIME: &str = "timestampMillis";

/// Which points of a time series to read.
#[derive(Debug)]
pub struct TimeseriesQuery {
    pub key: AspectKey,
    pub range: PointRange,
    pub filter: Filter,
    /// Newest first without one.
    pub sort: Option<Sort>,
    pub limit: usize,
}

/// Which points of the entities of a type to read, newest first.
#[derive(Debug)]
pub struct PointScroll {
    pub entity_type: &'static str,
    pub aspect: AspectName,
    pub range: PointRange,
    /// Continues behind this point.
    pub after: Option<PointKey>,
    pub count: usize,
}

/// A page of points of several entities, with the memory for them.
#[derive(Debug)]
pub struct PointPage {
    pub points: Vec<(Urn, TimeseriesRow)>,
    /// The last point, if there are others behind it.
    pub next: Option<PointKey>,
    _loaded: LoadedBytes,
}

/// Points, with the memory for them.
#[derive(Debug, Default)]
pub struct LoadedPoints {
    pub rows: Vec<TimeseriesRow>,
    pub(crate) loaded: LoadedBytes,
}

/// Points with parsed values, and the memory for them.
#[derive(Debug)]
pub struct ParsedPoints {
    pub points: Vec<ParsedPoint>,
    /// How many bytes they have as text.
    pub text_bytes: u64,
    _loaded: LoadedBytes,
}

/// A point with its parsed value.
#[derive(Debug)]
pub struct ParsedPoint {
    pub value: Value,
    /// When the point was reported.
    pub observed_ms: Option<EpochMillis>,
}

impl Catalog {
    /// Points of a time series, parsed. Fails if those of the result have more than `max_bytes`
    /// together.
    pub async fn parsed_timeseries(
        &self,
        query: &TimeseriesQuery,
        max_bytes: u64,
    ) -> Result<ParsedPoints, Error> {
        let LoadedPoints { rows, mut loaded } = self.timeseries(query, max_bytes).await?;
        let bytes = loaded.bytes();
        self.loaded_memory()
            .resize(&mut loaded, PARSED_FACTOR * bytes)
            .await?;
        let parse = || rows.iter().map(ParsedPoint::of).collect();
        Ok(ParsedPoints {
            points: long_work::run(bytes > LONG_TEXT_BYTES as u64, parse).await,
            text_bytes: bytes,
            _loaded: loaded,
        })
    }

    /// The time of the first point of a time series, if it has one.
    pub async fn timeseries_start(&self, key: &AspectKey) -> Result<Option<EpochMillis>, Error> {
        let oldest = TimeseriesQuery {
            key: key.clone(),
            range: PointRange::default(),
            filter: Filter::default(),
            sort: Some(Sort {
                field: TIME.to_owned(),
                descending: false,
            }),
            limit: 1,
        };
        let first = self.timeseries(&oldest, u64::MAX).await?;
        Ok(first.rows.first().map(|point| point.time_ms))
    }

    /// Calls `visit` with all points of a range, newest first, without keeping them.
    pub(crate) async fn visit_points(
        &self,
        key: &AspectKey,
        range: &PointRange,
        mut visit: impl FnMut(&Value),
    ) -> Result<(), Error> {
        let mut loaded = LoadedBytes::default();
        let mut start = 0;
        loop {
            let points = self.next_points(key, range, start, &mut loaded).await?;
            if points.is_empty() {
                return Ok(());
            }
            if start >= MAX_READ {
                return Err(Error::too_large(format!(
                    "there are more than {MAX_READ} points: choose a shorter range"
                )));
            }
            start += points.len();
            let bytes: u64 = points.iter().map(TimeseriesRow::value_bytes).sum();
            let visit_all = || {
                for point in &points {
                    visit(&ParsedPoint::of(point).value);
                }
            };
            long_work::run(bytes > LONG_TEXT_BYTES as u64, visit_all).await;
        }
    }

    /// Some of the points of a range from `start`, newest first, and memory to parse them.
    pub(crate) async fn next_points(
        &self,
        key: &AspectKey,
        range: &PointRange,
        start: usize,
        loaded: &mut LoadedBytes,
    ) -> Result<Vec<TimeseriesRow>, Error> {
        let sizes = self
            .reader()
            .timeseries_bytes(key, range, true, start, CHUNK)
            .await?;
        if sizes.is_empty() {
            return Ok(Vec::new());
        }
        let (count, bytes) = fitting(&sizes);
        let memory = self.loaded_memory();
        memory.resize(loaded, PARSED_FACTOR * bytes).await?;
        self.reader()
            .timeseries_list(key, range, true, start, count)
            .await
    }

    /// Points of the entities of a type. A page ends early if it would have more than `max_bytes`.
    pub async fn scroll_points(
        &self,
        scroll: &PointScroll,
        max_bytes: u64,
    ) -> Result<PointPage, Error> {
        let PointScroll { aspect, count, .. } = *scroll;
        check_series(aspect)?;
        check_count("count", count, MAX_POINTS)?;
        let (after, range) = (scroll.after.as_ref(), &scroll.range);
        let mut found = self
            .reader()
            .points_list(scroll.entity_type, aspect, range, after, count + 1)
            .await?;
        let mut bytes = 0_u64;
        let fits = |point: &&PointSize| {
            bytes += point.bytes;
            bytes <= max_bytes
        };
        // At least one, so that the next page makes progress.
        let fitting = found.iter().take_while(fits).count().clamp(1, count);
        let is_last = found.len() <= fitting;
        found.truncate(fitting);
        let mut loaded = LoadedBytes::default();
        let bytes = found.iter().map(|it| it.bytes).sum();
        self.loaded_memory().resize(&mut loaded, bytes).await?;
        let keys: Vec<PointKey> = found.into_iter().map(|it| it.key).collect();
        let rows = self.reader().points_read(aspect, &keys).await?;
        let next = keys.last().filter(|_| !is_last).cloned();
        let points = keys.into_iter().zip(rows);
        Ok(PointPage {
            // What was deleted meanwhile is missing.
            points: points
                .filter_map(|(key, row)| Some((key.urn, row?)))
                .collect(),
            next,
            _loaded: loaded,
        })
    }

    /// Points of a time series. Fails if those of the result have more than `max_bytes` together.
    pub async fn timeseries(
        &self,
        query: &TimeseriesQuery,
        max_bytes: u64,
    ) -> Result<LoadedPoints, Error> {
        let TimeseriesQuery { key, sort, .. } = query;
        check_series(key.aspect)?;
        if query.limit > MAX_POINTS {
            return Err(Error::invalid(format!(
                "limit is {}: one result has at most {MAX_POINTS} points, use a start and an end time for more",
                query.limit
            )));
        }
        check(&query.filter)?;
        let by_time = sort.as_ref().is_none_or(|sort| sort.field == TIME);
        let newest_first = !by_time || sort.as_ref().is_none_or(|sort| sort.descending);
        let enough = if by_time { query.limit } else { MAX_READ };
        let sort = sort.as_ref().filter(|_| !by_time);
        // Sorting takes time, so it is not done for every chunk.
        let many = 2 * query.limit.max(CHUNK);
        let mut found = LoadedPoints::default();
        let mut start = 0;
        while found.rows.len() < enough && start < MAX_READ {
            // Without a filter, the limit is enough.
            let chunk = if query.filter.any.is_empty() {
                enough.min(CHUNK)
            } else {
                CHUNK
            };
            let sizes = self
                .reader()
                .timeseries_bytes(key, &query.range, newest_first, start, chunk)
                .await?;
            let is_last = sizes.len() < chunk;
            let mut sizes = &sizes[..];
            while !sizes.is_empty() && found.rows.len() < enough {
                let (count, bytes) = fitting(sizes);
                let loaded = found.loaded.bytes().saturating_add(bytes);
                self.loaded_memory()
                    .resize(&mut found.loaded, loaded)
                    .await?;
                let points = self
                    .reader()
                    .timeseries_list(key, &query.range, newest_first, start, count)
                    .await?;
                start += count;
                sizes = &sizes[count..];
                let matching = points.into_iter().filter(|point| query.matches(point));
                found.rows.extend(matching);
                if found.bytes() > max_bytes || found.rows.len() > many {
                    found.cut(query.limit, sort);
                }
                let kept = found.bytes();
                if kept > max_bytes {
                    return Err(Error::too_large(format!(
                        "the points have more than {} MiB: use a lower limit, or a start and an end time",
                        max_bytes / 1024 / 1024
                    )));
                }
                self.loaded_memory().resize(&mut found.loaded, kept).await?;
            }
            if is_last {
                break;
            }
        }
        found.cut(query.limit, sort);
        Ok(found)
    }
}

/// How many of the next points to read at once, and their bytes.
fn fitting(sizes: &[u64]) -> (usize, u64) {
    let mut bytes = 0;
    let mut count = 0;
    for size in sizes {
        if count > 0 && bytes + size > CHUNK_BYTES {
            break;
        }
        bytes += size;
        count += 1;
    }
    (count, bytes)
}

impl LoadedPoints {
    fn bytes(&self) -> u64 {
        self.rows.iter().map(TimeseriesRow::value_bytes).sum()
    }

    /// Removes the points after the limit. They come in the order of time, and equal ones stay in
    /// it.
    fn cut(&mut self, limit: usize, sort: Option<&Sort>) {
        if let Some(sort) = sort {
            self.rows
                .sort_by_cached_key(|point| SortKey::of(point, sort));
        }
        self.rows.truncate(limit);
    }
}

impl ParsedPoint {
    /// A value that is not JSON, which only damage explains, is null.
    fn of(point: &TimeseriesRow) -> Self {
        Self {
            value: serde_json::from_str(&point.metadata).unwrap_or_default(),
            observed_ms: system_metadata(point).map(|metadata| metadata.last_observed),
        }
    }
}

pub(crate) fn check_series(aspect: AspectName) -> Result<(), Error> {
    if Registry::get().is_timeseries(aspect) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{aspect} is not a time series: read its latest version instead"
    )))
}

/// Filters along hierarchies are for entities.
pub(crate) fn check(filter: &Filter) -> Result<(), Error> {
    let hierarchy = |criterion: &&Criterion| {
        matches!(
            criterion.operator,
            Operator::DescendantsIncluded
                | Operator::AncestorsIncluded
                | Operator::RelatedIncluded
                | Operator::InTree
                | Operator::InTreeOfPrefix
        )
    };
    match filter.any.iter().flatten().find(hierarchy) {
        None => Ok(()),
        Some(criterion) => Err(Error::invalid(format!(
            "time series cannot be filtered along a hierarchy: use another condition on {}",
            criterion.field
        ))),
    }
}

impl TimeseriesQuery {
    fn matches(&self, point: &TimeseriesRow) -> bool {
        if self.filter.any.is_empty() {
            return true;
        }
        let value = serde_json::from_str(&point.metadata).unwrap_or_default();
        matches(&self.filter, &self.key.urn, point, &value)
    }
}

/// Whether a point of an entity, with its parsed value, meets a filter.
pub(crate) fn matches(filter: &Filter, urn: &Urn, point: &TimeseriesRow, value: &Value) -> bool {
    let holds = |criterion: &Criterion| {
        let found = values(urn, point, value, &criterion.field);
        criterion_holds(criterion, &found) != criterion.negated
    };
    let mut any = filter.any.iter();
    filter.any.is_empty() || any.any(|alternative| alternative.iter().all(holds))
}

/// The values of a point at a path, as texts.
pub(crate) fn values(urn: &Urn, point: &TimeseriesRow, value: &Value, field: &str) -> Vec<String> {
    match strip_keyword_suffix(field) {
        "urn" => vec![urn.to_string()],
        "runId" => system_metadata(point)
            .map(|metadata| metadata.run_id)
            .into_iter()
            .collect(),
        path => {
            let mut found = Vec::new();
            collect(value, path, &mut found);
            found
        }
    }
}

fn system_metadata(point: &TimeseriesRow) -> Option<SystemMetadata> {
    serde_json::from_str(point.system_metadata.as_deref()?).ok()
}

fn collect(value: &Value, path: &str, found: &mut Vec<String>) {
    if let Value::Array(items) = value {
        for item in items {
            collect(item, path, found);
        }
        return;
    }
    if path.is_empty() {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Bool(_) | Value::Number(_) => found.push(value.to_string()),
            Value::Null | Value::Array(_) => {}
            // The value exists, although it cannot be compared.
            Value::Object(_) => found.push(String::new()),
        }
        return;
    }
    let (member, rest) = path.split_once('.').unwrap_or((path, ""));
    if let Some(inner) = value.get(member) {
        collect(inner, rest, found);
    }
}

fn criterion_holds(criterion: &Criterion, found: &[String]) -> bool {
    let any = |compare: &dyn Fn(&str, &str) -> bool| {
        found.iter().any(|value| {
            criterion
                .values
                .iter()
                .any(|expected| compare(value, expected))
        })
    };
    let ordered = |accept: fn(Ordering) -> bool| {
        any(&|value, expected| compare(value, expected).is_some_and(accept))
    };
    match criterion.operator {
        Operator::Equal => any(&|value, expected| value == expected),
        Operator::EqualIgnoringCase => {
            any(&|value, expected| value.to_lowercase() == expected.to_lowercase())
        }
        Operator::Contains => any(&|value, expected| value.contains(expected)),
        Operator::StartsWith | Operator::Prefix => {
            any(&|value, expected| value.starts_with(expected))
        }
        Operator::EndsWith => any(&|value, expected| value.ends_with(expected)),
        Operator::Exists => !found.is_empty(),
        Operator::Greater => ordered(Ordering::is_gt),
        Operator::GreaterOrEqual => ordered(Ordering::is_ge),
        Operator::Less => ordered(Ordering::is_lt),
        Operator::LessOrEqual => ordered(Ordering::is_le),
        Operator::DescendantsIncluded
        | Operator::AncestorsIncluded
        | Operator::RelatedIncluded
        | Operator::InTree
        | Operator::InTreeOfPrefix => false,
    }
}

/// Compares numbers; other texts are neither larger nor smaller.
fn compare(value: &str, expected: &str) -> Option<Ordering> {
    match (value.parse::<i64>(), expected.parse::<i64>()) {
        (Ok(value), Ok(expected)) => Some(value.cmp(&expected)),
        _ => value
            .parse::<f64>()
            .ok()?
            .partial_cmp(&expected.parse().ok()?),
    }
}

/// The sort key of a point for orders other than time: numbers before texts, missing values last.
#[derive(Debug)]
struct SortKey {
    missing: bool,
    number: f64,
    text: String,
    descending: bool,
}

impl SortKey {
    fn of(point: &TimeseriesRow, sort: &Sort) -> Self {
        let value: Value = serde_json::from_str(&point.metadata).unwrap_or_default();
        let mut found = Vec::new();
        collect(&value, &sort.field, &mut found);
        let text = found.into_iter().next();
        Self {
            missing: text.is_none(),
            number: text
                .as_deref()
                .and_then(|text| text.parse().ok())
                .unwrap_or(f64::INFINITY),
            text: text.unwrap_or_default(),
            descending: sort.descending,
        }
    }
}

impl Ord for SortKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.number.total_cmp(&other.number);
        let order = order.then_with(|| self.text.cmp(&other.text));
        self.missing.cmp(&other.missing).then(if self.descending {
            order.reverse()
        } else {
            order
        })
    }
}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SortKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SortKey {}
