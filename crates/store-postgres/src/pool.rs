//! The connection pool: bounded size, bounded waiting, and pipelines of statements in one round
//! trip.
//!
//! This module knows no table.

use std::fmt::{self, Debug};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use docent_model::measure::{Counter, Histogram};
use docent_store::spent::{Activity, Spent};
use docent_store::{PoolMeasurements, StoreError, spent};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use crate::connect::{Connector, Tls};
use crate::error::{EngineError, NO_RESPONSE, unavailable};
use crate::settings::Settings;

/// The longest queue for a connection. Beyond it callers get `Busy` at once, instead of after a
/// timeout.
pub(crate) const MAX_WAITING: usize = 1024;
/// How long the server waits beyond `statement_timeout` before it abandons the connection.
const GRACE: Duration = Duration::from_secs(2);

/// An abandoned statement is cancelled if it runs longer than this.
const CANCEL_AFTER: Duration = Duration::from_millis(100);
/// How long an abandoned statement may occupy its slot in the pool after the cancel request.
const MAX_SETTLING: Duration = Duration::from_mins(1);

/// Session defaults of a connection younger than this count as current.
const NEW: Duration = Duration::from_secs(1);

/// The most steps sent before their results are read.
const MAX_STEPS: usize = 256;

pub(crate) type Parameter = Box<dyn ToSql + Sync + Send>;
type PendingResult<'a> =
    Pin<Box<dyn Future<Output = Result<Vec<Row>, tokio_postgres::Error>> + Send + 'a>>;

#[derive(Debug)]
pub(crate) struct Connections {
    pool: Pool,
    connector: Connector,
    size: usize,
    /// How long a result of the database is awaited.
    response_timeout: Duration,
    /// Why the pool is closed to callers, if it is.
    suspension: Mutex<Option<String>>,
    /// How long callers waited for a connection.
    waits: Histogram,
    pub(crate) transactions: Counter,
    pub(crate) retries: Counter,
}

impl Connections {
    pub(crate) fn new(settings: &Settings) -> Result<Self, StoreError> {
        let connector = Connector::new(settings)?;
        let manager = Manager::from_connect(
            settings.driver.clone(),
            connector.clone(),
            ManagerConfig {
                recycling_method: RecyclingMethod::Fast,
            },
        );
        let pool = Pool::builder(manager)
            .max_size(settings.pool_size)
            .wait_timeout(Some(settings.pool_timeout))
            .create_timeout(Some(connector.connect_timeout()))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(StoreError::other)?;
        Ok(Self {
            pool,
            connector,
            suspension: Mutex::default(),
            waits: Histogram::of_durations(),
            transactions: Counter::default(),
            retries: Counter::default(),
            size: settings.pool_size,
            response_timeout: settings.statement_timeout + GRACE,
        })
    }

