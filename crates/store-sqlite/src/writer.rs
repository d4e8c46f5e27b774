//! The writer thread, with group commit.
//!
//! Callers put transactions into a bounded queue. The thread takes all that are queued, runs each
//! under a savepoint of one SQLite transaction, commits once and replies to all callers. While one
//! commit waits for the disk, the next group queues up. A transaction that fails is rolled back
//! alone.
//!
//! This module knows no table; [`crate::transaction`] does.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use docent_store::{AbortReason, StoreError, TransactionBody};
use futures_util::FutureExt as _;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::oneshot;

use crate::error::{EngineError, store_error};
use crate::lock::DatabaseFile;
use crate::readers::Readers;
use crate::stamp::StampSource;
use crate::transaction::SqliteTransaction;

/// A full queue rejects transactions with [`StoreError::Busy`].
const QUEUE_LENGTH: usize = 1024;

/// The maximum number of transactions in one commit.
const GROUP_LENGTH: usize = 256;

/// A log of this many pages, 16 MiB, is checkpointed.
const CHECKPOINT_PAGES: u32 = 4000;

type Reply = oneshot::Sender<Result<(), StoreError>>;

struct Job {
    body: QueuedBody,
    reply: Reply,
}

/// A transaction in the queue. The writer takes it to run it; a cancelled caller takes it to drop
/// it.
#[derive(Clone)]
struct QueuedBody(Arc<Mutex<Option<Box<dyn TransactionBody>>>>);

impl QueuedBody {
    fn take(&self) -> Option<Box<dyn TransactionBody>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Removes the transaction, which may be large, from the queue when the caller is cancelled before
/// the writer starts it.
struct CancelGuard(QueuedBody);

impl Drop for CancelGuard {
    fn drop(&mut self) {
        self.0.take();
    }
}

/// A job that the writer has started; it cannot be cancelled any more.
type StartedJob = (Box<dyn TransactionBody>, Reply);

enum Request {
    Job(Job),
    /// A task that needs the connection exclusively, such as a rebuild. It replies by itself.
    Exclusive(Box<dyn FnOnce(&mut Connection) + Send>),
}

/// Counters since the writer started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriterStatistics {
    /// Transactions that ran, including failed ones.
    pub jobs: u64,
    /// Commits that wrote something.
    pub commits: u64,
}

#[derive(Debug, Default)]
struct Counters {
    jobs: AtomicU64,
    commits: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Writer {
    /// `None` only while the writer is being dropped.
    queue: Option<SyncSender<Request>>,
    thread: Option<JoinHandle<()>>,
    counters: Arc<Counters>,
}

impl Writer {
    pub(crate) fn start(connection: Connection, log: Log) -> Result<Self, StoreError> {
        let (queue, requests) = sync_channel(QUEUE_LENGTH);
        let counters = Arc::new(Counters::default());
        let thread = std::thread::Builder::new()
            .name("docent-writer".to_owned())
            .spawn({
                let counters = Arc::clone(&counters);
                move || serve(connection, &requests, log, &counters)
            })
            .map_err(StoreError::other)?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
            counters,
        })
    }

    /// Runs a transaction; returns when it is durable.
    pub(crate) async fn run(&self, body: Box<dyn TransactionBody>) -> Result<(), StoreError> {
        let (reply, outcome) = oneshot::channel();
        let body = QueuedBody(Arc::new(Mutex::new(Some(body))));
        let _cancel_guard = CancelGuard(body.clone());
        self.send(Request::Job(Job { body, reply }))?;
        outcome.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Runs `task` with exclusive use of the connection, between two groups.
    pub(crate) async fn run_exclusive<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Connection) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, outcome) = oneshot::channel();
        self.send(Request::Exclusive(Box::new(move |connection| {
            // The task runs even if its caller was cancelled.
            let _ = reply.send(task(connection));
        })))?;
        Ok(outcome.await.map_err(|_| stopped())??)
    }

    pub(crate) fn statistics(&self) -> WriterStatistics {
        WriterStatistics {
            jobs: self.counters.jobs.load(Ordering::Relaxed),
            commits: self.counters.commits.load(Ordering::Relaxed),
        }
    }

    fn send(&self, request: Request) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        queue.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Busy,
            TrySendError::Disconnected(_) => stopped(),
        })
    }
}

