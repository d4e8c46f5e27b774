//! Recomputes the derived rows, on the writer, in one transaction.

use docent_store::RebuildReport;
use docent_store::audit::expected_rows;
use rusqlite::Connection;

use crate::error::EngineError;
use crate::{derived, read, runs};

/// Progress is reported once per this many aspects.
const PROGRESS_STEP: u64 = 1000;

pub(crate) fn rebuild(
    connection: &mut Connection,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<RebuildReport, EngineError> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let report = repair(&transaction, progress)?;
    transaction.commit()?;
    Ok(report)
}

fn repair(
    connection: &Connection,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<RebuildReport, EngineError> {
    let total = latest_count(connection)?;
    let mut report = RebuildReport::default();
    let mut statement = connection.prepare(
        "SELECT urn,aspect,metadata FROM metadata_aspect_v2 WHERE version=0 ORDER BY urn,aspect",
    )?;
    let mut rows = statement.query([])?;
    progress(0, total);
    while let Some(row) = rows.next()? {
        let urn = read::text_at(row, 0, read::ASPECTS, "urn", "unknown")?;
        let aspect = read::text_at(row, 1, read::ASPECTS, "aspect", urn)?;
        let metadata = read::text_at(row, 2, read::ASPECTS, "metadata", urn)?;
        if let Some(expected) = expected_rows(urn, aspect, metadata) {
            let is_changed = derived::replace(connection, urn, aspect, &expected)?;
            report.repaired += u64::from(is_changed);
        } else {
            report.unreadable += 1;
        }
        report.aspects += 1;
        if report.aspects % PROGRESS_STEP == 0 {
            progress(report.aspects, total);
        }
    }
    drop(rows);
    for table in derived::TABLES {
        let sql = format!("DELETE FROM {} WHERE {}", table.name, table.is_orphan());
        report.orphans += connection.execute(&sql, [])? as u64;
    }
    runs::rebuild_indexes(connection)?;
    progress(report.aspects, total);
    Ok(report)
}

pub(crate) fn latest_count(connection: &Connection) -> Result<u64, EngineError> {
    Ok(connection.query_row(
        "SELECT count(*) FROM metadata_aspect_v2 WHERE version=0",
        [],
        read::count_at,
    )?)
}
