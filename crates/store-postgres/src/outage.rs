//! Logs database outages: one line when the database becomes unavailable, one when it is back.
//!
//! Fed with the result of every regular query ([`Outage::record`]).

use std::time::{Duration, Instant};

use crate::error::EngineError;
use crate::pool::Connections;

/// How often write access is checked.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// Whether the session is read-only, and whether the server is a standby.
const READ_ONLY: &str =
    "SELECT current_setting('transaction_read_only') = 'on', pg_is_in_recovery()";

#[derive(Debug, Default)]
pub(crate) struct Outage {
    since: Option<Instant>,
    read_only: bool,
    last_check: Option<Instant>,
}

impl Outage {
    /// Records the result of a query.
    pub(crate) fn record<T>(&mut self, result: &Result<T, EngineError>) {
        match (result, self.since) {
            (Err(error), None) => {
                self.since = Some(Instant::now());
                tracing::error!("the database is unavailable: {error}");
            }
            (Ok(_), Some(since)) => {
                self.since = None;
                // The connection may lead to another server now.
                self.last_check = None;
                tracing::info!(
                    "the database is back after {:.1} s",
                    since.elapsed().as_secs_f64()
                );
            }
            _ => {}
        }
    }

    /// Logs when the database becomes read-only and when it accepts writes again.
    pub(crate) async fn check_writable(&mut self, connections: &Connections) {
        let is_recent = |at: Instant| at.elapsed() < CHECK_EVERY;
        if self.since.is_some() || self.last_check.is_some_and(is_recent) {
            return;
        }
        self.last_check = Some(Instant::now());
        let Ok(read_only) = is_read_only(connections).await else {
            return;
        };
        if read_only && !self.read_only {
            tracing::warn!(
                "the database is read-only, so writes are rejected and the server is not ready; to find the primary, list all \
                 hosts in the store URL with target_session_attrs=read-write"
            );
        } else if self.read_only && !read_only {
            tracing::info!("the database accepts writes again");
        }
        self.read_only = read_only;
    }
}

pub(crate) async fn is_read_only(connections: &Connections) -> Result<bool, EngineError> {
    let rows = connections.query(READ_ONLY, &[]).await?;
    let Some(row) = rows.first() else {
        return Ok(false);
    };
    let (read_only, is_standby): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    if read_only && !is_standby {
        // Only this session may be read-only: sessions keep the defaults of their start.
        connections.renew();
    }
    Ok(read_only)
}
