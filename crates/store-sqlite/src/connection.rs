//! Opening connections: every setting that SQLite has per connection stands here.
//!
//! `synchronous=FULL` makes a commit durable before it is acknowledged. The caches are small on purpose: the
//! operating system caches the file as well. The readers of requests see that cache directly, by memory mapping: a
//! page costs them no system call and no copy, which halves a point read, and the system takes the memory back when
//! it needs it. The writer does not map, so that loading much data keeps the process small. Emptying the log is the
//! writer's decision, not the connection's (`writer`).

use std::path::Path;
use std::time::Duration;

use docent_store::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::{EngineError, opening};
use crate::migrations;
use crate::path::beside;
use crate::read::as_limit;

/// How long a connection waits for another process that holds the lock it needs.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// More statements than this crate has, so none is ever prepared twice.
const STATEMENT_CACHE: usize = 64;

const WRITER_SETTINGS: &str = "
    PRAGMA synchronous = FULL;
    PRAGMA cache_size = -8192;
    PRAGMA mmap_size = 0;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA trusted_schema = OFF;";

/// What all readers of requests together may keep of the file.
pub(crate) const READ_CACHE_KIB: usize = 32 * 1024;

/// The cache of a connection that passes over the whole file once, or hardly reads at all.
pub(crate) const SMALL_CACHE_KIB: usize = 512;

const READER_SETTINGS: &str = "
    PRAGMA query_only = ON;
    PRAGMA mmap_size = 1099511627776;
    PRAGMA trusted_schema = OFF;";

/// A connection that may write, to a file that is there. It looks first: nothing of another program's database is changed.
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
    // The first read opens the log.
    connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .map_err(opening(path))?;
    Ok(connection)
}

/// A connection that cannot write.
pub(crate) fn open_reader(path: &Path, cache_kib: usize) -> Result<Connection, EngineError> {
    open_reading(path, OpenFlags::SQLITE_OPEN_READ_ONLY, cache_kib)
}

/// A connection that only reads a file which may be nobody's, and leaves nothing beside it.
///
/// SQLite makes a log for whoever reads a database that was closed, and lets only those remove it who may write. Where a
/// log stands already, it is not ours to bring into the database.
pub(crate) fn open_visitor(path: &Path) -> Result<Connection, EngineError> {
    let flags = if beside(path, "-wal").exists() {
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

/// A connection for a copy that nobody else uses yet: no log beside it, so that the copy is one file.
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
    // Otherwise a statement whose plan might depend on its parameters is planned again each time they change. A profile
    // of building the search index showed that for the statement that reads an entity.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(opening(path))?;
    Ok(connection)
}