    /// The maximum number of connections.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) async fn lease(&self) -> Result<Lease, EngineError> {
        if let Some(reason) = &*lock(&self.suspension) {
            return Err(unavailable(reason.clone()).into());
        }
        if self.pool.status().waiting >= MAX_WAITING {
            return Err(StoreError::Busy.into());
        }
        let arrived = Instant::now();
        let client = spent::timed(|spent| &spent.waits, self.pool.get()).await;
        // Of those, too, that got none in time.
        self.waits.observe_duration(arrived.elapsed());
        Ok(Lease {
            client: Some(client?),
            tls: self.connector.tls(),
            response_timeout: self.response_timeout,
            in_transaction: AtomicBool::new(false),
            is_of_write: AtomicBool::new(false),
            awaiting_result: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            outdated: AtomicBool::new(false),
        })
    }

    pub(crate) fn measurements(&self) -> PoolMeasurements {
        let status = self.pool.status();
        PoolMeasurements {
            max_connections: status.max_size as u64,
            used_connections: status.size.saturating_sub(status.available) as u64,
            idle_connections: status.available as u64,
            waiting: status.waiting as u64,
            wait_micros: self.waits.read(),
            transactions: self.transactions.get(),
            retries: self.retries.get(),
        }
    }

    /// How long a result of the database is awaited.
    pub(crate) fn response_timeout(&self) -> Duration {
        self.response_timeout
    }

    /// Runs one read-only statement. Retries once on another connection if this one is dead, unless
    /// noticing that used up the response timeout.
    pub(crate) async fn query(
        &self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, EngineError> {
        let lease = self.lease().await?;
        self.query_on(lease, sql, parameters).await
    }

    /// [`Connections::query`] on a leased connection.
    pub(crate) async fn query_on(
        &self,
        lease: Lease,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, EngineError> {
        let sent = Instant::now();
        match lease.query(sql, parameters).await {
            Err(EngineError::Lost(reason)) if sent.elapsed() < self.response_timeout => {
                drop(lease);
                tracing::debug!(reason, "connection lost; retrying the read on another one");
                self.lease().await?.query(sql, parameters).await
            }
            result => result,
        }
    }

    /// Rejects all callers with this reason, or admits them again.
    pub(crate) fn suspend(&self, reason: Option<String>) {
        *lock(&self.suspension) = reason;
    }

    /// Closes idle connections except the youngest. A session keeps the defaults of its start, so
    /// old ones may still be read-only; young ones are current, and closing them would reconnect
    /// for every rejected write.
    pub(crate) fn renew(&self) {
        drop_old(&self.pool);
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }
}

fn drop_old(pool: &Pool) {
    pool.retain(|_, connection| connection.age() < NEW);
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A statement of a [`Lease::pipeline`].
pub(crate) struct Step {
    sql: &'static str,
    parameters: Vec<Parameter>,
}

impl Step {
    pub(crate) fn new(sql: &'static str, parameters: Vec<Parameter>) -> Self {
        Self { sql, parameters }
    }

    pub(crate) fn plain(sql: &'static str) -> Self {
        Self::new(sql, Vec::new())
    }
}

impl Debug for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.sql)
    }
}

/// A connection for one caller. Dropped inside a transaction, it is closed; dropped while a
/// statement runs, it returns to the pool only after the statement has ended ([`settle`]).
pub(crate) struct Lease {
    /// `None` only during drop.
    client: Option<Object>,
    tls: Tls,
    response_timeout: Duration,
    in_transaction: AtomicBool,
    /// Whether a write has this connection, also for what it reads before it begins.
    is_of_write: AtomicBool,
    awaiting_result: AtomicBool,
    /// The connection is dead.
    lost: AtomicBool,
    /// A new session may have other defaults, for example accept writes.
    outdated: AtomicBool,
}

impl Lease {
    /// Runs one statement, prepared on first use.
    pub(crate) async fn query(
        &self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, EngineError> {
        let client = self.client()?;
        self.bounded(async {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, parameters).await
        })
        .await
    }

