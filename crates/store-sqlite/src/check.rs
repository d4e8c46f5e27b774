//! The check: SQLite's own integrity check, and the invariants between the tables
//! (`docent_store::audit`).

use std::path::Path;

use docent_store::audit::{Audit, MAX_FINDINGS};
use docent_store::{RowVersion, StoreError};
use rusqlite::{Connection, ErrorCode};

use crate::connection::open_read_only;
use crate::error::{EngineError, opening};
use crate::lock::expect_server_uses_same_name;
use crate::path::expect_file;
use crate::readers::Snapshot;
use crate::{audit_log, derived, migrations, read};

/// Checks a database without opening a store, which would migrate the schema: a damaged file stays
/// unchanged.
pub fn check_file(path: &Path) -> Result<Vec<String>, StoreError> {
    Ok(check_opened(path)?)
}

fn check_opened(path: &Path) -> Result<Vec<String>, EngineError> {
    expect_file(path)?;
    expect_server_uses_same_name(path)?;
    let connection = open_read_only(path)?;
    let findings = integrity(&connection).map_err(|error| match error {
        EngineError::Sqlite(error) => opening(path)(error),
        store @ EngineError::Store(_) => store,
    })?;
    if !findings.is_empty() {
        return Ok(findings);
    }
    if migrations::state(&connection, path)? != migrations::NEWEST {
        return Err(EngineError::Store(StoreError::Rejected {
            reason: format!(
                "{} was written by an older docent: the file is intact, but its contents can be checked only \
                 after 'docent serve' or 'docent rebuild' has migrated its schema",
                path.display()
            ),
        }));
    }
    check(&connection)
}

/// Returns one sentence per finding, at most [`MAX_FINDINGS`].
pub(crate) fn check(connection: &Connection) -> Result<Vec<String>, EngineError> {
    let _snapshot = Snapshot::begin(connection)?;
    let mut findings = integrity(connection)?;
    if findings.is_empty() {
        // On a damaged file the audit would only repeat the findings, or fail.
        let mut audit = Audit::default();
        rows(connection, &mut audit)?;
        orphans(connection, &mut audit)?;
        findings = audit.finish();
        let room = MAX_FINDINGS.saturating_sub(findings.len());
        findings.extend(audit_log::check(connection, room)?);
    }
    Ok(findings)
}

/// SQLite's own integrity check.
pub(crate) fn integrity(connection: &Connection) -> Result<Vec<String>, EngineError> {
    let lines = match integrity_lines(connection) {
        Ok(lines) => lines,
        // The damage stopped the check itself.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            vec![error.to_string()]
        }
        Err(error) => return Err(error.into()),
    };
    let findings = lines.into_iter().filter(|line| line != "ok");
    Ok(findings
        .map(|line| format!("the database file is damaged: {line}"))
        .collect())
}

fn integrity_lines(connection: &Connection) -> Result<Vec<String>, rusqlite::Error> {
    connection
        .prepare(&format!("PRAGMA integrity_check({MAX_FINDINGS})"))?
        .query_map([], |row| row.get(0))?
        .collect()
}

fn orphans(connection: &Connection, audit: &mut Audit) -> Result<(), EngineError> {
    for table in derived::TABLES {
        let sql = format!(
            "SELECT DISTINCT {},aspect FROM {} WHERE {} LIMIT {MAX_FINDINGS}",
            table.owner,
            table.name,
            table.is_orphan()
        );
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (urn, aspect): (String, String) = (row.get(0)?, row.get(1)?);
            audit.orphan(table.name, &urn, &aspect);
        }
    }
    Ok(())
}

/// Audits all rows, ordered by URN, aspect and version.
fn rows(connection: &Connection, audit: &mut Audit) -> Result<(), EngineError> {
    let mut statement = connection.prepare(
        "SELECT urn,aspect,version,metadata,systemmetadata FROM metadata_aspect_v2 \
         ORDER BY urn,aspect,version",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if audit.is_full() {
            break;
        }
        let urn = read::text_at(row, 0, read::ASPECTS, "urn", "unknown")?;
        let aspect = read::text_at(row, 1, read::ASPECTS, "aspect", urn)?;
        let metadata = read::text_at(row, 3, read::ASPECTS, "metadata", urn)?;
        let system_metadata: Option<String> = row.get(4)?;
        let expected = audit.row(
            urn,
            aspect,
            RowVersion::new(row.get(2)?),
            metadata,
            system_metadata.as_deref(),
        );
        if let Some(expected) = expected
            && !derived::matches(connection, urn, aspect, &expected)?
        {
            audit.derived_differ(urn, aspect);
        }
    }
    Ok(())
}
