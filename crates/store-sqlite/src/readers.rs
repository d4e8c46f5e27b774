//! The pools of reading connections: one for short reads, one for long ones.
//!
//! Short reads run on threads that serve requests. They have their own readers, so that they wait
//! for each other only, which takes microseconds. Each thread prefers one reader, so that its pages
//! stay in the cache of the same core. It takes another when that one is busy, and waits when all
//! are.
//!
//! A long read runs on a blocking thread. As many run as there are readers for them; the others
//! wait in their tasks. Scans leave one of these readers to the reads whose time does not grow with
//! the store. A read ends early when its caller has gone.
//!
//! A read transaction costs more to begin and end than a point read. So a reader keeps its snapshot
//! until the commit stamp changes. The writer releases the snapshots when it empties the log
//! ([`Readers::release`]).

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use docent_store::{CommitStamp, StoreError, spent};
use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::blocking;
use crate::connection::{LONG_READ_CACHE_KIB, READ_CACHE_KIB, open_reader};
use crate::error::EngineError;
use crate::stamp::StampSource;

/// After how many steps of SQLite's virtual machine a long read checks whether its caller has gone:
/// a few microseconds, or a few dozen rows.
const STEPS_PER_CHECK: i32 = 256;

thread_local! {
    static PREFERRED: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
}

/// How long a read may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadLength {
    /// A few rows: runs on the calling thread.
    Short,
    /// Bounded by its request.
    Long,
    /// Linear in the size of the store.
    Scan,
}

impl ReadLength {
    pub(crate) fn long_if(is_long: bool) -> Self {
        if is_long { Self::Long } else { Self::Short }
    }
}

#[derive(Debug)]
pub(crate) struct Readers {
    short: Vec<Mutex<Reader>>,
    long: Vec<Mutex<Reader>>,
    /// One permit for each reader of `long`.
    long_permits: Arc<Semaphore>,
    /// One permit fewer.
    scan_permits: Arc<Semaphore>,
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
        let open = |count: usize, cache_kib: usize| {
            (0..count)
                .map(|_| {
                    Ok(Mutex::new(Reader {
                        connection: open_reader(path, cache_kib / count)?,
                        in_transaction: false,
                        stamp: None,
                    }))
                })
                .collect::<Result<_, EngineError>>()
        };
        let long = count.max(2);
        Ok(Self {
            short: open(count.max(1), READ_CACHE_KIB)?,
            long: open(long, LONG_READ_CACHE_KIB)?,
            long_permits: Arc::new(Semaphore::new(long)),
            scan_permits: Arc::new(Semaphore::new(long - 1)),
            stamp,
        })
    }

    /// Runs a short `read` on one snapshot, which includes every commit so far.
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
        snapshot_of(&mut take(&self.short), stamp, |connection| read(connection))
    }

    /// Runs a long `read` on a blocking thread, when it is its turn. Dropping the future ends it.
    pub(crate) async fn long_snapshot<T: Send + 'static>(
        self: &Arc<Self>,
        is_scan: bool,
        read: impl FnOnce(&Connection) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permits = spent::timed(|spent| &spent.waits, self.permits(is_scan)).await?;
        let caller = CallerGuard::default();
        let has_gone = Arc::clone(&caller.0);
        let readers = Arc::clone(self);
        let reading = blocking(move || {
            // Held until the read has ended, which may be after its caller.
            let _permits = permits;
            let stamp = readers.stamp.if_cheap()?;
            snapshot_of(&mut take(&readers.long), stamp, |connection| {
                let handler = ProgressHandler::set(connection, has_gone)?;
                read(handler.0)
            })
        });
        spent::timed(|spent| &spent.reads, reading).await
    }

    /// Waits for the turn of a long read.
    async fn permits(
        &self,
        is_scan: bool,
    ) -> Result<(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit), StoreError> {
        let scan_permit = if is_scan {
            Some(permit(&self.scan_permits).await?)
        } else {
            None
        };
        Ok((scan_permit, permit(&self.long_permits).await?))
    }

    /// Ends the snapshots of idle readers.
    pub(crate) fn release(&self) {
        for reader in self.short.iter().chain(&self.long) {
            // A busy reader begins a new snapshot with its next read.
            if let Some(mut reader) = if_free(reader) {
                reader.end();
            }
        }
    }
}

async fn permit(permits: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, StoreError> {
    let permit = Arc::clone(permits).acquire_owned().await;
    permit.map_err(StoreError::other)
}

/// Becomes true when the caller of a long read drops it.
#[derive(Default)]
struct CallerGuard(Arc<AtomicBool>);

impl Drop for CallerGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Interrupts the statements of a connection when the caller has gone. Removed before the next
/// read uses the connection, unlike a late `sqlite3_interrupt`.
struct ProgressHandler<'c>(&'c mut Connection);