    /// Runs statements without parameters, unprepared.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), EngineError> {
        let client = self.client()?;
        self.bounded(client.batch_execute(sql)).await
    }

    /// Sends all steps, then reads all results: one round trip. Returns the first error; inside a
    /// transaction it fails all later steps, and turns their commit into a rollback.
    pub(crate) async fn pipeline(&self, steps: &[Step]) -> Result<Vec<Vec<Row>>, EngineError> {
        let client = self.client()?;
        let mut rows = Vec::with_capacity(steps.len());
        for steps in steps.chunks(MAX_STEPS) {
            let sent = async {
                let mut results: Vec<PendingResult<'_>> = Vec::with_capacity(steps.len());
                for step in steps {
                    let statement = client.prepare_cached(step.sql).await?;
                    results.push(Box::pin(async move {
                        let parameters: Vec<&(dyn ToSql + Sync)> =
                            step.parameters.iter().map(|it| &**it as _).collect();
                        client.query(&statement, &parameters).await
                    }));
                }
                in_order(results)
                    .await
                    .into_iter()
                    .collect::<Result<Vec<_>, _>>()
            };
            rows.extend(self.bounded(sent).await?);
        }
        Ok(rows)
    }

    /// The connection returns to the pool only after [`Lease::mark_idle`].
    pub(crate) fn mark_in_transaction(&self) {
        self.in_transaction.store(true, Ordering::Relaxed);
    }

    /// The statements are those of a write, to measure them as its parts.
    pub(crate) fn mark_of_write(&self) {
        self.is_of_write.store(true, Ordering::Relaxed);
    }

    pub(crate) fn mark_idle(&self) {
        self.in_transaction.store(false, Ordering::Relaxed);
    }

    /// Begins a transaction without timeouts, for maintenance.
    pub(crate) async fn begin_long(&mut self, mode: &str) -> Result<(), EngineError> {
        self.response_timeout = Duration::MAX;
        self.mark_in_transaction();
        self.execute(&format!(
            "BEGIN {mode}; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; \
             SET LOCAL idle_in_transaction_session_timeout = 0"
        ))
        .await
    }

    pub(crate) async fn commit(&self) -> Result<(), EngineError> {
        self.execute("COMMIT").await?;
        self.mark_idle();
        Ok(())
    }

    /// Applies the response timeout: a database that hangs enforces none itself.
    async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, EngineError> {
        self.awaiting_result.store(true, Ordering::Relaxed);
        let is_of_write = self.is_of_write.load(Ordering::Relaxed);
        let activity: fn(&Spent) -> &Activity = if is_of_write {
            |spent| &spent.statements
        } else {
            |spent| &spent.reads
        };
        let work = timeout(self.response_timeout, work);
        let result = spent::timed(activity, work).await;
        self.awaiting_result.store(false, Ordering::Relaxed);
        let error = match result {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(error)) => {
                if error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) {
                    self.outdate();
                }
                EngineError::from(error)
            }
            Err(_) => EngineError::Lost(NO_RESPONSE.to_owned()),
        };
        if matches!(error, EngineError::Lost(_)) {
            self.lose();
        }
        Err(error)
    }

    /// Marks the connection dead and closes all idle ones, which are probably dead too: a retry
    /// must not time out on each of them.
    fn lose(&self) {
        self.mark_in_transaction();
        self.lost.store(true, Ordering::Relaxed);
        if let Some(pool) = self.client.as_ref().and_then(Object::pool) {
            pool.retain(|_, _| false);
        }
    }

    /// Keeps the connection out of the pool and closes old idle ones ([`Connections::renew`]).
    fn outdate(&self) {
        self.outdated.store(true, Ordering::Relaxed);
        if let Some(pool) = self.client.as_ref().and_then(Object::pool) {
            drop_old(&pool);
        }
    }

    /// Whether the connection is dead.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn client(&self) -> Result<&Object, EngineError> {
        self.client
            .as_ref()
            .ok_or_else(|| EngineError::Lost("the connection was returned to the pool".to_owned()))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else {
            return;
        };
        let unusable =
            self.in_transaction.load(Ordering::Relaxed) || self.outdated.load(Ordering::Relaxed);
        if self.awaiting_result.load(Ordering::Relaxed)
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(settle(client, self.tls.clone(), unusable));
        } else if unusable {
            drop(Object::take(client));
        }
    }
}

/// Waits for the statement of a caller that has gone, and cancels it if it runs long. The slot in
/// the pool stays occupied meanwhile, so the database never runs more statements than the pool has
/// slots.
async fn settle(client: Object, tls: Tls, unusable: bool) {
    let done = timeout(CANCEL_AFTER, client.simple_query("")).await;
    if matches!(done, Ok(Ok(_))) && !unusable {
        return;
    }
    if done.is_err() {
        let cancel = client.cancel_token();
        // If the cancel request fails, the statement is awaited.
        let _ = timeout(MAX_SETTLING, cancel.cancel_query(tls)).await;
        let _ = timeout(MAX_SETTLING, client.simple_query("")).await;
    }
    // The cancel request may arrive late and must not hit the next caller's statement.
    drop(Object::take(client));
}

