//! The pool of reading connections.
//!
//! Each thread prefers one reader, so that its pages stay in the cache of the same core. It takes
//! another when that one is busy, and waits when all are.
//!
//! A read transaction costs more to begin and end than a point read. So a reader keeps its snapshot
//! until the commit stamp changes. The writer releases the snapshots when it empties the log
//! ([`Readers::release`]).

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use docent_store::CommitStamp;
use rusqlite::Connection;

use crate::connection::{READ_CACHE_KIB, open_reader};
use crate::error::EngineError;
use crate::stamp::StampSource;

thread_local! {
    static PREFERRED: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
}

#[derive(Debug)]
pub(crate) struct Readers {
    readers: Vec<Mutex<Reader>>,
    stamp: Arc<StampSource>,
}

#[derive(Debug)]
struct Reader {
    connection: Connection,
    in_transaction: bool,
    /// Nothing had been committed after this stamp when the open transaction began; `None` if the
    /// stamp is unknown.
    stamp: Option<CommitStamp>,
}

impl Readers {
    pub(crate) fn open(
        path: &Path,
        count: usize,
        stamp: Arc<StampSource>,
    ) -> Result<Self, EngineError> {
        let count = count.max(1);
        let readers = (0..count)
            .map(|_| {
                let connection = open_reader(path, READ_CACHE_KIB / count)?;
                Ok(Mutex::new(Reader {
                    connection,
                    in_transaction: false,
                    stamp: None,
                }))
            })
            .collect::<Result<_, EngineError>>()?;
        Ok(Self { readers, stamp })
    }

    /// Runs `read` on one snapshot, which includes every commit so far.
    pub(crate) fn snapshot<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        // Read before the snapshot begins: the snapshot may be newer than its stamp, never older.
        self.snapshot_since(self.stamp.if_cheap()?, read)
    }

    /// The same with a stamp that the caller has just read.
    pub(crate) fn snapshot_since<T>(
        &self,
        stamp: Option<CommitStamp>,
        read: impl FnOnce(&Connection) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut reader = self.take();
        if stamp.is_none() || reader.stamp != stamp {
            reader.end();
            begin(&reader.connection)?;
            reader.in_transaction = true;
            reader.stamp = stamp;
        }
        let result = read(&reader.connection);
        if stamp.is_none() || result.is_err() {
            reader.end();
        }
        result
    }

    /// Ends the snapshots of idle readers.
    pub(crate) fn release(&self) {
        for reader in &self.readers {
            // A busy reader begins a new snapshot with its next read.
            if let Some(mut reader) = if_free(reader) {
                reader.end();
            }
        }
    }

    fn take(&self) -> MutexGuard<'_, Reader> {
        let count = self.readers.len();
        let preferred = PREFERRED.with(|preferred| *preferred) % count;
        for offset in 0..count {
            if let Some(reader) = if_free(&self.readers[(preferred + offset) % count]) {
                return reader;
            }
        }
        self.readers[preferred]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reader, unless it is in use.
fn if_free(reader: &Mutex<Reader>) -> Option<MutexGuard<'_, Reader>> {
    match reader.try_lock() {
        Ok(guard) => Some(guard),
        // A panic during a read is harmless: the next read begins a new snapshot.
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl Reader {
    fn end(&mut self) {
        self.stamp = None;
        if std::mem::take(&mut self.in_transaction) {
            commit(&self.connection);
        }
    }
}

fn begin(connection: &Connection) -> Result<(), EngineError> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    Ok(())
}

fn commit(connection: &Connection) {
    let ended = connection
        .prepare_cached("COMMIT")
        .and_then(|mut statement| statement.execute([]));
    if let Err(error) = ended {
        tracing::error!(%error, "cannot end a read transaction");
    }
}

/// A read transaction that ends with its scope, for single-use connections.
pub(crate) struct Snapshot<'c>(&'c Connection);

impl<'c> Snapshot<'c> {
    pub(crate) fn begin(connection: &'c Connection) -> Result<Self, EngineError> {
        begin(connection)?;
        Ok(Self(connection))
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        commit(self.0);
    }
}
