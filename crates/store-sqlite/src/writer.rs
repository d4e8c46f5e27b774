//! The writer thread, with group commit.
//!
//! Callers put transactions into a bounded queue. The thread runs those that are queued, each under
//! a savepoint of one SQLite transaction, commits once and replies to all callers. While one commit
//! waits for the disk, the next group queues up. A transaction that fails is rolled back alone.
//!
//! A group ends after [`GROUP_TIME`], so that the callers of its short transactions do not wait for
//! many long ones. The thread takes a transaction from its caller when it starts it. Until then the
//! caller can go, and nothing is applied.
//!
//! This module knows no table; [`crate::transaction`] does.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use docent_model::measure::{Counter, Gauge, Histogram};
use docent_store::spent::Spent;
use docent_store::{AbortReason, StoreError, TransactionBody, WriterMeasurements, spent};
use futures_util::FutureExt as _;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::oneshot;

use crate::error::{EngineError, store_error};
use crate::lock::DatabaseFile;
use crate::readers::Readers;
use crate::stamp::StampSource;
use crate::transaction::SqliteTransaction;
use crate::wal_tail::WalTail;

/// A full queue rejects transactions with [`StoreError::Busy`].
const QUEUE_LENGTH: usize = 1024;

/// The maximum number of transactions in one commit.
const GROUP_LENGTH: usize = 256;

/// A group starts no further transaction after this time.
const GROUP_TIME: Duration = Duration::from_millis(100);

/// A log of this many pages, 16 MiB, is checkpointed.
const CHECKPOINT_PAGES: u32 = 4000;

/// What the counters may say at most: the queue, and the transactions that are taken from it to be
/// one group.
const MAX_QUEUED: usize = QUEUE_LENGTH + GROUP_LENGTH;

struct Job {
    body: QueuedBody,
    /// Measures the statements of the transaction.
    spent: Option<Arc<Spent>>,
    caller: Caller,
}

/// Who waits for a transaction.
struct Caller {
    reply: oneshot::Sender<Result<(), StoreError>>,
    slot: QueueSlot,
}

impl Caller {
    fn reply(self, outcome: Result<(), StoreError>) {
        drop(self.slot);
        // The caller may have been cancelled meanwhile.
        let _ = self.reply.send(outcome);
    }
}

/// Counts a transaction that waits or runs until this is dropped.
struct QueueSlot(Arc<Counters>);

impl QueueSlot {
    fn take(counters: &Arc<Counters>) -> Self {
        counters.queued.increment();
        Self(Arc::clone(counters))
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.0.queued.decrement();
    }
}

/// The outcome of a transaction, and who waits for it.
type RunJob = (Caller, Result<(), StoreError>);

/// The next transaction to run.
struct NextJob {
    body: Box<dyn TransactionBody>,
    spent: Option<Arc<Spent>>,
    caller: Caller,
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

enum Request {
    Job(Job),
    /// A task that needs the connection exclusively, such as a rebuild. It replies by itself.
    Exclusive(ExclusiveTask),
}

type ExclusiveTask = Box<dyn FnOnce(&mut Connection) + Send>;

/// Counters since the writer started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriterStatistics {
    /// Transactions that ran, including failed ones.
    pub jobs: u64,
    /// Commits that wrote something.
    pub commits: u64,
}

/// The upper bounds of [`Counters::group`].
const GROUPS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256];

