//! Feeding the index beside those who search.
//!
//! A search takes in what it finds, so writes cost nothing until somebody searches; after a bulk load that would be all of
//! it. The keeper looks now and then how much there is: a little is left to the next search, more is taken in when writes
//! pause, with half of the machine at most, since others read; and a lot while they go on, but with no more than a tenth
//! of it, so that writes hardly notice.
//!
//! What it reads and writes runs on threads that may block. It must not know what searches see: whether an
//! index is up to date is only ever said by the store's stamp, for each search anew.

use std::time::{Duration, Instant};

use docent_store::{CommitStamp, StoreError};

use super::Live;
use crate::error::SearchError;

/// How often it is looked whether there is something to take in; a store that was quiet for so long may stay so.
const LOOK: Duration = Duration::from_secs(1);
/// So few changes are left to the next search: it takes them in within some ten milliseconds.
const FEW: u64 = 200;
/// So many are taken in although writes go on.
const MANY: u64 = 5000;
/// How many entities are taken in at once: a search that comes meanwhile has to wait for them, some tenths of a second.
const ENTITIES: usize = 2500;
/// One part in so many of all cores is used when writes pause.
const SHARE_WHEN_QUIET: u32 = 2;
/// One part in so many while they go on.
const SHARE_BESIDE_WRITES: u32 = 10;
/// Beside writes it rests at least so long: the next look should find others at work, if there are any.
const REST_BESIDE_WRITES: Duration = Duration::from_millis(100);

/// Keeps an index from falling behind.
#[derive(Debug)]
pub struct Keeper {
    live: Live,
    cores: u32,
    /// What the store's stamp was when it was last looked at.
    stamp: Option<CommitStamp>,
    /// Up to that stamp nothing is left to do.
    done: Option<CommitStamp>,
}

impl Keeper {
    pub(crate) fn new(live: Live) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            live,
            cores: cores.try_into().unwrap_or(u32::MAX),
            stamp: None,
            done: None,
        }
    }

    /// Goes on until it is dropped.
    pub async fn keep(mut self) {
        let mut failed = false;
        loop {
            let looked = self.look().await;
            match &looked {
                Ok(_) => failed = false,
                // The engine says itself when the database goes away and when it is back.
                Err(SearchError::Store(StoreError::Unavailable { .. })) => {}
                Err(error) if !failed => {
                    // Once; whoever searches hears of it, too.
                    tracing::warn!(%error, "the search index could not be brought up to date");
                    failed = true;
                }
                Err(_) => {}
            }
            tokio::time::sleep(looked.unwrap_or(LOOK)).await;
        }
    }

    /// Looks once, and takes some in if it is time for that. How long to rest then.
    pub async fn look(&mut self) -> Result<Duration, SearchError> {
        let stamp = self.live.store().commit_stamp()?;
        if self.done == Some(stamp) {
            return Ok(LOOK);
        }
        let quiet = self.stamp.replace(stamp) == Some(stamp);
        let behind = self.live.behind().await?;
        if behind < if quiet { FEW } else { MANY } {
            if quiet {
                self.done = Some(stamp);
            }
            return Ok(LOOK);
        }
        let began = Instant::now();
        self.live.take_some(ENTITIES).await?;
        let worked = began.elapsed();
        Ok(if quiet {
            rest_after(worked, SHARE_WHEN_QUIET, self.cores)
        } else {
            rest_after(worked, SHARE_BESIDE_WRITES, self.cores).max(REST_BESIDE_WRITES)
        })
    }
}

/// How long to rest after some work of one thread, for it to have been one part in so many of what the machine could do.
fn rest_after(worked: Duration, share: u32, cores: u32) -> Duration {
    worked * share.saturating_sub(cores) / cores.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_rest_make_the_share_of_the_machine_that_was_meant() {
        let worked = Duration::from_secs(1);
        assert_eq!(rest_after(worked, 10, 1), Duration::from_secs(9));
        assert_eq!(rest_after(worked, 10, 2), Duration::from_secs(4));
        assert_eq!(rest_after(worked, 10, 5), Duration::from_secs(1));
        assert_eq!(rest_after(worked, 10, 64), Duration::ZERO);
        assert_eq!(rest_after(worked, 2, 1), worked);
        assert_eq!(rest_after(worked, 2, 2), Duration::ZERO);
    }
}
