//! Segments of the write-ahead log bring a backup forward to each state that was archived.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use docent_model::Derived;
use docent_store::StoreMaintenance as _;
use docent_store_sqlite::{OpenOptions, RollForward, SqliteStore, WalSegment, WalTail, restore};

use rusqlite::types::ValueRef;

use super::{COMMAND, TestDatabase, put, raw, status};

const ARCHIVING: OpenOptions = OpenOptions {
    exclusive: true,
    create: true,
    readers: 2,
    archive_wal: true,
};

/// The write-ahead log is checkpointed when it has 16 MiB: after less than eighty of these.
const LONG: usize = 200_000;

fn quiet(_done: u64, _total: u64) {}

/// A hash of everything in a database.
fn contents(path: &Path) -> u64 {
    let connection = raw(path);
    let mut tables = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        .unwrap();
    let tables: Vec<String> = tables
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut contents = DefaultHasher::new();
    for table in tables {
        let mut rows = connection
            .prepare(&format!("SELECT * FROM \"{table}\""))
            .unwrap();
        let columns = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            table.hash(&mut contents);
            for at in 0..columns {
                match row.get_ref(at).unwrap() {
                    ValueRef::Null => contents.write_u8(0),
                    ValueRef::Integer(number) => number.hash(&mut contents),
                    ValueRef::Real(number) => number.to_bits().hash(&mut contents),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.hash(&mut contents),
                }
            }
        }
    }
    contents.finish()
}

/// Numbers that look random, the same in each run.
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The segments that were archived, and the state after some of them.
#[derive(Default)]
struct Archive {
    segments: Vec<Arc<WalSegment>>,
    states: Vec<(usize, u64)>,
    backups: Vec<Backup>,
}

struct Backup {
    path: PathBuf,
    /// How many segments were archived when it was begun, and when it was finished.
    first: usize,
    needed: usize,
}

impl Archive {
    /// Returns whether the log of a server that was started continues the archive.
    fn resume(&mut self, tail: &WalTail) -> bool {
        let last = self.segments.last().unwrap().until();
        tail.resume(last) && self.collect(tail)
    }

    /// Returns whether each segment followed the one before.
    fn collect(&mut self, tail: &WalTail) -> bool {
        tail.collect().unwrap();
        let mut follow = true;
        while let Some(segment) = tail.oldest() {
            if let Some(last) = self.segments.last() {
                follow &= segment.follows(last.until());
            }
            tail.archived(&segment);
            // As it is read from the archive.
            let encoded = segment.encode().unwrap();
            self.segments
                .push(Arc::new(WalSegment::decode(&encoded).unwrap()));
        }
        follow
    }

    /// Makes a backup between two segments.
    async fn back_up(&mut self, store: &SqliteStore, directory: &Path) {
        let path = directory.join(format!("{}.backup", self.backups.len()));
        let first = self.segments.len();
        store.backup(&path, Box::new(quiet)).await.unwrap();
        assert!(self.collect(&store.wal_tail().unwrap()));
        self.backups.push(Backup {
            path,
            first,
            needed: self.segments.len(),
        });
    }

    /// Brings each backup forward to each later state.
    fn expect_states_restored(&self, directory: &Path) {
        for Backup {
            path,
            first,
            needed,
        } in &self.backups
        {
            for (last, state) in self.states.iter().filter(|(last, _)| last >= needed) {
                let copy = directory.join("copy.db");
                restore(path, &copy, true, &mut quiet).unwrap();
                let mut roll_forward = RollForward::open(&copy).unwrap();
                for segment in &self.segments[*first..*last] {
                    roll_forward.apply(segment).unwrap();
                }
                roll_forward.finish().unwrap();
                assert_eq!(contents(&copy), *state, "{first} to {last}");
                let integrity: String = raw(&copy)
                    .query_row("PRAGMA integrity_check", [], |row| row.get(0))
                    .unwrap();
                assert_eq!(integrity, "ok");
            }
        }
    }
}

#[tokio::test]
async fn a_backup_and_the_log_give_each_archived_state() {
    let database = TestDatabase::new();
    let directory = database.directory.path();
    let mut choices = Choices(20);
    let mut archive = Archive::default();
    let store = SqliteStore::open(&database.path, ARCHIVING).unwrap();
    let tail = store.wal_tail().unwrap();
    assert!(archive.collect(&tail));
    for number in 0..400_u64 {
        let key = status(&format!("dataset {}", choices.below(15)));
        let text = format!("{number}").repeat(usize::try_from(choices.below(70_000)).unwrap());
        match choices.below(40) {
            0 => {
                // A command commits beside the server.
                let command = SqliteStore::open(&database.path, COMMAND).unwrap();
                put(&command, &key, &text, Derived::default())
                    .await
                    .unwrap();
            }
            // What was committed since the last segment is in the backup and in the next segment.
            1 => archive.back_up(&store, directory).await,
            2 => assert!(archive.collect(&tail)),
            _ => put(&store, &key, &text, Derived::default()).await.unwrap(),
        }
        if choices.below(80) == 0 {
            assert!(archive.collect(&tail));
            let state = contents(&database.path);
            archive.states.push((archive.segments.len(), state));
        }
    }
    assert!(archive.backups.len() > 3 && archive.states.len() > 2);
    archive.expect_states_restored(directory);
}

