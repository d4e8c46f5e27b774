use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use docent_model::{Derived, Registry, Urn};
use docent_store::{
    AspectKey, AspectWrite, Effect, LogPosition, LogicalVersion, RowVersion, StoreMaintenance as _,
    StoreReader as _, StoredAspect, transact,
};
use docent_test_postgres::Database;
use docent_test_store::postgres_database;

use super::*;
use crate::pool::Connections;
use crate::{OpenOptions, PostgresStore, Settings, check_database};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Closes the `LISTEN` connections of servers.
pub(crate) const CLOSE_LISTENERS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%docent_change%'";

/// The migrations of a fictitious next version.
fn with_next_step(additive: bool) -> Vec<Migration> {
    let known = MIGRATIONS.iter().map(|step| Migration { ..*step });
    let number = i32::try_from(MIGRATIONS.len()).unwrap() + 1;
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
        run: None,
    };
    let writes = [AspectWrite { key, effect }];
    transact::<(), StoreError, _>(store, move |tx| {
        let writes = writes.clone();
        Box::pin(async move { tx.write(&writes).await })
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn old_sessions_end_and_old_tokens_point_at_their_users() {
    let database = Database::empty().unwrap();
    let mut old = lease(&database).await;
    migrate_with(&mut old, &MIGRATIONS[..3], true)
        .await
        .unwrap();
    let info = r#"{"name":"n","actorUrn":"urn:li:corpuser:ada","ownerUrn":"urn:li:corpuser:x","createdAt":1}"#;
    for (id, aspect, metadata) in [
        ("aa", "dataHubAccessTokenInfo", info),
        ("aa", "dataHubAccessTokenKey", r#"{"id":"aa"}"#),
        ("session-1-2", "dataHubAccessTokenInfo", info),
        (
            "session-1-2",
            "dataHubAccessTokenKey",
            r#"{"id":"session-1-2"}"#,
        ),
    ] {
        old.execute(&format!(
            "INSERT INTO metadata_aspect_v2 (urn, aspect, version, metadata, createdon, createdby) \
             VALUES ('urn:li:dataHubAccessToken:{id}', '{aspect}', 0, '{metadata}', now(), 'x')"
        ))
        .await
        .unwrap();
    }
    migrate(&mut old, false).await.unwrap();
    let store = serve(&database).await.unwrap();
    let ada = Urn::parse("urn:li:corpuser:ada").unwrap();
    let tokens = store
        .edges_list(&[ada], false, &["TokenOf"], &[], 0, 10)
        .await;
    let tokens: Vec<String> = tokens.unwrap()[0]
        .items
        .iter()
        .map(|token| token.urn.to_string())
        .collect();
    assert_eq!(tokens, ["urn:li:dataHubAccessToken:aa"]);
    assert_eq!(store.aspects_export(None, 10).await.unwrap().len(), 2);
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_keep_running_and_start_beside_an_unknown_additive_step() {
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
    let (steps, others) = (with_next_step(true), with_next_step(true));
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
    let steps = with_next_step(false);
    let rejection = migrate_with(&mut lease(&database).await, &steps, false).await;
    let rejection = StoreError::from(rejection.unwrap_err()).to_string();
    assert!(rejection.contains("stop all of them"), "{rejection}");
    put(&old, 1).await;
    drop(old);
    let started = Instant::now();
    while migrate_with(&mut lease(&database).await, &steps, false)
        .await
        .is_err()
    {
        assert!(
            started.elapsed() < TIMEOUT,
            "the server still seems to serve"
        );
    }
    let rejection = serve(&database).await.unwrap_err().to_string();
    let newer = format!("written by a newer docent (step {}, later)", steps.len());
    assert!(rejection.contains(&newer), "{rejection}");
}

#[tokio::test]
async fn a_check_rejects_an_older_schema_and_does_not_migrate_it() {
    let database = Database::empty().unwrap();
    let settings = Settings::parse(database.url()).unwrap();
    let rejection = check_database(&settings).await.unwrap_err().to_string();
    assert!(rejection.contains("no catalog"), "{rejection}");
    let first = &MIGRATIONS[..1];
    migrate_with(&mut lease(&database).await, first, true)
        .await
        .unwrap();
    let rejection = check_database(&settings).await.unwrap_err().to_string();
    assert!(
        rejection.contains("older docent (it lacks step 2, retired_versions)"),
        "{rejection}"
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

/// A command takes the exclusive lock at the moment a server loses its shared one.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lost_its_lock_checks_the_schema_before_it_serves_again() {
    let database = postgres_database().unwrap();
    let old = serve(&database).await.unwrap();
    put(&old, 1).await;
    let expect_rejection = async |message: &str| {
        let started = Instant::now();
        loop {
            match old.aspects_export(None, 1).await {
                Err(StoreError::Unavailable { reason }) if reason.contains(message) => break,
                _ => assert!(started.elapsed() < TIMEOUT, "no rejection with {message}"),
            }
        }
    };
    let command = lease(&database).await;
    let waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let cut = async {
        let started = Instant::now();
        let observer = lease(&database).await;
        while observer.query(waiting, &[]).await.unwrap().is_empty() {
            assert!(
                started.elapsed() < TIMEOUT,
                "the command does not wait for the lock"
            );
        }
        database.sql(CLOSE_LISTENERS).unwrap();
    };
    let exclusive = "SELECT pg_advisory_lock(hashtext('docent_serving'), 0)";
    let (locked, ()) = tokio::join!(command.query(exclusive, &[]), cut);
    locked.unwrap();
    expect_rejection("exclusive use").await;
    let newer = "INSERT INTO docent_migration (number, name, checksum, additive) VALUES (10, 'newer', '', false)";
    command.execute(newer).await.unwrap();
    let unlock = "SELECT pg_advisory_unlock(hashtext('docent_serving'), 0)";
    command.execute(unlock).await.unwrap();
    expect_rejection("written by a newer docent (step 10, newer)").await;
    command
        .execute("DELETE FROM docent_migration WHERE number = 10")
        .await
        .unwrap();
    let started = Instant::now();
    while old.aspects_export(None, 1).await.is_err() {
        assert!(
            started.elapsed() < TIMEOUT,
            "the server does not serve again"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_continue_while_a_step_waits_for_a_long_backup() {
    let database = postgres_database().unwrap();
    let old = serve(&database).await.unwrap();
    let mut backup = lease(&database).await;
    backup.begin_long("READ ONLY").await.unwrap();
    backup.query("SELECT 1 FROM edge", &[]).await.unwrap();
    let steps = with_next_step(true);
    let mut migrating = lease(&database).await;
    let urns = [Urn::new("domain", "d1").unwrap()];
    let observer = lease(&database).await;
    let waiting = "SELECT 1 FROM pg_locks WHERE relation = 'edge'::regclass AND NOT granted \
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let read = async {
        let started = Instant::now();
        while observer.query(waiting, &[]).await.unwrap().is_empty() {
            assert!(started.elapsed() < TIMEOUT, "the step does not wait");
        }
        // Queues behind the step until that gives up; the backup has not ended.
        let edges = old.edges_list(&urns, true, &[], &[], 0, 1);
        tokio::time::timeout(TIMEOUT, edges).await.unwrap().unwrap();
        backup.commit().await.unwrap();
    };
    let (migrated, ()) = tokio::join!(migrate_with(&mut migrating, &steps, false), read);
    migrated.unwrap();
    assert_eq!(applied(&migrating, &steps).await.unwrap(), steps.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_restore_leaves_the_schema_unchanged() {
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
    let rejection = crate::restore(&backup, &settings, false, &mut |_, _| {}).await;
    let rejection = rejection.unwrap_err().to_string();
    assert!(rejection.contains("--replace"), "{rejection}");
    assert_eq!(
        applied(&lease(&database).await, MIGRATIONS).await.unwrap(),
        before
    );
}

/// Runs the additive step 3 beside the statements of the version before it.
#[tokio::test(flavor = "multi_thread")]
async fn servers_of_the_previous_version_lose_no_changes_during_an_additive_step() {
    const WRITE: &str = "BEGIN; INSERT INTO change_pending (transaction, changes) \
         VALUES (nextval('change_transaction'), 1); INSERT INTO change_log (transaction, item, urn, aspect, kind, \
         logical_version, time_ms, actor) VALUES (currval('change_transaction'), 0, 'urn:li:domain:d', 'status', 'put', \
         1, 1, 'urn:li:corpuser:x'); COMMIT";
    const ASSIGN: &str = "BEGIN; SELECT pg_advisory_xact_lock(hashtext('docent_change_log'), 0); \
         WITH taken AS (DELETE FROM change_pending WHERE transaction > 0 RETURNING transaction, changes), last AS ( \
         SELECT coalesce((SELECT first_position + changes FROM change_commit ORDER BY first_position DESC LIMIT 1), 1) \
         AS next) INSERT INTO change_commit (first_position, transaction, changes) SELECT last.next + \
         sum(taken.changes) OVER (ORDER BY taken.transaction) - taken.changes, taken.transaction, taken.changes \
         FROM taken CROSS JOIN last; COMMIT";
    let database = Database::empty().unwrap();
    let before = 2;
    migrate_with(&mut lease(&database).await, &MIGRATIONS[..before], true)
        .await
        .unwrap();
    let (writing, assigning) = (lease(&database).await, lease(&database).await);
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
                assigning.execute(ASSIGN).await.unwrap();
            }
        }
    };
    let serve = async {
        let fresh = serve(&database).await.unwrap();
        let newest = async || fresh.log_newest().await.unwrap().unwrap().position.get();
        let after = newest().await;
        while newest().await < after + 20 {}
        stop.store(true, Ordering::Relaxed);
        fresh
    };
    let ((), fresh) = tokio::join!(write, serve);
    let changes = fresh.log_read(LogPosition::START, 1_000_000).await.unwrap();
    assert_eq!(changes.len(), written);
    let position = changes.last().unwrap().position;
    writing.execute(WRITE).await.unwrap();
    assert_eq!(fresh.log_read(position, 10).await.unwrap().len(), 1);
}
