//! The memory that the loaded metadata of all executions shares.
//!
//! An execution with little metadata needs none of it, so that small requests never wait for large
//! ones.

use std::time::Duration;

use docent_catalog::{Catalog, Error, ReadReply, ReadRequest};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::budget::Budget;
use crate::limits::LimitExceeded;

/// What an execution may load without a reservation.
const FREE_BYTES: u64 = 1024 * 1024;
/// How many values are read without a look at their size before: most are small.
const FEW_VALUES: usize = 64;
/// The unit of reservations.
const BLOCK_BYTES: u64 = 1024;
/// How long an execution waits for others.
const MAX_WAIT: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) struct LoadedMemory {
    free_blocks: Semaphore,
    max_wait: Duration,
}

/// A read that failed, or that would exceed the limits of its execution.
#[derive(Debug)]
pub(crate) enum ReadError {
    Failed(Error),
    Exceeded(LimitExceeded),
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<LimitExceeded> for ReadError {
    fn from(exceeded: LimitExceeded) -> Self {
        Self::Exceeded(exceeded)
    }
}

impl LoadedMemory {
    pub(crate) fn new(bytes: u64) -> Self {
        Self::with_wait(bytes, MAX_WAIT)
    }

    fn with_wait(bytes: u64, max_wait: Duration) -> Self {
        let blocks = usize::try_from(bytes / BLOCK_BYTES).unwrap_or(usize::MAX);
        Self {
            free_blocks: Semaphore::new(blocks.min(Semaphore::MAX_PERMITS)),
            max_wait,
        }
    }

    /// Reads metadata, with memory for it in `reserved`. If there is much, it is reserved before it
    /// is read.
    pub(crate) async fn read<'m>(
        &'m self,
        catalog: &Catalog,
        request: ReadRequest<'_>,
        budget: &Budget,
        reserved: &mut Vec<SemaphorePermit<'m>>,
    ) -> Result<ReadReply, ReadError> {
        // A level may need nothing but URNs.
        if request.is_empty() {
            return Ok(ReadReply::default());
        }
        let mut expected = 0;
        if request.rows.len() + request.entities.len() > FEW_VALUES {
            expected = catalog.read_bytes(request).await?;
            budget.check_loaded(expected)?;
            reserved.extend(self.reserve(expected).await?);
        }
        let reply = catalog.read(request).await?;
        let unexpected = reply.value_bytes().saturating_sub(expected);
        reserved.extend(self.reserve(unexpected).await?);
        Ok(reply)
    }

    /// Reserves memory for metadata until the reservation is dropped. Fails if others do not
    /// release enough in time.
    pub(crate) async fn reserve(&self, bytes: u64) -> Result<Option<SemaphorePermit<'_>>, Error> {
        if bytes <= FREE_BYTES {
            return Ok(None);
        }
        let blocks = u32::try_from(bytes / BLOCK_BYTES).unwrap_or(u32::MAX);
        if let Ok(permit) = self.free_blocks.try_acquire_many(blocks) {
            return Ok(Some(permit));
        }
        let acquired = self.free_blocks.acquire_many(blocks);
        match tokio::time::timeout(self.max_wait, acquired).await {
            Ok(Ok(permit)) => Ok(Some(permit)),
            _ => Err(Error::unavailable(
                "too many large requests are in progress: try again in a moment",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use docent_catalog::ErrorKind;

    use super::*;

    #[tokio::test]
    async fn large_requests_wait_for_each_other_and_small_ones_do_not() {
        let memory = LoadedMemory::with_wait(4 * FREE_BYTES, Duration::from_millis(20));
        let held = memory.reserve(3 * FREE_BYTES).await.unwrap();
        assert!(held.is_some());
        assert!(memory.reserve(FREE_BYTES).await.unwrap().is_none());
        let error = memory.reserve(2 * FREE_BYTES).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        drop(held);
        assert!(memory.reserve(2 * FREE_BYTES).await.unwrap().is_some());
    }
}
