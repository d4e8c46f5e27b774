//! The schema, as numbered steps.
//!
//! Each step is a file of `migrations/`, applied once and in order; the table `docent_migration`
//! records it with a checksum. A released step is never edited.
//!
//! To change the schema: add the next file and its line to [`MIGRATIONS`].

use std::path::Path;

use docent_model::hex;
use docent_store::StoreError;
use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use crate::error::EngineError;

pub(crate) struct Migration {
    number: i64,
    name: &'static str,
    sql: &'static str,
}

pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration {
        number: 1,
        name: "aspects",
        sql: include_str!("../migrations/0001_aspects.sql"),
    },
    Migration {
        number: 2,
        name: "runs",
        sql: include_str!("../migrations/0002_runs.sql"),
    },
    Migration {
        number: 3,
        name: "retired_versions",
        sql: include_str!("../migrations/0003_retired_versions.sql"),
    },
    Migration {
        number: 4,
        name: "point_ids",
        sql: include_str!("../migrations/0004_point_ids.sql"),
    },
    Migration {
        number: 5,
        name: "token_users",
        sql: include_str!("../migrations/0005_token_users.sql"),
    },
    Migration {
        number: 6,
        name: "audit",
        sql: include_str!("../migrations/0006_audit.sql"),
    },
    Migration {
        number: 7,
        name: "points_by_time",
        sql: include_str!("../migrations/0007_points_by_time.sql"),
    },
    Migration {
        number: 8,
        name: "runs_of_changes",
        sql: include_str!("../migrations/0008_runs_of_changes.sql"),
    },
];

const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS docent_migration (
        number     INTEGER PRIMARY KEY,
        name       TEXT    NOT NULL,
        checksum   TEXT    NOT NULL,
        applied_ms INTEGER NOT NULL
    )";

/// The migrations of a database.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// A new file.
    Empty,
    /// The number of applied [`MIGRATIONS`].
    Applied(usize),
}

/// The state of an up-to-date database.
pub(crate) const NEWEST: State = State::Applied(MIGRATIONS.len());

/// Migrates the database to the newest schema, or rejects it.
pub(crate) fn migrate(connection: &Connection, path: &Path) -> Result<(), EngineError> {
    migrate_with(connection, path, MIGRATIONS)
}

fn migrate_with(
    connection: &Connection,
    path: &Path,
    known: &[Migration],
) -> Result<(), EngineError> {
    // The usual case, without the write lock.
    if state_of(connection, path, known)? == State::Applied(known.len()) {
        return Ok(());
    }
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let result = apply_missing(connection, path, known);
    let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = connection.execute_batch(end);
    result?;
    Ok(ended?)
}

fn apply_missing(
    connection: &Connection,
    path: &Path,
    known: &[Migration],
) -> Result<(), EngineError> {
    // Rechecked under the lock: another process may have migrated.
    let applied = match state_of(connection, path, known)? {
        State::Empty => 0,
        State::Applied(count) => count,
    };
    connection.execute_batch(TABLE)?;
    for migration in &known[applied..] {
        tracing::info!(
            number = migration.number,
            name = migration.name,
            "applying a migration"
        );
        connection.execute_batch(migration.sql)?;
        connection.execute(
            "INSERT INTO docent_migration (number, name, checksum, applied_ms)
             VALUES (?1, ?2, ?3, CAST(unixepoch('subsec') * 1000 AS INTEGER))",
            params![migration.number, migration.name, checksum(migration.sql)],
        )?;
    }
    Ok(())
}

/// Reads the state of a database without changing it; rejects a newer schema and databases of other
/// programs.
pub(crate) fn state(connection: &Connection, path: &Path) -> Result<State, EngineError> {
    state_of(connection, path, MIGRATIONS)
}

