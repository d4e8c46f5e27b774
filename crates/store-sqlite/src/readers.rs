//! The connections that read.
//!
//! Each thread has a reader that it prefers, so that its pages stay in the cache of the core that uses them, and
//! takes any other when that one is busy. Only when all are busy it waits.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use rusqlite::Connection;

use crate::connection::{READ_CACHE_KIB, open_reader};
use crate::error::EngineError;

thread_local! {
    static PREFERRED: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
}

#[derive(Debug)]
pub(crate) struct Readers {
    connections: Vec<Mutex<Connection>>,
}

impl Readers {
    pub(crate) fn open(path: &Path, count: usize) -> Result<Self, EngineError> {
        let count = count.max(1);
        let connections = (0..count)
            .map(|_| open_reader(path, READ_CACHE_KIB / count).map(Mutex::new))
            .collect::<Result<_, _>>()?;
        Ok(Self { connections })
    }

    /// Runs `read` with a connection of its own; each statement sees the last commit.
    pub(crate) fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        read(&self.take())
    }

    /// Runs `read` with all its statements on the same snapshot.
    pub(crate) fn snapshot<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let connection = self.take();
        let _snapshot = Snapshot::begin(&connection)?;
        read(&connection)
    }

    fn take(&self) -> MutexGuard<'_, Connection> {
        let count = self.connections.len();
        let preferred = PREFERRED.with(|preferred| *preferred) % count;
        for offset in 0..count {
            match self.connections[(preferred + offset) % count].try_lock() {
                Ok(guard) => return guard,
                // A panic while reading harms nothing: the snapshot's end has been undone with it.
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        self.connections[preferred]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A read transaction that ends with its scope.
pub(crate) struct Snapshot<'c>(&'c Connection);

impl<'c> Snapshot<'c> {
    pub(crate) fn begin(connection: &'c Connection) -> Result<Self, EngineError> {
        connection.prepare_cached("BEGIN")?.execute([])?;
        Ok(Self(connection))
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        let ended = self
            .0
            .prepare_cached("COMMIT")
            .and_then(|mut statement| statement.execute([]));
        if let Err(error) = ended {
            tracing::error!(%error, "a read transaction could not be ended");
        }
    }
}