impl<'c> ProgressHandler<'c> {
    fn set(connection: &'c mut Connection, has_gone: Arc<AtomicBool>) -> Result<Self, EngineError> {
        let check = move || has_gone.load(Ordering::Relaxed);
        connection.progress_handler(STEPS_PER_CHECK, Some(check))?;
        Ok(Self(connection))
    }
}

impl Drop for ProgressHandler<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.progress_handler(0, None::<fn() -> bool>) {
            tracing::error!(%error, "cannot remove the progress handler of a read");
        }
    }
}

fn snapshot_of<T>(
    reader: &mut Reader,
    stamp: Option<CommitStamp>,
    read: impl FnOnce(&mut Connection) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    if stamp.is_none() || reader.stamp != stamp {
        reader.end();
        begin(&reader.connection)?;
        reader.in_transaction = true;
        reader.stamp = stamp;
    }
    let result = read(&mut reader.connection);
    if stamp.is_none() || result.is_err() {
        reader.end();
    }
    result
}

fn take(readers: &[Mutex<Reader>]) -> MutexGuard<'_, Reader> {
    let count = readers.len();
    let preferred = PREFERRED.with(|preferred| *preferred) % count;
    for offset in 0..count {
        if let Some(reader) = if_free(&readers[(preferred + offset) % count]) {
            return reader;
        }
    }
    readers[preferred]
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::{OpenOptions, SqliteStore};

    const PATIENCE: Duration = Duration::from_mins(1);

    fn open(readers: usize) -> (tempfile::TempDir, SqliteStore) {
        let directory = tempfile::tempdir().unwrap();
        let options = OpenOptions {
            readers,
            ..OpenOptions::default()
        };
        let store = SqliteStore::open(&directory.path().join("docent.db"), options).unwrap();
        (directory, store)
    }

    fn one(connection: &Connection) -> Result<i64, EngineError> {
        Ok(connection.query_row("SELECT 1", [], |row| row.get(0))?)
    }

    /// Counts for half a minute in one statement.
    fn endless(connection: &Connection) -> Result<i64, EngineError> {
        Ok(connection.query_row(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 100000000) \
             SELECT count(*) FROM n",
            [],
            |row| row.get(0),
        )?)
    }

    /// The test has one thread, which a short read that waits for a long one would block.
    #[tokio::test]
    async fn long_reads_are_limited_and_delay_no_short_ones() {
        let (_directory, store) = open(3);
        let (started, starts) = mpsc::channel();
        let mut ends = Vec::new();
        let mut reads = Vec::new();
        for number in 0..10 {
            let (end, ended) = mpsc::channel::<()>();
            ends.push(end);
            let (readers, started) = (Arc::clone(&store.readers), started.clone());
            reads.push(tokio::spawn(async move {
                let wait = move |_: &Connection| {
                    started.send(number).unwrap();
                    // A read that holds its reader for ever is a failure, not a hang.
                    let _ = ended.recv_timeout(PATIENCE);
                    Ok(())
                };
                readers.long_snapshot(number % 2 == 0, wait).await
            }));
        }
        let mut running = Vec::new();
        while running.len() < 3 {
            tokio::task::yield_now().await;
            running.extend(starts.try_iter());
        }
        let started = std::time::Instant::now();
        for _ in 0..100 {
            let read = store.read_snapshot(ReadLength::Short, one).await;
            assert_eq!(read.unwrap(), 1);
        }
        assert!(started.elapsed() < PATIENCE / 2);
        running.extend(starts.try_iter());
        assert_eq!(running.len(), 3, "{running:?} run at once");
        let scans = running.iter().filter(|number| *number % 2 == 0).count();
        assert!(scans <= 2, "{running:?}: no reader is left for other reads");
        drop(ends);
        for read in reads {
            read.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn a_long_read_ends_when_its_caller_goes() {
        let (_directory, store) = open(2);
        for _ in 0..5 {
            let reads = [(); 2].map(|()| store.readers.long_snapshot(false, endless));
            let gone = timeout(
                Duration::from_millis(20),
                futures_util::future::join_all(reads),
            );
            assert!(gone.await.is_err());
            // All readers are free again, and none is left interrupted or in a transaction.
            for _ in 0..4 {
                let read = store.read_snapshot(ReadLength::Long, one);
                let read = timeout(PATIENCE / 10, read).await;
                assert_eq!(
                    read.expect("the abandoned reads hold the readers").unwrap(),
                    1
                );
            }
        }
    }
}