fn state_of(
    connection: &Connection,
    path: &Path,
    known: &[Migration],
) -> Result<State, EngineError> {
    let reject = |problem: String| {
        Err(EngineError::Store(StoreError::Rejected {
            reason: format!("{} {problem}", path.display()),
        }))
    };
    let exists = |sql: &str| {
        connection
            .query_row(sql, [], |_| Ok(()))
            .optional()
            .map_err(crate::error::opening(path))
    };
    if exists("SELECT 1 FROM sqlite_schema WHERE name = 'docent_migration'")?.is_none() {
        if exists("SELECT 1 FROM sqlite_schema LIMIT 1")?.is_some() {
            return reject("is a database of another program".to_owned());
        }
        return Ok(State::Empty);
    }
    let mut statement =
        connection.prepare("SELECT number, checksum FROM docent_migration ORDER BY number")?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let (number, stored): (i64, String) = (row.get(0)?, row.get(1)?);
        let Some(migration) = known.get(count) else {
            return reject(format!(
                "was written by a newer docent: its schema has step {number}, this docent knows {count}; \
                 use the newer docent"
            ));
        };
        if migration.number != number || checksum(migration.sql) != stored {
            return reject(format!(
                "has an unknown schema step {number}; use the docent that wrote it"
            ));
        }
        count += 1;
    }
    Ok(State::Applied(count))
}

