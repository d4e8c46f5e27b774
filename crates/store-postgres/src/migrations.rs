//! The schema, as numbered steps.
//!
//! Each step is a file of `migrations/`, applied once and in order; the table `docent_migration` remembers which, with a
//! checksum. A step that has been released is never edited.
//!
//! Servers of the version before keep serving while the first one of a new version migrates, so a step is `additive`: what
//! an older server reads and writes stays right after it, and what a newer server needs is there before it serves. A
//! database that is ahead of us by such steps is served as it is. What cannot be added is taken in two versions: the
//! first adds and writes both forms, the second, when no server of before runs any more, stops using the old form.
//!
//! A step that is not additive is applied only while no server runs ([`crate::serving`]). Servers that do not know such a
//! step refuse to start.
//!
//! A step waits for the locks of its tables a moment at a time: whoever wants to read a table queues behind a step that
//! waits for it, and a backup may hold it for an hour.
//!
//! To change the schema: add the next file and its line to [`MIGRATIONS`].

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
    /// Whether servers that do not know the step may go on.
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
    Migration {
        number: 3,
        name: "pending_writers",
        sql: include_str!("../migrations/0003_pending_writers.sql"),
        additive: true,
    },
];

/// Any number that nobody else uses: whoever holds this lock migrates.
const LOCK: &str = concat!(
    "SELECT pg_advisory_xact_lock(hashtext('docent_migration'), ",
    of_schema!(),
    ")"
);

/// How long a step waits for the lock of a table, and how long it lets others go first.
const LOCK_WAIT: &str = "SET LOCAL lock_timeout = '300ms'";
const LOCK_PAUSE: Duration = Duration::from_secs(2);
/// Somebody who waits for a server to start is told why it does not.
const MAX_WAIT: Duration = Duration::from_mins(5);

const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS docent_migration (
        number   integer PRIMARY KEY,
        name     text    NOT NULL,
        checksum text    NOT NULL,
        additive boolean NOT NULL,
        applied  timestamp with time zone NOT NULL DEFAULT now()
    )";

/// Refuses a database that this docent cannot serve, or cannot serve yet.
pub(crate) async fn expect_served(lease: &Lease) -> Result<(), EngineError> {
    if applied(lease, MIGRATIONS).await? == MIGRATIONS.len() {
        return Ok(());
    }
    Err(refused(
        "the database was put back to an older schema: start this server again to bring it up to date".to_owned(),
    ))
}

/// Brings the database to the newest schema, or refuses it. `may_create` says whether an empty database may be filled.
pub(crate) async fn migrate(lease: &mut Lease, may_create: bool) -> Result<(), EngineError> {
    migrate_with(lease, MIGRATIONS, may_create).await
}

/// Whether the database has a catalog in it.
pub(crate) async fn is_there(lease: &Lease) -> Result<bool, EngineError> {
    Ok(applied(lease, MIGRATIONS).await? > 0)
}

