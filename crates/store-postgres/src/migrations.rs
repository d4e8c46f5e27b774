//! Schema migrations, as numbered steps.
//!
//! Each step is a file in `migrations/`, applied once and in order; the table `docent_migration`
//! records it with a checksum. A released step is never edited.
//!
//! Servers of the previous version keep running while the first server of a new version migrates,
//! so a step is `additive`: older servers keep reading and writing correctly after it. A database
//! that is ahead by additive steps is served as it is. Other changes take two releases (expand and
//! contract): the first adds the new form and writes both, the second stops using the old form once
//! no older server runs.
//!
//! A step that is not additive is applied only while no server runs ([`crate::serving`]). Servers
//! that do not know such a step do not start.
//!
//! A step waits for table locks only briefly and retries: readers queue behind a waiting step, and
//! a backup may hold a table for an hour.
//!
//! To change the schema: add the next file and its entry in [`MIGRATIONS`].

use std::time::{Duration, Instant};

use docent_model::hex;
use docent_store::StoreError;
use sha2::{Digest as _, Sha256};

use crate::error::EngineError;
use crate::pool::Lease;
use crate::serving::{self, of_schema};

pub(crate) struct Migration {
    number: i32,
    name: &'static str,
    sql: &'static str,
    /// Whether servers that do not know the step may keep running.
    additive: bool,
}

pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration {
        number: 1,
        name: "aspects",
        sql: include_str!("../migrations/0001_aspects.sql"),
        additive: false,
    },
    Migration {
        number: 2,
        name: "retired_versions",
        sql: include_str!("../migrations/0002_retired_versions.sql"),
        // Older servers would reuse retired version numbers.
        additive: false,
    },
    Migration {
        number: 3,
        name: "pending_writers",
        sql: include_str!("../migrations/0003_pending_writers.sql"),
        additive: true,
    },
    Migration {
        number: 4,
        name: "token_users",
        sql: include_str!("../migrations/0004_token_users.sql"),
        // A server that does not know the edges would write tokens without them.
        additive: false,
    },
    Migration {
        number: 5,
        name: "audit",
        sql: include_str!("../migrations/0005_audit.sql"),
        // What a server does that does not know the tables is missing from the log.
        additive: true,
    },
    Migration {
        number: 6,
        name: "points_by_time",
        sql: include_str!("../migrations/0006_points_by_time.sql"),
        additive: true,
    },
    Migration {
        number: 7,
        name: "runs_of_changes",
        sql: include_str!("../migrations/0007_runs_of_changes.sql"),
        // Older servers write changes without runs.
        additive: true,
    },
    Migration {
        number: 8,
        name: "past_runs_of_changes",
        sql: include_str!("../migrations/0008_past_runs_of_changes.sql"),
        additive: true,
    },
    Migration {
        number: 9,
        name: "indexes_of_changes",
        sql: include_str!("../migrations/0009_indexes_of_changes.sql"),
        additive: true,
    },
];

/// Serializes migrations.
const LOCK: &str = concat!(
    "SELECT pg_advisory_xact_lock(hashtext('docent_migration'), ",
    of_schema!(),
    ")"
);

/// How long a step waits for a table lock, and the pause before it retries.
const LOCK_WAIT: &str = "SET LOCAL lock_timeout = '300ms'";
const LOCK_PAUSE: Duration = Duration::from_secs(2);
/// After this time a server fails to start, with the reason.
const MAX_WAIT: Duration = Duration::from_mins(5);

const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS docent_migration (
        number   integer PRIMARY KEY,
        name     text    NOT NULL,
        checksum text    NOT NULL,
        additive boolean NOT NULL,
        applied  timestamp with time zone NOT NULL DEFAULT now()
    )";

/// Rejects a database whose schema this server cannot serve.
pub(crate) async fn expect_served(lease: &Lease) -> Result<(), EngineError> {
    if applied(lease, MIGRATIONS).await? == MIGRATIONS.len() {
        return Ok(());
    }
    Err(rejected(
        "the database was restored to an older schema: restart this server to migrate it"
            .to_owned(),
    ))
}

/// Migrates the database to the newest schema. An empty database is rejected unless `may_create` is
/// set.
pub(crate) async fn migrate(lease: &mut Lease, may_create: bool) -> Result<(), EngineError> {
    migrate_with(lease, MIGRATIONS, may_create).await
}

/// Whether the database contains a catalog.
pub(crate) async fn has_catalog(lease: &Lease) -> Result<bool, EngineError> {
    Ok(applied(lease, MIGRATIONS).await? > 0)
}

