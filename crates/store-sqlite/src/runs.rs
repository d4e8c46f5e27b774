//! The statements about ingestion runs.
//!
//! They use the partial indexes of migration 2, whose conditions they must repeat word for word:
//! SQLite uses a partial index only for queries that imply its condition.

use std::sync::LazyLock;

use docent_store::fields::{
    LAST_OBSERVED, NO_RUN_ID, RUN_ID, SOFT_DELETE_ASPECT, SOFT_DELETE_FLAG,
};
use docent_store::{AspectKey, RunAspect, RunSummary};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::EngineError;
use crate::read::{ASPECTS, as_limit, aspect_name, count_at, text_at, unsigned_at, urn_at};

/// The conditions and columns of the statements.
struct RunSql {
    /// The run of a row.
    run: String,
    /// When the run observed it.
    time: String,
    /// Whether a row belongs to any run.
    has_run: String,
    /// Whether the entity of a row `a` is not soft-deleted.
    is_active: String,
}

static SQL: LazyLock<RunSql> = LazyLock::new(|| {
    let run = format!("json_extract(systemmetadata,'$.{RUN_ID}')");
    RunSql {
        time: format!("json_extract(systemmetadata,'$.{LAST_OBSERVED}')"),
        has_run: format!("json_valid(systemmetadata) AND {run}<>'{NO_RUN_ID}'"),
        is_active: format!(
            "NOT EXISTS (SELECT 1 FROM metadata_aspect_v2 AS s \
             WHERE s.urn=a.urn AND s.aspect='{SOFT_DELETE_ASPECT}' AND s.version=0 \
             AND json_valid(s.metadata) AND json_extract(s.metadata,'$.{SOFT_DELETE_FLAG}'))"
        ),
        run,
    }
});

/// Whether a row of any table with system metadata belongs to the run that is bound to the next
/// parameter.
pub(crate) fn is_of_run() -> String {
    format!("json_valid(systemmetadata) AND {}=?", SQL.run)
}

/// The rows of one run, which is the first parameter.
fn of_run(include_removed: bool) -> String {
    let RunSql {
        run,
        has_run,
        is_active,
        ..
    } = &*SQL;
    let filter = if include_removed { "true" } else { is_active };
    format!("FROM metadata_aspect_v2 AS a WHERE version=0 AND {has_run} AND {run}=?1 AND {filter}")
}

/// The points of one run, which is the first parameter.
fn points_of_run() -> String {
    let RunSql { run, has_run, .. } = &*SQL;
    format!("FROM timeseries WHERE {has_run} AND {run}=?1")
}

/// The runs, most recent first.
pub(crate) fn list(
    connection: &Connection,
    include_removed: bool,
    start: usize,
    limit: usize,
) -> Result<Vec<RunSummary>, EngineError> {
    let rows = of_run(include_removed);
    let mut any = connection.prepare_cached(&format!("SELECT 1 {rows} LIMIT 1"))?;
    let mut count = connection.prepare_cached(&format!("SELECT count(*) {rows}"))?;
    let mut to_skip = start;
    let mut runs = Vec::new();
    for (id, time_ms) in by_time(connection)? {
        if runs.len() >= limit {
            break;
        }
        if !include_removed && !any.exists([&id])? {
            continue;
        }
        if to_skip > 0 {
            to_skip -= 1;
            continue;
        }
        let rows = count.query_row([&id], count_at)?;
        runs.push(RunSummary { id, rows, time_ms });
    }
    Ok(runs)
}

