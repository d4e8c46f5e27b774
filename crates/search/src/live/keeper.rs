//! Feeding the index beside those who search.
//!
//! A search takes in what it finds, so writes cost nothing until somebody searches; after a bulk load that would be all of
//! it. The keeper looks now and then how much there is: a little is left to the next search, more is taken in when writes
//! pause, and a lot while they go on, but with no more than a tenth of the machine, so that writes hardly notice.
//!
//! What it reads and writes runs on threads that may block. It must not know what searches see: whether an
//! index is up to date is only ever said by the store's stamp, for each search anew.

use std::time::{Duration, Instant};

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
/// Of all cores, what is left to others while writes go on.
const SHARE: u32 = 10;

/// Keeps an index from falling behind.
#[derive(Debug)]
pub struct Keeper {
    live: Live,
    cores: u32,
    /// What the store's stamp was when it was last looked at.
    stamp: Option<u64>,
    /// Up to that stamp nothing is left to do.
    done: Option<u64>,
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
            if let Err(error) = &looked
                && !failed
            {
                // Once; whoever searches hears of it, too.
                tracing::warn!(%error, "the search index could not be brought up to date");
            }
            failed = looked.is_err();
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
        Ok(if quiet {
            Duration::ZERO
        } else {
            rest_after(began.elapsed(), self.cores)
        })
    }
}

/// How long to rest after some work of one thread, for it to have been a small part of what the machine could do.
fn rest_after(worked: Duration, cores: u32) -> Duration {
    let for_others = SHARE.saturating_sub(cores);
    // The next look should find others at work, if there are any.
    (worked * for_others / cores.max(1)).max(LOOK / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_machine_is_used_while_others_write() {
        let worked = Duration::from_secs(1);
        assert_eq!(rest_after(worked, 1), Duration::from_secs(9));
        assert_eq!(rest_after(worked, 2), Duration::from_secs(4));
        assert_eq!(rest_after(worked, 5), Duration::from_secs(1));
        assert_eq!(rest_after(worked, 64), LOOK / 10);
    }
}