impl Debug for Lease {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Lease").finish_non_exhaustive()
    }
}

/// Polls the futures in order until all are done. A future sends its statement on the first poll,
/// so this order is the order of the statements.
async fn in_order(
    mut results: Vec<PendingResult<'_>>,
) -> Vec<Result<Vec<Row>, tokio_postgres::Error>> {
    let mut done: Vec<Option<_>> = results.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut waiting = false;
        for (result, done) in results.iter_mut().zip(&mut done) {
            if done.is_none() {
                match result.as_mut().poll(context) {
                    Poll::Ready(ready) => *done = Some(ready),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use docent_test_postgres::Database;
    use futures_util::FutureExt as _;

    use super::*;

    /// A client that disconnects cancels its request; the next one must not wait for the abandoned
    /// statement.
    #[tokio::test(flavor = "multi_thread")]
    async fn an_abandoned_read_is_cancelled_and_frees_its_connection() {
        const SLOW: &str = "SELECT pg_sleep(60)";
        const RUNNING: &str = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' \
             AND query = 'SELECT pg_sleep(60)'";
        let database = Database::empty().unwrap();
        let url = format!(
            "{}&pool_size=2&statement_timeout=90&pool_timeout=20",
            database.url()
        );
        let connections = Connections::new(&Settings::parse(&url).unwrap()).unwrap();
        let beside = Connections::new(&Settings::parse(database.url()).unwrap()).unwrap();
        let running = async || beside.query(RUNNING, &[]).await.unwrap().len();
        let started = Instant::now();
        {
            let slow = || connections.query(SLOW, &[]);
            let both = async { tokio::join!(slow(), slow()) };
            let wait = async {
                while running().await < 2 {
                    assert!(started.elapsed() < Duration::from_secs(20));
                }
            };
            tokio::select! {
                _ = both => panic!("the slow reads ended"),
                () = wait => {}
            }
        }
        connections.query("SELECT 1", &[]).await.unwrap();
        while running().await > 0 {
            assert!(started.elapsed() < Duration::from_secs(30));
        }
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[tokio::test]
    async fn callers_beyond_the_longest_queue_are_rejected_at_once() {
        let database = Database::empty().unwrap();
        let url = format!("{}&pool_size=2&pool_timeout=30", database.url());
        let connections = Connections::new(&Settings::parse(&url).unwrap()).unwrap();
        let _both = [
            connections.lease().await.unwrap(),
            connections.lease().await.unwrap(),
        ];
        let mut waiting: Vec<_> = (0..MAX_WAITING)
            .map(|_| Box::pin(connections.lease()))
            .collect();
        for lease in &mut waiting {
            assert!(lease.now_or_never().is_none());
        }
        let one_more = connections.lease().now_or_never();
        assert!(matches!(
            one_more,
            Some(Err(EngineError::Store(StoreError::Busy)))
        ));
        drop(waiting.pop());
        assert!(connections.lease().now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_connection_is_reused_after_an_abandoned_short_statement() {
        let database = Database::empty().unwrap();
        let url = format!("{}&pool_size=2", database.url());
        let connections = Connections::new(&Settings::parse(&url).unwrap()).unwrap();
        let process = async || -> i32 {
            let rows = connections.query("SELECT pg_backend_pid()", &[]).await;
            rows.unwrap()[0].get(0)
        };
        let first = process().await;
        let abandoned = connections.query("SELECT pg_sleep(0.01)", &[]);
        assert!(timeout(Duration::from_millis(2), abandoned).await.is_err());
        // One of the two slots may still be occupied by the abandoned statement.
        let started = Instant::now();
        while process().await != first || connections.pool.status().size > 2 {
            assert!(started.elapsed() < Duration::from_secs(10));
        }
    }
}
