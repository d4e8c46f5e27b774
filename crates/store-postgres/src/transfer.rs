//! Export and import of a whole catalog, unchanged.

use docent_store::version::{logical_version_of, run_of};
use docent_store::{
    EXPORT_PAGE_BYTES, LogicalVersion, RawAspect, RawPoint, RawRetiredVersion, TimeseriesRow,
};

use crate::arrays::{Entries, Points, Retired, Rows};
use crate::error::EngineError;
use crate::pool::{Connections, Step};
use crate::segment::{INSERT_ROWS, LOG, NUMBER, PUT_POINTS, RETIRE};
use crate::values::{as_limit, count_at, stored_aspect};

/// The last parameter limits the bytes before a row, so that there is always at least one.
const ASPECTS: &str = "SELECT urn, aspect, version, metadata, systemmetadata, createdon, createdby, createdfor FROM ( \
         SELECT a.*, sum(octet_length(metadata)) OVER (ORDER BY urn, aspect, version) - octet_length(metadata) AS before \
         FROM (SELECT * FROM metadata_aspect_v2 WHERE (urn, aspect, version) > ($1, $2, $3) \
             ORDER BY urn, aspect, version LIMIT $4) AS a \
     ) AS a WHERE before < $5 ORDER BY urn, aspect, version";

const POINTS: &str = "SELECT urn, aspect, time_ms, id, metadata, systemmetadata FROM ( \
         SELECT t.*, sum(octet_length(metadata)) OVER (ORDER BY urn, aspect, time_ms, id) - octet_length(metadata) AS before \
         FROM (SELECT * FROM timeseries WHERE (urn, aspect, time_ms, id) > ($1, $2, $3, $4) \
             ORDER BY urn, aspect, time_ms, id LIMIT $5) AS t \
     ) AS t WHERE before < $6 ORDER BY urn, aspect, time_ms, id";

const COUNT: &str = "SELECT (SELECT count(*) FROM metadata_aspect_v2) + (SELECT count(*) FROM timeseries) \
     + (SELECT count(*) FROM retired_version) + (SELECT count(*) FROM audit_event)";

const SIZE: &str = "SELECT pg_database_size(current_database())";

const RETIRED: &str = "SELECT urn, aspect, version FROM retired_version \
     WHERE (urn, aspect) > ($1, $2) ORDER BY urn, aspect LIMIT $3";

pub(crate) async fn count(connections: &Connections) -> Result<u64, EngineError> {
    let mut lease = connections.lease().await?;
    lease.begin_long("READ ONLY").await?;
    let rows = lease.query(COUNT, &[]).await?;
    lease.commit().await?;
    rows.first().map_or(Ok(0), |row| count_at(row, 0))
}

pub(crate) async fn size_bytes(connections: &Connections) -> Result<u64, EngineError> {
    let rows = connections.query(SIZE, &[]).await?;
    rows.first().map_or(Ok(0), |row| count_at(row, 0))
}

pub(crate) async fn aspects(
    connections: &Connections,
    after: Option<&RawAspect>,
    limit: usize,
) -> Result<Vec<RawAspect>, EngineError> {
    let (urn, aspect, version) = after.map_or(("", "", -1), |raw| {
        (raw.urn.as_str(), raw.aspect.as_str(), raw.row.version.get())
    });
    let rows = connections
        .query(
            ASPECTS,
            &[
                &urn,
                &aspect,
                &version,
                &as_limit(limit),
                &as_limit(EXPORT_PAGE_BYTES),
            ],
        )
        .await?;
    rows.iter()
        .map(|row| {
            Ok(RawAspect {
                urn: row.try_get(0)?,
                aspect: row.try_get(1)?,
                row: stored_aspect(row, 2)?,
            })
        })
        .collect()
}

pub(crate) async fn points(
    connections: &Connections,
    after: Option<&RawPoint>,
    limit: usize,
) -> Result<Vec<RawPoint>, EngineError> {
    let (urn, aspect, time_ms, id) = after.map_or(("", "", 0, ""), |raw| {
        let point = &raw.point;
        (
            raw.urn.as_str(),
            raw.aspect.as_str(),
            point.time_ms,
            point.id.as_str(),
        )
    });
    let rows = connections
        .query(
            POINTS,
            &[
                &urn,
                &aspect,
                &time_ms,
                &id,
                &as_limit(limit),
                &as_limit(EXPORT_PAGE_BYTES),
            ],
        )
        .await?;
    rows.iter()
        .map(|row| {
            Ok(RawPoint {
                urn: row.try_get(0)?,
                aspect: row.try_get(1)?,
                point: TimeseriesRow {
                    time_ms: row.try_get(2)?,
                    id: row.try_get(3)?,
                    metadata: row.try_get(4)?,
                    system_metadata: row.try_get(5)?,
                },
            })
        })
        .collect()
}

pub(crate) async fn retired(
    connections: &Connections,
    after: Option<&RawRetiredVersion>,
    limit: usize,
) -> Result<Vec<RawRetiredVersion>, EngineError> {
    let (urn, aspect) = after.map_or(("", ""), |raw| (raw.urn.as_str(), raw.aspect.as_str()));
    let rows = connections
        .query(RETIRED, &[&urn, &aspect, &as_limit(limit)])
        .await?;
    rows.iter()
        .map(|row| {
            Ok(RawRetiredVersion {
                urn: row.try_get(0)?,
                aspect: row.try_get(1)?,
                version: LogicalVersion::new(row.try_get(2)?),
            })
        })
        .collect()
}

pub(crate) async fn import_retired(
    connections: &Connections,
    retired: Vec<RawRetiredVersion>,
) -> Result<(), EngineError> {
    let mut rows = Retired::default();
    for RawRetiredVersion {
        urn,
        aspect,
        version,
    } in retired
    {
        rows.add((urn, aspect), Some(version));
    }
    let steps: Vec<Step> = rows.step(RETIRE).into_iter().collect();
    connections.lease().await?.pipeline(&steps).await?;
    Ok(())
}

pub(crate) async fn import(
    connections: &Connections,
    aspects: Vec<RawAspect>,
    points: Vec<RawPoint>,
) -> Result<(), EngineError> {
    let (mut rows, mut logged) = (Rows::default(), Entries::default());
    for RawAspect { urn, aspect, row } in aspects {
        // Only latest versions are logged.
        if row.version.is_latest() {
            let key = (urn.clone(), aspect.clone());
            let writer = (row.created_by.clone(), run_of(&row));
            let version = Some(logical_version_of(&row));
            logged.add(key, "put", version, row.created_on_ms, writer);
        }
        rows.add((urn, aspect), row.version, row);
    }
    let mut series = Points::default();
    for RawPoint { urn, aspect, point } in points {
        series.add((urn, aspect), point);
    }
    let mut steps = vec![Step::plain("BEGIN")];
    if !logged.is_empty() {
        steps.extend(logged.steps(NUMBER, LOG));
    }
    steps.extend(rows.step(INSERT_ROWS));
    steps.extend(series.step(PUT_POINTS));
    steps.push(Step::plain("COMMIT"));
    let lease = connections.lease().await?;
    lease.mark_in_transaction();
    lease.pipeline(&steps).await?;
    lease.mark_idle();
    Ok(())
}
