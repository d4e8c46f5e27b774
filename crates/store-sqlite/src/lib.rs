//! The store on one SQLite file: the default engine.
//!
//! One thread writes with group commit (`writer`); a few connections read concurrently (`readers`),
//! which SQLite's write-ahead log allows. Point reads run on the calling thread, because they take
//! a few microseconds; longer reads run on a blocking thread.
//!
//! This crate speaks SQL and decides nothing: the effect of a write on versions, history and
//! derived rows comes from `docent_store::version` and `docent_model::derive`.
//!
//! To add a query: its statement in `read`, its method in `store_reader`, its test in the
//! conformance suite. To change the schema: `migrations`.

mod audit_log;
mod backup;
mod browse;
mod byte_limit;
mod check;
mod connection;
mod derived;
mod edges;
mod error;
mod lock;
mod migrations;
mod path;
mod placements;
mod points;
mod read;
mod readers;
mod rebuild;
mod row_cache;
mod runs;
mod stamp;
mod store_maintenance;
mod store_reader;
mod transaction;
mod transfer;
mod wal_segment;
mod wal_tail;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use docent_store::{StoreError, StoreWriter, TransactionBody, spent};

use crate::error::EngineError;
use crate::lock::ServerLock;
use crate::readers::Readers;
use crate::row_cache::RowCache;
use crate::stamp::{LogIndex, StampSource};
use crate::writer::{Log, Writer};

pub use backup::{BACKUP_START, restore};
pub use check::check_file;
pub use path::real_path;
pub use wal_segment::{RollForward, WalPosition, WalSegment};
pub use wal_tail::WalTail;
pub use writer::WriterStatistics;

/// How to open a database.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    /// For a server: no other server may use the file. Commands can run next to a server without
    /// it.
    pub exclusive: bool,
    /// Creates the file if it does not exist.
    pub create: bool,
    /// The number of reading connections.
    pub readers: usize,
    /// For a server: keeps its write-ahead log until it is collected ([`SqliteStore::wal_tail`]).
    pub archive_wal: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            exclusive: true,
            create: true,
            readers: cores.clamp(2, 8),
            archive_wal: false,
        }
    }
}

/// A SQLite file as a [`docent_store::Store`]. Dropping it finishes the queued writes.
#[derive(Debug)]
pub struct SqliteStore {
    // Drop order: the writing connection closes last, so that SQLite can remove its log. Then the
    // log index may close, and then the lock.
    readers: Arc<Readers>,
    row_cache: RowCache,
    stamp: Arc<StampSource>,
    writer: Writer,
    wal_tail: Option<Arc<WalTail>>,
    _log_index: Option<LogIndex>,
    path: PathBuf,
    _lock: Option<ServerLock>,
}

impl SqliteStore {
    /// Opens the database and migrates its schema. Rejects the schema of a newer docent.
    pub fn open(path: &Path, options: OpenOptions) -> Result<Self, StoreError> {
        let path = real_path(path);
        if options.create {
            path::create_file(&path)?;
        } else {
            path::expect_file(&path)?;
        }
        let lock = if options.exclusive {
            Some(ServerLock::take(&path)?)
        } else {
            lock::expect_server_uses_same_name(&path)?;
            None
        };
        Ok(Self::open_locked(path, options, lock)?)
    }

    /// Opens a database for reading only. Changes nothing: neither the schema, which it rejects if
    /// it is older, nor the log that a server has left.
    pub fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        let path = real_path(path);
        path::expect_file(&path)?;
        lock::expect_server_uses_same_name(&path)?;
        Ok(Self::open_reading(path)?)
    }

    fn open_reading(path: PathBuf) -> Result<Self, EngineError> {
        let connection = connection::open_read_only(&path)?;
        if migrations::state(&connection, &path)? != migrations::NEWEST {
            return Err(EngineError::Store(StoreError::Rejected {
                reason: format!(
                    "{} was written by an older docent: run 'docent serve' or 'docent rebuild' first, which migrate it",
                    path.display()
                ),
            }));
        }
        let stamp = Arc::new(StampSource::data_version(&path)?);
        let readers = Arc::new(Readers::open(&path, 1, Arc::clone(&stamp))?);
        let log = Log {
            stamp: Arc::clone(&stamp),
            readers: Arc::clone(&readers),
            file: None,
            tail: None,
        };
        Ok(Self {
            readers,
            row_cache: RowCache::new(),
            stamp,
            // Its transactions fail, because the connection does not write.
            writer: Writer::start(connection, log)?,
            wal_tail: None,
            _log_index: None,
            path,
            _lock: None,
        })
    }

    fn open_locked(
        path: PathBuf,
        options: OpenOptions,
        lock: Option<ServerLock>,
    ) -> Result<Self, EngineError> {
        let write_connection = connection::open_writer(&path)?;
        let log_index = options
            .exclusive
            .then(|| LogIndex::open(&path))
            .transpose()?;
        migrations::migrate(&write_connection, &path)?;
        let stamp = Arc::new(match &log_index {
            Some(index) => StampSource::LogIndex(index.clone()),
            None => StampSource::data_version(&path)?,
        });
        let readers = Readers::open(&path, options.readers, Arc::clone(&stamp))?;
        let readers = Arc::new(readers);
        let wal_tail = match log_index.clone().filter(|_| options.archive_wal) {
            Some(index) => Some(Arc::new(WalTail::open(&path, index)?)),
            None => None,
        };
        let log = Log {
            stamp: Arc::clone(&stamp),
            readers: Arc::clone(&readers),
            file: lock.as_ref().map(|lock| lock.file().clone()),
            tail: wal_tail.clone(),
        };
        Ok(Self {
            readers,
            row_cache: RowCache::new(),
            stamp,
            writer: Writer::start(write_connection, log)?,
            wal_tail,
            _log_index: log_index,
            path,
            _lock: lock,
        })
    }

    /// The write-ahead log as it grows, if it is to be archived.
    pub fn wal_tail(&self) -> Option<Arc<WalTail>> {
        self.wal_tail.clone()
    }

    /// How well the writer groups: transactions per commit.
    pub fn writer_statistics(&self) -> WriterStatistics {
        self.writer.statistics()
    }
}

#[async_trait]
impl StoreWriter for SqliteStore {
    async fn is_writable(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    async fn run_transaction(&self, body: Box<dyn TransactionBody>) -> Result<(), StoreError> {
        spent::timed(|spent| &spent.transactions, self.writer.run(body)).await
    }
}

async fn blocking<T: Send + 'static>(
    task: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, StoreError> {
    let ended = tokio::task::spawn_blocking(task).await;
    Ok(ended.map_err(StoreError::other)??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_writing_connection_syncs_every_commit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("docent.db");
        for exclusive in [true, false] {
            let options = OpenOptions {
                exclusive,
                ..OpenOptions::default()
            };
            let store = SqliteStore::open(&path, options).unwrap();
            let query = |pragma: &'static str| {
                store.writer.run_exclusive(move |connection| {
                    Ok(connection.query_row(pragma, [], |row| row.get::<_, i64>(0))?)
                })
            };
            // 2 is FULL: the log is on disk before a commit is acknowledged. With NORMAL (1), a
            // power failure loses the last commits.
            assert_eq!(query("PRAGMA synchronous").await.unwrap(), 2);
            assert_eq!(query("PRAGMA wal_autocheckpoint").await.unwrap(), 0);
        }
    }
}
