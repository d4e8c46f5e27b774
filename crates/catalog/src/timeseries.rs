//! Reading time series: aspects whose values are events in time.
//!
//! A filter compares members of the points, by their path (`partitionSpec.partition`), or `urn` and `runId`. What it
//! means is the same as in a search; only that points are read and looked at one after the other.

use std::cmp::Ordering;

use docent_model::searchable::strip_keyword_suffix;
use docent_model::{Registry, SystemMetadata};
use docent_store::{AspectKey, PointRange};
use serde_json::Value;

use crate::search::{Criterion, Filter, Operator, Sort};
use crate::{Caller, Catalog, Error};

pub use docent_store::TimeseriesRow;

/// How many points one answer has at most.
const MAX_POINTS: usize = 10_000;
/// How many points are looked at for those that a filter wants, or that are to be sorted.
const MAX_LOOKED_AT: usize = 100_000;
/// How many are read in one go.
const CHUNK: usize = 1000;
/// What points are ordered by.
const TIME: &str = "timestampMillis";

/// Which points of a time series are wanted.
#[derive(Debug)]
pub struct Wanted {
    pub key: AspectKey,
    pub range: PointRange,
    pub filter: Filter,
    /// Newest first if there is none.
    pub sort: Option<Sort>,
    pub limit: usize,
}

impl Catalog {
    /// Points of a time series.
    pub async fn timeseries(
        &self,
        _caller: &Caller,
        wanted: &Wanted,
    ) -> Result<Vec<TimeseriesRow>, Error> {
        let Wanted { key, sort, .. } = wanted;
        if !Registry::get().is_timeseries(key.aspect) {
            return Err(Error::invalid(format!(
                "{} is no time series: read it with GET /aspects/{{urn}}?aspect={}&version=0",
                key.aspect, key.aspect
            )));
        }
        if wanted.limit > MAX_POINTS {
            return Err(Error::invalid(format!(
                "limit is {}: at most {MAX_POINTS} points are given at once, use startTimeMillis and endTimeMillis for \
                 more",
                wanted.limit
            )));
        }
        check(&wanted.filter)?;
        let by_time = sort.as_ref().is_none_or(|sort| sort.field == TIME);
        let newest_first = !by_time || sort.as_ref().is_none_or(|sort| sort.descending);
        let enough = if by_time { wanted.limit } else { MAX_LOOKED_AT };
        let mut found = Vec::new();
        let mut start = 0;
        while found.len() < enough && start < MAX_LOOKED_AT {
            // Without a filter no more than the limit has to be read.
            let chunk = if wanted.filter.any.is_empty() {
                enough.min(CHUNK)
            } else {
                CHUNK
            };
            let points = self
                .store()
                .timeseries_list(key, &wanted.range, newest_first, start, chunk)
                .await?;
            start += points.len();
            let last = points.len() < chunk;
            found.extend(points.into_iter().filter(|point| wanted.holds(point)));
            if last {
                break;
            }
        }
        if let Some(sort) = sort.as_ref().filter(|_| !by_time) {
            found.sort_by_cached_key(|point| SortKey::of(point, sort));
        }
        found.truncate(wanted.limit);
        Ok(found)
    }
}

/// Conditions along hierarchies are for entities.
fn check(filter: &Filter) -> Result<(), Error> {
    let hierarchy = |criterion: &&Criterion| {
        matches!(
            criterion.operator,
            Operator::DescendantsIncluded | Operator::AncestorsIncluded | Operator::RelatedIncluded
        )
    };
    match filter.any.iter().flatten().find(hierarchy) {
        None => Ok(()),
        Some(criterion) => Err(Error::invalid(format!(
            "points of a time series cannot be filtered along a hierarchy: use another condition on {}",
            criterion.field
        ))),
    }
}

impl Wanted {
    fn holds(&self, point: &TimeseriesRow) -> bool {
        if self.filter.any.is_empty() {
            return true;
        }
        let value: Value = serde_json::from_str(&point.metadata).unwrap_or_default();
        let holds = |criterion: &Criterion| {
            let found = self.values(&value, point, &criterion.field);
            criterion_holds(criterion, &found) != criterion.negated
        };
        let mut any = self.filter.any.iter();
        any.any(|alternative| alternative.iter().all(holds))
    }

    /// What a point has at a path, as text.
    fn values(&self, value: &Value, point: &TimeseriesRow, field: &str) -> Vec<String> {
        match strip_keyword_suffix(field) {
            "urn" => vec![self.key.urn.to_string()],
            "runId" => noted(point).map(|noted| noted.run_id).into_iter().collect(),
            path => {
                let mut found = Vec::new();
                collect(value, path, &mut found);
                found
            }
        }
    }
}

fn noted(point: &TimeseriesRow) -> Option<SystemMetadata> {
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
            // There is something, though nothing that could be compared.
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
        found
            .iter()
            .any(|value| criterion.values.iter().any(|wanted| compare(value, wanted)))
    };
    let ordered = |accept: fn(Ordering) -> bool| {
        any(&|value, wanted| compare(value, wanted).is_some_and(accept))
    };
    match criterion.operator {
        Operator::Equal => any(&|value, wanted| value == wanted),
        Operator::EqualIgnoringCase => {
            any(&|value, wanted| value.to_lowercase() == wanted.to_lowercase())
        }
        Operator::Contains => any(&|value, wanted| value.contains(wanted)),
        Operator::StartsWith => any(&|value, wanted| value.starts_with(wanted)),
        Operator::EndsWith => any(&|value, wanted| value.ends_with(wanted)),
        Operator::Exists => !found.is_empty(),
        Operator::Greater => ordered(Ordering::is_gt),
        Operator::GreaterOrEqual => ordered(Ordering::is_ge),
        Operator::Less => ordered(Ordering::is_lt),
        Operator::LessOrEqual => ordered(Ordering::is_le),
        Operator::DescendantsIncluded | Operator::AncestorsIncluded | Operator::RelatedIncluded => {
            false
        }
    }
}

/// Numbers by their size; what is no number cannot be larger or smaller than one.
fn compare(value: &str, wanted: &str) -> Option<Ordering> {
    match (value.parse::<i64>(), wanted.parse::<i64>()) {
        (Ok(value), Ok(wanted)) => Some(value.cmp(&wanted)),
        _ => value
            .parse::<f64>()
            .ok()?
            .partial_cmp(&wanted.parse().ok()?),
    }
}

/// Where a point stands in an order that is not that of time: numbers before texts, and those that have nothing last.
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
