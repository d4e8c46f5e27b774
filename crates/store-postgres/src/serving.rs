//! Who uses a database: any number of servers together, or one command alone.
//!
//! Each server holds a lock together with all others for as long as it serves, on the connection on which it listens, and
//! looks at the schema only while it holds it: what cannot be shared with servers (a step of the schema that is not
//! additive, a restore, a move) waits until nobody holds it. A server whose connection breaks asks for the lock again at
//! once, and looks at the schema again; while it may not have the lock, or cannot serve what it finds, it serves nothing.

use std::time::{Duration, Instant};

use docent_store::StoreError;
use tokio::task::JoinSet;
use tokio_postgres::Client;

use crate::connect::Connector;
use crate::error::EngineError;
use crate::pool::Lease;

/// The second half of the keys of advisory locks, which are of a database: a database may have a catalog in each of its
/// schemas. The usual one has the key that it always had. In any other, servers from before the schema was part of the
/// key do not see the locks of those that came after, and must be stopped before an upgrade.
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

const TOGETHER: &str = lock!("pg_try_advisory_lock_shared");
const ALONE: &str = lock!("pg_try_advisory_lock");
const ALONE_IN_TRANSACTION: &str = lock!("pg_try_advisory_xact_lock");

/// How long it may take until a server that was stopped has left, and how often that is looked at.
const LEAVING: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(100);

/// What a server is told that may not serve now.
pub(crate) const TAKEN: &str = "another docent has the database for itself, to restore it, to move it or to change its schema: \
     it can be used again when that is done";

/// Takes the lock of a server on its connection; says whether it has it.
pub(crate) async fn together(client: &Client) -> Result<bool, EngineError> {
    Ok(client.query_one(TOGETHER, &[]).await?.try_get(0)?)
}

/// Makes sure that no server runs until the end of the transaction.
pub(crate) async fn expect_nobody(lease: &Lease, otherwise: &str) -> Result<(), EngineError> {
    let asked = Instant::now();
    loop {
        let rows = lease.query(ALONE_IN_TRANSACTION, &[]).await?;
        if let Some(row) = rows.first()
            && row.try_get(0)?
        {
            return Ok(());
        }
        give_up_or_pause(asked, otherwise).await?;
    }
}

/// A server that has just been stopped may not be gone yet.
async fn give_up_or_pause(asked: Instant, otherwise: &str) -> Result<(), EngineError> {
    if asked.elapsed() > LEAVING {
        return Err(EngineError::Store(StoreError::Refused {
            reason: otherwise.to_owned(),
        }));
    }
    tokio::time::sleep(PAUSE).await;
    Ok(())
}

/// No server uses the database for as long as this is there.
#[derive(Debug)]
pub(crate) struct Alone {
    _client: Client,
    _connection: JoinSet<()>,
}

impl Alone {
    pub(crate) async fn take(connector: &Connector) -> Result<Self, EngineError> {
        let (client, connection) = connector.connect_soon().await?;
        let mut running = JoinSet::new();
        running.spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(%error, "the database may be used by others now");
            }
        });
        let asked = Instant::now();
        while !client.query_one(ALONE, &[]).await?.try_get::<_, bool>(0)? {
            let otherwise =
                "a docent server or another such command uses the database; stop it first";
            give_up_or_pause(asked, otherwise).await?;
        }
        Ok(Self {
            _client: client,
            _connection: running,
        })
    }
}