/// Rejects a database without a catalog or with an older schema. Changes nothing.
pub(crate) async fn expect_newest(lease: &Lease) -> Result<(), EngineError> {
    let applied = applied(lease, MIGRATIONS).await?;
    match MIGRATIONS.get(applied) {
        None => Ok(()),
        Some(_) if applied == 0 => Err(no_catalog()),
        Some(Migration { number, name, .. }) => Err(rejected(format!(
            "the database was written by an older docent (it lacks step {number}, {name}): run 'docent serve' or \
             'docent rebuild' first, which migrate it"
        ))),
    }
}

async fn migrate_with(
    lease: &mut Lease,
    known: &[Migration],
    may_create: bool,
) -> Result<(), EngineError> {
    // The common case takes no lock.
    let applied = applied(lease, known).await?;
    if applied == known.len() {
        return Ok(());
    }
    if applied == 0 && !may_create {
        return Err(no_catalog());
    }
    let begun = Instant::now();
    loop {
        lease.begin_long("").await?;
        lease.execute(LOCK).await?;
        // On any other error the connection is closed, which rolls back.
        match apply_missing(lease, known).await {
            Err(EngineError::Conflict | EngineError::Store(StoreError::Busy)) => {}
            Err(error) => return Err(error),
            Ok(()) => return lease.commit().await,
        }
        lease.execute("ROLLBACK").await?;
        lease.mark_idle();
        if begun.elapsed() > MAX_WAIT {
            return Err(rejected(
                "cannot migrate the database while its tables are in use: wait for backups, checks and other long \
                 transactions to end"
                    .to_owned(),
            ));
        }
        tracing::warn!("waiting to migrate the database until its tables are no longer in use");
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

async fn apply_missing(lease: &Lease, known: &[Migration]) -> Result<(), EngineError> {
    // Read again under the lock: another server may have migrated meanwhile.
    let applied = applied(lease, known).await?;
    lease.execute(LOCK_WAIT).await?;
    lease.execute(TABLE).await?;
    let breaking = known[applied..].iter().find(|step| !step.additive);
    if let (Some(Migration { number, name, .. }), true) = (breaking, applied > 0) {
        let reason = format!(
            "migration {number} ({name}) is incompatible with the running servers: stop all of them, and then start this one"
        );
        serving::exclude_servers(lease, &reason).await?;
    }
    for migration in &known[applied..] {
        tracing::info!(
            number = migration.number,
            name = migration.name,
            "applying migration"
        );
        lease.execute(migration.sql).await?;
        lease
            .query(
                "INSERT INTO docent_migration (number, name, checksum, additive) VALUES ($1, $2, $3, $4)",
                &[
                    &migration.number,
                    &migration.name,
                    &checksum(migration.sql),
                    &migration.additive,
                ],
            )
            .await?;
    }
    Ok(())
}

/// The number of known steps that are applied. Rejects a database that this version cannot serve.
async fn applied(lease: &Lease, known: &[Migration]) -> Result<usize, EngineError> {
    // Queries pg_class, because the cache behind `to_regclass` may be older than the lock.
    let existing = "SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 WHERE c.relname IN ('docent_migration', 'metadata_aspect_v2') AND n.nspname = ANY (current_schemas(false))";
    let mut tables: Vec<String> = Vec::new();
    for row in lease.query(existing, &[]).await? {
        tables.push(row.try_get(0)?);
    }
    if !tables.iter().any(|table| table == "docent_migration") {
        if !tables.is_empty() {
            return Err(rejected(
                "the database contains a table metadata_aspect_v2 of another program: use an empty database or another \
                 search_path"
                    .to_owned(),
            ));
        }
        return Ok(0);
    }
    let rows = lease
        .query(
            "SELECT number, name, checksum, additive FROM docent_migration ORDER BY number",
            &[],
        )
        .await?;
    let mut count = 0;
    for row in &rows {
        let (number, name): (i32, &str) = (row.try_get(0)?, row.try_get(1)?);
        match known.iter().find(|migration| migration.number == number) {
            Some(migration) => {
                if row.try_get::<_, &str>(2)? != checksum(migration.sql) {
                    return Err(rejected(format!(
                        "migration {number} ({name}) of the database differs from the one of this docent"
                    )));
                }
                count += 1;
            }
            None if row.try_get(3)? => {}
            None => {
                return Err(rejected(format!(
                    "the database was written by a newer docent (step {number}, {name}): use that version"
                )));
            }
        }
    }
    Ok(count)
}

fn no_catalog() -> EngineError {
    rejected("the database contains no catalog".to_owned())
}

fn checksum(sql: &str) -> String {
    hex(&Sha256::digest(sql.as_bytes()))
}

fn rejected(reason: String) -> EngineError {
    StoreError::Rejected { reason }.into()
}

#[cfg(test)]
pub(crate) mod tests;
