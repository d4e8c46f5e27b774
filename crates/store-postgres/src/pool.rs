//! Connections: a bounded number of them, lent for a bounded time, and many statements in one round trip.
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
use docent_store::StoreError;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use crate::connect::{Connector, Tls};
use crate::error::{EngineError, unavailable};
use crate::settings::Settings;

/// More callers than this do not wait for a connection: they can be told to try again sooner than they could be answered.
pub(crate) const MAX_WAITING: usize = 1024;
/// How much longer than the database a server waits for a statement before it gives up the connection.
const GRACE: Duration = Duration::from_secs(2);

/// What nobody waits for any more is asked to stop if it is not over by then.
const SOON: Duration = Duration::from_millis(100);
/// How long a place in the pool is kept for a statement that does not stop.
const MAX_SETTLING: Duration = Duration::from_mins(1);

/// What a younger connection was told when it began is taken to hold.
const NEW: Duration = Duration::from_secs(1);

/// More steps than this are not sent at once.
const MAX_STEPS: usize = 256;

pub(crate) type Parameter = Box<dyn ToSql + Sync + Send>;
type Answer<'a> =
    Pin<Box<dyn Future<Output = Result<Vec<Row>, tokio_postgres::Error>> + Send + 'a>>;

#[derive(Debug)]
pub(crate) struct Connections {
    pool: Pool,
    connector: Connector,
    size: usize,
    patience: Duration,
    /// Why nobody gets one.
    refusal: Mutex<Option<String>>,
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
            .create_timeout(Some(connector.patience()))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(StoreError::other)?;
        Ok(Self {
            pool,
            connector,
            refusal: Mutex::default(),
            size: settings.pool_size,
            patience: settings.statement_timeout + GRACE,
        })
    }

    /// How many there are at most.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) async fn lease(&self) -> Result<Lease, EngineError> {
        if let Some(reason) = &*lock(&self.refusal) {
            return Err(unavailable(reason.clone()).into());
        }
        if self.pool.status().waiting >= MAX_WAITING {
            return Err(StoreError::Busy.into());
        }
        Ok(Lease {
            client: Some(self.pool.get().await?),
            tls: self.connector.tls(),
            patience: self.patience,
            spoilt: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            outdated: AtomicBool::new(false),
        })
    }

    /// How long an answer of the database is waited for.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// One statement that only reads. A connection that turns out to be dead is replaced once; not if that took as long as
    /// an answer may take.
    pub(crate) async fn query(
        &self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, EngineError> {
        let lease = self.lease().await?;
        self.query_on(lease, sql, parameters).await
    }

    /// [`Connections::query`] for somebody who has a connection already.
    pub(crate) async fn query_on(
        &self,
        lease: Lease,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, EngineError> {
        let asked = Instant::now();
        match lease.query(sql, parameters).await {
            Err(EngineError::Lost(reason)) if asked.elapsed() < self.patience => {
                drop(lease);
                tracing::debug!(reason, "a connection was lost, and another one is asked");
                self.lease().await?.query(sql, parameters).await
            }
            answered => answered,
        }
    }

    /// From now on nobody gets a connection, for this reason; or everybody again. Says whether that is new.
    pub(crate) fn refuse(&self, reason: Option<String>) -> bool {
        let mut refusal = lock(&self.refusal);
        let is_new = *refusal != reason;
        *refusal = reason;
        is_new
    }

    /// What a session may do by default is what held when it began. Once something was refused, those that nobody uses now
    /// are given up, but for the youngest: where every write is refused, they are worth keeping.
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

/// A connection for one caller. One that is left in the middle of a transaction is closed, and one that is left in the
/// middle of a statement is given to the next only when that is over ([`settle`]).
pub(crate) struct Lease {
    /// `None` only while it is being dropped.
    client: Option<Object>,
    tls: Tls,
    patience: Duration,
    spoilt: AtomicBool,
    /// Something was sent that has not been answered.
    busy: AtomicBool,
    /// Nothing comes back any more.
    lost: AtomicBool,
    /// Another connection may be told something else when it begins.
    outdated: AtomicBool,
}

impl Lease {
    /// One statement, prepared on first use.
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

    /// Statements without parameters, not prepared.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), EngineError> {
        let client = self.client()?;
        self.bounded(client.batch_execute(sql)).await
    }

    /// Sends all steps at once and waits for all answers: one round trip. The first error is the one that counts; in a
    /// transaction it makes all that follow fail, and the commit among them roll back.
    pub(crate) async fn pipeline(&self, steps: &[Step]) -> Result<Vec<Vec<Row>>, EngineError> {
        let client = self.client()?;
        let mut rows = Vec::with_capacity(steps.len());
        for steps in steps.chunks(MAX_STEPS) {
            let sent = async {
                let mut answers: Vec<Answer<'_>> = Vec::with_capacity(steps.len());
                for step in steps {
                    let statement = client.prepare_cached(step.sql).await?;
                    answers.push(Box::pin(async move {
                        let parameters: Vec<&(dyn ToSql + Sync)> =
                            step.parameters.iter().map(|it| &**it as _).collect();
                        client.query(&statement, &parameters).await
                    }));
                }
                in_order(answers)
                    .await
                    .into_iter()
                    .collect::<Result<Vec<_>, _>>()
            };
            rows.extend(self.bounded(sent).await?);
        }
        Ok(rows)
    }

    /// From now on the connection is only given back if [`Lease::clean`] says so.
    pub(crate) fn soil(&self) {
        self.spoilt.store(true, Ordering::Relaxed);
    }

    pub(crate) fn clean(&self) {
        self.spoilt.store(false, Ordering::Relaxed);
    }

    /// Begins a transaction for work that takes as long as it takes.
    pub(crate) async fn begin_long(&mut self, mode: &str) -> Result<(), EngineError> {
        self.patience = Duration::MAX;
        self.soil();
        self.execute(&format!(
            "BEGIN {mode}; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; \
             SET LOCAL idle_in_transaction_session_timeout = 0"
        ))
        .await
    }

    pub(crate) async fn commit(&self) -> Result<(), EngineError> {
        self.execute("COMMIT").await?;
        self.clean();
        Ok(())
    }

    /// What the database does not bound, because it hangs or cannot be reached, is bounded here.
    async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, EngineError> {
        self.busy.store(true, Ordering::Relaxed);
        let answer = timeout(self.patience, work).await;
        self.busy.store(false, Ordering::Relaxed);
        let error = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => {
                if error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) {
                    self.outdate();
                }
                EngineError::from(error)
            }
            Err(_) => EngineError::Lost("the database does not answer".to_owned()),
        };
        if matches!(error, EngineError::Lost(_)) {
            self.lose();
        }
        Err(error)
    }

    /// This connection is dead, and those that nobody uses now will hardly be better: whoever tries again shall not wait
    /// for one after the other.
    fn lose(&self) {
        self.soil();
        self.lost.store(true, Ordering::Relaxed);
        if let Some(pool) = self.client.as_ref().and_then(Object::pool) {
            pool.retain(|_, _| false);
        }
    }

    /// This connection is not given back, and those that nobody uses now may be as it is ([`Connections::renew`]).
    fn outdate(&self) {
        self.outdated.store(true, Ordering::Relaxed);
        if let Some(pool) = self.client.as_ref().and_then(Object::pool) {
            drop_old(&pool);
        }
    }

    /// Whether there is no use in sending anything.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn client(&self) -> Result<&Object, EngineError> {
        self.client
            .as_ref()
            .ok_or_else(|| EngineError::Lost("the connection was given back".to_owned()))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else {
            return;
        };
        let spoilt = self.spoilt.load(Ordering::Relaxed) || self.outdated.load(Ordering::Relaxed);
        if self.busy.load(Ordering::Relaxed)
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(settle(client, self.tls.clone(), spoilt));
        } else if spoilt {
            drop(Object::take(client));
        }
    }
}

