//! Feeds the index in the background.
//!
//! Searches index pending changes themselves, so writes cost nothing until the next search, which
//! after a bulk load would have to index all of it. The maintainer polls the number of pending
//! changes. It leaves a few to the next search. It indexes more once writes pause, with at most
//! half of the cores, because others read. While writes continue, it uses a tenth of the cores, so
//! that writers hardly notice. If that is not enough to keep up with a bulk load, it uses a third:
//! otherwise a search during the load, or right after it, would wait for seconds.
//!
//! It must not know what searches see: only the store's commit stamp, read by each search, decides
//! whether the index is current.

use std::time::{Duration, Instant};

use docent_store::{CommitStamp, StoreError};

use super::LiveIndex;
use crate::error::SearchError;

/// How often to poll. A store without writes for this long counts as quiet. A bulk load writes
/// several thousand changes in this time.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Fewer pending changes are left to the next search, which indexes them within some ten
/// milliseconds.
const QUIET_THRESHOLD: u64 = 200;
/// How many entities to index at once. A search that arrives meanwhile waits for them, for less
/// than a tenth of a second.
const ENTITIES_PER_RUN: usize = 1000;
/// One part in this many of all cores is used when the store is quiet.
const QUIET_CPU_SHARE: u32 = 2;
/// How many pending changes are indexed although writes continue, and with which share of the
/// cores. The next search indexes fewer within a tenth of a second.
const BUSY: Pace = Pace {
    threshold: 2000,
    cpu_share: 10,
};
/// The same for a load that the usual share does not keep up with.
const BEHIND: Pace = Pace {
    threshold: 8000,
    cpu_share: 3,
};

/// The shortest pause while writes continue, so that writers come first on any number of cores.
const MIN_BUSY_PAUSE: Duration = Duration::from_millis(10);

/// How fast to index while writes continue.
#[derive(Debug)]
struct Pace {
    /// From this many pending changes on.
    threshold: u64,
    /// One part in this many of all cores.
    cpu_share: u32,
}

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
        let Some(cpu_share) = cpu_share(pending, quiet) else {
            if quiet {
                self.done = Some(stamp);
            }
            return Ok(POLL_INTERVAL);
        };
        let started = Instant::now();
        self.live.index_some(ENTITIES_PER_RUN).await?;
        let pause = pause_after(started.elapsed(), cpu_share, self.cores);
        Ok(if quiet {
            pause
        } else {
            pause.max(MIN_BUSY_PAUSE)
        })
    }
}

/// Which part of all cores to use for the pending changes: one part in this many. `None` leaves
/// them to the next search.
fn cpu_share(pending: u64, quiet: bool) -> Option<u32> {
    if quiet {
        return (pending >= QUIET_THRESHOLD).then_some(QUIET_CPU_SHARE);
    }
    let pace = [BEHIND, BUSY].into_iter();
    let mut pace = pace.filter(|pace| pending >= pace.threshold);
    Some(pace.next()?.cpu_share)
}

/// The pause after work on one thread that makes it one part in `share` of the machine's capacity.
fn pause_after(worked: Duration, share: u32, cores: u32) -> Duration {
    worked * share.saturating_sub(cores) / cores.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_further_the_index_is_behind_the_more_of_the_machine_it_gets() {
        assert_eq!(cpu_share(199, true), None);
        assert_eq!(cpu_share(200, true), Some(2));
        assert_eq!(cpu_share(100_000, true), Some(2));
        assert_eq!(cpu_share(1999, false), None);
        assert_eq!(cpu_share(2000, false), Some(10));
        assert_eq!(cpu_share(8000, false), Some(3));
    }

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
