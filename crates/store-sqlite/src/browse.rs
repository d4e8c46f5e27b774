//! The change log as users browse it.

use docent_model::EpochMillis;
use docent_store::{BrowsedEntry, LogKey};
use rusqlite::{Connection, Row};

use crate::error::EngineError;
use crate::read::{count_at, entry_at};

/// The condition of the indexes that [`docent_store::change_log::is_internal`] describes, as in the
/// migration.
macro_rules! internal {
    () => {
        "(urn >= 'urn:li:dataHub' AND urn < 'urn:li:dataHuc' \
          OR urn >= 'urn:li:docent' AND urn < 'urn:li:docenu' \
          OR urn >= 'urn:li:globalSettings:' AND urn < 'urn:li:globalSettings;' \
          OR urn >= 'urn:li:inviteToken:' AND urn < 'urn:li:inviteToken;' \
          OR urn >= 'urn:li:post:' AND urn < 'urn:li:post;' \
          OR urn >= 'urn:li:telemetry:' AND urn < 'urn:li:telemetry;' \
          OR aspect IN ('corpUserCredentials', 'corpUserSettings', 'corpUserStatus'))"
    };
}

/// The condition of the index of edits.
macro_rules! edits {
    () => {
        concat!(
            "run IS NULL AND actor <> 'urn:li:corpuser:__datahub_system' AND NOT ",
            internal!()
        )
    };
}

const ALL: &str = "SELECT aspect,position,urn,kind,logical_version,time_ms,actor,run FROM change_log \
     WHERE position<?1 ORDER BY position DESC";

const EDITS: &str = concat!(
    "SELECT aspect,position,urn,kind,logical_version,time_ms,actor,run FROM change_log \
     WHERE position<?1 AND ",
    edits!(),
    " ORDER BY position DESC"
);

const INTERNAL: &str = concat!(
    "SELECT count(*) FROM change_log WHERE time_ms>=?1 AND time_ms<?2 AND ",
    internal!()
);

/// Entries before one. Skips aspects that the registry does not know without counting them.
pub(crate) fn entries(
    connection: &Connection,
    before: LogKey,
    edits_only: bool,
    limit: usize,
) -> Result<Vec<BrowsedEntry>, EngineError> {
    let sql = if edits_only { EDITS } else { ALL };
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([before.transaction])?;
    let mut entries = Vec::new();
    while entries.len() < limit {
        let Some(row) = rows.next()? else { break };
        entries.extend(browsed_at(row)?);
    }
    Ok(entries)
}

fn browsed_at(row: &Row<'_>) -> Result<Option<BrowsedEntry>, EngineError> {
    let Some(entry) = entry_at(row)? else {
        return Ok(None);
    };
    Ok(Some(BrowsedEntry {
        position: LogKey::before(entry.position.get()),
        key: entry.key,
        kind: entry.kind,
        time_ms: entry.time_ms,
        actor: entry.actor,
        run: row.get(7)?,
    }))
}

pub(crate) fn count_internal(
    connection: &Connection,
    from_ms: EpochMillis,
    until_ms: EpochMillis,
) -> Result<u64, EngineError> {
    let mut statement = connection.prepare_cached(INTERNAL)?;
    Ok(statement.query_row([from_ms, until_ms], count_at)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrations;

    /// The plan of a statement, as SQLite explains it.
    fn plan(connection: &Connection, sql: &str) -> String {
        let mut statement = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let lines = statement
            .query_map([], |row| row.get::<_, String>(3))
            .unwrap();
        lines.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn edits_and_internal_entries_are_found_through_their_indexes() {
        let connection = Connection::open_in_memory().unwrap();
        migrations::migrate(&connection, "test".as_ref()).unwrap();
        for (sql, index) in [
            (EDITS, "change_log_of_edits"),
            (INTERNAL, "change_log_of_internal"),
        ] {
            let plan = plan(&connection, &sql.replace("?1", "1").replace("?2", "2"));
            assert!(plan.contains(index), "{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
    }
}