#[derive(Debug)]
struct Counters {
    queued: Gauge,
    jobs: Counter,
    /// The transactions of each commit that wrote something.
    group: Histogram,
    /// The time of each such commit.
    commit: Histogram,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            queued: Gauge::default(),
            jobs: Counter::default(),
            group: Histogram::new(GROUPS),
            commit: Histogram::of_durations(),
        }
    }
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
        self.send(Request::Job(Job {
            body,
            spent: spent::current(),
            caller: Caller {
                reply,
                slot: QueueSlot::take(&self.counters),
            },
        }))?;
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
            jobs: self.counters.jobs.get(),
            commits: self.counters.group.read().counts.iter().sum(),
        }
    }

    pub(crate) fn measurements(&self) -> WriterMeasurements {
        WriterMeasurements {
            queued: self.counters.queued.get(),
            max_queued: MAX_QUEUED as u64,
            transactions: self.counters.jobs.get(),
            commit_transactions: self.counters.group.read(),
            commit_micros: self.counters.commit.read(),
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
    let mut queued = VecDeque::with_capacity(GROUP_LENGTH);
    let mut exclusive = None;
    loop {
        if queued.is_empty() {
            match requests.recv() {
                Ok(request) => queue(request, &mut queued, &mut exclusive),
                Err(_) => break,
            }
        }
        while exclusive.is_none() && queued.len() < GROUP_LENGTH {
            match requests.try_recv() {
                Ok(request) => queue(request, &mut queued, &mut exclusive),
                Err(_) => break,
            }
        }
        if let Some(file) = log.moved_file() {
            tracing::error!("{}", file.moved_error());
            for job in queued.drain(..) {
                job.caller.reply(Err(file.moved_error()));
            }
        }
        log.allow_reset();
        run_group(&mut connection, &mut queued, counters);
        // A task comes after the jobs that were queued before it.
        if queued.is_empty()
            && let Some(task) = exclusive.take()
        {
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
    log.close(&connection);
    // The last connection to close removes the log, which readers cannot.
    drop(log);
}

fn queue(request: Request, jobs: &mut VecDeque<Job>, exclusive: &mut Option<ExclusiveTask>) {
    match request {
        Request::Job(job) => jobs.push_back(job),
        Request::Exclusive(task) => *exclusive = Some(task),
    }
}

/// Checkpoints the write-ahead log.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) stamp: Arc<StampSource>,
    pub(crate) readers: Arc<Readers>,
    /// For a server: the file that it opened.
    pub(crate) file: Option<DatabaseFile>,
    /// For a server that archives the log.
    pub(crate) tail: Option<Arc<WalTail>>,
}

impl Log {
    /// The database file, if it was moved or removed: writes to an unlinked file are lost with the
    /// process.
    fn moved_file(&self) -> Option<&DatabaseFile> {
        self.file.as_ref().filter(|file| !file.is_in_place())
    }

    /// Empties the log, unless it has to stay.
    fn close(&self, connection: &Connection) {
        // The archive continues where it ended only if the next server continues the log.
        let is_archived = self.tail.is_some();
        // A command would have to wait for the readers of the server.
        if self.stamp.is_of_server() && !is_archived {
            self.readers.release();
            checkpoint(connection, "PRAGMA wal_checkpoint(TRUNCATE)");
        }
        // SQLite would remove the log at our path, which may belong to another database now.
        let is_replaced = self.file.as_ref().is_some_and(DatabaseFile::is_replaced);
        if (is_archived || is_replaced)
            && let Err(error) =
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        {
            tracing::warn!(%error, "SQLite may remove a log that has to stay");
        }
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
        if self.is_long() && self.is_collected() {
            self.readers.release();
            checkpoint(connection, "PRAGMA wal_checkpoint(PASSIVE)");
            // A command may have committed meanwhile; the next commit overwrites the log.
            self.is_collected();
        }
    }

    /// Whether all of the log was collected for the archive, if there is one.
    fn is_collected(&self) -> bool {
        let Some(tail) = &self.tail else { return true };
        tail.allows_restart().unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read the write-ahead log for its archive");
            false
        })
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

/// Runs queued jobs until the group's time is over, commits once, replies to all.
fn run_group(connection: &mut Connection, queued: &mut VecDeque<Job>, counters: &Counters) {
    let Some(NextJob {
        body,
        spent,
        caller,
    }) = next_job(queued, counters)
    else {
        return;
    };
    if let Err(error) = execute(connection, "BEGIN IMMEDIATE") {
        // The others would fail like this one, after waiting for the same lock.
        let others = queued.drain(..).map(|job| job.caller);
        for caller in std::iter::once(caller).chain(others) {
            caller.reply(Err(store_error(&error)));
        }
        return;
    }
    let changes_before = connection.total_changes();
    // Until a job has ended, its outcome does not matter: the group fails.
    let mut group = vec![(caller, Ok(()))];
    match run_jobs(connection, (body, spent), queued, &mut group, counters) {
        Err(error) => {
            roll_back_open(connection);
            for (_, outcome) in &mut group {
                *outcome = Err(store_error(&error));
            }
        }
        Ok(commit_time) if connection.total_changes() != changes_before => {
            counters.group.observe(group.len() as u64);
            counters.commit.observe_duration(commit_time);
        }
        Ok(_) => {}
    }
    for (caller, outcome) in group {
        caller.reply(outcome);
    }
}

/// Runs a job and those after it, and adds them to the group. Returns how long the commit took. An
/// error means that nothing was committed.
fn run_jobs(
    connection: &mut Connection,
    (mut body, mut spent): (Box<dyn TransactionBody>, Option<Arc<Spent>>),
    queued: &mut VecDeque<Job>,
    group: &mut Vec<RunJob>,
    counters: &Counters,
) -> Result<Duration, rusqlite::Error> {
    let started = Instant::now();
    if queued.is_empty() {
        // A single job needs no savepoint.
        let decision = run_body(connection, body.as_mut(), spent);
        let is_commit = matches!(decision, Decision::Commit);
        set_outcome(group, decision);
        if !connection.is_autocommit() {
            return timed(connection, if is_commit { "COMMIT" } else { "ROLLBACK" });
        } else if is_commit {
            return Err(lost_transaction());
        }
        return Ok(Duration::ZERO);
    }
    loop {
        execute(connection, "SAVEPOINT job")?;
        let decision = run_body(connection, body.as_mut(), spent.take());
        // After some failures, such as a full disk, SQLite rolls back the whole transaction.
        if connection.is_autocommit() {
            return Err(lost_transaction());
        }
        if !matches!(decision, Decision::Commit) {
            execute(connection, "ROLLBACK TO job")?;
        }
        execute(connection, "RELEASE job")?;
        set_outcome(group, decision);
        if started.elapsed() >= GROUP_TIME {
            break;
        }
        match next_job(queued, counters) {
            Some(next) => {
                (body, spent) = (next.body, next.spent);
                group.push((next.caller, Ok(())));
            }
            None => break,
        }
    }
    timed(connection, "COMMIT")
}

/// Executes a statement and returns how long it took.
fn timed(connection: &Connection, sql: &str) -> Result<Duration, rusqlite::Error> {
    let started = Instant::now();
    execute(connection, sql)?;
    Ok(started.elapsed())
}

/// Takes the next job whose caller has not gone.
fn next_job(queued: &mut VecDeque<Job>, counters: &Counters) -> Option<NextJob> {
    while let Some(job) = queued.pop_front() {
        if let Some(body) = job.body.take() {
            counters.jobs.increment();
            return Some(NextJob {
                body,
                spent: job.spent,
                caller: job.caller,
            });
        }
    }
    None
}

fn set_outcome(group: &mut [RunJob], decision: Decision) {
    if let Some((_, outcome)) = group.last_mut() {
        *outcome = decision.into_outcome();
    }
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

fn run_body(
    connection: &mut Connection,
    body: &mut dyn TransactionBody,
    spent: Option<Arc<Spent>>,
) -> Decision {
    let mut transaction = SqliteTransaction::new(connection);
    let ran = catch_unwind(AssertUnwindSafe(|| {
        spent::measure(spent, body.run(&mut transaction)).now_or_never()
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