impl Drop for Writer {
    /// Finishes the queued jobs.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer thread had panicked");
        }
        let WriterStatistics { jobs, commits } = self.statistics();
        tracing::debug!(
            jobs,
            commits,
            "the writer ran {jobs} transactions in {commits} commits"
        );
    }
}

fn serve(mut connection: Connection, requests: &Receiver<Request>, log: Log, counters: &Counters) {
    let mut group = Vec::with_capacity(GROUP_LENGTH);
    while let Ok(first) = requests.recv() {
        let mut next = Some(first);
        let mut exclusive = None;
        while let Some(request) = next.take() {
            match request {
                Request::Job(job) => group.push(job),
                Request::Exclusive(task) => exclusive = Some(task),
            }
            if exclusive.is_none() && group.len() < GROUP_LENGTH {
                next = requests.try_recv().ok();
            }
        }
        if let Some(file) = log.moved_file() {
            tracing::error!("{}", file.moved_error());
            for job in group.drain(..) {
                let _ = job.reply.send(Err(file.moved_error()));
            }
        }
        log.allow_reset();
        run_group(&mut connection, std::mem::take(&mut group), counters);
        if let Some(task) = exclusive {
            let ran = catch_unwind(AssertUnwindSafe(|| task(&mut connection)));
            if let Err(panic) = ran {
                tracing::error!(
                    reason = panic_text(panic.as_ref()),
                    "a task on the writer thread panicked"
                );
            }
            roll_back_open(&connection);
        }
        log.checkpoint_if_long(&connection);
    }
    // A command would have to wait for the readers of the server.
    if log.stamp.is_of_server() {
        log.readers.release();
        checkpoint(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
    }
    if log.file.as_ref().is_some_and(DatabaseFile::is_replaced)
        && let Err(error) =
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
    {
        // Otherwise SQLite removes the log at our path, which now belongs to the other database.
        tracing::warn!(%error, "SQLite may remove the log of the database that replaced ours");
    }
    // The last connection to close removes the log, which readers cannot.
    drop(log);
}

/// Checkpoints the write-ahead log.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) stamp: Arc<StampSource>,
    pub(crate) readers: Arc<Readers>,
    /// For a server: the file that it opened.
    pub(crate) file: Option<DatabaseFile>,
}

impl Log {
    /// The database file, if it was moved or removed: writes to an unlinked file are lost with the
    /// process.
    fn moved_file(&self) -> Option<&DatabaseFile> {
        self.file.as_ref().filter(|file| !file.is_in_place())
    }

    /// Lets the next commit restart a checkpointed log from the beginning, which open snapshots
    /// prevent.
    fn allow_reset(&self) {
        if self.is_long() {
            self.readers.release();
        }
    }

    /// Checkpoints a long log. The next commit retries the rest.
    fn checkpoint_if_long(&self, connection: &Connection) {
        if self.is_long() {
            self.readers.release();
            checkpoint(connection, "PRAGMA wal_checkpoint(PASSIVE)");
        }
    }

    fn is_long(&self) -> bool {
        match self.stamp.log_pages() {
            Ok(Some(pages)) => pages >= CHECKPOINT_PAGES,
            // A command writes little; SQLite or the server checkpoints the log.
            Ok(None) => false,
            Err(error) => {
                tracing::warn!(%error, "cannot read the length of the log");
                true
            }
        }
    }
}

fn checkpoint(connection: &Connection, sql: &str) {
    if let Err(error) = connection.query_row(sql, [], |_| Ok(())) {
        tracing::warn!(%error, "a checkpoint failed; the next one retries");
    }
}

