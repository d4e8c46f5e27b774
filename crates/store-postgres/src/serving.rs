//! The serving lock: shared by any number of servers, or exclusive to one command.
//!
//! Each server holds it in shared mode while it serves, on its `LISTEN` connection, and checks the
//! schema only while holding it. Operations that must not run beside servers (a migration that is
//! not additive, a restore, a move) take it in exclusive mode. A server that loses the connection
//! requests the lock again and checks the schema again; until both succeed, it serves nothing.

use std::time::{Duration, Instant};

use docent_store::StoreError;
use tokio::task::JoinSet;
use tokio_postgres::Client;

use crate::connect::Connector;
use crate::error::EngineError;
use crate::pool::Lease;

/// The second half of the keys of advisory locks, which are per database: each schema may hold a
/// catalog. `public` keeps the key 0 of releases before the schema was part of it. In other schemas
/// those older servers do not see the locks of newer ones, and must be stopped before an upgrade.
macro_rules! of_schema {
    () => {
        "coalesce(hashtext(nullif(current_schema(), 'public')), 0)"
    };
}
pub(crate) use of_schema;

macro_rules! lock {
    ($function:literal) => {
        concat!(
            "SELECT ",
            $function,
            "(hashtext('docent_serving'), ",
            of_schema!(),
            ")"
        )
    };
}

const SHARED: &str = lock!("pg_try_advisory_lock_shared");
const EXCLUSIVE: &str = lock!("pg_try_advisory_lock");
const EXCLUSIVE_IN_TRANSACTION: &str = lock!("pg_try_advisory_xact_lock");

/// How long to wait for a stopped server to release the lock, and how often to try.
const MAX_WAIT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(100);

/// Why a server cannot serve while a command holds the lock.
pub(crate) const LOCKED: &str = "another docent command has exclusive use of the database, to restore it, to move it or to change \
     its schema: wait until it has finished";

/// Requests the lock of a server; returns whether it was granted.
pub(crate) async fn lock_shared(client: &Client) -> Result<bool, EngineError> {
    Ok(client.query_one(SHARED, &[]).await?.try_get(0)?)
}

/// Excludes servers until the end of the transaction; fails with `reason` if one runs.
pub(crate) async fn exclude_servers(lease: &Lease, reason: &str) -> Result<(), EngineError> {
    let started = Instant::now();
    loop {
        let rows = lease.query(EXCLUSIVE_IN_TRANSACTION, &[]).await?;
        if let Some(row) = rows.first()
            && row.try_get(0)?
        {
            return Ok(());
        }
        pause_or_fail(started, reason).await?;
    }
}

/// A stopped server may still hold the lock for a moment.
async fn pause_or_fail(started: Instant, reason: &str) -> Result<(), EngineError> {
    if started.elapsed() > MAX_WAIT {
        return Err(EngineError::Store(StoreError::Rejected {
            reason: reason.to_owned(),
        }));
    }
    tokio::time::sleep(PAUSE).await;
    Ok(())
}

/// Excludes servers from the database until dropped.
#[derive(Debug)]
pub(crate) struct ExclusiveUse {
    _client: Client,
    _connection: JoinSet<()>,
}

impl ExclusiveUse {
    pub(crate) async fn acquire(connector: &Connector) -> Result<Self, EngineError> {
        let (client, connection) = connector.connect_in_time().await?;
        let mut running = JoinSet::new();
        running.spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(%error, "lost the exclusive lock: servers may use the database now");
            }
        });
        let started = Instant::now();
        while !client
            .query_one(EXCLUSIVE, &[])
            .await?
            .try_get::<_, bool>(0)?
        {
            let reason = "a docent server or another such command uses the database; stop it first";
            pause_or_fail(started, reason).await?;
        }
        Ok(Self {
            _client: client,
            _connection: running,
        })
    }
}