fn checksum(sql: &str) -> String {
    hex(&Sha256::digest(sql.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[Migration] = &[
        Migration {
            number: 1,
            name: "one",
            sql: "CREATE TABLE one (a)",
        },
        Migration {
            number: 2,
            name: "two",
            sql: "CREATE TABLE two (a)",
        },
    ];

    fn memory() -> Connection {
        Connection::open_in_memory().unwrap()
    }

    fn path() -> &'static Path {
        Path::new("some.db")
    }

    fn rejection(result: Result<(), EngineError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn missing_steps_are_applied_once_and_in_order() {
        let connection = memory();
        migrate_with(&connection, path(), &TWO[..1]).unwrap();
        migrate_with(&connection, path(), TWO).unwrap();
        migrate_with(&connection, path(), TWO).unwrap();
        let names: String = connection
            .query_row(
                "SELECT group_concat(name) FROM (SELECT name FROM docent_migration ORDER BY number)",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(names, "one,two");
    }

    #[test]
    fn a_newer_schema_is_rejected() {
        let connection = memory();
        migrate_with(&connection, path(), TWO).unwrap();
        let message = rejection(migrate_with(&connection, path(), &TWO[..1]));
        assert!(
            message.contains("some.db was written by a newer docent"),
            "{message}"
        );
    }

    #[test]
    fn a_changed_step_is_rejected() {
        let connection = memory();
        migrate_with(&connection, path(), &TWO[..1]).unwrap();
        let other = [Migration {
            number: 1,
            name: "one",
            sql: "CREATE TABLE one (b)",
        }];
        let message = rejection(migrate_with(&connection, path(), &other));
        assert!(message.contains("unknown schema step 1"), "{message}");
    }

    #[test]
    fn a_failed_step_leaves_no_trace() {
        let connection = memory();
        let broken = [
            Migration {
                number: 1,
                name: "one",
                sql: "CREATE TABLE one (a)",
            },
            Migration {
                number: 2,
                name: "two",
                sql: "CREATE TABLE",
            },
        ];
        migrate_with(&connection, path(), &broken).unwrap_err();
        assert_eq!(state_of(&connection, path(), TWO).unwrap(), State::Empty);
    }

    #[test]
    fn a_database_of_another_program_is_rejected() {
        let connection = memory();
        connection
            .execute_batch("CREATE TABLE bookmarks (url)")
            .unwrap();
        let message = rejection(migrate_with(&connection, path(), TWO));
        assert!(message.contains("another program"), "{message}");
    }

    #[test]
    fn existing_rows_are_added_to_the_run_index() {
        let connection = memory();
        migrate_with(&connection, path(), &MIGRATIONS[..1]).unwrap();
        for (urn, system_metadata) in [
            ("a", Some(r#"{"runId":"r","lastObserved":7}"#)),
            ("b", Some("no JSON")),
            ("c", None),
            ("d", Some(r#"{"runId":"no-run-id-provided"}"#)),
        ] {
            connection
                .execute(
                    "INSERT INTO metadata_aspect_v2 VALUES (?1,'status',0,'{}',?2,0,'x',NULL)",
                    (urn, system_metadata),
                )
                .unwrap();
        }
        migrate(&connection, path()).unwrap();
        let runs = crate::runs::list(&connection, true, 0, 10).unwrap();
        let found: Vec<_> = runs
            .iter()
            .map(|run| (run.id.as_str(), run.rows, run.time_ms))
            .collect();
        assert_eq!(found, [("r", 1, 7)]);
    }

    #[test]
    fn old_sessions_end_and_old_tokens_point_at_their_users() {
        let connection = memory();
        migrate_with(&connection, path(), &MIGRATIONS[..4]).unwrap();
        let info = r#"{"name":"n","actorUrn":"urn:li:corpuser:ada","ownerUrn":"urn:li:corpuser:x","createdAt":1}"#;
        let rows = [
            ("aa", "dataHubAccessTokenInfo", 0, info),
            ("aa", "dataHubAccessTokenInfo", 1, info),
            ("aa", "dataHubAccessTokenKey", 0, r#"{"id":"aa"}"#),
            ("bb", "dataHubAccessTokenInfo", 0, "no JSON"),
            ("session-1-2", "dataHubAccessTokenInfo", 0, info),
            ("session-1-2", "dataHubAccessTokenKey", 0, "{}"),
        ];
        for (id, aspect, version, metadata) in rows {
            let urn = format!("urn:li:dataHubAccessToken:{id}");
            connection
                .execute(
                    "INSERT INTO metadata_aspect_v2 VALUES (?1,?2,?3,?4,NULL,0,'x',NULL)",
                    (urn, aspect, version, metadata),
                )
                .unwrap();
        }
        migrate(&connection, path()).unwrap();
        let texts = |sql: &str| -> Vec<String> {
            let mut statement = connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        };
        assert_eq!(
            texts("SELECT DISTINCT urn FROM metadata_aspect_v2 ORDER BY urn"),
            [
                "urn:li:dataHubAccessToken:aa",
                "urn:li:dataHubAccessToken:bb"
            ]
        );
        let edges =
            "SELECT source || ' ' || aspect || ' ' || relationship || ' ' || destination FROM edge";
        assert_eq!(
            texts(edges),
            ["urn:li:dataHubAccessToken:aa dataHubAccessTokenInfo TokenOf urn:li:corpuser:ada"]
        );
    }

    #[test]
    fn existing_points_get_their_current_ids() {
        let connection = memory();
        migrate_with(&connection, path(), &MIGRATIONS[..3]).unwrap();
        let points = [
            r#"{"timestampMillis":1}"#,
            r#"{"timestampMillis":1,"messageId":"a \"b\" \\ \n \u0001 \u00e9 é"}"#,
            r#"{"timestampMillis":1,"messageId":"","partitionSpec":{"partition":"p"}}"#,
            r#"{"eventGranularity":{"multiple":3,"unit":"DAY"},"partitionSpec":{"type":"PARTITION","partition":"p",
                "timePartition":{"startTimestampMillis":1790000000000,"durationMillis":-1}}}"#,
            "no JSON",
        ];
        for (old_id, point) in points.iter().enumerate() {
            connection
                .execute(
                    "INSERT INTO timeseries VALUES ('u','operation',1,?1,?2,NULL)",
                    (old_id.to_string(), point),
                )
                .unwrap();
        }
        migrate(&connection, path()).unwrap();
        let mut statement = connection
            .prepare("SELECT id FROM timeseries ORDER BY rowid")
            .unwrap();
        let ids: Vec<String> = statement
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let expected: Vec<String> = points
            .iter()
            .map(|point| match serde_json::from_str(point) {
                Ok(point) => docent_model::point_id(&point),
                Err(_) => "4".to_owned(),
            })
            .collect();
        assert_eq!(ids, expected);
    }
}
