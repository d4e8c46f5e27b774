//! The schema, as numbered steps.
//!
//! Each step is a file of `migrations/`, applied once and in order; the table `docent_migration` remembers which, with a
//! checksum. A step that has been released is never edited.
//!
//! Servers of the version before keep serving while the first one of a new version migrates, so a step only adds: what
//! an older server writes must stay right after it, and what a newer server needs must be there before it serves. Hence
//! a database that is ahead of us is served as it is, as long as it has every step that we know; one whose newer steps
//! say `needs` a later version is refused.
//!
//! To change the schema: add the next file and its line to [`MIGRATIONS`].

use docent_model::hex;
use docent_store::StoreError;
use sha2::{Digest as _, Sha256};

use crate::error::EngineError;
use crate::pool::Lease;

pub(crate) struct Migration {
    number: i32,
    name: &'static str,
    sql: &'static str,
    /// Whether servers that do not know the step may go on. A step that is not like that needs a stop of all servers.
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
        // A server that does not know of them would use their numbers again.
        additive: false,
    },
];

/// Any number that nobody else uses: whoever holds this lock migrates.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtext('docent_migration'), 0)";

const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS docent_migration (
        number   integer PRIMARY KEY,
        name     text    NOT NULL,
        checksum text    NOT NULL,
        additive boolean NOT NULL,
        applied  timestamp with time zone NOT NULL DEFAULT now()
    )";

/// Brings the database to the newest schema, or refuses it. `may_create` says whether an empty database may be filled.
pub(crate) async fn migrate(lease: &mut Lease, may_create: bool) -> Result<(), EngineError> {
    migrate_with(lease, MIGRATIONS, may_create).await
}

/// Whether the database has a catalog in it.
pub(crate) async fn is_there(lease: &Lease) -> Result<bool, EngineError> {
    Ok(applied(lease, MIGRATIONS).await? > 0)
}

async fn migrate_with(
    lease: &mut Lease,
    known: &[Migration],
    may_create: bool,
) -> Result<(), EngineError> {
    // Nearly every start ends here, without waiting for anybody.
    let applied = applied(lease, known).await?;
    if applied == known.len() {
        return Ok(());
    }
    if applied == 0 && !may_create {
        return Err(refused("the database has no catalog in it".to_owned()));
    }
    lease.begin_long("").await?;
    lease.execute(LOCK).await?;
    // A connection on which this fails is closed, and the transaction with it.
    apply_missing(lease, known).await?;
    lease.commit().await
}

async fn apply_missing(lease: &Lease, known: &[Migration]) -> Result<(), EngineError> {
    // Asked again under the lock: another server may have been faster.
    let applied = applied(lease, known).await?;
    lease.execute(TABLE).await?;
    for migration in &known[applied..] {
        tracing::info!(
            number = migration.number,
            name = migration.name,
            "applying a migration"
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

/// How many of the known steps the database has; refuses one that we cannot serve.
async fn applied(lease: &Lease, known: &[Migration]) -> Result<usize, EngineError> {
    // The catalog itself is asked: what `to_regclass` remembers may be older than the lock.
    let there = "SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 WHERE c.relname IN ('docent_migration', 'metadata_aspect_v2') AND n.nspname = ANY (current_schemas(false))";
    let mut tables: Vec<String> = Vec::new();
    for row in lease.query(there, &[]).await? {
        tables.push(row.try_get(0)?);
    }
    if !tables.iter().any(|table| table == "docent_migration") {
        if !tables.is_empty() {
            return Err(refused(
                "the database has a table metadata_aspect_v2 that is not ours: use an empty database or another \
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
                    return Err(refused(format!(
                        "step {number} ({name}) of the database's schema is not the one that this docent has"
                    )));
                }
                count += 1;
            }
            None if row.try_get(3)? => {}
            None => {
                return Err(refused(format!(
                    "the database was made by a newer docent (step {number}, {name}): use that one"
                )));
            }
        }
    }
    Ok(count)
}

fn checksum(sql: &str) -> String {
    hex(&Sha256::digest(sql.as_bytes()))
}

fn refused(reason: String) -> EngineError {
    StoreError::Refused { reason }.into()
}
