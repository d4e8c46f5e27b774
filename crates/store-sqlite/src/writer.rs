//! The one thread that writes.
//!
//! Callers put their work into a bounded queue. The thread takes all that is queued, runs each piece under a
//! savepoint of one transaction, commits once and answers everybody: while one commit waits for the disk, the next
//! group gathers. Work that fails is rolled back alone.
//!
//! What the work does is [`crate::transaction`]'s matter; this module knows no table.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use docent_store::{Aborted, StoreError, Work};
use futures_util::FutureExt as _;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::oneshot;

use crate::error::{EngineError, store_error};
use crate::lock::Place;
use crate::readers::Readers;
use crate::stamp::StampSource;
use crate::transaction::SqliteTransaction;

/// More waiting work than this is refused: the caller can say "try again" sooner than it could be answered.
const QUEUE_LENGTH: usize = 1024;

/// The most pieces of work in one commit.
const GROUP_LENGTH: usize = 256;

/// A log of this many pages, 16 MiB, is copied into the database.
const LONG_LOG_PAGES: u32 = 4000;

type Reply = oneshot::Sender<Result<(), StoreError>>;

struct Job {
    work: Queued,
    reply: Reply,
}

/// Work that can be taken out of the queue's hands: by the writer, to run it, or by a caller who is cut off.
#[derive(Clone)]
struct Queued(Arc<Mutex<Option<Box<dyn Work>>>>);

impl Queued {
    fn take(&self) -> Option<Box<dyn Work>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Held by the caller: when it goes away before the writer has begun, so does the work. It may be large, and it
/// would be kept in the queue for nobody.
struct Waiting(Queued);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.take();
    }
}

/// A job that the writer has begun with: nobody takes it back any more.
type Begun = (Box<dyn Work>, Reply);

enum Request {
    Job(Job),
    /// Something that needs the connection for itself, such as a rebuild. It answers by its own means.
    Alone(Box<dyn FnOnce(&mut Connection) + Send>),
}

/// How much the writer has done since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriterStatistics {
    /// Pieces of work that were run, failed ones included.
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

    /// Runs the work in a transaction; the answer comes when that is durable.
    pub(crate) async fn run(&self, work: Box<dyn Work>) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        let work = Queued(Arc::new(Mutex::new(Some(work))));
        let _waiting = Waiting(work.clone());
        self.send(Request::Job(Job { work, reply }))?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Runs `task` with the connection for itself, between two groups.
    pub(crate) async fn run_alone<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Connection) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Request::Alone(Box::new(move |connection| {
            // Nobody may be waiting any more; the task is done all the same.
            let _ = reply.send(task(connection));
        })))?;
        Ok(answer.await.map_err(|_| stopped())??)
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
    /// Finishes what is queued.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer had stopped by a panic");
        }
        let WriterStatistics { jobs, commits } = self.statistics();
        tracing::debug!(
            jobs,
            commits,
            "the writer did {jobs} pieces of work in {commits} commits"
        );
    }
}

fn serve(mut connection: Connection, requests: &Receiver<Request>, log: Log, counters: &Counters) {
    let mut group = Vec::with_capacity(GROUP_LENGTH);
    while let Ok(first) = requests.recv() {
        let mut next = Some(first);
        let mut alone = None;
        while let Some(request) = next.take() {
            match request {
                Request::Job(job) => group.push(job),
                Request::Alone(task) => alone = Some(task),
            }
            if alone.is_none() && group.len() < GROUP_LENGTH {
                next = requests.try_recv().ok();
            }
        }
        if let Some(lost) = log.lost_place() {
            tracing::error!("{}", lost.lost());
            for job in group.drain(..) {
                let _ = job.reply.send(Err(lost.lost()));
            }
        }
        log.make_way();
        run_group(&mut connection, std::mem::take(&mut group), counters);
        if let Some(task) = alone {
            let ran = catch_unwind(AssertUnwindSafe(|| task(&mut connection)));
            if let Err(panic) = ran {
                tracing::error!(
                    reason = panic_text(panic.as_ref()),
                    "a task of the writer panicked"
                );
            }
            roll_back_rest(&connection);
        }
        log.copy_if_long(&connection);
    }
    // Beside a server, emptying the log would have to wait for its readers.
    if log.stamp.is_of_server() {
        log.readers.release();
        checkpoint(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
    }
    if log.place.as_ref().is_some_and(Place::is_taken)
        && let Err(error) =
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
    {
        // Otherwise SQLite removes what stands under the name of our log, which is now the other file's.
        tracing::warn!(%error, "the log of the database that took our place may be removed");
    }
    // The last connection to close removes the log, and readers may not.
    drop(log);
}

/// What the writer must know to empty the log.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) stamp: Arc<StampSource>,
    pub(crate) readers: Arc<Readers>,
    /// Of a server: the file that it opened.
    pub(crate) place: Option<Place>,
}

impl Log {
    /// The place, if the database is not there any more. What is written to a file without a name is lost with the process.
    fn lost_place(&self) -> Option<&Place> {
        self.place.as_ref().filter(|place| !place.is_kept())
    }

