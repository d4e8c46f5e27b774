//! The peer of writes: plain rusqlite on the store's tables.
//!
//! The peer writes exactly what the server wrote: the rows are read from the server's store, in
//! change log order, and written to a copy of the store from before. So the peer has the same
//! tables, rows and settings, and none of the server's other work. The audit log is such work: only
//! the server writes it.
//!
//! A new table that the server fills must be added to [`AspectWrite`]; [`check_tables`] detects it.

pub(crate) mod grow;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, params};

use crate::process;

/// The settings of the server's own writer.
const WRITER_SETTINGS: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA cache_size = -8192;
    PRAGMA wal_autocheckpoint = 4000;
    PRAGMA journal_size_limit = 67108864;";

/// Tables that [`AspectWrite`] covers, the audit log, and tables without rows per write.
const KNOWN_TABLES: [&str; 9] = [
    "audit_event",
    "audit_item",
    "change_log",
    "docent_migration",
    "edge",
    "metadata_aspect_v2",
    "placement",
    "retired_version",
    "timeseries",
];

/// The time limit of one replay.
const MAX_DURATION: Duration = Duration::from_mins(2);

/// One write of one aspect: its change log entry and its rows.
#[derive(Debug)]
pub(crate) struct AspectWrite {
    position: i64,
    urn: String,
    aspect: String,
    logical_version: i64,
    time_ms: i64,
    actor: String,
    row: Version,
    /// The previous latest row.
    previous: Option<Version>,
    /// Present only for the first version of an aspect.
    edges: Vec<(String, String)>,
    placement: Option<(String, String, String, i64)>,
}

#[derive(Debug)]
struct Version {
    metadata: String,
    system_metadata: Option<String>,
    created_on: i64,
    created_by: String,
    created_for: Option<String>,
}

/// Opens the store of a running server for reading.
pub(crate) fn open_reader(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
        .with_context(|| format!("cannot read {}", path.display()))
}

/// Opens a store that is not in use for writing.
pub(crate) fn open_writer(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)
        .with_context(|| format!("cannot open {}", path.display()))?;
    connection.set_prepared_statement_cache_capacity(32);
    connection.execute_batch(WRITER_SETTINGS)?;
    Ok(connection)
}

/// Returns the default search index directory of a store.
pub(crate) fn search_index(database: &Path) -> PathBuf {
    database.with_extension("db-search")
}

/// Copies the files of a stopped server, including its search index: building a new one would count
/// as the cost of requests.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    let log = from.with_extension("db-wal");
    ensure!(!log.exists(), "{} is still in use", from.display());
    std::fs::copy(from, to).with_context(|| format!("cannot copy to {}", to.display()))?;
    let index = search_index(from);
    if index.exists() {
        copy_directory(&index, &search_index(to))?;
    }
    Ok(())
}

fn copy_directory(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in
        std::fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))?
    {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target)
                .with_context(|| format!("cannot copy to {}", target.display()))?;
        }
    }
    Ok(())
}

/// Returns the bytes of all files in a directory.
pub(crate) fn size_of_directory(directory: &Path) -> Result<u64> {
    let mut size = 0;
    let mut open: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                open.push(entry.path());
            } else {
                size += metadata.len();
            }
        }
    }
    Ok(size)
}

/// Fails if the store has a table that the peer does not write.
pub(crate) fn check_tables(connection: &Connection) -> Result<()> {
    let mut statement = connection.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?;
    for name in names {
        let name = name?;
        ensure!(
            KNOWN_TABLES.contains(&name.as_str()),
            "the store has a table '{name}' that the peer does not write: add it to bench/src/store.rs"
        );
    }
    Ok(())
}