/// Runs each job, commits once, replies to all.
fn run_group(connection: &mut Connection, group: Vec<Job>, counters: &Counters) {
    // Jobs of cancelled callers are empty.
    let mut group: Vec<StartedJob> = group
        .into_iter()
        .filter_map(|job| Some((job.body.take()?, job.reply)))
        .collect();
    if group.is_empty() {
        return;
    }
    counters
        .jobs
        .fetch_add(group.len() as u64, Ordering::Relaxed);
    let changes_before = connection.total_changes();
    let outcomes = match run_jobs(connection, &mut group) {
        Ok(outcomes) => outcomes,
        Err(error) => {
            roll_back_open(connection);
            for (_, reply) in group {
                let _ = reply.send(Err(store_error(&error)));
            }
            return;
        }
    };
    if connection.total_changes() != changes_before {
        counters.commits.fetch_add(1, Ordering::Relaxed);
    }
    for ((_, reply), outcome) in group.into_iter().zip(outcomes) {
        // The caller may have been cancelled meanwhile.
        let _ = reply.send(outcome);
    }
}

/// Returns the result of each job. An error means that nothing was committed.
fn run_jobs(
    connection: &mut Connection,
    group: &mut [StartedJob],
) -> Result<Vec<Result<(), StoreError>>, rusqlite::Error> {
    execute(connection, "BEGIN IMMEDIATE")?;
    if let [(body, _)] = group {
        // A single job needs no savepoint.
        let decision = run_body(connection, body.as_mut());
        let is_commit = matches!(decision, Decision::Commit);
        if !connection.is_autocommit() {
            execute(connection, if is_commit { "COMMIT" } else { "ROLLBACK" })?;
        } else if is_commit {
            return Err(lost_transaction());
        }
        return Ok(vec![decision.into_outcome()]);
    }
    let mut outcomes = Vec::with_capacity(group.len());
    for (body, _) in group {
        execute(connection, "SAVEPOINT job")?;
        let decision = run_body(connection, body.as_mut());
        // After some failures, such as a full disk, SQLite rolls back the whole transaction.
        if connection.is_autocommit() {
            return Err(lost_transaction());
        }
        if !matches!(decision, Decision::Commit) {
            execute(connection, "ROLLBACK TO job")?;
        }
        execute(connection, "RELEASE job")?;
        outcomes.push(decision.into_outcome());
    }
    execute(connection, "COMMIT")?;
    Ok(outcomes)
}

enum Decision {
    Commit,
    RollBack(Result<(), StoreError>),
}

impl Decision {
    fn into_outcome(self) -> Result<(), StoreError> {
        match self {
            Self::Commit => Ok(()),
            Self::RollBack(outcome) => outcome,
        }
    }
}

fn run_body(connection: &mut Connection, body: &mut dyn TransactionBody) -> Decision {
    let mut transaction = SqliteTransaction::new(connection);
    let ran = catch_unwind(AssertUnwindSafe(|| {
        body.run(&mut transaction).now_or_never()
    }));
    let failure = match ran {
        Ok(Some(Ok(()))) if transaction.failed => {
            StoreError::other("the transaction continued although its writes had failed")
        }
        Ok(Some(Ok(()))) => return Decision::Commit,
        Ok(Some(Err(AbortReason::Decided))) => return Decision::RollBack(Ok(())),
        Ok(Some(Err(AbortReason::Failed(error)))) => error,
        Ok(None) => StoreError::other("the transaction waited for something other than the store"),
        Err(panic) => StoreError::other(format!(
            "the transaction panicked: {}",
            panic_text(panic.as_ref())
        )),
    };
    Decision::RollBack(Err(failure))
}

fn execute(connection: &Connection, sql: &str) -> Result<(), rusqlite::Error> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

/// Rolls back a transaction that a failure left open; later jobs would become part of it.
fn roll_back_open(connection: &Connection) {
    if !connection.is_autocommit()
        && let Err(error) = execute(connection, "ROLLBACK")
    {
        tracing::error!(%error, "cannot roll back a failed transaction");
    }
}

fn lost_transaction() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR),
        Some("SQLite rolled back the transaction; the disk may be full".to_owned()),
    )
}

fn stopped() -> StoreError {
    StoreError::Unavailable {
        reason: "the writer has stopped".to_owned(),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
