//! Online backup of the whole database to one file, and restore.
//!
//! The file is text: a header line; for each table a line with name, columns and row count,
//! followed by the rows in PostgreSQL's `COPY` format, one line each; and a digest of everything
//! before it. It is written under a temporary name, synced and then renamed, so a file with the
//! final name is always complete. PostgreSQL's own backups (`pg_dump`, base backup and WAL archive)
//! work as well.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;

use bytes::{Bytes, BytesMut};
use docent_model::hex;
use docent_store::StoreError;
use futures_util::{SinkExt as _, StreamExt as _};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use crate::error::EngineError;
use crate::migrations;
use crate::pool::{Connections, Lease};
use crate::serving;
use crate::settings::Settings;
use crate::values::count_at;

const HEADER: &str = "docent backup of a PostgreSQL store, format 3";
/// Without the runs of changes.
const HEADER_2: &str = "docent backup of a PostgreSQL store, format 2";
const CHANGE_LOG_2: (&str, &str) = (
    "change_log",
    "transaction,item,urn,aspect,kind,logical_version,time_ms,actor",
);
/// Without the tables of the audit log.
const HEADER_1: &str = "docent backup of a PostgreSQL store, format 1";
const TABLES_1: usize = 8;
/// The start of the header in all format versions.
pub const BACKUP_START: &[u8] = b"docent backup of a PostgreSQL store,";

/// Tables with their columns, in the order of the file.
const TABLES: [(&str, &str); 10] = [
    (
        "metadata_aspect_v2",
        "urn,aspect,version,metadata,systemmetadata,createdon,createdby,createdfor",
    ),
    ("edge", "source,aspect,relationship,destination"),
    ("placement", "urn,aspect,kind,parent,name,created_ms"),
    (
        "change_log",
        "transaction,item,urn,aspect,kind,logical_version,time_ms,actor,run",
    ),
    ("change_pending", "transaction,changes"),
    ("change_commit", "first_position,transaction,changes"),
    (
        "timeseries",
        "urn,aspect,time_ms,id,metadata,systemmetadata",
    ),
    ("retired_version", "urn,aspect,version"),
    (
        "audit_event",
        "time_ms,id,actor,address,credential,operation,outcome,policies,reason,dropped,entities",
    ),
    ("audit_item", "time_ms,event,urn,changes"),
];

/// The tables in a file with this first line; `None` if it is not a backup.
fn tables(header: &str) -> Option<Vec<(&'static str, &'static str)>> {
    let older = |(name, columns)| match name {
        "change_log" => CHANGE_LOG_2,
        _ => (name, columns),
    };
    match header.trim_end_matches('\n') {
        HEADER => Some(TABLES.to_vec()),
        HEADER_2 => Some(TABLES.map(older).to_vec()),
        HEADER_1 => Some(TABLES.map(older)[..TABLES_1].to_vec()),
        _ => None,
    }
}

/// Rows between two progress reports.
const PROGRESS_STEP: u64 = 1000;
/// The size of a chunk sent or written.
const CHUNK_BYTES: usize = 64 * 1024;
/// The capacity of the channel between disk and database.
const CHUNKS: usize = 16;

type Progress<'p> = &'p mut (dyn FnMut(u64, u64) + Send);

/// Writes a consistent copy of the database to the new file `target`.
pub(crate) async fn backup(
    connections: &Connections,
    target: &Path,
    progress: Progress<'_>,
) -> Result<(), EngineError> {
    if target.try_exists().unwrap_or(true) {
        return Err(rejected(format!(
            "{} already exists; choose another name for the backup",
            target.display()
        )));
    }
    let (chunks, written) = mpsc::channel(CHUNKS);
    let path = target.to_owned();
    let writer = tokio::task::spawn_blocking(move || write_file(&path, written));
    let sent = send_tables(connections, &chunks, progress).await;
    // Without this end marker the writer deletes the file.
    if sent.is_ok() {
        let _ = chunks.send(None).await;
    }
    drop(chunks);
    let wrote = writer.await.map_err(StoreError::other)?;
    sent?;
    Ok(wrote.map_err(|error| file_error(target, &error))?)
}