    /// Makes way for a log that has been copied to begin anew with the next commit: as long as a reader's snapshot
    /// stands in it, it only grows. A snapshot that begins from now on reads the database instead.
    fn make_way(&self) {
        if self.is_long() {
            self.readers.release();
        }
    }

    /// Copies a long log into the database. What cannot be done now is tried after the next commit.
    fn copy_if_long(&self, connection: &Connection) {
        if self.is_long() {
            self.readers.release();
            checkpoint(connection, "PRAGMA wal_checkpoint(PASSIVE)");
        }
    }

    fn is_long(&self) -> bool {
        match self.stamp.log_pages() {
            Ok(Some(pages)) => pages >= LONG_LOG_PAGES,
            // A command does a few writes; SQLite or the server empties the log.
            Ok(None) => false,
            Err(error) => {
                tracing::warn!(%error, "how long the log is cannot be told");
                true
            }
        }
    }
}

fn checkpoint(connection: &Connection, sql: &str) {
    if let Err(error) = connection.query_row(sql, [], |_| Ok(())) {
        tracing::warn!(%error, "a checkpoint failed; a later one does its work");
    }
}

/// Runs each job, commits once, answers all.
fn run_group(connection: &mut Connection, group: Vec<Job>, counters: &Counters) {
    // Whoever does not wait any more was cut off before anything happened.
    let mut group: Vec<Begun> = group
        .into_iter()
        .filter_map(|job| Some((job.work.take()?, job.reply)))
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
        Err(lost) => {
            roll_back_rest(connection);
            for (_, reply) in group {
                let _ = reply.send(Err(store_error(&lost)));
            }
            return;
        }
    };
    if connection.total_changes() != changes_before {
        counters.commits.fetch_add(1, Ordering::Relaxed);
    }
    for ((_, reply), outcome) in group.into_iter().zip(outcomes) {
        // A caller who has gone away meanwhile has its work done nevertheless.
        let _ = reply.send(outcome);
    }
}

/// What each job gets told. An error means that nothing at all was committed.
fn run_jobs(
    connection: &mut Connection,
    group: &mut [Begun],
) -> Result<Vec<Result<(), StoreError>>, rusqlite::Error> {
    execute(connection, "BEGIN IMMEDIATE")?;
    if let [(work, _)] = group {
        // Alone in its transaction, it needs no savepoint.
        let verdict = run_work(connection, work.as_mut());
        let keep = matches!(verdict, Verdict::Keep);
        if !connection.is_autocommit() {
            execute(connection, if keep { "COMMIT" } else { "ROLLBACK" })?;
        } else if keep {
            return Err(lost_transaction());
        }
        return Ok(vec![verdict.into_outcome()]);
    }
    let mut outcomes = Vec::with_capacity(group.len());
    for (work, _) in group {
        execute(connection, "SAVEPOINT job")?;
        let verdict = run_work(connection, work.as_mut());
        // Some failures, a full disk for one, make SQLite give up the whole transaction.
        if connection.is_autocommit() {
            return Err(lost_transaction());
        }
        if !matches!(verdict, Verdict::Keep) {
            execute(connection, "ROLLBACK TO job")?;
        }
        execute(connection, "RELEASE job")?;
        outcomes.push(verdict.into_outcome());
    }
    execute(connection, "COMMIT")?;
    Ok(outcomes)
}

enum Verdict {
    Keep,
    RollBack(Result<(), StoreError>),
}

impl Verdict {
    fn into_outcome(self) -> Result<(), StoreError> {
        match self {
            Self::Keep => Ok(()),
            Self::RollBack(outcome) => outcome,
        }
    }
}

fn run_work(connection: &mut Connection, work: &mut dyn Work) -> Verdict {
    let mut transaction = SqliteTransaction::new(connection);
    let ran = catch_unwind(AssertUnwindSafe(|| {
        work.run(&mut transaction).now_or_never()
    }));
    let failure = match ran {
        Ok(Some(Ok(()))) if transaction.failed => {
            StoreError::other("the work went on although its writes had failed")
        }
        Ok(Some(Ok(()))) => return Verdict::Keep,
        Ok(Some(Err(Aborted::ByWork))) => return Verdict::RollBack(Ok(())),
        Ok(Some(Err(Aborted::ByStore(error)))) => error,
        Ok(None) => StoreError::other("the work waited for something besides its transaction"),
        Err(panic) => {
            StoreError::other(format!("the work panicked: {}", panic_text(panic.as_ref())))
        }
    };
    Verdict::RollBack(Err(failure))
}

fn execute(connection: &Connection, sql: &str) -> Result<(), rusqlite::Error> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

/// After a failure no transaction may stay open, or all that follows would be part of it.
fn roll_back_rest(connection: &Connection) {
    if !connection.is_autocommit()
        && let Err(error) = execute(connection, "ROLLBACK")
    {
        tracing::error!(%error, "a failed transaction could not be rolled back");
    }
}

fn lost_transaction() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR),
        Some("the database gave up the transaction; the disk may be full".to_owned()),
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