/// Returns the last position of the change log.
pub(crate) fn last_position(connection: &Connection) -> Result<i64> {
    let sql = "SELECT coalesce(max(position), 0) FROM change_log";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

pub(crate) fn aspect_rows(connection: &Connection) -> Result<u64> {
    let sql = "SELECT count(*) FROM metadata_aspect_v2";
    let rows: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    Ok(rows.unsigned_abs())
}

/// Returns all writes after a position of the change log.
pub(crate) fn writes_after(connection: &Connection, position: i64) -> Result<Vec<AspectWrite>> {
    let mut statement = connection.prepare(
        "SELECT position, urn, aspect, logical_version, time_ms, actor FROM change_log \
         WHERE position > ?1 AND kind = 'put' ORDER BY position",
    )?;
    let mut rows = statement.query([position])?;
    let mut writes = Vec::new();
    while let Some(row) = rows.next()? {
        writes.push(write_at(connection, row)?);
    }
    Ok(writes)
}

fn write_at(connection: &Connection, change: &Row<'_>) -> Result<AspectWrite> {
    let (urn, aspect): (String, String) = (change.get(1)?, change.get(2)?);
    let logical_version: i64 = change.get(3)?;
    let lost = || format!("version {logical_version} of {urn} {aspect} is no longer stored");
    let row = version(connection, &urn, &aspect, logical_version)?
        .or(version(connection, &urn, &aspect, 0)?)
        .with_context(lost)?;
    let previous = match logical_version {
        1 => None,
        later => Some(version(connection, &urn, &aspect, later - 1)?.with_context(lost)?),
    };
    let mut edges = Vec::new();
    let mut placement = None;
    if previous.is_none() {
        let mut statement = connection.prepare_cached(
            "SELECT relationship, destination FROM edge WHERE source = ?1 AND aspect = ?2",
        )?;
        let found = statement.query_map((&urn, &aspect), |row| Ok((row.get(0)?, row.get(1)?)))?;
        edges = found.collect::<Result<_, _>>()?;
        placement = connection
            .prepare_cached(
                "SELECT kind, parent, name, created_ms FROM placement WHERE urn = ?1 AND aspect = ?2",
            )?
            .query_row((&urn, &aspect), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .optional()?;
    }
    Ok(AspectWrite {
        position: change.get(0)?,
        logical_version,
        time_ms: change.get(4)?,
        actor: change.get(5)?,
        row,
        previous,
        edges,
        placement,
        urn,
        aspect,
    })
}

fn version(
    connection: &Connection,
    urn: &str,
    aspect: &str,
    version: i64,
) -> Result<Option<Version>> {
    let mut statement = connection.prepare_cached(
        "SELECT metadata, systemmetadata, createdon, createdby, createdfor \
         FROM metadata_aspect_v2 WHERE urn = ?1 AND aspect = ?2 AND version = ?3",
    )?;
    let found = statement.query_row((urn, aspect, version), |row| {
        Ok(Version {
            metadata: row.get(0)?,
            system_metadata: row.get(1)?,
            created_on: row.get(2)?,
            created_by: row.get(3)?,
            created_for: row.get(4)?,
        })
    });
    Ok(found.optional()?)
}

/// Repeats the server's writes, with this many per transaction, on the server's core. Returns the
/// duration.
pub(crate) fn replay(
    path: &Path,
    writes: Vec<AspectWrite>,
    per_transaction: usize,
) -> Result<Duration> {
    let path = path.to_owned();
    let thread = std::thread::spawn(move || -> Result<Duration> {
        process::pin(process::SERVER_CORE)?;
        let connection = open_writer(&path)?;
        let started = Instant::now();
        for transaction in writes.chunks(per_transaction) {
            connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            for write in transaction {
                write_one(&connection, write)?;
            }
            connection.prepare_cached("COMMIT")?.execute([])?;
            ensure!(
                started.elapsed() < MAX_DURATION,
                "the disk is too slow for this measurement: the replay took more than {} s",
                MAX_DURATION.as_secs()
            );
        }
        Ok(started.elapsed())
    });
    match thread.join() {
        Ok(result) => result,
        Err(_) => anyhow::bail!("the replay panicked"),
    }
}

fn write_one(connection: &Connection, write: &AspectWrite) -> Result<()> {
    let (urn, aspect) = (write.urn.as_str(), write.aspect.as_str());
    match &write.previous {
        None => insert(connection, urn, aspect, 0, &write.row)?,
        Some(previous) => {
            insert(connection, urn, aspect, write.logical_version - 1, previous)?;
            let row = &write.row;
            let changed = connection
                .prepare_cached(
                    "UPDATE metadata_aspect_v2 SET metadata = ?3, systemmetadata = ?4, createdon = ?5, \
                     createdby = ?6, createdfor = ?7 WHERE urn = ?1 AND aspect = ?2 AND version = 0",
                )?
                .execute(params![
                    urn,
                    aspect,
                    row.metadata,
                    row.system_metadata,
                    row.created_on,
                    row.created_by,
                    row.created_for
                ])?;
            ensure!(
                changed == 1,
                "{urn} {aspect} is not in the copy of the store"
            );
        }
    }
    for (relationship, destination) in &write.edges {
        connection
            .prepare_cached(
                "INSERT INTO edge (source, aspect, relationship, destination) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((urn, aspect, relationship, destination))?;
    }
    if let Some((kind, parent, name, created_ms)) = &write.placement {
        connection
            .prepare_cached(
                "INSERT INTO placement (urn, aspect, kind, parent, name, created_ms) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute((urn, aspect, kind, parent, name, created_ms))?;
    }
    connection
        .prepare_cached(
            "INSERT INTO change_log (position, urn, aspect, kind, logical_version, time_ms, actor) \
             VALUES (?1, ?2, ?3, 'put', ?4, ?5, ?6)",
        )?
        .execute((
            write.position,
            urn,
            aspect,
            write.logical_version,
            write.time_ms,
            &write.actor,
        ))?;
    Ok(())
}

fn insert(
    connection: &Connection,
    urn: &str,
    aspect: &str,
    version: i64,
    row: &Version,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO metadata_aspect_v2 (urn, aspect, version, metadata, systemmetadata, createdon, \
             createdby, createdfor) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            urn,
            aspect,
            version,
            row.metadata,
            row.system_metadata,
            row.created_on,
            row.created_by,
            row.created_for
        ])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use docent_store_sqlite::{OpenOptions, SqliteStore};

    use super::*;

    #[test]
    fn the_peer_covers_every_table_of_a_store() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("docent.db");
        drop(SqliteStore::open(&path, OpenOptions::default()).unwrap());
        check_tables(&open_reader(&path).unwrap()).unwrap();
    }
}
