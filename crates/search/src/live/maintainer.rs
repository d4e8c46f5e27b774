//! Feeds the index in the background.
//!
//! Searches index pending changes themselves, so writes cost nothing until the next search, which
//! after a bulk load would have to index all of it. The maintainer polls the number of pending
//! changes. It leaves a few to the next search. It indexes more once writes pause, with at most
//! half of the cores, because others read. It indexes very many while writes continue, with at most
//! a tenth of the cores, so that writers hardly notice.
//!
//! It must not know what searches see: only the store's commit stamp, read by each search, decides
//! whether the index is current.

use std::time::{Duration, Instant};

use docent_store::{CommitStamp, StoreError};

use super::LiveIndex;
use crate::error::SearchError;

/// How often to poll. A store without writes for this long counts as quiet.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Fewer pending changes are left to the next search, which indexes them within some ten
/// milliseconds.
const QUIET_THRESHOLD: u64 = 200;
/// This many are indexed although writes continue.
const BUSY_THRESHOLD: u64 = 5000;
/// How many entities to index at once. A search that arrives meanwhile waits for them, for some
/// tenths of a second.
const ENTITIES_PER_RUN: usize = 2500;
/// One part in this many of all cores is used when the store is quiet.
const QUIET_CPU_SHARE: u32 = 2;
/// One part in this many of all cores is used while writes continue.
const BUSY_CPU_SHARE: u32 = 10;
/// The shortest pause while writes continue, so that the next poll can observe them.
const MIN_BUSY_PAUSE: Duration = Duration::from_millis(100);

/// Keeps the index from falling behind. To use it, spawn [`IndexMaintainer::run`].
#[derive(Debug)]
pub struct IndexMaintainer {
    live: LiveIndex,
    cores: u32,
    /// The commit stamp of the last poll.
    stamp: Option<CommitStamp>,
    /// Nothing is left to do up to this commit stamp.
    done: Option<CommitStamp>,
}

impl IndexMaintainer {
    pub(crate) fn new(live: LiveIndex) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            live,
            cores: cores.try_into().unwrap_or(u32::MAX),
            stamp: None,
            done: None,
        }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        let mut failed = false;
        loop {
            let result = self.run_once().await;
            match &result {
                Ok(_) => failed = false,
                // The engine logs when the database becomes unavailable and when it is back.
                Err(SearchError::Store(StoreError::Unavailable { .. })) => {}
                Err(error) if !failed => {
                    // Logged once; searches report the error, too.
                    tracing::warn!(%error, "cannot update the search index");
                    failed = true;
                }
                Err(_) => {}
            }
            tokio::time::sleep(result.unwrap_or(POLL_INTERVAL)).await;
        }
    }

    /// Polls once, and indexes some changes if it is time. Returns how long to pause.
    pub async fn run_once(&mut self) -> Result<Duration, SearchError> {
        let stamp = self.live.store().commit_stamp()?;
        if self.done == Some(stamp) {
            return Ok(POLL_INTERVAL);
        }
        let quiet = self.stamp.replace(stamp) == Some(stamp);
        let pending = self.live.pending_changes().await?;
        if pending
            < if quiet {
                QUIET_THRESHOLD
            } else {
                BUSY_THRESHOLD
            }
        {
            if quiet {
                self.done = Some(stamp);
            }
            return Ok(POLL_INTERVAL);
        }
        let started = Instant::now();
        self.live.index_some(ENTITIES_PER_RUN).await?;
        let worked = started.elapsed();
        Ok(if quiet {
            pause_after(worked, QUIET_CPU_SHARE, self.cores)
        } else {
            pause_after(worked, BUSY_CPU_SHARE, self.cores).max(MIN_BUSY_PAUSE)
        })
    }
}

/// The pause after work on one thread that makes it one part in `share` of the machine's capacity.
fn pause_after(worked: Duration, share: u32, cores: u32) -> Duration {
    worked * share.saturating_sub(cores) / cores.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_limit_work_to_its_share_of_the_machine() {
        let worked = Duration::from_secs(1);
        assert_eq!(pause_after(worked, 10, 1), Duration::from_secs(9));
        assert_eq!(pause_after(worked, 10, 2), Duration::from_secs(4));
        assert_eq!(pause_after(worked, 10, 5), Duration::from_secs(1));
        assert_eq!(pause_after(worked, 10, 64), Duration::ZERO);
        assert_eq!(pause_after(worked, 2, 1), worked);
        assert_eq!(pause_after(worked, 2, 2), Duration::ZERO);
    }
}
