//! Statements on time series.

use docent_model::AspectName;
use docent_store::{AspectKey, PointKey, PointRange, PointSize, TimeseriesRow};
use tokio_postgres::Row;

use crate::error::EngineError;
use crate::pool::{Connections, Lease, Parameter};
use crate::read::{index_at, key_arrays};
use crate::runs::run_text;
use crate::values::{as_limit, count_at, urn_at};

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

/// The points of all entities behind a point, without their values.
pub(crate) const OF_ALL: &str = "SELECT urn, time_ms, id, \
     (octet_length(metadata) + coalesce(octet_length(systemmetadata), 0))::bigint \
     FROM timeseries WHERE aspect = $1 AND time_ms >= $2 \
     AND (time_ms, urn, md5(id)) < ($3, $4, md5($5)) \
     ORDER BY time_ms DESC, urn DESC, md5(id) DESC LIMIT $6";

/// Points by their keys.
pub(crate) const READ: &str = "SELECT k.ordinal, p.time_ms, p.id, p.metadata, p.systemmetadata \
     FROM unnest($1::text[], $2::bigint[], $3::text[]) WITH ORDINALITY AS k (urn, time_ms, id, ordinal) \
     CROSS JOIN LATERAL (SELECT t.time_ms, t.id, t.metadata, t.systemmetadata FROM timeseries t \
         WHERE t.urn = k.urn AND t.aspect = $4 AND t.time_ms = k.time_ms AND md5(t.id) = md5(k.id) LIMIT 1) AS p";

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

/// The points of all entities, newest first.
pub(crate) async fn list_all(
    connections: &Connections,
    aspect: AspectName,
    range: &PointRange,
    after: Option<&PointKey>,
    limit: usize,
) -> Result<Vec<PointSize>, EngineError> {
    let RangeParameters {
        from_ms,
        through_ms,
        ..
    } = RangeParameters::of(range);
    let end = through_ms.saturating_add(1);
    // No URN is empty, so this is before all points of the time behind the range.
    let (time_ms, urn, id) = match after.filter(|after| after.time_ms < end) {
        None => (end, "", ""),
        Some(after) => (after.time_ms, after.urn.as_str(), after.id.as_str()),
    };
    let (aspect, limit) = (aspect.as_str(), as_limit(limit));
    let rows = connections
        .query(OF_ALL, &[&aspect, &from_ms, &time_ms, &urn, &id, &limit])
        .await?;
    rows.iter()
        .map(|row| {
            Ok(PointSize {
                key: PointKey {
                    urn: urn_at(row, 0, "timeseries")?,
                    time_ms: row.try_get(1)?,
                    id: row.try_get(2)?,
                },
                bytes: count_at(row, 3)?,
            })
        })
        .collect()
}

/// Points by their keys.
pub(crate) async fn read(
    connections: &Connections,
    aspect: AspectName,
    keys: &[PointKey],
) -> Result<Vec<Option<TimeseriesRow>>, EngineError> {
    let mut points = vec![None; keys.len()];
    let urns: Vec<&str> = keys.iter().map(|key| key.urn.as_str()).collect();
    let times: Vec<i64> = keys.iter().map(|key| key.time_ms).collect();
    let ids: Vec<&str> = keys.iter().map(|key| key.id.as_str()).collect();
    let aspect = aspect.as_str();
    let rows = connections
        .query(READ, &[&urns, &times, &ids, &aspect])
        .await?;
    for row in &rows {
        points[index_at(row)?] = Some(point_at(row, 1)?);
    }
    Ok(points)
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
