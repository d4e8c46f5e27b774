//! Opens connections and has all their settings.
//!
//! `synchronous=FULL` makes a commit durable before it is acknowledged. The caches are small,
//! because the operating system caches the file as well. Readers map the file into memory: a page
//! needs no system call and no copy, which halves the time of a point read. The writer does not, so
//! that bulk loads keep the process small. The writer decides when to checkpoint the log
//! (`writer`).

use std::path::Path;
use std::time::Duration;

use docent_store::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::{EngineError, opening};
use crate::migrations;
use crate::path::sibling;
use crate::read::as_limit;

/// How long a connection waits for a lock of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// More than the statements of this crate, so that each is prepared once.
const STATEMENT_CACHE: usize = 64;

const WRITER_SETTINGS: &str = "
    PRAGMA synchronous = FULL;
    PRAGMA cache_size = -8192;
    PRAGMA mmap_size = 0;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA trusted_schema = OFF;";

/// The cache of all readers of short reads together.
pub(crate) const READ_CACHE_KIB: usize = 32 * 1024;

/// The cache of all readers of long reads together.
pub(crate) const LONG_READ_CACHE_KIB: usize = 8 * 1024;

/// The cache of a connection that scans the file once, or hardly reads.
pub(crate) const SMALL_CACHE_KIB: usize = 512;

const READER_SETTINGS: &str = "
    PRAGMA query_only = ON;
    PRAGMA mmap_size = 1099511627776;
    PRAGMA trusted_schema = OFF;";

/// Opens an existing file for writing. Changes nothing in a database of another program.
pub(crate) fn open_writer(path: &Path) -> Result<Connection, EngineError> {
    let connection = open(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    migrations::state(&connection, path)?;
    let mode: String = connection
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(opening(path))?;
    if mode != "wal" {
        return Err(EngineError::Store(StoreError::Unavailable {
            reason: format!(
                "{}: this file system does not allow SQLite's write-ahead log; use a local disk",
                path.display()
            ),
        }));
    }
    connection
        .execute_batch(WRITER_SETTINGS)
        .map_err(opening(path))?;
    // The first read makes SQLite open the log.
    connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .map_err(opening(path))?;
    Ok(connection)
}

/// Opens a read-only connection.
pub(crate) fn open_reader(path: &Path, cache_kib: usize) -> Result<Connection, EngineError> {
    open_reading(path, OpenFlags::SQLITE_OPEN_READ_ONLY, cache_kib)
}

/// Opens a file for reading that no store may have open, and leaves no log files behind.
///
/// SQLite creates a log even for a reader, and only a connection that can write removes it. An
/// existing log must not be checkpointed here.
pub(crate) fn open_read_only(path: &Path) -> Result<Connection, EngineError> {
    let flags = if sibling(path, "-wal").exists() {
        OpenFlags::SQLITE_OPEN_READ_ONLY
    } else {
        OpenFlags::SQLITE_OPEN_READ_WRITE
    };
    open_reading(path, flags, SMALL_CACHE_KIB)
}

fn open_reading(
    path: &Path,
    flags: OpenFlags,
    cache_kib: usize,
) -> Result<Connection, EngineError> {
    let connection = open(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection
        .execute_batch(READER_SETTINGS)
        .map_err(opening(path))?;
    // Negative means kibibytes, not pages.
    connection
        .pragma_update(None, "cache_size", -as_limit(cache_kib))
        .map_err(opening(path))?;
    Ok(connection)
}

/// Opens a copy that nobody else uses, without a write-ahead log, so that it is a single file.
pub(crate) fn open_copy(path: &Path) -> Result<Connection, EngineError> {
    open(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, EngineError> {
    let connection = Connection::open_with_flags(path, flags).map_err(opening(path))?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    // Otherwise SQLite may plan a statement again when its parameters change, which a profile of
    // building the search index showed for the statement that reads an entity.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(opening(path))?;
    Ok(connection)
}
