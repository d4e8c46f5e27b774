//! Export and import of all rows, unchanged.

use docent_store::{
    EXPORT_PAGE_BYTES, LogicalVersion, RawAspect, RawPoint, RawRetiredVersion, RowVersion,
    StoredAspect, TimeseriesRow,
};
use rusqlite::{Connection, TransactionBehavior, params};

use crate::error::EngineError;
use crate::read::{as_limit, count_at};

pub(crate) fn aspects(
    connection: &Connection,
    after: Option<&RawAspect>,
    limit: usize,
) -> Result<Vec<RawAspect>, EngineError> {
    let (urn, aspect, version) = after.map_or(("", "", -1), |raw| {
        (raw.urn.as_str(), raw.aspect.as_str(), raw.row.version.get())
    });
    let mut statement = connection.prepare_cached(
        "SELECT urn,aspect,version,metadata,systemmetadata,createdon,createdby,createdfor \
         FROM metadata_aspect_v2 WHERE (urn,aspect,version)>(?1,?2,?3) ORDER BY urn,aspect,version LIMIT ?4",
    )?;
    let rows = statement.query_map(params![urn, aspect, version, as_limit(limit)], |row| {
        Ok(RawAspect {
            urn: row.get(0)?,
            aspect: row.get(1)?,
            row: StoredAspect {
                version: RowVersion::new(row.get(2)?),
                metadata: row.get(3)?,
                system_metadata: row.get(4)?,
                created_on_ms: row.get(5)?,
                created_by: row.get(6)?,
                created_for: row.get(7)?,
            },
        })
    })?;
    bounded(rows, |raw| raw.row.metadata.len())
}

pub(crate) fn points(
    connection: &Connection,
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
    let mut statement = connection.prepare_cached(
        "SELECT urn,aspect,time_ms,id,metadata,systemmetadata FROM timeseries \
         WHERE (urn,aspect,time_ms,id)>(?1,?2,?3,?4) ORDER BY urn,aspect,time_ms,id LIMIT ?5",
    )?;
    let rows = statement.query_map(params![urn, aspect, time_ms, id, as_limit(limit)], |row| {
        Ok(RawPoint {
            urn: row.get(0)?,
            aspect: row.get(1)?,
            point: TimeseriesRow {
                time_ms: row.get(2)?,
                id: row.get(3)?,
                metadata: row.get(4)?,
                system_metadata: row.get(5)?,
            },
        })
    })?;
    bounded(rows, |raw| raw.point.metadata.len())
}

/// The first rows, through the one that reaches the size limit of a page.
fn bounded<T>(
    rows: impl Iterator<Item = rusqlite::Result<T>>,
    bytes_of: impl Fn(&T) -> usize,
) -> Result<Vec<T>, EngineError> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    for row in rows {
        let row = row?;
        bytes += bytes_of(&row);
        page.push(row);
        if bytes >= EXPORT_PAGE_BYTES {
            break;
        }
    }
    Ok(page)
}

pub(crate) fn count(connection: &Connection) -> Result<u64, EngineError> {
    let count = "SELECT (SELECT count(*) FROM metadata_aspect_v2)+(SELECT count(*) FROM timeseries)\
                 +(SELECT count(*) FROM retired_version)+(SELECT count(*) FROM audit_event)";
    Ok(connection.query_row(count, [], count_at)?)
}

pub(crate) fn retired(
    connection: &Connection,
    after: Option<&RawRetiredVersion>,
    limit: usize,
) -> Result<Vec<RawRetiredVersion>, EngineError> {
    let (urn, aspect) = after.map_or(("", ""), |raw| (raw.urn.as_str(), raw.aspect.as_str()));
    let mut statement = connection.prepare_cached(
        "SELECT urn,aspect,version FROM retired_version WHERE (urn,aspect)>(?1,?2) ORDER BY urn,aspect LIMIT ?3",
    )?;
    let rows = statement.query_map(params![urn, aspect, as_limit(limit)], |row| {
        Ok(RawRetiredVersion {
            urn: row.get(0)?,
            aspect: row.get(1)?,
            version: LogicalVersion::new(row.get(2)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn import_retired(
    connection: &mut Connection,
    retired: &[RawRetiredVersion],
) -> Result<(), EngineError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for RawRetiredVersion {
        urn,
        aspect,
        version,
    } in retired
    {
        transaction
            .prepare_cached("INSERT INTO retired_version (urn,aspect,version) VALUES (?1,?2,?3)")?
            .execute(params![urn, aspect, version.get()])?;
    }
    Ok(transaction.commit()?)
}

pub(crate) fn import(
    connection: &mut Connection,
    aspects: &[RawAspect],
    points: &[RawPoint],
) -> Result<(), EngineError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for RawAspect { urn, aspect, row } in aspects {
        transaction
            .prepare_cached(
                "INSERT INTO metadata_aspect_v2 \
                 (urn,aspect,version,metadata,systemmetadata,createdon,createdby,createdfor) \
                 VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
            )?
            .execute(params![
                urn,
                aspect,
                row.version.get(),
                row.metadata,
                row.system_metadata,
                row.created_on_ms,
                row.created_by,
                row.created_for
            ])?;
        if row.version.is_latest() {
            transaction
                .prepare_cached(
                    "INSERT INTO change_log (urn,aspect,kind,logical_version,time_ms,actor,run) \
                     VALUES (?1,?2,'put',?3,?4,?5,?6)",
                )?
                .execute(params![
                    urn,
                    aspect,
                    docent_store::version::logical_version_of(row).get(),
                    row.created_on_ms,
                    row.created_by,
                    docent_store::version::run_of(row)
                ])?;
        }
    }
    for RawPoint { urn, aspect, point } in points {
        transaction
            .prepare_cached(
                "INSERT INTO timeseries (urn,aspect,time_ms,id,metadata,systemmetadata) \
                 VALUES (?1,?2,?3,?4,?5,?6)",
            )?
            .execute(params![
                urn,
                aspect,
                point.time_ms,
                point.id,
                point.metadata,
                point.system_metadata
            ])?;
    }
    Ok(transaction.commit()?)
}