/// Waits until the database is done with what was left in the middle, because its caller has gone, and asks it to stop if
/// that takes long. The place in the pool stays taken meanwhile, so that a database never has more to do than there are
/// places, however fast callers come and go.
async fn settle(client: Object, tls: Tls, spoilt: bool) {
    let done = timeout(SOON, client.simple_query("")).await;
    if matches!(done, Ok(Ok(_))) && !spoilt {
        return;
    }
    if done.is_err() {
        let stop = client.cancel_token();
        // If it cannot be asked, it is waited for.
        let _ = timeout(MAX_SETTLING, stop.cancel_query(tls)).await;
        let _ = timeout(MAX_SETTLING, client.simple_query("")).await;
    }
    // Being asked to stop may come late, and is meant for nobody else.
    drop(Object::take(client));
}

impl Debug for Lease {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Lease").finish_non_exhaustive()
    }
}

/// Asks each future in order, again and again, until all are done: a statement is sent when its future is first asked,
/// and the order in which statements are sent matters.
async fn in_order(mut answers: Vec<Answer<'_>>) -> Vec<Result<Vec<Row>, tokio_postgres::Error>> {
    let mut done: Vec<Option<_>> = answers.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut waiting = false;
        for (answer, done) in answers.iter_mut().zip(&mut done) {
            if done.is_none() {
                match answer.as_mut().poll(context) {
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

    /// A client that goes away takes its request with it; the next one must not wait for what nobody wants.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_read_that_was_given_up_stops_and_holds_up_nobody() {
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
                _ = both => panic!("nobody gave up"),
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
    async fn the_queue_for_connections_has_an_end() {
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
    async fn a_connection_is_used_again_when_a_short_statement_was_given_up() {
        let database = Database::empty().unwrap();
        let url = format!("{}&pool_size=2", database.url());
        let connections = Connections::new(&Settings::parse(&url).unwrap()).unwrap();
        let process = async || -> i32 {
            let rows = connections.query("SELECT pg_backend_pid()", &[]).await;
            rows.unwrap()[0].get(0)
        };
        let first = process().await;
        let given_up = connections.query("SELECT pg_sleep(0.01)", &[]);
        assert!(timeout(Duration::from_millis(2), given_up).await.is_err());
        // There are two places, and one of them may be taken for a moment.
        let started = Instant::now();
        while process().await != first || connections.pool.status().size > 2 {
            assert!(started.elapsed() < Duration::from_secs(10));
        }
    }
}
