//! Connections: a bounded number of them, lent for a bounded time, and many statements in one round trip.
//!
//! This module knows no table.

use std::fmt::{self, Debug};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use docent_store::StoreError;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::error::EngineError;
use crate::settings::Settings;
use crate::tls;

/// More callers than this do not wait for a connection: they can be told to try again sooner than they could be answered.
const MAX_WAITING: usize = 1024;
/// How much longer than the database a server waits for a statement before it gives up the connection.
const GRACE: Duration = Duration::from_secs(2);

/// More steps than this are not sent at once.
const MAX_STEPS: usize = 256;

pub(crate) type Parameter = Box<dyn ToSql + Sync + Send>;
type Answer<'a> =
    Pin<Box<dyn Future<Output = Result<Vec<Row>, tokio_postgres::Error>> + Send + 'a>>;

#[derive(Debug)]
pub(crate) struct Connections {
    pool: Pool,
    patience: Duration,
}

impl Connections {
    pub(crate) fn new(settings: &Settings) -> Result<Self, StoreError> {
        let manager = Manager::from_config(
            settings.driver.clone(),
            tls::connector(settings)?,
            ManagerConfig {
                recycling_method: RecyclingMethod::Fast,
            },
        );
        let pool = Pool::builder(manager)
            .max_size(settings.pool_size)
            .wait_timeout(Some(settings.pool_timeout))
            .create_timeout(Some(settings.pool_timeout))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(StoreError::other)?;
        Ok(Self {
            pool,
            patience: settings.statement_timeout + GRACE,
        })
    }

    pub(crate) async fn lease(&self) -> Result<Lease, EngineError> {
        if self.pool.status().waiting >= MAX_WAITING {
            return Err(StoreError::Busy.into());
        }
        Ok(Lease {
            client: Some(self.pool.get().await?),
            patience: self.patience,
            spoilt: AtomicBool::new(false),
        })
    }

    /// One statement that only reads. A connection that turns out to be dead is replaced once.
    pub(crate) async fn query(
        &self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, EngineError> {
        match self.lease().await?.query(sql, parameters).await {
            Err(EngineError::Lost(reason)) => {
                tracing::debug!(reason, "a connection was lost, and another one is asked");
                self.lease().await?.query(sql, parameters).await
            }
            answered => answered,
        }
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }
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

/// A connection for one caller. One that is left in the middle of something is closed, not given to the next.
pub(crate) struct Lease {
    /// `None` only while it is being dropped.
    client: Option<Object>,
    patience: Duration,
    spoilt: AtomicBool,
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
        if let Ok(answer) = tokio::time::timeout(self.patience, work).await {
            return Ok(answer?);
        }
        self.soil();
        Err(EngineError::Lost("the database does not answer".to_owned()))
    }

    pub(crate) fn client(&self) -> Result<&Object, EngineError> {
        self.client
            .as_ref()
            .ok_or_else(|| EngineError::Lost("the connection was given back".to_owned()))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.spoilt.load(Ordering::Relaxed)
            && let Some(client) = self.client.take()
        {
            drop(Object::take(client));
        }
    }
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
