//! Databases that are opened for reading only.

use docent_model::Derived;
use docent_store_sqlite::{OpenOptions, SqliteStore};

use super::files::files_of;
use super::{TestDatabase, put, status, text};

#[tokio::test]
async fn a_store_that_is_opened_for_reading_changes_nothing() {
    let database = TestDatabase::new();
    let archiving = OpenOptions {
        archive_wal: true,
        ..OpenOptions::default()
    };
    let store = SqliteStore::open(&database.path, archiving).unwrap();
    let key = status("a");
    put(&store, &key, "in the log", Derived::default())
        .await
        .unwrap();
    drop(store);
    let log = || std::fs::read(database.directory.path().join("docent.db-wal")).unwrap();
    let before = log();

    let store = SqliteStore::open_read_only(&database.path).unwrap();
    assert_eq!(text(&store, &key).await.as_deref(), Some("in the log"));
    put(&store, &key, "changed", Derived::default())
        .await
        .unwrap_err();
    drop(store);
    assert!(log() == before);

    // Without a log, none is left behind.
    drop(database.open());
    assert_eq!(files_of(&database), ["docent.db"]);
    let store = SqliteStore::open_read_only(&database.path).unwrap();
    assert_eq!(text(&store, &key).await.as_deref(), Some("in the log"));
    drop(store);
    assert_eq!(files_of(&database), ["docent.db"]);

    // The schema of an earlier version stays.
    let forget =
        "DELETE FROM docent_migration WHERE number = (SELECT max(number) FROM docent_migration)";
    database.raw().execute_batch(forget).unwrap();
    let rejected = SqliteStore::open_read_only(&database.path).unwrap_err();
    assert!(rejected.to_string().contains("older docent"), "{rejected}");
}
