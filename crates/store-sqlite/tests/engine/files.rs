//! The database as files: locks, versions, reopening, backups.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use docent_model::Derived;
use docent_store::{RowVersion, StoreMaintenance as _, StoreReader as _};
use docent_store_sqlite::{OpenOptions, SqliteStore, restore};
use rusqlite::OpenFlags;

use super::{BESIDE, Place, put, raw, status, text};

fn quiet(_done: u64, _total: u64) {}

#[test]
fn a_second_server_is_refused_and_a_command_is_not() {
    let place = Place::new();
    let server = place.open();
    let refused = SqliteStore::open(&place.path, OpenOptions::default()).unwrap_err();
    let expected = format!(
        "another docent server already uses {}",
        place.path.display()
    );
    assert!(refused.to_string().contains(&expected), "{refused}");
    SqliteStore::open(&place.path, BESIDE).unwrap();
    drop(server);
    place.open();
}

/// What stands in the directory of a place.
fn files_of(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.directory.path()).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_hard_link_is_no_way_around_the_server() {
    let place = Place::new();
    let server = place.open();
    let link = place.directory.path().join("link.db");
    std::fs::hard_link(&place.path, &link).unwrap();
    let refused = SqliteStore::open(&link, OpenOptions::default()).unwrap_err();
    assert!(refused.to_string().contains("already uses"), "{refused}");
    for refused in [
        SqliteStore::open(&link, BESIDE).map(drop).unwrap_err(),
        docent_store_sqlite::check_file(&link)
            .map(drop)
            .unwrap_err(),
    ] {
        assert!(refused.to_string().contains("another name"), "{refused}");
    }
    put(&server, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    drop(server);
    assert_eq!(files_of(&place), ["docent.db", "link.db"]);
    SqliteStore::open(&link, OpenOptions::default()).unwrap();
}

#[tokio::test]
async fn a_database_that_is_moved_under_its_server_is_not_written_by_anybody() {
    let place = Place::new();
    let server = place.open();
    put(&server, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    let copy = place.directory.path().join("copy.db");
    server.backup(&copy, Box::new(quiet)).await.unwrap();
    let moved = place.directory.path().join("moved.db");
    std::fs::rename(&place.path, &moved).unwrap();
    let refusals = [
        SqliteStore::open(&moved, OpenOptions::default())
            .map(drop)
            .unwrap_err(),
        SqliteStore::open(&moved, BESIDE).map(drop).unwrap_err(),
        restore(&copy, &moved, true, &mut quiet)
            .map(drop)
            .unwrap_err(),
        restore(&copy, &place.path, false, &mut quiet)
            .map(drop)
            .unwrap_err(),
        SqliteStore::open(&place.path, OpenOptions::default())
            .map(drop)
            .unwrap_err(),
        put(&server, &status("a"), "2", Derived::default())
            .await
            .unwrap_err(),
    ];
    for (refused, says) in refusals.iter().zip([
        "already uses",
        "another name",
        "already uses",
        "already uses",
        "docent.db-wal is there",
        "docent.db was moved, removed or replaced",
    ]) {
        assert!(refused.to_string().contains(says), "{says}: {refused}");
    }
    assert!(!place.path.exists());
    std::fs::rename(&moved, &place.path).unwrap();
    put(&server, &status("a"), "2", Derived::default())
        .await
        .unwrap();
    drop(server);
    let server = place.open();
    assert_eq!(text(&server, &status("a")).await.as_deref(), Some("2"));
}

#[tokio::test]
async fn a_server_whose_place_was_taken_leaves_the_log_of_the_other_alone() {
    let place = Place::new();
    let former = place.open();
    put(&former, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let name = |name: &str| place.directory.path().join(format!("{name}{suffix}"));
        std::fs::rename(name("docent.db"), name("moved.db")).unwrap();
    }
    let server = place.open();
    put(&server, &status("b"), "2", Derived::default())
        .await
        .unwrap();
    drop(former);
    let log = place.directory.path().join("docent.db-wal");
    assert!(std::fs::metadata(log).unwrap().len() > 0);
    drop(server);
    let server = place.open();
    assert_eq!(text(&server, &status("b")).await.as_deref(), Some("2"));
    let moved = SqliteStore::open(&place.directory.path().join("moved.db"), BESIDE).unwrap();
    assert_eq!(text(&moved, &status("a")).await.as_deref(), Some("1"));
}

#[test]
fn the_database_of_another_program_is_not_changed_by_refusing_it() {
    for mode in ["DELETE", "WAL"] {
        let place = Place::new();
        let new = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let other = rusqlite::Connection::open_with_flags(&place.path, new).unwrap();
        other
            .query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(()))
            .unwrap();
        other.execute("CREATE TABLE bookmarks (url)", []).unwrap();
        drop(other);
        let before = std::fs::read(&place.path).unwrap();
        for options in [OpenOptions::default(), BESIDE] {
            let refused = SqliteStore::open(&place.path, options).unwrap_err();
            assert!(refused.to_string().contains("another program"), "{refused}");
            assert!(std::fs::read(&place.path).unwrap() == before, "{mode}");
            assert_eq!(files_of(&place), ["docent.db"], "{mode}");
        }
        let refused = docent_store_sqlite::check_file(&place.path).unwrap_err();
        assert!(refused.to_string().contains("another program"), "{refused}");
        assert!(std::fs::read(&place.path).unwrap() == before, "{mode}");
        assert_eq!(files_of(&place), ["docent.db"], "{mode}");
    }
}

#[test]
fn places_and_backups_that_are_none_are_refused_with_what_to_do() {
    let place = Place::new();
    let within = |name: &str| place.directory.path().join(name);
    std::fs::create_dir(within("folder")).unwrap();
    drop(place.open());
    let whole = std::fs::read(&place.path).unwrap();
    std::fs::write(within("short"), &whole[..whole.len() / 2]).unwrap();
    let create = OpenOptions {
        exclusive: false,
        ..OpenOptions::default()
    };
    let before = files_of(&place);
    for options in [OpenOptions::default(), create, BESIDE] {
        let open = |path: PathBuf| SqliteStore::open(&path, options).unwrap_err().to_string();
        let said = open(within("folder"));
        assert!(said.contains("is a directory: name a file in it"), "{said}");
        let said = open(PathBuf::from("~/docent.db"));
        assert!(said.contains("write the whole path"), "{said}");
    }
    for (name, says) in [
        ("missing", "missing does not exist: name the file"),
        ("folder", "folder is a directory, not a backup"),
        ("short", "take another backup"),
    ] {
        let said = restore(&within(name), &within("new.db"), false, &mut quiet)
            .unwrap_err()
            .to_string();
        assert!(said.contains(says), "{said}");
        assert!(!said.contains("docent restore"), "{said}");
    }
    assert_eq!(files_of(&place), before);
}

#[tokio::test]
async fn a_database_is_one_by_whatever_link_it_is_opened() {
    let place = Place::new();
    let within = |name: &str| place.directory.path().join(name);
    std::fs::create_dir(within("disk")).unwrap();
    std::os::unix::fs::symlink("disk", within("mount")).unwrap();
    std::os::unix::fs::symlink("mount/docent.db", within("link.db")).unwrap();
    // Neither the file nor anything beside it is there yet.
    for name in ["link.db", "mount/docent.db", "disk/docent.db"] {
        let store = SqliteStore::open(&within(name), OpenOptions::default()).unwrap();
        put(&store, &status(name), "1", Derived::default())
            .await
            .unwrap();
        for other in ["link.db", "mount/docent.db", "disk/docent.db"] {
            let refused = SqliteStore::open(&within(other), OpenOptions::default()).unwrap_err();
            assert!(
                refused.to_string().contains("already uses"),
                "{name} {other}"
            );
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
    let store = SqliteStore::open(&within("disk/docent.db"), BESIDE).unwrap();
    assert_eq!(text(&store, &status("link.db")).await.as_deref(), Some("1"));
}

#[tokio::test]
async fn a_command_writes_beside_a_server_and_the_server_notices() {
    let place = Place::new();
    let server = place.open();
    put(&server, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    let before = server.commit_stamp().unwrap();
    assert_eq!(server.commit_stamp().unwrap(), before);

    let command = SqliteStore::open(&place.path, BESIDE).unwrap();
    put(&command, &status("b"), "2", Derived::default())
        .await
        .unwrap();
    assert_ne!(server.commit_stamp().unwrap(), before);
    assert_eq!(text(&server, &status("b")).await.as_deref(), Some("2"));

    let before = server.commit_stamp().unwrap();
    place
        .raw()
        .execute("DELETE FROM metadata_aspect_v2", [])
        .unwrap();
    assert_ne!(server.commit_stamp().unwrap(), before);
    assert_eq!(text(&server, &status("b")).await, None);
}

#[test]
fn a_database_that_is_not_there_is_made_only_on_request() {
    let place = Place::new();
    let refused = SqliteStore::open(&place.path, BESIDE).unwrap_err();
    assert!(
        refused.to_string().contains("there is no database at"),
        "{refused}"
    );
    assert!(!place.path.exists());
    let nowhere = place.directory.path().join("missing").join("docent.db");
    let refused = SqliteStore::open(&nowhere, OpenOptions::default()).unwrap_err();
    assert!(refused.to_string().contains("missing"), "{refused}");
}

#[tokio::test]
async fn new_files_are_readable_by_their_owner_alone_and_others_stay_as_they_are() {
    let place = Place::new();
    let mode_of = |name: &str| {
        let path = place.directory.path().join(name);
        let metadata = std::fs::metadata(&path);
        metadata
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .permissions()
            .mode()
            & 0o777
    };
    let store = place.open();
    put(&store, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    let copy = place.directory.path().join("copy.db");
    store.backup(&copy, Box::new(quiet)).await.unwrap();
    for name in ["docent.db", "docent.db-wal", "docent.db-shm", "copy.db"] {
        assert_eq!(mode_of(name), 0o600, "{name}");
    }
    drop(store);
    let restored = place.directory.path().join("restored.db");
    restore(&copy, &restored, false, &mut quiet).unwrap();
    assert_eq!(mode_of("restored.db"), 0o600);

    // An operator who lets a group read has a reason.
    std::fs::set_permissions(&place.path, Permissions::from_mode(0o640)).unwrap();
    let store = place.open();
    put(&store, &status("a"), "2", Derived::default())
        .await
        .unwrap();
    assert_eq!(mode_of("docent.db"), 0o640);
    assert_eq!(mode_of("docent.db-wal"), 0o640);
}

#[test]
fn a_database_of_a_newer_docent_is_refused_with_a_sentence() {
    let place = Place::new();
    drop(place.open());
    let insert = "INSERT INTO docent_migration VALUES (9999, 'future', 'x', 0)";
    place.raw().execute(insert, []).unwrap();
    let refused = SqliteStore::open(&place.path, OpenOptions::default()).unwrap_err();
    assert!(
        refused.to_string().contains("written by a newer docent"),
        "{refused}"
    );
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let place = Place::new();
    let text = "dear diary, ".repeat(1000);
    std::fs::write(&place.path, &text).unwrap();
    let refused = SqliteStore::open(&place.path, OpenOptions::default()).unwrap_err();
    assert!(
        refused.to_string().contains("is no SQLite database"),
        "{refused}"
    );
    assert_eq!(std::fs::read_to_string(&place.path).unwrap(), text);
}

#[tokio::test]
async fn what_was_written_is_there_after_reopening_and_no_log_is_left() {
    let place = Place::new();
    let store = place.open();
    for content in ["1", "2"] {
        put(&store, &status("a"), content, Derived::default())
            .await
            .unwrap();
    }
    drop(store);
    let log = place.directory.path().join("docent.db-wal");
    assert!(!log.exists());
    let beside = SqliteStore::open(&place.path, super::BESIDE).unwrap();
    put(&beside, &status("b"), "1", Derived::default())
        .await
        .unwrap();
    drop(beside);
    assert!(
        !log.exists(),
        "a command alone on the store leaves none either"
    );
    let store = place.open();
    assert_eq!(text(&store, &status("a")).await.as_deref(), Some("2"));
    let version = RowVersion::new(1);
    let former = store
        .aspect_read_version(&status("a"), version)
        .await
        .unwrap();
    assert_eq!(former.unwrap().metadata, "1");
}

#[test]
fn the_database_has_a_log_and_reads_do_not_share_a_counter() {
    let place = Place::new();
    let _store = place.open();
    let connection = place.raw();
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

/// A store with one value, and a backup that has it.
async fn backed_up() -> (Place, SqliteStore, PathBuf) {
    let place = Place::new();
    let backup = place.directory.path().join("backup.db");
    let store = place.open();
    put(&store, &status("a"), "1", Derived::default())
        .await
        .unwrap();
    store.backup(&backup, Box::new(quiet)).await.unwrap();
    (place, store, backup)
}

#[tokio::test]
async fn a_restore_replaces_only_on_request_and_never_under_a_server() {
    let (place, store, backup) = backed_up().await;
    put(&store, &status("a"), "2", Derived::default())
        .await
        .unwrap();

    let refused = restore(&backup, &place.path, true, &mut quiet).unwrap_err();
    assert!(refused.to_string().contains("already uses"), "{refused}");
    drop(store);
    let refused = restore(&backup, &place.path, false, &mut quiet).unwrap_err();
    assert!(refused.to_string().contains("exists already"), "{refused}");
    assert_eq!(
        text(&place.open(), &status("a")).await.as_deref(),
        Some("2")
    );

    restore(&backup, &place.path, true, &mut quiet).unwrap();
    assert_eq!(
        text(&place.open(), &status("a")).await.as_deref(),
        Some("1")
    );
}

#[tokio::test]
async fn a_log_that_a_killed_server_left_is_not_played_into_a_restored_database() {
    let (place, store, backup) = backed_up().await;
    put(&store, &status("a"), "2", Derived::default())
        .await
        .unwrap();
    // What the disk of a server looks like that is killed now.
    let killed = Place::new();
    for suffix in ["", "-wal"] {
        let name = |place: &Place| place.directory.path().join(format!("docent.db{suffix}"));
        std::fs::copy(name(&place), name(&killed)).unwrap();
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
async fn a_database_that_cannot_be_closed_is_kept_aside_when_it_is_replaced() {
    let (place, store, backup) = backed_up().await;
    drop(store);
    for (number, content) in [(1, "2"), (2, "3")] {
        // What only the log has, with somebody who keeps it from being brought in.
        let holder = place.raw();
        let mode = "PRAGMA journal_mode = WAL";
        holder.query_row(mode, [], |_| Ok(())).unwrap();
        holder
            .execute("UPDATE metadata_aspect_v2 SET metadata = ?1", [content])
            .unwrap();
        let aside = restore(&backup, &place.path, true, &mut quiet).unwrap();
        let name = format!("docent.db.replaced.{number}");
        let expected = place.directory.path().join(name);
        assert_eq!(aside.as_ref(), Some(&expected));
        drop(holder);
        let query = "SELECT metadata FROM metadata_aspect_v2";
        let kept = raw(&expected).query_row(query, [], |row| row.get::<_, String>(0));
        assert_eq!(kept.unwrap(), content);
        let store = place.open();
        assert_eq!(text(&store, &status("a")).await.as_deref(), Some("1"));
    }
    assert_eq!(
        restore(&backup, &place.path, true, &mut quiet).unwrap(),
        None
    );
}

#[tokio::test]
async fn a_log_without_its_database_is_not_played_into_a_restored_one() {
    let (place, store, backup) = backed_up().await;
    put(&store, &status("a"), "2", Derived::default())
        .await
        .unwrap();
    let lost = Place::new();
    std::fs::copy(
        place.directory.path().join("docent.db-wal"),
        lost.directory.path().join("docent.db-wal"),
    )
    .unwrap();
    let aside = restore(&backup, &lost.path, false, &mut quiet).unwrap();
    assert!(aside.is_some());
    assert_eq!(text(&lost.open(), &status("a")).await.as_deref(), Some("1"));
}

#[tokio::test]
async fn only_a_healthy_backup_is_restored() {
    let place = Place::new();
    let target = place.directory.path().join("restored.db");
    let attempt = |name: &str| {
        let from = place.directory.path().join(name);
        let refused = restore(&from, &target, false, &mut quiet)
            .unwrap_err()
            .to_string();
        assert!(!target.exists(), "{refused}");
        refused
    };
    std::fs::write(
        place.directory.path().join("text"),
        "dear diary ".repeat(1000),
    )
    .unwrap();
    assert!(attempt("text").contains("is no SQLite database"));
    std::fs::write(place.directory.path().join("empty"), "").unwrap();
    assert!(attempt("empty").contains("is empty"));
    assert!(attempt("missing").contains("missing"));

    let store = place.open();
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
    let broken = place.directory.path().join("broken");
    store.backup(&broken, Box::new(quiet)).await.unwrap();
    let mut bytes = std::fs::read(&broken).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0xA5);
    std::fs::write(&broken, bytes).unwrap();
    let refused = attempt("broken");
    assert!(refused.contains("damaged"), "{refused}");

    let newer = place.directory.path().join("newer");
    store.backup(&newer, Box::new(quiet)).await.unwrap();
    let insert = "INSERT INTO docent_migration VALUES (9999, 'future', 'x', 0)";
    raw(&newer).execute(insert, []).unwrap();
    assert!(attempt("newer").contains("newer docent"));
}

#[tokio::test]
async fn writes_during_a_backup_neither_restart_it_nor_get_into_it() {
    let place = Place::new();
    let store = place.open();
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
    let target = place.directory.path().join("backup.db");
    let other = place.raw();
    let (sender, steps) = std::sync::mpsc::channel();
    let mut told = 0;
    let progress = move |done, total| {
        told += 1;
        assert!(told < 100, "the backup starts again and again");
        // Between two steps, as long as it goes on.
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