async fn send_tables(
    connections: &Connections,
    chunks: &mpsc::Sender<Option<Bytes>>,
    progress: Progress<'_>,
) -> Result<(), EngineError> {
    let mut lease = connections.lease().await?;
    lease
        .begin_long("ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .await?;
    let mut counts = Vec::with_capacity(TABLES.len());
    for (table, _) in TABLES {
        let rows = lease
            .query(&format!("SELECT count(*) FROM {table}"), &[])
            .await?;
        counts.push(rows.first().map_or(Ok(0), |row| count_at(row, 0))?);
    }
    let (mut done, total) = (0, counts.iter().sum());
    let mut buffer = BytesMut::from(format!("{HEADER}\n").as_bytes());
    for ((table, columns), count) in TABLES.iter().zip(counts) {
        buffer.extend_from_slice(format!("{table}({columns}) {count}\n").as_bytes());
        let copy = format!("COPY {table} ({columns}) TO STDOUT");
        let mut rows = pin!(lease.client()?.copy_out(&copy).await?);
        while let Some(row) = rows.next().await {
            buffer.extend_from_slice(&row?);
            done += 1;
            if done % PROGRESS_STEP == 0 {
                progress(done, total);
            }
            if buffer.len() >= CHUNK_BYTES
                && chunks.send(Some(buffer.split().freeze())).await.is_err()
            {
                // The writer failed and returns the error.
                return Ok(());
            }
        }
    }
    let _ = chunks.send(Some(buffer.freeze())).await;
    lease.commit().await?;
    progress(total, total);
    Ok(())
}

/// Writes chunks until the end marker, `None`.
fn write_file(target: &Path, mut chunks: mpsc::Receiver<Option<Bytes>>) -> std::io::Result<()> {
    let unfinished = Unfinished::beside(target)?;
    let mut file = BufWriter::new(create_private(&unfinished.0)?);
    let mut digest = Sha256::new();
    loop {
        match chunks.blocking_recv() {
            Some(Some(chunk)) => {
                digest.update(&chunk);
                file.write_all(&chunk)?;
            }
            Some(None) => break,
            // The sender failed and returns the error.
            None => return Ok(()),
        }
    }
    writeln!(file, "{}", hex(&digest.finalize()))?;
    file.into_inner()?.sync_all()?;
    fs::rename(&unfinished.0, target)?;
    // The rename is durable once the directory is synced.
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

/// Creates a file that only its owner can read: it contains hashes of passwords and tokens.
fn create_private(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600).open(path)
}

/// A temporary file, removed on drop unless renamed.
struct Unfinished(PathBuf);

impl Unfinished {
    fn beside(target: &Path) -> std::io::Result<Self> {
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".{}.unfinished", std::process::id()));
        let path = PathBuf::from(name);
        if path.try_exists()? {
            fs::remove_file(&path)?;
        }
        Ok(Self(path))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Restores a backup into a database.
///
/// Verifies the whole file first. Rejects a damaged file, a database in use by a server, and a
/// database with data unless `replace` is set.
pub async fn restore(
    from: &Path,
    settings: &Settings,
    replace: bool,
    progress: Progress<'_>,
) -> Result<(), StoreError> {
    let path = from.to_owned();
    let verified = tokio::task::spawn_blocking(move || verify(&path));
    let total = verified.await.map_err(StoreError::other)??;
    let connections = Connections::new(settings)?;
    let mut lease = connections.lease().await?;
    // Checked before the migration: a rejected database keeps its schema.
    lease.begin_long("").await?;
    expect_replaceable(&lease, replace).await?;
    lease.commit().await?;
    migrations::migrate(&mut lease, true).await?;
    Ok(fill(&mut lease, from, total, replace, progress).await?)
}

/// Rejects a database in use, and one with data unless `replace` is set. Returns whether it has
/// data.
async fn expect_replaceable(lease: &Lease, replace: bool) -> Result<bool, EngineError> {
    serving::exclude_servers(lease, "a server uses the database; stop it first").await?;
    if !migrations::has_catalog(lease).await? {
        return Ok(false);
    }
    let has_data =
        "SELECT EXISTS (SELECT 1 FROM metadata_aspect_v2) OR EXISTS (SELECT 1 FROM change_log)";
    let rows = lease.query(has_data, &[]).await?;
    let has_data = rows.first().is_some_and(|row| row.get(0));
    if has_data && !replace {
        return Err(rejected(
            "the database already contains a catalog: pass --replace to overwrite it with the backup"
                .to_owned(),
        ));
    }
    Ok(has_data)
}

async fn fill(
    lease: &mut Lease,
    from: &Path,
    total: u64,
    replace: bool,
    progress: Progress<'_>,
) -> Result<(), EngineError> {
    lease.begin_long("").await?;
    if expect_replaceable(lease, replace).await? {
        let names: Vec<&str> = TABLES.iter().map(|(table, _)| *table).collect();
        lease
            .execute(&format!("TRUNCATE {}", names.join(", ")))
            .await?;
    }
    let (sender, mut chunks) = mpsc::channel(CHUNKS);
    let path = from.to_owned();
    let reader = tokio::task::spawn_blocking(move || read_file(&path, &sender));
    let mut done = 0;
    let mut chunk = chunks.recv().await;
    while let Some(Chunk::Table(statement)) = chunk {
        let mut sink = pin!(lease.client()?.copy_in::<_, Bytes>(&statement).await?);
        chunk = chunks.recv().await;
        while let Some(Chunk::Rows(rows, count)) = chunk {
            sink.send(rows).await?;
            done += count;
            progress(done, total);
            chunk = chunks.recv().await;
        }
        sink.close().await?;
    }
    reader.await.map_err(StoreError::other)??;
    lease
        .query(
            "SELECT setval('change_transaction', (SELECT coalesce(max(transaction), 0) + 1 FROM change_log), false)",
            &[],
        )
        .await?;
    lease.commit().await?;
    progress(total, total);
    Ok(())
}

enum Chunk {
    /// The `COPY` statement of the next table.
    Table(String),
    /// Rows, and their number.
    Rows(Bytes, u64),
}

/// Sends the chunks of a verified file.
fn read_file(path: &Path, chunks: &mpsc::Sender<Chunk>) -> Result<(), StoreError> {
    let mut file = open(path)?;
    let send = |chunk| {
        chunks
            .blocking_send(chunk)
            .map_err(|_| StoreError::other("the restore was aborted"))
    };
    let failed = |error: std::io::Error| file_error(path, &error);
    let mut line = String::new();
    file.read_line(&mut line).map_err(failed)?;
    for _ in tables(&line).unwrap_or_default() {
        line.clear();
        file.read_line(&mut line).map_err(failed)?;
        let Some((table, count)) = table_line(&line) else {
            return Err(damaged(path));
        };
        send(Chunk::Table(format!("COPY {table} FROM STDIN")))?;
        let (mut rows, mut buffered) = (Vec::new(), 0);
        for _ in 0..count {
            file.read_until(b'\n', &mut rows).map_err(failed)?;
            buffered += 1;
            if rows.len() >= CHUNK_BYTES {
                send(Chunk::Rows(std::mem::take(&mut rows).into(), buffered))?;
                buffered = 0;
            }
        }
        send(Chunk::Rows(rows.into(), buffered))?;
    }
    Ok(())
}

/// Rejects a file that is not a complete backup; returns its number of rows.
fn verify(path: &Path) -> Result<u64, StoreError> {
    let mut file = open(path)?;
    let failed = |error: std::io::Error| file_error(path, &error);
    let mut digest = Sha256::new();
    let mut line = Vec::new();
    let mut next = |line: &mut Vec<u8>| -> Result<(), StoreError> {
        line.clear();
        file.read_until(b'\n', line).map_err(failed)?;
        Ok(())
    };
    next(&mut line)?;
    let Some(tables) = std::str::from_utf8(&line).ok().and_then(tables) else {
        return Err(StoreError::Rejected {
            reason: format!(
                "{} is not a backup of a PostgreSQL store, or one of a newer docent",
                path.display()
            ),
        });
    };
    digest.update(&line);
    let mut total = 0;
    for (expected, columns) in tables {
        next(&mut line)?;
        digest.update(&line);
        let text = String::from_utf8_lossy(&line);
        let Some((table, count)) = table_line(&text) else {
            return Err(damaged(path));
        };
        if table != format!("{expected}({columns})") {
            return Err(damaged(path));
        }
        for _ in 0..count {
            next(&mut line)?;
            digest.update(&line);
        }
        total += count;
    }
    next(&mut line)?;
    if line.strip_suffix(b"\n") != Some(hex(&digest.finalize()).as_bytes()) {
        return Err(damaged(path));
    }
    Ok(total)
}

/// `name(columns) count`.
fn table_line(line: &str) -> Option<(&str, u64)> {
    let (table, count) = line.trim_end().rsplit_once(' ')?;
    Some((table, count.parse().ok()?))
}

fn open(path: &Path) -> Result<BufReader<File>, StoreError> {
    let file = File::open(path).map_err(|error| file_error(path, &error))?;
    Ok(BufReader::with_capacity(CHUNK_BYTES, file))
}

fn damaged(path: &Path) -> StoreError {
    StoreError::Rejected {
        reason: format!("{} is damaged or incomplete", path.display()),
    }
}

fn file_error(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Rejected {
        reason: format!("{}: {error}", path.display()),
    }
}

fn rejected(reason: String) -> EngineError {
    StoreError::Rejected { reason }.into()
}