/// All runs with the time of their last observation. Skips from run to run in the index (a loose
/// index scan).
fn by_time(connection: &Connection) -> Result<Vec<(String, i64)>, EngineError> {
    let RunSql {
        run, time, has_run, ..
    } = &*SQL;
    let mut next = connection.prepare_cached(&format!(
        "SELECT {run} FROM metadata_aspect_v2 WHERE version=0 AND {has_run} AND {run}>?1 \
         ORDER BY {run} LIMIT 1"
    ))?;
    let mut last_time = connection.prepare_cached(&format!(
        "SELECT {time} FROM metadata_aspect_v2 WHERE version=0 AND {has_run} AND {run}=?1 \
         ORDER BY {time} DESC LIMIT 1"
    ))?;
    let mut runs: Vec<(String, i64)> = Vec::new();
    let mut previous = String::new();
    while let Some(id) = next
        .query_row([&previous], |row| row.get::<_, String>(0))
        .optional()?
    {
        let time: Option<i64> = last_time.query_row([&id], |row| row.get(0))?;
        previous.clone_from(&id);
        runs.push((id, time.unwrap_or_default()));
    }
    runs.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(runs)
}

/// The aspects of a run, in the order of observation.
pub(crate) fn aspects(
    connection: &Connection,
    run: &str,
    include_removed: bool,
    start: usize,
    limit: usize,
) -> Result<Vec<RunAspect>, EngineError> {
    let (time, rows) = (&SQL.time, of_run(include_removed));
    let mut statement = connection.prepare_cached(&format!(
        "SELECT urn,aspect,{time},systemmetadata {rows} ORDER BY {time},rowid LIMIT ?2 OFFSET ?3"
    ))?;
    let mut rows = statement.query(params![run, as_limit(limit), as_limit(start)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let urn = urn_at(row, 0, ASPECTS, "urn")?;
        if let Some(aspect) = aspect_name(row, 1, ASPECTS, urn.as_str())? {
            found.push(RunAspect {
                time_ms: row.get::<_, Option<i64>>(2)?.unwrap_or_default(),
                system_metadata: text_at(row, 3, ASPECTS, "systemmetadata", urn.as_str())?
                    .to_owned(),
                key: AspectKey { urn, aspect },
            });
        }
    }
    Ok(found)
}

/// The time series with points of a run.
pub(crate) fn timeseries(
    connection: &Connection,
    run: &str,
    limit: usize,
) -> Result<Vec<(AspectKey, u64)>, EngineError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT urn,aspect,count(*) {} GROUP BY urn,aspect LIMIT ?2",
        points_of_run()
    ))?;
    let mut rows = statement.query(params![run, as_limit(limit)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let urn = urn_at(row, 0, "timeseries", "urn")?;
        if let Some(aspect) = aspect_name(row, 1, "timeseries", urn.as_str())? {
            found.push((AspectKey { urn, aspect }, unsigned_at(row, 2)?));
        }
    }
    Ok(found)
}

/// Counts the time series points of a run.
pub(crate) fn points_count(connection: &Connection, run: &str) -> Result<u64, EngineError> {
    Ok(connection
        .prepare_cached(&format!("SELECT count(*) {}", points_of_run()))?
        .query_row([run], count_at)?)
}

/// Rebuilds the indexes.
pub(crate) fn rebuild_indexes(connection: &Connection) -> Result<(), EngineError> {
    Ok(connection.execute_batch("REINDEX aspect_by_run; REINDEX timeseries_by_run;")?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::migrations::migrate;

    /// A condition that differs from that of the index would silently scan the whole table.
    #[test]
    fn runs_are_found_by_index() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, Path::new("some.db")).unwrap();
        for (sql, index) in [
            (format!("SELECT count(*) {}", of_run(true)), "aspect_by_run"),
            (
                format!("SELECT count(*) {}", of_run(false)),
                "aspect_by_run",
            ),
            (
                format!("SELECT urn {} ORDER BY {},rowid", of_run(true), SQL.time),
                "aspect_by_run",
            ),
            (
                format!("SELECT urn {}", points_of_run()),
                "timeseries_by_run",
            ),
        ] {
            let plan: Vec<String> = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .unwrap()
                .query_map(["r"], |row| row.get(3))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            assert!(
                plan[0].contains(&format!("USING INDEX {index}")),
                "{sql}: {plan:?}"
            );
            assert!(
                plan.iter().all(|step| !step.contains("TEMP B-TREE")),
                "{sql}: {plan:?}"
            );
        }
    }
}