/// Refuses a database that has no catalog in it, or not the schema that we know; changes nothing.
pub(crate) async fn expect_newest(lease: &Lease) -> Result<(), EngineError> {
    let applied = applied(lease, MIGRATIONS).await?;
    match MIGRATIONS.get(applied) {
        None => Ok(()),
        Some(_) if applied == 0 => Err(no_catalog()),
        Some(Migration { number, name, .. }) => Err(refused(format!(
            "the database was written by an older docent (it lacks step {number}, {name}): what is in it can be checked \
             only after 'docent serve' or 'docent rebuild' has brought its schema up to date"
        ))),
    }
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
        return Err(no_catalog());
    }
    let begun = Instant::now();
    loop {
        lease.begin_long("").await?;
        lease.execute(LOCK).await?;
        // A connection on which this fails otherwise is closed, and the transaction with it.
        match apply_missing(lease, known).await {
            Err(EngineError::Conflict | EngineError::Store(StoreError::Busy)) => {}
            Err(error) => return Err(error),
            Ok(()) => return lease.commit().await,
        }
        lease.execute("ROLLBACK").await?;
        lease.clean();
        if begun.elapsed() > MAX_WAIT {
            return Err(refused(
                "the tables are in use, so that the database's schema cannot be brought up to date: wait until no backup, no \
                 check and no other long transaction runs"
                    .to_owned(),
            ));
        }
        tracing::warn!(
            "the tables are in use; the database's schema is brought up to date as soon as they are not"
        );
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

async fn apply_missing(lease: &Lease, known: &[Migration]) -> Result<(), EngineError> {
    // Asked again under the lock: another server may have been faster.
    let applied = applied(lease, known).await?;
    lease.execute(LOCK_WAIT).await?;
    lease.execute(TABLE).await?;
    let breaking = known[applied..].iter().find(|step| !step.additive);
    if let (Some(Migration { number, name, .. }), true) = (breaking, applied > 0) {
        let otherwise = format!(
            "step {number} ({name}) of the database's schema changes what the running servers rely on: stop all of them, and \
             then start this one"
        );
        serving::expect_nobody(lease, &otherwise).await?;
    }
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

fn no_catalog() -> EngineError {
    refused("the database has no catalog in it".to_owned())
}

fn checksum(sql: &str) -> String {
    hex(&Sha256::digest(sql.as_bytes()))
}

fn refused(reason: String) -> EngineError {
    StoreError::Refused { reason }.into()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use docent_model::{Derived, Registry, Urn};
    use docent_store::{
        AspectKey, AspectWrite, Effect, LogPosition, LogicalVersion, RowVersion,
        StoreMaintenance as _, StoreReader as _, StoredAspect, transact,
    };
    use docent_test_postgres::Database;
    use docent_test_store::postgres_database;

    use super::*;
    use crate::pool::Connections;
    use crate::{OpenOptions, PostgresStore, Settings, check_database};

    const PATIENCE: Duration = Duration::from_secs(30);

    /// Ends the connections on which servers listen.
    pub(crate) const CUT_LINES: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%docent_change%'";

    /// What the version after this one might add.
    fn later(additive: bool) -> Vec<Migration> {
        let known = MIGRATIONS.iter().map(|step| Migration { ..*step });
        let number = MIGRATIONS.len() as i32 + 1;
        let sql = "ALTER TABLE edge ADD COLUMN note text; \
                   CREATE TABLE later (urn varchar(512) COLLATE \"C\" PRIMARY KEY)";
        let next = Migration {
            number,
            name: "later",
            sql,
            additive,
        };
        known.chain([next]).collect()
    }

    async fn lease(database: &Database) -> Lease {
        let settings = Settings::parse(database.url()).unwrap();
        Connections::new(&settings).unwrap().lease().await.unwrap()
    }

    pub(crate) async fn serve(database: &Database) -> Result<PostgresStore, StoreError> {
        let options = OpenOptions {
            create: true,
            watch: true,
        };
        PostgresStore::open(&Settings::parse(database.url()).unwrap(), options).await
    }

    pub(crate) async fn put(store: &PostgresStore, number: usize) {
        let name = format!("d{number}");
        let entity = Registry::get().entity("domain").unwrap();
        let key = AspectKey::new(&Urn::new("domain", &name).unwrap(), entity.key_aspect);
        let row = StoredAspect {
            version: RowVersion::LATEST,
            metadata: format!("{{\"id\":\"{name}\"}}"),
            system_metadata: None,
            created_on_ms: 1,
            created_by: "urn:li:corpuser:tester".to_owned(),
            created_for: None,
        };
        let effect = Effect::Put {
            row,
            history: None,
            prune_through: None,
            derived: Derived::default(),
            logical_version: LogicalVersion::FIRST,
        };
        let writes = [AspectWrite { key, effect }];
        transact::<(), StoreError, _>(store, move |tx| {
            let writes = writes.clone();
            Box::pin(async move { tx.write(&writes).await })
        })
        .await
        .unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn servers_that_do_not_know_an_additive_step_go_on_and_start() {
        let database = postgres_database().unwrap();
        let old = Arc::new(serve(&database).await.unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let writing = {
            let (old, stop) = (Arc::clone(&old), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    put(&old, number).await;
                    number += 1;
                    let read = old.aspects_export(None, 1000).await.unwrap();
                    assert_eq!(read.len(), number);
                }
                number
            })
        };
        // Two new servers start at once: one of them migrates.
        let (steps, others) = (later(true), later(true));
        let (mut one, mut other) = (lease(&database).await, lease(&database).await);
        let (one, other) = tokio::join!(
            migrate_with(&mut one, &steps, false),
            migrate_with(&mut other, &others, false)
        );
        one.and(other).unwrap();
        let fresh = serve(&database).await.unwrap();
        stop.store(true, Ordering::Relaxed);
        let before = writing.await.unwrap();
        for store in [&fresh, &*old] {
            let read = store.aspects_export(None, 100_000).await.unwrap();
            assert_eq!(read.len(), before);
        }
        put(&old, before).await;
        put(&fresh, before + 1).await;
        assert_eq!(old.check().await.unwrap(), Vec::<String>::new());
        assert_eq!(
            applied(&lease(&database).await, &steps).await.unwrap(),
            steps.len()
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_step_that_is_not_additive_waits_until_no_server_runs() {
        let database = postgres_database().unwrap();
        let old = serve(&database).await.unwrap();
        let steps = later(false);
        let refusal = migrate_with(&mut lease(&database).await, &steps, false).await;
        let refusal = StoreError::from(refusal.unwrap_err()).to_string();
        assert!(refusal.contains("stop all of them"), "{refusal}");
        put(&old, 1).await;
        drop(old);
        let started = Instant::now();
        while migrate_with(&mut lease(&database).await, &steps, false)
            .await
            .is_err()
        {
            assert!(
                started.elapsed() < PATIENCE,
                "the server still seems to serve"
            );
        }
        let refusal = serve(&database).await.unwrap_err().to_string();
        assert!(
            refusal.contains("made by a newer docent (step 4, later)"),
            "{refusal}"
        );
    }

    #[tokio::test]
    async fn a_check_of_a_database_that_is_behind_says_so_and_leaves_it_there() {
        let database = Database::empty().unwrap();
        let settings = Settings::parse(database.url()).unwrap();
        let refusal = check_database(&settings).await.unwrap_err().to_string();
        assert!(refusal.contains("no catalog"), "{refusal}");
        let first = &MIGRATIONS[..1];
        migrate_with(&mut lease(&database).await, first, true)
            .await
            .unwrap();
        let refusal = check_database(&settings).await.unwrap_err().to_string();
        assert!(
            refusal.contains("older docent (it lacks step 2, retired_versions)"),
            "{refusal}"
        );
        assert_eq!(
            applied(&lease(&database).await, MIGRATIONS).await.unwrap(),
            1
        );
        migrate(&mut lease(&database).await, false).await.unwrap();
        assert_eq!(
            check_database(&settings).await.unwrap(),
            Vec::<String>::new()
        );
    }

    /// What holds the servers off is taken in the moment in which a server has lost its own lock.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_server_that_has_lost_its_lock_looks_at_the_schema_again_before_it_serves() {
        let database = postgres_database().unwrap();
        let old = serve(&database).await.unwrap();
        put(&old, 1).await;
        let refused = async |by: &str| {
            let started = Instant::now();
            loop {
                match old.aspects_export(None, 1).await {
                    Err(StoreError::Unavailable { reason }) if reason.contains(by) => break,
                    _ => assert!(started.elapsed() < PATIENCE, "not refused by {by}"),
                }
            }
        };
        let beside = lease(&database).await;
        let waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
                       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        let cut = async {
            let started = Instant::now();
            let looking = lease(&database).await;
            while looking.query(waiting, &[]).await.unwrap().is_empty() {
                assert!(started.elapsed() < PATIENCE, "nobody waits for the lock");
            }
            database.sql(CUT_LINES).unwrap();
        };
        let alone = "SELECT pg_advisory_lock(hashtext('docent_serving'), 0)";
        let (taken, ()) = tokio::join!(beside.query(alone, &[]), cut);
        taken.unwrap();
        refused("for itself").await;
        let newer = "INSERT INTO docent_migration (number, name, checksum, additive) VALUES (9, 'newer', '', false)";
        beside.execute(newer).await.unwrap();
        let done = "SELECT pg_advisory_unlock(hashtext('docent_serving'), 0)";
        beside.execute(done).await.unwrap();
        refused("made by a newer docent (step 9, newer)").await;
        beside
            .execute("DELETE FROM docent_migration WHERE number = 9")
            .await
            .unwrap();
        let started = Instant::now();
        while old.aspects_export(None, 1).await.is_err() {
            assert!(
                started.elapsed() < PATIENCE,
                "the server does not serve again"
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn readers_go_on_while_a_step_waits_for_a_long_backup() {
        let database = postgres_database().unwrap();
        let old = serve(&database).await.unwrap();
        let mut backup = lease(&database).await;
        backup.begin_long("READ ONLY").await.unwrap();
        backup.query("SELECT 1 FROM edge", &[]).await.unwrap();
        let steps = later(true);
        let mut migrating = lease(&database).await;
        let urns = [Urn::new("domain", "d1").unwrap()];
        let read = async {
            let started = Instant::now();
            let mut slowest = Duration::ZERO;
            while started.elapsed() < Duration::from_secs(3) {
                let asked = Instant::now();
                old.edges_list(&urns, true, &[], 0, 1).await.unwrap();
                slowest = slowest.max(asked.elapsed());
            }
            backup.commit().await.unwrap();
            slowest
        };
        let (migrated, slowest) = tokio::join!(migrate_with(&mut migrating, &steps, false), read);
        migrated.unwrap();
        assert!(slowest < Duration::from_secs(2), "{slowest:?}");
        assert_eq!(applied(&migrating, &steps).await.unwrap(), steps.len());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_restore_that_is_refused_leaves_the_schema_as_it_is() {
        let full = postgres_database().unwrap();
        let store = serve(&full).await.unwrap();
        put(&store, 1).await;
        let directory = tempfile::tempdir().unwrap();
        let backup = directory.path().join("backup");
        store.backup(&backup, Box::new(|_, _| {})).await.unwrap();
        let database = Database::empty().unwrap();
        let before = MIGRATIONS.len() - 1;
        migrate_with(&mut lease(&database).await, &MIGRATIONS[..before], true)
            .await
            .unwrap();
        database
            .sql("INSERT INTO metadata_aspect_v2 VALUES ('urn:li:domain:d', 'status', 0, '{}', NULL, now(), 'x', NULL)")
            .unwrap();
        let settings = Settings::parse(database.url()).unwrap();
        let refused = crate::restore(&backup, &settings, false, &mut |_, _| {}).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("--replace"), "{refused}");
        assert_eq!(
            applied(&lease(&database).await, MIGRATIONS).await.unwrap(),
            before
        );
    }

    /// The last step, beside the statements that the version before it sends.
    #[tokio::test(flavor = "multi_thread")]
    async fn servers_of_the_version_before_the_last_step_go_on_and_lose_nothing() {
        const WRITE: &str = "BEGIN; INSERT INTO change_pending (transaction, changes) \
             VALUES (nextval('change_transaction'), 1); INSERT INTO change_log (transaction, item, urn, aspect, kind, \
             logical_version, time_ms, actor) VALUES (currval('change_transaction'), 0, 'urn:li:domain:d', 'status', 'put', \
             1, 1, 'urn:li:corpuser:x'); COMMIT";
        const GIVE: &str = "BEGIN; SELECT pg_advisory_xact_lock(hashtext('docent_change_log'), 0); \
             WITH taken AS (DELETE FROM change_pending WHERE transaction > 0 RETURNING transaction, changes), last AS ( \
             SELECT coalesce((SELECT first_position + changes FROM change_commit ORDER BY first_position DESC LIMIT 1), 1) \
             AS next) INSERT INTO change_commit (first_position, transaction, changes) SELECT last.next + \
             sum(taken.changes) OVER (ORDER BY taken.transaction) - taken.changes, taken.transaction, taken.changes \
             FROM taken CROSS JOIN last; COMMIT";
        let database = Database::empty().unwrap();
        let before = MIGRATIONS.len() - 1;
        migrate_with(&mut lease(&database).await, &MIGRATIONS[..before], true)
            .await
            .unwrap();
        let (writing, giving) = (lease(&database).await, lease(&database).await);
        let mut written = 0;
        for _ in 0..20 {
            writing.execute(WRITE).await.unwrap();
            written += 1;
        }
        let stop = AtomicBool::new(false);
        let write = async {
            while !stop.load(Ordering::Relaxed) {
                writing.execute(WRITE).await.unwrap();
                written += 1;
                if written % 3 == 0 {
                    giving.execute(GIVE).await.unwrap();
                }
            }
        };
        let serve = async {
            let fresh = serve(&database).await.unwrap();
            let newest = async || fresh.change_newest().await.unwrap().unwrap().position.get();
            let after = newest().await;
            while newest().await < after + 20 {}
            stop.store(true, Ordering::Relaxed);
            fresh
        };
        let ((), fresh) = tokio::join!(write, serve);
        let changes = fresh
            .changes_read(LogPosition::START, 1_000_000)
            .await
            .unwrap();
        assert_eq!(changes.len(), written);
        let position = changes.last().unwrap().position;
        writing.execute(WRITE).await.unwrap();
        assert_eq!(fresh.changes_read(position, 10).await.unwrap().len(), 1);
    }
}
