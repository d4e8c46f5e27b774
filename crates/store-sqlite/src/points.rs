//! The statements about time series points.

use docent_model::AspectName;
use docent_store::{AspectKey, PointKey, PointRange, PointSize, TimeseriesRow};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params, params_from_iter};

use crate::byte_limit::ByteLimit;
use crate::error::EngineError;
use crate::read::{as_limit, count_at, text_at, unsigned_at, urn_at};
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

const OF_ALL: &str = "SELECT urn,time_ms,id,\
     octet_length(metadata)+coalesce(octet_length(systemmetadata),0) FROM timeseries \
     WHERE aspect=?1 AND time_ms>=?2 AND (time_ms,urn,id)<(?3,?4,?5) \
     ORDER BY time_ms DESC, urn DESC, id DESC LIMIT ?6";

/// The points of all entities, newest first. Reads no value.
pub(crate) fn list_all(
    connection: &Connection,
    aspect: AspectName,
    range: &PointRange,
    after: Option<&PointKey>,
    limit: usize,
) -> Result<Vec<PointSize>, EngineError> {
    let end = range.through_ms.map_or(i64::MAX, |it| it.saturating_add(1));
    // No URN is empty, so this is before all points of the time behind the range.
    let (time_ms, urn, id) = match after.filter(|after| after.time_ms < end) {
        None => (end, "", ""),
        Some(after) => (after.time_ms, after.urn.as_str(), after.id.as_str()),
    };
    let mut statement = connection.prepare_cached(OF_ALL)?;
    let mut rows = statement.query(params![
        aspect.as_str(),
        range.from_ms.unwrap_or(i64::MIN),
        time_ms,
        urn,
        id,
        as_limit(limit),
    ])?;
    let mut points = Vec::new();
    while let Some(row) = rows.next()? {
        let urn = urn_at(row, 0, TABLE, "urn")?;
        points.push(PointSize {
            key: PointKey {
                time_ms: row.get(1)?,
                id: text_at(row, 2, TABLE, "id", urn.as_str())?.to_owned(),
                urn,
            },
            bytes: unsigned_at(row, 3)?,
        });
    }
    Ok(points)
}

/// Points by their keys.
pub(crate) fn read(
    connection: &Connection,
    aspect: AspectName,
    keys: &[PointKey],
    bytes: &mut ByteLimit,
) -> Result<Vec<Option<TimeseriesRow>>, EngineError> {
    let mut statement = connection.prepare_cached(
        "SELECT CASE WHEN octet_length(metadata)+ifnull(octet_length(systemmetadata),0)<=?5 \
         THEN metadata END,\
         CASE WHEN octet_length(systemmetadata)<=?5 THEN systemmetadata END \
         FROM timeseries WHERE urn=?1 AND aspect=?2 AND time_ms=?3 AND id=?4",
    )?;
    let mut points = Vec::with_capacity(keys.len());
    for key in keys {
        let urn = key.urn.as_str();
        let mut rows = statement.query(params![
            urn,
            aspect.as_str(),
            key.time_ms,
            key.id,
            bytes.parameter(),
        ])?;
        let Some(row) = rows.next()? else {
            points.push(None);
            continue;
        };
        if bytes.is_short() && row.get_ref(0)? == ValueRef::Null {
            bytes.exceed();
            break;
        }
        let point = TimeseriesRow {
            time_ms: key.time_ms,
            id: key.id.clone(),
            metadata: text_at(row, 0, TABLE, "metadata", urn)?.to_owned(),
            system_metadata: row.get(1)?,
        };
        bytes.count(point.value_bytes());
        points.push(Some(point));
    }
    Ok(points)
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::migrations::migrate;

    #[test]
    fn points_of_all_entities_are_found_in_order_by_index() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, Path::new("some.db")).unwrap();
        let explain = format!("EXPLAIN QUERY PLAN {OF_ALL}");
        let mut statement = connection.prepare(&explain).unwrap();
        let plan: Vec<String> = statement
            .query_map(params!["operation", 0, 1, "", "", 1], |row| row.get(3))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(plan.len(), 1, "{plan:?}");
        let expected = "SEARCH timeseries USING INDEX timeseries_by_aspect (aspect=? AND ";
        assert!(plan[0].starts_with(expected), "{plan:?}");
    }
}
