//! What the log says about a database that goes away: one line when it does, and one when it is back.
//!
//! Whoever asks the database regularly tells how it went ([`Outage::asked`]).

use std::time::{Duration, Instant};

use crate::error::EngineError;
use crate::pool::Connections;

/// How often it is looked at whether the database can be written to.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Whether it can only be read, and whether that is so because it follows another.
const READ_ONLY: &str =
    "SELECT current_setting('transaction_read_only') = 'on', pg_is_in_recovery()";

#[derive(Debug, Default)]
pub(crate) struct Outage {
    since: Option<Instant>,
    read_only: bool,
    looked: Option<Instant>,
}

impl Outage {
    /// Notes an answer, or that there was none.
    pub(crate) fn asked<T>(&mut self, answer: &Result<T, EngineError>) {
        match (answer, self.since) {
            (Err(error), None) => {
                self.since = Some(Instant::now());
                tracing::error!("the database is unavailable: {error}");
            }
            (Ok(_), Some(since)) => {
                self.since = None;
                // It may be another one.
                self.looked = None;
                tracing::info!(
                    "the database is back after {:.1} s",
                    since.elapsed().as_secs_f64()
                );
            }
            _ => {}
        }
    }

    /// Says when the database can only be read, and when it can be written to again.
    pub(crate) async fn look(&mut self, connections: &Connections) {
        if self.since.is_some() || self.looked.is_some_and(|at| at.elapsed() < LOOK_EVERY) {
            return;
        }
        self.looked = Some(Instant::now());
        let Ok(read_only) = is_read_only(connections).await else {
            return;
        };
        if read_only && !self.read_only {
            tracing::warn!(
                "the database can only be read, so writes are refused and the server is not ready; with all its hosts and \
                 target_session_attrs=read-write in the store URL the one that can be written to is found"
            );
        } else if self.read_only && !read_only {
            tracing::info!("the database can be written to again");
        }
        self.read_only = read_only;
    }
}

pub(crate) async fn is_read_only(connections: &Connections) -> Result<bool, EngineError> {
    let rows = connections.query(READ_ONLY, &[]).await?;
    let Some(row) = rows.first() else {
        return Ok(false);
    };
    let (read_only, follows): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    if read_only && !follows {
        // It may be the default of a session, which outlives that of the database.
        connections.renew();
    }
    Ok(read_only)
}
