//! The statements about points of time series.

use docent_store::{AspectKey, PointRange, TimeseriesRow};

use crate::error::EngineError;
use crate::pool::{Connections, Lease, Parameter};
use crate::runs::run_text;
use crate::values::{as_limit, count_at};

/// The points in a range, which is the first five parameters.
macro_rules! in_range {
    () => {
        "FROM timeseries WHERE urn = $1 AND aspect = $2 AND time_ms >= $3 AND time_ms <= $4 \
         AND ($5::text IS NULL OR docent_run(systemmetadata) = $5)"
    };
}

macro_rules! list {
    ($order:literal) => {
        concat!(
            "SELECT time_ms, id, metadata, systemmetadata ",
            in_range!(),
            " ORDER BY time_ms ",
            $order,
            ", id ",
            $order,
            " LIMIT $6 OFFSET $7"
        )
    };
}

pub(crate) const NEWEST_FIRST: &str = list!("DESC");
pub(crate) const OLDEST_FIRST: &str = list!("ASC");
pub(crate) const COUNT: &str = concat!("SELECT count(*) ", in_range!());
pub(crate) const DELETE: &str = concat!("DELETE ", in_range!());

struct Bounds {
    from_ms: i64,
    through_ms: i64,
    run: Option<String>,
}

impl Bounds {
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
    let bounds = Bounds::of(range);
    let rows = connections
        .query(
            sql,
            &[
                &key.urn.as_str(),
                &key.aspect.as_str(),
                &bounds.from_ms,
                &bounds.through_ms,
                &bounds.run,
                &as_limit(limit),
                &as_limit(start),
            ],
        )
        .await?;
    rows.iter()
        .map(|row| {
            Ok(TimeseriesRow {
                time_ms: row.try_get(0)?,
                id: row.try_get(1)?,
                metadata: row.try_get(2)?,
                system_metadata: row.try_get(3)?,
            })
        })
        .collect()
}

pub(crate) async fn count(
    lease: &Lease,
    key: &AspectKey,
    range: &PointRange,
) -> Result<u64, EngineError> {
    let bounds = Bounds::of(range);
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
    let bounds = Bounds::of(range);
    vec![
        Box::new(key.urn.to_string()),
        Box::new(key.aspect.as_str()),
        Box::new(bounds.from_ms),
        Box::new(bounds.through_ms),
        Box::new(bounds.run),
    ]
}
