//! The store on one SQLite file: the default engine.
//!
//! One thread writes and commits in groups (`writer`), a few connections read beside it (`readers`); SQLite's
//! write-ahead log lets both go on at once. Point reads run in place on the caller's thread, because they take a few
//! microseconds; whatever may take longer goes to a thread that may block.
//!
//! This crate speaks SQL and decides nothing: what a write does to versions, history and derived rows is handed
//! to it (`docent_store::version`, `docent_model::derive`).
//!
//! To add a query: its statement in `read`, its method in [`SqliteStore`], its test in the conformance suite. To
//! change the schema: `migrations`.

mod backup;
mod check;
mod connection;
mod derived;
mod error;
mod lock;
mod migrations;
mod path;
mod placements;
mod points;
mod read;
mod readers;
mod rebuild;
mod recent;
mod runs;
mod stamp;
mod store_maintenance;
mod store_reader;
mod transaction;
mod transfer;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use docent_store::{StoreError, StoreWriter, Work};

use crate::error::EngineError;
use crate::lock::ServerLock;
use crate::readers::Readers;
use crate::recent::RecentRows;
use crate::stamp::{LogIndex, StampSource};
use crate::writer::{Log, Writer};

pub use backup::{BACKUP_START, restore};
pub use check::check_file;
pub use path::real_path;
pub use writer::WriterStatistics;

/// How to open a database.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    /// For a server: no other server may use the file. Commands leave it off and work beside a running server.
    pub exclusive: bool,
    /// Makes the file if there is none.
    pub create: bool,
    /// How many connections read.
    pub readers: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            exclusive: true,
            create: true,
            readers: cores.clamp(2, 8),
        }
    }
}

/// A SQLite file as a [`docent_store::Store`]. Dropping it finishes the queued writes.
#[derive(Debug)]
pub struct SqliteStore {
    // Fields are dropped from the top: the connection that may write closes last, so that SQLite can put its log
    // away; then the file beside the database may close, and then the lock goes.
    readers: Arc<Readers>,
    recent: RecentRows,
    stamp: Arc<StampSource>,
    writer: Writer,
    _log_index: Option<LogIndex>,
    path: PathBuf,
    _lock: Option<ServerLock>,
}

impl SqliteStore {
    /// Opens the database and brings its schema up to date. Refuses one that a newer docent wrote.
    pub fn open(path: &Path, options: OpenOptions) -> Result<Self, StoreError> {
        let path = real_path(path);
        if options.create {
            path::make_file(&path)?;
        } else {
            path::expect_file(&path)?;
        }
        let lock = if options.exclusive {
            Some(ServerLock::take(&path)?)
        } else {
            lock::expect_one_name(&path)?;
            None
        };
        Ok(Self::open_locked(path, options, lock)?)
    }

    fn open_locked(
        path: PathBuf,
        options: OpenOptions,
        lock: Option<ServerLock>,
    ) -> Result<Self, EngineError> {
        let writing = connection::open_writer(&path)?;
        let log_index = options
            .exclusive
            .then(|| LogIndex::open(&path))
            .transpose()?;
        migrations::migrate(&writing, &path)?;
        let stamp = Arc::new(match &log_index {
            Some(index) => StampSource::Log(index.clone()),
            None => StampSource::asked(&path)?,
        });
        let readers = Readers::open(&path, options.readers, Arc::clone(&stamp))?;
        let readers = Arc::new(readers);
        let log = Log {
            stamp: Arc::clone(&stamp),
            readers: Arc::clone(&readers),
            place: lock.as_ref().map(|lock| lock.place().clone()),
        };
        Ok(Self {
            readers,
            recent: RecentRows::new(),
            stamp,
            writer: Writer::start(writing, log)?,
            _log_index: log_index,
            path,
            _lock: lock,
        })
    }

    /// How well the writer groups: pieces of work against commits.
    pub fn writer_statistics(&self) -> WriterStatistics {
        self.writer.statistics()
    }
}

#[async_trait]
impl StoreWriter for SqliteStore {
    async fn is_writable(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    async fn run(&self, work: Box<dyn Work>) -> Result<(), StoreError> {
        self.writer.run(work).await
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
    async fn the_connection_that_writes_syncs_every_commit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("docent.db");
        for exclusive in [true, false] {
            let options = OpenOptions {
                exclusive,
                ..OpenOptions::default()
            };
            let store = SqliteStore::open(&path, options).unwrap();
            let ask = |pragma: &'static str| {
                store.writer.run_alone(move |connection| {
                    Ok(connection.query_row(pragma, [], |row| row.get::<_, i64>(0))?)
                })
            };
            // 2 is FULL: the log is on the disk before a commit is acknowledged. With NORMAL, which is 1, the last
            // commits are lost with the power.
            assert_eq!(ask("PRAGMA synchronous").await.unwrap(), 2);
            assert_eq!(ask("PRAGMA wal_autocheckpoint").await.unwrap(), 0);
        }
    }
}