#[tokio::test]
async fn the_archive_continues_after_a_stop_but_not_after_a_gap() {
    let database = TestDatabase::new();
    let directory = database.directory.path();
    let mut archive = Archive::default();
    let (key, long) = (status("a"), "long ".repeat(LONG / 5));
    let store = SqliteStore::open(&database.path, ARCHIVING).unwrap();
    assert!(archive.collect(&store.wal_tail().unwrap()));
    archive.back_up(&store, directory).await;
    put(&store, &key, "before", Derived::default())
        .await
        .unwrap();
    assert!(archive.collect(&store.wal_tail().unwrap()));
    // Not archived before the stop.
    put(&store, &key, "at the end", Derived::default())
        .await
        .unwrap();
    drop(store);

    let store = SqliteStore::open(&database.path, ARCHIVING).unwrap();
    assert!(archive.resume(&store.wal_tail().unwrap()));
    put(&store, &key, "after", Derived::default())
        .await
        .unwrap();
    assert!(archive.collect(&store.wal_tail().unwrap()));
    let state = contents(&database.path);
    archive.states.push((archive.segments.len(), state));
    archive.expect_states_restored(directory);
    drop(store);

    // A server that does not archive empties the log.
    let other = SqliteStore::open(&database.path, OpenOptions::default()).unwrap();
    put(&other, &key, "not archived", Derived::default())
        .await
        .unwrap();
    drop(other);
    let store = SqliteStore::open(&database.path, ARCHIVING).unwrap();
    assert!(
        !archive.resume(&store.wal_tail().unwrap()),
        "a commit is missing"
    );
    let mut archive = Archive::default();
    // What an unreachable archive cannot take is kept in the log, within limits.
    for number in 0..600 {
        let key = status(&format!("long {number}"));
        put(&store, &key, &long, Derived::default()).await.unwrap();
    }
    let log_file = std::fs::metadata(directory.join("docent.db-wal")).unwrap();
    assert!(log_file.len() > 24 * 1024 * 1024, "{}", log_file.len());
    assert!(archive.collect(&store.wal_tail().unwrap()));
}

#[tokio::test]
async fn a_segment_of_another_database_is_rejected() {
    let (one, other) = (TestDatabase::new(), TestDatabase::new());
    let mut archives = Vec::new();
    for database in [&one, &other] {
        let mut archive = Archive::default();
        let store = SqliteStore::open(&database.path, ARCHIVING).unwrap();
        for text in ["first", "second"] {
            put(&store, &status("a"), text, Derived::default())
                .await
                .unwrap();
            assert!(archive.collect(&store.wal_tail().unwrap()));
        }
        archive.back_up(&store, database.directory.path()).await;
        archives.push(archive);
    }
    let mut roll_forward = RollForward::open(&archives[0].backups[0].path).unwrap();
    roll_forward.apply(&archives[0].segments[0]).unwrap();
    let rejected = roll_forward
        .apply(&archives[1].segments[1])
        .unwrap_err()
        .to_string();
    assert!(rejected.contains("another database"), "{rejected}");
}

/// SQLite starts the log from its beginning with the first page that a transaction writes there,
/// which a large one does before its commit.
#[tokio::test]
async fn a_transaction_that_is_rolled_back_after_a_restart_of_the_log_misses_nothing() {
    let database = TestDatabase::new();
    let store = SqliteStore::open(&database.path, ARCHIVING).unwrap();
    let tail = store.wal_tail().unwrap();
    let mut archive = Archive::default();
    assert!(archive.collect(&tail));
    put(&store, &status("a"), "before", Derived::default())
        .await
        .unwrap();
    assert!(archive.collect(&tail));
    let other = raw(&database.path);
    other
        .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
        .unwrap();
    other
        .execute_batch("PRAGMA cache_size = 10; BEGIN IMMEDIATE")
        .unwrap();
    other
        .execute_batch("CREATE TABLE large AS SELECT zeroblob(1000000) AS bytes")
        .unwrap();
    assert!(tail.collect().unwrap(), "the transaction is open");
    other.execute_batch("ROLLBACK").unwrap();
    assert!(tail.collect().unwrap(), "nothing was committed");
    assert!(tail.oldest().is_none());
    // And the next commit follows the one before.
    put(&store, &status("a"), "after", Derived::default())
        .await
        .unwrap();
    assert!(archive.collect(&tail));
}

#[tokio::test]
async fn the_archive_continues_after_a_stop_if_more_was_archived_than_may_wait() {
    let database = TestDatabase::new();
    let store = SqliteStore::open(&database.path, ARCHIVING).unwrap();
    let tail = store.wal_tail().unwrap();
    let mut archive = Archive::default();
    assert!(archive.collect(&tail));
    // The log cannot start from its beginning.
    let reader = raw(&database.path);
    reader.execute_batch("BEGIN").unwrap();
    begin_snapshot(&reader);
    let long = "long ".repeat(LONG / 5);
    for number in 0..450 {
        let key = status(&format!("long {number}"));
        put(&store, &key, &long, Derived::default()).await.unwrap();
        assert!(archive.collect(&tail));
    }
    // Not last: SQLite would empty the log.
    drop(reader);
    drop((tail, store));

    let store = SqliteStore::open(&database.path, ARCHIVING).unwrap();
    let tail = store.wal_tail().unwrap();
    assert!(archive.resume(&tail));
    put(&store, &status("a"), "after", Derived::default())
        .await
        .unwrap();
    assert!(archive.collect(&tail));
}

/// Begins the snapshot of an open transaction.
fn begin_snapshot(connection: &rusqlite::Connection) {
    connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .unwrap();
}
