//! The statements about time series points.

use docent_store::{AspectKey, PointRange, TimeseriesRow};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};

use crate::byte_limit::ByteLimit;
use crate::error::EngineError;
use crate::read::{as_limit, count_at, text_at};
use crate::runs::is_of_run;

const TABLE: &str = "timeseries";

/// The condition for the points in a range, and its parameters.
fn condition(key: &AspectKey, range: &PointRange) -> (String, Vec<Value>) {
    let mut sql = "urn=? AND aspect=?".to_owned();
    let mut parameters = vec![
        Value::from(key.urn.to_string()),
        Value::from(key.aspect.as_str().to_owned()),
    ];
    let times = [
        (" AND time_ms>=?", range.from_ms),
        (" AND time_ms<=?", range.through_ms),
    ];
    for (text, time) in times {
        if let Some(time) = time {
            sql.push_str(text);
            parameters.push(Value::from(time));
        }
    }
    if let Some(run) = &range.run {
        sql.push_str(" AND ");
        sql.push_str(&is_of_run());
        parameters.push(Value::from(run.clone()));
    }
    (sql, parameters)
}

pub(crate) fn list(
    connection: &Connection,
    key: &AspectKey,
    range: &PointRange,
    newest_first: bool,
    start: usize,
    limit: usize,
    bytes: &mut ByteLimit,
) -> Result<Vec<TimeseriesRow>, EngineError> {
    let (condition, parameters) = condition(key, range);
    let order = if newest_first { "DESC" } else { "ASC" };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT time_ms,id,\
         CASE WHEN octet_length(metadata)+ifnull(octet_length(systemmetadata),0)<=? \
         THEN metadata END,\
         CASE WHEN octet_length(systemmetadata)<=? THEN systemmetadata END \
         FROM timeseries WHERE {condition} \
         ORDER BY time_ms {order}, id {order} LIMIT ? OFFSET ?"
    ))?;
    let longest = [bytes.parameter(); 2].map(Value::from);
    let page = [as_limit(limit), as_limit(start)].map(Value::from);
    let parameters = longest.into_iter().chain(parameters).chain(page);
    let urn = key.urn.as_str();
    let mut rows = statement.query(params_from_iter(parameters))?;
    let mut points = Vec::new();
    while !bytes.is_exceeded()
        && let Some(row) = rows.next()?
    {
        if bytes.is_short() && row.get_ref(2)? == ValueRef::Null {
            bytes.exceed();
            break;
        }
        let point = TimeseriesRow {
            time_ms: row.get(0)?,
            id: text_at(row, 1, TABLE, "id", urn)?.to_owned(),
            metadata: text_at(row, 2, TABLE, "metadata", urn)?.to_owned(),
            system_metadata: row.get(3)?,
        };
        bytes.count(point.value_bytes());
        points.push(point);
    }
    Ok(points)
}

/// How many bytes each of these points has. Reads no value.
pub(crate) fn bytes(
    connection: &Connection,
    key: &AspectKey,
    range: &PointRange,
    newest_first: bool,
    start: usize,
    limit: usize,
) -> Result<Vec<u64>, EngineError> {
    let (condition, mut parameters) = condition(key, range);
    let order = if newest_first { "DESC" } else { "ASC" };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT octet_length(metadata)+coalesce(octet_length(systemmetadata),0) FROM timeseries \
         WHERE {condition} ORDER BY time_ms {order}, id {order} LIMIT ? OFFSET ?"
    ))?;
    parameters.extend([as_limit(limit), as_limit(start)].map(Value::from));
    let rows = statement.query_map(params_from_iter(parameters), count_at)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The newest point of each series.
pub(crate) fn latest(
    connection: &Connection,
    keys: &[AspectKey],
    bytes: &mut ByteLimit,
) -> Result<Vec<Option<TimeseriesRow>>, EngineError> {
    let all = PointRange::default();
    let mut latest = Vec::with_capacity(keys.len());
    for key in keys {
        latest.push(list(connection, key, &all, true, 0, 1, bytes)?.pop());
        if bytes.is_exceeded() {
            break;
        }
    }
    Ok(latest)
}

pub(crate) fn count(
    connection: &Connection,
    key: &AspectKey,
    range: &PointRange,
) -> Result<u64, EngineError> {
    let (condition, parameters) = condition(key, range);
    Ok(connection
        .prepare_cached(&format!(
            "SELECT count(*) FROM timeseries WHERE {condition}"
        ))?
        .query_row(params_from_iter(parameters), count_at)?)
}

pub(crate) fn delete(
    connection: &Connection,
    key: &AspectKey,
    range: &PointRange,
) -> Result<(), EngineError> {
    let (condition, parameters) = condition(key, range);
    connection
        .prepare_cached(&format!("DELETE FROM timeseries WHERE {condition}"))?
        .execute(params_from_iter(parameters))?;
    Ok(())
}
