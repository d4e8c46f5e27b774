//! Statements on time series.

use docent_store::{AspectKey, PointRange, TimeseriesRow};
use tokio_postgres::Row;

use crate::error::EngineError;
use crate::pool::{Connections, Lease, Parameter};
use crate::read::{index_at, key_arrays};
use crate::runs::run_text;
use crate::values::{as_limit, count_at};

/// The points in the range given by the first five parameters.
macro_rules! in_range {
    () => {
        "FROM timeseries WHERE urn = $1 AND aspect = $2 AND time_ms >= $3 AND time_ms <= $4 \
         AND ($5::text IS NULL OR docent_run(systemmetadata) = $5)"
    };
}

macro_rules! list {
    ($columns:literal, $order:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " ",
            in_range!(),
            " ORDER BY time_ms ",
            $order,
            ", id ",
            $order,
            " LIMIT $6 OFFSET $7"
        )
    };
}

pub(crate) const NEWEST_FIRST: &str = list!("time_ms, id, metadata, systemmetadata", "DESC");
pub(crate) const OLDEST_FIRST: &str = list!("time_ms, id, metadata, systemmetadata", "ASC");

macro_rules! bytes {
    ($order:literal) => {
        list!(
            "(octet_length(metadata) + coalesce(octet_length(systemmetadata), 0))::bigint",
            $order
        )
    };
}

pub(crate) const BYTES_NEWEST_FIRST: &str = bytes!("DESC");
pub(crate) const BYTES_OLDEST_FIRST: &str = bytes!("ASC");
pub(crate) const COUNT: &str = concat!("SELECT count(*) ", in_range!());
pub(crate) const DELETE: &str = concat!("DELETE ", in_range!());

/// The newest point of each time series.
pub(crate) const LATEST: &str = "SELECT k.ordinal, p.time_ms, p.id, p.metadata, p.systemmetadata \
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (urn, aspect, ordinal) \
     CROSS JOIN LATERAL (SELECT t.time_ms, t.id, t.metadata, t.systemmetadata FROM timeseries t \
         WHERE t.urn = k.urn AND t.aspect = k.aspect ORDER BY t.time_ms DESC, t.id DESC LIMIT 1) AS p";

struct RangeParameters {
    from_ms: i64,
    through_ms: i64,
    run: Option<String>,
}

impl RangeParameters {
    fn of(range: &PointRange) -> Self {
        Self {
            from_ms: range.from_ms.unwrap_or(i64::MIN),
            through_ms: range.through_ms.unwrap_or(i64::MAX),
            run: range.run.as_deref().map(run_text),
        }
    }
}

pub(crate) async fn list(
    connections: &Connections,
    key: &AspectKey,
    range: &PointRange,
    newest_first: bool,
    start: usize,
    limit: usize,
) -> Result<Vec<TimeseriesRow>, EngineError> {
    let sql = if newest_first {
        NEWEST_FIRST
    } else {
        OLDEST_FIRST
    };
    let rows = page(connections, sql, key, range, start, limit).await?;
    rows.iter().map(|row| point_at(row, 0)).collect()
}

/// How many bytes each of these points has.
pub(crate) async fn bytes(
    connections: &Connections,
    key: &AspectKey,
    range: &PointRange,
    newest_first: bool,
    start: usize,
    limit: usize,
) -> Result<Vec<u64>, EngineError> {
    let sql = if newest_first {
        BYTES_NEWEST_FIRST
    } else {
        BYTES_OLDEST_FIRST
    };
    let rows = page(connections, sql, key, range, start, limit).await?;
    rows.iter().map(|row| count_at(row, 0)).collect()
}

/// The rows of a statement that lists points.
async fn page(
    connections: &Connections,
    sql: &'static str,
    key: &AspectKey,
    range: &PointRange,
    start: usize,
    limit: usize,
) -> Result<Vec<Row>, EngineError> {
    let bounds = RangeParameters::of(range);
    let (urn, aspect) = (key.urn.as_str(), key.aspect.as_str());
    let (limit, start) = (as_limit(limit), as_limit(start));
    connections
        .query(
            sql,
            &[
                &urn,
                &aspect,
                &bounds.from_ms,
                &bounds.through_ms,
                &bounds.run,
                &limit,
                &start,
            ],
        )
        .await
}

/// The newest point of each time series.
pub(crate) async fn latest(
    connections: &Connections,
    keys: &[AspectKey],
) -> Result<Vec<Option<TimeseriesRow>>, EngineError> {
    let mut latest = vec![None; keys.len()];
    if keys.is_empty() {
        return Ok(latest);
    }
    let (urns, aspects) = key_arrays(keys.iter());
    for row in &connections.query(LATEST, &[&urns, &aspects]).await? {
        latest[index_at(row)?] = Some(point_at(row, 1)?);
    }
    Ok(latest)
}

/// Reads four columns, the time first.
fn point_at(row: &Row, first: usize) -> Result<TimeseriesRow, EngineError> {
    Ok(TimeseriesRow {
        time_ms: row.try_get(first)?,
        id: row.try_get(first + 1)?,
        metadata: row.try_get(first + 2)?,
        system_metadata: row.try_get(first + 3)?,
    })
}

pub(crate) async fn count(
    lease: &Lease,
    key: &AspectKey,
    range: &PointRange,
) -> Result<u64, EngineError> {
    let bounds = RangeParameters::of(range);
    let rows = lease
        .query(
            COUNT,
            &[
                &key.urn.as_str(),
                &key.aspect.as_str(),
                &bounds.from_ms,
                &bounds.through_ms,
                &bounds.run,
            ],
        )
        .await?;
    rows.first().map_or(Ok(0), |row| count_at(row, 0))
}

/// The parameters of [`DELETE`].
pub(crate) fn parameters(key: &AspectKey, range: &PointRange) -> Vec<Parameter> {
    let bounds = RangeParameters::of(range);
    vec![
        Box::new(key.urn.to_string()),
        Box::new(key.aspect.as_str()),
        Box::new(bounds.from_ms),
        Box::new(bounds.through_ms),
        Box::new(bounds.run),
    ]
}
