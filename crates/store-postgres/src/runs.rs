//! Statements on ingestion runs.
//!
//! They use the partial indexes on `docent_run` and must repeat the conditions of those literally:
//! PostgreSQL uses a partial index only if the query implies its condition.

use docent_store::fields::SOFT_DELETE_ASPECT;
use docent_store::{AspectKey, RunAspect, RunSummary};

use crate::error::{ASPECTS, EngineError};
use crate::pool::Connections;
use crate::values::{as_limit, aspect_name, count_at, storable, urn_at};

/// The indexes hold this many characters of a run id; see `docent_run`.
const MAX_RUN_CHARACTERS: usize = 500;

macro_rules! run {
    () => {
        "docent_run(a.systemmetadata) COLLATE \"C\""
    };
}

macro_rules! of_runs {
    () => {
        "FROM metadata_aspect_v2 a WHERE a.version = 0 AND docent_run(a.systemmetadata) IS NOT NULL"
    };
}

/// Excludes soft-deleted entities, whose `$aspect` says so, unless `$1` includes them.
macro_rules! is_included {
    ($aspect:literal) => {
        concat!(
            " AND ($1::boolean OR NOT EXISTS (SELECT 1 FROM metadata_aspect_v2 s WHERE s.urn = a.urn AND s.aspect = ",
            $aspect,
            " AND s.version = 0 AND docent_removed(s.metadata)))"
        )
    };
}

/// Skips from run to run in the index (a loose index scan), and counts rows only for the runs of
/// the page.
pub(crate) const RUNS: &str = concat!(
    "WITH RECURSIVE run (id) AS ( \
         (SELECT ",
    run!(),
    " ",
    of_runs!(),
    " ORDER BY ",
    run!(),
    " LIMIT 1) UNION ALL \
         SELECT (SELECT ",
    run!(),
    " ",
    of_runs!(),
    " AND ",
    run!(),
    " > run.id ORDER BY ",
    run!(),
    " LIMIT 1) FROM run WHERE run.id IS NOT NULL \
     ), page AS ( \
         SELECT run.id, t.time FROM run CROSS JOIN LATERAL (SELECT docent_observed(a.systemmetadata) AS time ",
    of_runs!(),
    " AND ",
    run!(),
    " = run.id ORDER BY ",
    run!(),
    " DESC, docent_observed(a.systemmetadata) DESC LIMIT 1) AS t \
         WHERE run.id IS NOT NULL AND ($1 OR EXISTS (SELECT 1 ",
    of_runs!(),
    " AND ",
    run!(),
    " = run.id",
    is_included!("$4"),
    ")) ORDER BY t.time DESC, run.id LIMIT $2 OFFSET $3 \
     ) SELECT page.id, (SELECT count(*) ",
    of_runs!(),
    " AND ",
    run!(),
    " = page.id",
    is_included!("$4"),
    "), page.time FROM page ORDER BY page.time DESC, page.id"
);

pub(crate) const RUN_ASPECTS: &str = concat!(
    "SELECT a.urn, a.aspect, docent_observed(a.systemmetadata), a.systemmetadata ",
    of_runs!(),
    " AND ",
    run!(),
    " = $2",
    is_included!("$5"),
    " ORDER BY docent_observed(a.systemmetadata), a.urn, a.aspect LIMIT $3 OFFSET $4"
);

macro_rules! points_of_run {
    () => {
        "FROM timeseries a WHERE docent_run(a.systemmetadata) IS NOT NULL \
         AND docent_run(a.systemmetadata) COLLATE \"C\" = $1"
    };
}

pub(crate) const RUN_TIMESERIES: &str = concat!(
    "SELECT a.urn, a.aspect, count(*) ",
    points_of_run!(),
    " GROUP BY a.urn, a.aspect ORDER BY a.urn, a.aspect LIMIT $2"
);

pub(crate) const RUN_POINTS_COUNT: &str = concat!("SELECT count(*) ", points_of_run!());

/// A run id as stored in the indexes.
pub(crate) fn run_text(run: &str) -> String {
    storable(run).chars().take(MAX_RUN_CHARACTERS).collect()
}

/// The runs, most recently active first.
pub(crate) async fn list(
    connections: &Connections,
    include_removed: bool,
    start: usize,
    limit: usize,
) -> Result<Vec<RunSummary>, EngineError> {
    let rows = connections
        .query(
            RUNS,
            &[
                &include_removed,
                &as_limit(limit),
                &as_limit(start),
                &SOFT_DELETE_ASPECT.as_str(),
            ],
        )
        .await?;
    rows.iter()
        .map(|row| {
            Ok(RunSummary {
                id: row.try_get(0)?,
                rows: count_at(row, 1)?,
                time_ms: row.try_get(2)?,
            })
        })
        .collect()
}

/// The aspects of a run, in the order in which it observed them.
pub(crate) async fn aspects(
    connections: &Connections,
    run: &str,
    include_removed: bool,
    start: usize,
    limit: usize,
) -> Result<Vec<RunAspect>, EngineError> {
    let (limit, start) = (as_limit(limit), as_limit(start));
    let rows = connections
        .query(
            RUN_ASPECTS,
            &[
                &include_removed,
                &run_text(run),
                &limit,
                &start,
                &SOFT_DELETE_ASPECT.as_str(),
            ],
        )
        .await?;
    let mut aspects = Vec::with_capacity(rows.len());
    for row in &rows {
        if let Some(aspect) = aspect_name(row, 1)? {
            let urn = urn_at(row, 0, ASPECTS)?;
            aspects.push(RunAspect {
                key: AspectKey { urn, aspect },
                time_ms: row.try_get(2)?,
                system_metadata: row.try_get(3)?,
            });
        }
    }
    Ok(aspects)
}

/// The time series with points of a run.
pub(crate) async fn timeseries(
    connections: &Connections,
    run: &str,
    limit: usize,
) -> Result<Vec<(AspectKey, u64)>, EngineError> {
    let rows = connections
        .query(RUN_TIMESERIES, &[&run_text(run), &as_limit(limit)])
        .await?;
    let mut aspects = Vec::with_capacity(rows.len());
    for row in &rows {
        if let Some(aspect) = aspect_name(row, 1)? {
            let urn = urn_at(row, 0, "timeseries")?;
            aspects.push((AspectKey { urn, aspect }, count_at(row, 2)?));
        }
    }
    Ok(aspects)
}

/// How many points of time series a run wrote.
pub(crate) async fn points_count(connections: &Connections, run: &str) -> Result<u64, EngineError> {
    let rows = connections
        .query(RUN_POINTS_COUNT, &[&run_text(run)])
        .await?;
    rows.first().map_or(Ok(0), |row| count_at(row, 0))
}
