//! The database as files: locks, versions, reopening, backups.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use docent_model::Derived;
use docent_store::{RowVersion, StoreMaintenance as _, StoreReader as _};
use docent_store_sqlite::{OpenOptions, SqliteStore, restore};
use rusqlite::OpenFlags;

use super::{COMMAND, TestDatabase, put, raw, status, text};

fn quiet(_done: u64, _total: u64) {}

#[test]
fn a_second_server_is_rejected_but_a_command_is_not() {
    let database = TestDatabase::new();
    let server = database.open();
    let rejected = SqliteStore::open(&database.path, OpenOptions::default()).unwrap_err();
    let expected = format!(
        "a docent server is using {}: stop it first",
        database.path.display()
    );
    assert!(rejected.to_string().contains(&expected), "{rejected}");
    SqliteStore::open(&database.path, COMMAND).unwrap();
    drop(server);
    database.open();
}

/// The files in the directory of a database.
pub(super) fn files_of(database: &TestDatabase) -> Vec<String> {
    let entries = std::fs::read_dir(database.directory.path()).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_hard_link_does_not_circumvent_the_server_lock() {
    let database = TestDatabase::new();
    let server = database.open();
    let link = database.directory.path().join("link.db");
    std::fs::hard_link(&database.path, &link).unwrap();
    let rejected = SqliteStore::open(&link, OpenOptions::default()).unwrap_err();
    assert!(rejected.to_string().contains("is using"), "{rejected}");
    for rejected in [
        SqliteStore::open(&link, COMMAND).map(drop).unwrap_err(),
        docent_store_sqlite::check_file(&link)
            .map(drop)
            .unwrap_err(),
    ] {
        assert!(rejected.to_string().contains("another name"), "{rejected}");
    }
    put(&server, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    drop(server);
    assert_eq!(files_of(&database), ["docent.db", "link.db"]);
    SqliteStore::open(&link, OpenOptions::default()).unwrap();
}

#[tokio::test]
async fn a_database_that_was_moved_while_in_use_cannot_be_written() {
    let database = TestDatabase::new();
    let server = database.open();
    put(&server, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    let copy = database.directory.path().join("copy.db");
    server.backup(&copy, Box::new(quiet)).await.unwrap();
    let moved = database.directory.path().join("moved.db");
    std::fs::rename(&database.path, &moved).unwrap();
    let rejections = [
        SqliteStore::open(&moved, OpenOptions::default())
            .map(drop)
            .unwrap_err(),
        SqliteStore::open(&moved, COMMAND).map(drop).unwrap_err(),
        restore(&copy, &moved, true, &mut quiet)
            .map(drop)
            .unwrap_err(),
        restore(&copy, &database.path, false, &mut quiet)
            .map(drop)
            .unwrap_err(),
        SqliteStore::open(&database.path, OpenOptions::default())
            .map(drop)
            .unwrap_err(),
        put(&server, &status("a"), "2", Derived::default())
            .await
            .unwrap_err(),
    ];
    for (rejected, expected) in rejections.iter().zip([
        "is using",
        "another name",
        "is using",
        "is using",
        "docent.db-wal exists",
        "docent.db was moved, removed or replaced",
    ]) {
        assert!(
            rejected.to_string().contains(expected),
            "{expected}: {rejected}"
        );
    }
    assert!(!database.path.exists());
    std::fs::rename(&moved, &database.path).unwrap();
    put(&server, &status("a"), "2", Derived::default())
        .await
        .unwrap();
    drop(server);
    let server = database.open();
    assert_eq!(text(&server, &status("a")).await.as_deref(), Some("2"));
}

#[tokio::test]
async fn a_server_whose_database_was_replaced_keeps_the_log_of_the_new_one() {
    let database = TestDatabase::new();
    let former = database.open();
    put(&former, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let name = |name: &str| database.directory.path().join(format!("{name}{suffix}"));
        std::fs::rename(name("docent.db"), name("moved.db")).unwrap();
    }
    let server = database.open();
    put(&server, &status("b"), "2", Derived::default())
        .await
        .unwrap();
    drop(former);
    let log = database.directory.path().join("docent.db-wal");
    assert!(std::fs::metadata(log).unwrap().len() > 0);
    drop(server);
    let server = database.open();
    assert_eq!(text(&server, &status("b")).await.as_deref(), Some("2"));
    let moved = SqliteStore::open(&database.directory.path().join("moved.db"), COMMAND).unwrap();
    assert_eq!(text(&moved, &status("a")).await.as_deref(), Some("1"));
}

#[test]
fn rejecting_the_database_of_another_program_does_not_change_it() {
    for mode in ["DELETE", "WAL"] {
        let database = TestDatabase::new();
        let new = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let other = rusqlite::Connection::open_with_flags(&database.path, new).unwrap();
        other
            .query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(()))
            .unwrap();
        other.execute("CREATE TABLE bookmarks (url)", []).unwrap();
        drop(other);
        let before = std::fs::read(&database.path).unwrap();
        for options in [OpenOptions::default(), COMMAND] {
            let rejected = SqliteStore::open(&database.path, options).unwrap_err();
            assert!(
                rejected.to_string().contains("another program"),
                "{rejected}"
            );
            assert!(std::fs::read(&database.path).unwrap() == before, "{mode}");
            assert_eq!(files_of(&database), ["docent.db"], "{mode}");
        }
        let rejected = docent_store_sqlite::check_file(&database.path).unwrap_err();
        assert!(
            rejected.to_string().contains("another program"),
            "{rejected}"
        );
        assert!(std::fs::read(&database.path).unwrap() == before, "{mode}");
        assert_eq!(files_of(&database), ["docent.db"], "{mode}");
    }
}

#[test]
fn invalid_paths_and_backups_are_rejected_with_advice() {
    let database = TestDatabase::new();
    let within = |name: &str| database.directory.path().join(name);
    std::fs::create_dir(within("folder")).unwrap();
    drop(database.open());
    let whole = std::fs::read(&database.path).unwrap();
    std::fs::write(within("short"), &whole[..whole.len() / 2]).unwrap();
    let create = OpenOptions {
        exclusive: false,
        ..OpenOptions::default()
    };
    let before = files_of(&database);
    for options in [OpenOptions::default(), create, COMMAND] {
        let open = |path: PathBuf| SqliteStore::open(&path, options).unwrap_err().to_string();
        let message = open(within("folder"));
        assert!(
            message.contains("is a directory: name a file in it"),
            "{message}"
        );
        let message = open(PathBuf::from("~/docent.db"));
        assert!(message.contains("write the whole path"), "{message}");
    }
    for (name, expected) in [
        ("missing", "missing does not exist: name the file"),
        ("folder", "folder is a directory, not a backup"),
        ("short", "use another backup"),
    ] {
        let message = restore(&within(name), &within("new.db"), false, &mut quiet)
            .unwrap_err()
            .to_string();
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("docent restore"), "{message}");
    }
    assert_eq!(files_of(&database), before);
}

#[tokio::test]
async fn links_lead_to_the_same_database() {
    let database = TestDatabase::new();
    let within = |name: &str| database.directory.path().join(name);
    std::fs::create_dir(within("disk")).unwrap();
    std::os::unix::fs::symlink("disk", within("mount")).unwrap();
    std::os::unix::fs::symlink("mount/docent.db", within("link.db")).unwrap();
    // The file does not exist yet.
    for name in ["link.db", "mount/docent.db", "disk/docent.db"] {
        let store = SqliteStore::open(&within(name), OpenOptions::default()).unwrap();
        put(&store, &status(name), "1", Derived::default())
            .await
            .unwrap();
        for other in ["link.db", "mount/docent.db", "disk/docent.db"] {
            let rejected = SqliteStore::open(&within(other), OpenOptions::default()).unwrap_err();
            assert!(rejected.to_string().contains("is using"), "{name} {other}");
        }
    }
    let mut files: Vec<_> = std::fs::read_dir(within("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    files.sort();
    assert_eq!(files, ["disk", "link.db", "mount"]);
    let backup = within("backup.db");
    let store = SqliteStore::open(&within("link.db"), OpenOptions::default()).unwrap();
    store.backup(&backup, Box::new(quiet)).await.unwrap();
    drop(store);
    restore(&backup, &within("link.db"), true, &mut quiet).unwrap();
    assert!(within("link.db").is_symlink());
    let store = SqliteStore::open(&within("disk/docent.db"), COMMAND).unwrap();
    assert_eq!(text(&store, &status("link.db")).await.as_deref(), Some("1"));
}

#[tokio::test]
async fn a_server_notices_the_writes_of_a_command() {
    let database = TestDatabase::new();
    let server = database.open();
    put(&server, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    let before = server.commit_stamp().unwrap();
    assert_eq!(server.commit_stamp().unwrap(), before);

    let command = SqliteStore::open(&database.path, COMMAND).unwrap();
    put(&command, &status("b"), "2", Derived::default())
        .await
        .unwrap();
    assert_ne!(server.commit_stamp().unwrap(), before);
    assert_eq!(text(&server, &status("b")).await.as_deref(), Some("2"));

    let before = server.commit_stamp().unwrap();
    database
        .raw()
        .execute("DELETE FROM metadata_aspect_v2", [])
        .unwrap();
    assert_ne!(server.commit_stamp().unwrap(), before);
    assert_eq!(text(&server, &status("b")).await, None);
}

#[test]
fn a_missing_database_is_created_only_on_request() {
    let database = TestDatabase::new();
    let rejected = SqliteStore::open(&database.path, COMMAND).unwrap_err();
    assert!(
        rejected.to_string().contains("there is no database at"),
        "{rejected}"
    );
    assert!(!database.path.exists());
    let nowhere = database.directory.path().join("missing").join("docent.db");
    let rejected = SqliteStore::open(&nowhere, OpenOptions::default()).unwrap_err();
    assert!(rejected.to_string().contains("missing"), "{rejected}");
}

#[tokio::test]
async fn new_files_are_private_and_existing_permissions_stay() {
    let database = TestDatabase::new();
    let mode_of = |name: &str| {
        let path = database.directory.path().join(name);
        let metadata = std::fs::metadata(&path);
        metadata
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .permissions()
            .mode()
            & 0o777
    };
    let store = database.open();
    put(&store, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    let copy = database.directory.path().join("copy.db");
    store.backup(&copy, Box::new(quiet)).await.unwrap();
    for name in ["docent.db", "docent.db-wal", "docent.db-shm", "copy.db"] {
        assert_eq!(mode_of(name), 0o600, "{name}");
    }
    drop(store);
    let restored = database.directory.path().join("restored.db");
    restore(&copy, &restored, false, &mut quiet).unwrap();
    assert_eq!(mode_of("restored.db"), 0o600);

    // An operator may let a group read the file.
    std::fs::set_permissions(&database.path, Permissions::from_mode(0o640)).unwrap();
    let store = database.open();
    put(&store, &status("a"), "2", Derived::default())
        .await
        .unwrap();
    assert_eq!(mode_of("docent.db"), 0o640);
    assert_eq!(mode_of("docent.db-wal"), 0o640);
}

#[test]
fn a_database_of_a_newer_docent_is_rejected() {
    let database = TestDatabase::new();
    drop(database.open());
    let insert = "INSERT INTO docent_migration VALUES (9999, 'future', 'x', 0)";
    database.raw().execute(insert, []).unwrap();
    let rejected = SqliteStore::open(&database.path, OpenOptions::default()).unwrap_err();
    assert!(
        rejected.to_string().contains("written by a newer docent"),
        "{rejected}"
    );
}

#[test]
fn other_files_are_rejected_and_left_unchanged() {
    let database = TestDatabase::new();
    let text = "not a database, ".repeat(1000);
    std::fs::write(&database.path, &text).unwrap();
    let rejected = SqliteStore::open(&database.path, OpenOptions::default()).unwrap_err();
    assert!(
        rejected.to_string().contains("is not a SQLite database"),
        "{rejected}"
    );
    assert_eq!(std::fs::read_to_string(&database.path).unwrap(), text);
}

#[tokio::test]
async fn writes_survive_reopening_and_no_log_is_left() {
    let database = TestDatabase::new();
    let store = database.open();
    for content in ["1", "2"] {
        put(&store, &status("a"), content, Derived::default())
            .await
            .unwrap();
    }
    drop(store);
    let log = database.directory.path().join("docent.db-wal");
    assert!(!log.exists());
    let command = SqliteStore::open(&database.path, super::COMMAND).unwrap();
    put(&command, &status("b"), "1", Derived::default())
        .await
        .unwrap();
    drop(command);
    assert!(!log.exists(), "a command leaves no log either");
    let store = database.open();
    assert_eq!(text(&store, &status("a")).await.as_deref(), Some("2"));
    let version = RowVersion::new(1);
    let former = store
        .aspect_read_version(&status("a"), version)
        .await
        .unwrap();
    assert_eq!(former.unwrap().metadata, "1");
}

#[test]
fn the_database_is_in_wal_mode_without_memory_statistics() {
    let database = TestDatabase::new();
    let _store = database.open();
    let connection = database.raw();
    let mode: String = connection
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
    let mut statement = connection.prepare("PRAGMA compile_options").unwrap();
    let options = statement
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap();
    let options: Vec<String> = options.map(Result::unwrap).collect();
    assert!(
        options.contains(&"DEFAULT_MEMSTATUS=0".to_owned()),
        "{options:?}"
    );
}

/// A store with one value, and its backup.
async fn backed_up() -> (TestDatabase, SqliteStore, PathBuf) {
    let database = TestDatabase::new();
    let backup = database.directory.path().join("backup.db");
    let store = database.open();
    put(&store, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    store.backup(&backup, Box::new(quiet)).await.unwrap();
    (database, store, backup)
}

#[tokio::test]
async fn a_restore_replaces_only_on_request_and_never_a_database_in_use() {
    let (database, store, backup) = backed_up().await;
    put(&store, &status("a"), "2", Derived::default())
        .await
        .unwrap();

    let rejected = restore(&backup, &database.path, true, &mut quiet).unwrap_err();
    assert!(rejected.to_string().contains("is using"), "{rejected}");
    drop(store);
    let rejected = restore(&backup, &database.path, false, &mut quiet).unwrap_err();
    assert!(
        rejected.to_string().contains("exists already"),
        "{rejected}"
    );
    assert_eq!(
        text(&database.open(), &status("a")).await.as_deref(),
        Some("2")
    );

    restore(&backup, &database.path, true, &mut quiet).unwrap();
    assert_eq!(
        text(&database.open(), &status("a")).await.as_deref(),
        Some("1")
    );
}

#[tokio::test]
async fn the_log_of_a_killed_server_is_not_applied_to_a_restored_database() {
    let (database, store, backup) = backed_up().await;
    put(&store, &status("a"), "2", Derived::default())
        .await
        .unwrap();
    // The files of a server that is killed now.
    let killed = TestDatabase::new();
    for suffix in ["", "-wal"] {
        let name =
            |database: &TestDatabase| database.directory.path().join(format!("docent.db{suffix}"));
        std::fs::copy(name(&database), name(&killed)).unwrap();
    }
    restore(&backup, &killed.path, true, &mut quiet).unwrap();
    let store = killed.open();
    assert_eq!(text(&store, &status("a")).await.as_deref(), Some("1"));
    assert_eq!(
        store.check().await.unwrap().len(),
        1,
        "only the key aspect is missing"
    );
}

#[tokio::test]
async fn a_database_that_cannot_be_checkpointed_is_moved_away_when_replaced() {
    let (database, store, backup) = backed_up().await;
    drop(store);
    for (number, content) in [(1, "2"), (2, "3")] {
        // A change that is only in the log, and a connection that prevents the checkpoint.
        let holder = database.raw();
        let mode = "PRAGMA journal_mode = WAL";
        holder.query_row(mode, [], |_| Ok(())).unwrap();
        holder
            .execute("UPDATE metadata_aspect_v2 SET metadata = ?1", [content])
            .unwrap();
        let moved = restore(&backup, &database.path, true, &mut quiet).unwrap();
        let name = format!("docent.db.replaced.{number}");
        let expected = database.directory.path().join(name);
        assert_eq!(moved.as_ref(), Some(&expected));
        drop(holder);
        let query = "SELECT metadata FROM metadata_aspect_v2";
        let old = raw(&expected).query_row(query, [], |row| row.get::<_, String>(0));
        assert_eq!(old.unwrap(), content);
        let store = database.open();
        assert_eq!(text(&store, &status("a")).await.as_deref(), Some("1"));
    }
    assert_eq!(
        restore(&backup, &database.path, true, &mut quiet).unwrap(),
        None
    );
}

#[tokio::test]
async fn a_log_without_its_database_is_not_applied_to_a_restored_one() {
    let (database, store, backup) = backed_up().await;
    put(&store, &status("a"), "2", Derived::default())
        .await
        .unwrap();
    let lost = TestDatabase::new();
    std::fs::copy(
        database.directory.path().join("docent.db-wal"),
        lost.directory.path().join("docent.db-wal"),
    )
    .unwrap();
    let moved = restore(&backup, &lost.path, false, &mut quiet).unwrap();
    assert!(moved.is_some());
    assert_eq!(text(&lost.open(), &status("a")).await.as_deref(), Some("1"));
}

#[tokio::test]
async fn only_healthy_backups_are_restored() {
    let database = TestDatabase::new();
    let target = database.directory.path().join("restored.db");
    let attempt = |name: &str| {
        let from = database.directory.path().join(name);
        let rejected = restore(&from, &target, false, &mut quiet)
            .unwrap_err()
            .to_string();
        assert!(!target.exists(), "{rejected}");
        rejected
    };
    std::fs::write(
        database.directory.path().join("text"),
        "not a database ".repeat(1000),
    )
    .unwrap();
    assert!(attempt("text").contains("is not a SQLite database"));
    std::fs::write(database.directory.path().join("empty"), "").unwrap();
    assert!(attempt("empty").contains("is empty"));
    assert!(attempt("missing").contains("missing"));

    let store = database.open();
    for number in 0..200 {
        put(
            &store,
            &status(&number.to_string()),
            &number.to_string(),
            Derived::default(),
        )
        .await
        .unwrap();
    }
    let damaged = database.directory.path().join("damaged");
    store.backup(&damaged, Box::new(quiet)).await.unwrap();
    let mut bytes = std::fs::read(&damaged).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0xA5);
    std::fs::write(&damaged, bytes).unwrap();
    let rejected = attempt("damaged");
    assert!(rejected.contains("damaged"), "{rejected}");

    let newer = database.directory.path().join("newer");
    store.backup(&newer, Box::new(quiet)).await.unwrap();
    let insert = "INSERT INTO docent_migration VALUES (9999, 'future', 'x', 0)";
    raw(&newer).execute(insert, []).unwrap();
    assert!(attempt("newer").contains("newer docent"));
}

#[tokio::test]
async fn writes_during_a_backup_do_not_restart_it_and_are_not_included() {
    let database = TestDatabase::new();
    let store = database.open();
    let long = format!("\"{}\"", "x".repeat(4000));
    for number in 0..600 {
        put(
            &store,
            &status(&number.to_string()),
            &long,
            Derived::default(),
        )
        .await
        .unwrap();
    }
    let target = database.directory.path().join("backup.db");
    let other = database.raw();
    let (sender, steps) = std::sync::mpsc::channel();
    let mut calls = 0;
    let progress = move |done, total| {
        calls += 1;
        assert!(calls < 100, "the backup restarts over and over");
        // Writes between any two steps.
        other
            .execute(
                "UPDATE metadata_aspect_v2 SET metadata = metadata || ' '",
                [],
            )
            .unwrap();
        sender.send((done, total)).unwrap();
    };
    store.backup(&target, Box::new(progress)).await.unwrap();
    let steps: Vec<(u64, u64)> = steps.iter().collect();
    assert!(steps.len() > 1, "{steps:?}");
    assert!(steps.is_sorted(), "{steps:?}");
    let altered: i64 = raw(&target)
        .query_row(
            "SELECT count(*) FROM metadata_aspect_v2 WHERE metadata LIKE '% '",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(altered, 0);
}
