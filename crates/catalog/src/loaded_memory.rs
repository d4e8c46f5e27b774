//! The memory that the loaded metadata of all requests shares.
//!
//! Values have up to 16 MiB, and a small request can name thousands of them. So their size is known
//! before they are read, and memory is reserved first. A request that loads little needs none of
//! it, so that small requests never wait for large ones.

use std::sync::Arc;
use std::time::Duration;

use docent_store::{ReadReply, ReadRequest, SHORT_READ_BYTES, spent};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::redaction::without_secrets;
use crate::{Catalog, Error};

/// The metadata that all requests together may load.
const ALL_LOADED_BYTES: u64 = 512 * 1024 * 1024;
/// What a request may load without a reservation.
const FREE_BYTES: u64 = SHORT_READ_BYTES;
/// The unit of reservations.
const BLOCK_BYTES: u64 = 1024;
/// How long a request waits for others.
const MAX_WAIT: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) struct LoadedMemory {
    free_blocks: Arc<Semaphore>,
    all_blocks: usize,
    max_wait: Duration,
}

/// What one request has loaded, and the memory for it.
#[derive(Debug, Default)]
pub struct LoadedBytes {
    bytes: u64,
    reserved: Option<OwnedSemaphorePermit>,
}

/// A read that failed, or that would exceed the limit of its request.
#[derive(Debug)]
pub enum LoadError {
    Failed(Error),
    /// The values have so many bytes.
    TooLong(u64),
}

impl From<Error> for LoadError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Default for LoadedMemory {
    fn default() -> Self {
        Self::new(ALL_LOADED_BYTES, MAX_WAIT)
    }
}

impl LoadedMemory {
    fn new(bytes: u64, max_wait: Duration) -> Self {
        let blocks = usize::try_from(bytes / BLOCK_BYTES).unwrap_or(usize::MAX);
        let blocks = blocks.min(Semaphore::MAX_PERMITS);
        Self {
            free_blocks: Arc::new(Semaphore::new(blocks)),
            all_blocks: blocks,
            max_wait,
        }
    }

    /// How many bytes are reserved, of how many.
    pub(crate) fn used_and_limit(&self) -> (u64, u64) {
        let bytes = |blocks: usize| blocks as u64 * BLOCK_BYTES;
        let free = self.free_blocks.available_permits();
        let used = self.all_blocks.saturating_sub(free);
        (bytes(used), bytes(self.all_blocks))
    }

    /// Sets how much a request has loaded. Fails if others do not release enough in time.
    pub(crate) async fn resize(&self, loaded: &mut LoadedBytes, bytes: u64) -> Result<(), Error> {
        if self.try_resize(loaded, bytes) {
            return Ok(());
        }
        let more = loaded.missing_blocks(bytes);
        let acquired = Arc::clone(&self.free_blocks).acquire_many_owned(more);
        let acquired = tokio::time::timeout(self.max_wait, acquired);
        match spent::timed(|spent| &spent.waits, acquired).await {
            Ok(Ok(permit)) => {
                loaded.add(permit, bytes);
                Ok(())
            }
            _ => Err(Error::unavailable(
                "too many large requests are in progress: try again in a moment",
            )),
        }
    }

    /// [`LoadedMemory::resize`], if the memory is free.
    fn try_resize(&self, loaded: &mut LoadedBytes, bytes: u64) -> bool {
        let more = loaded.missing_blocks(bytes);
        if more == 0 {
            loaded.shrink(bytes);
            return true;
        }
        match Arc::clone(&self.free_blocks).try_acquire_many_owned(more) {
            Ok(permit) => {
                loaded.add(permit, bytes);
                true
            }
            Err(_) => false,
        }
    }
}

impl LoadedBytes {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn reserved_blocks(&self) -> usize {
        let reserved = self.reserved.as_ref();
        reserved.map_or(0, OwnedSemaphorePermit::num_permits)
    }

    /// How many blocks to reserve before so much is loaded.
    fn missing_blocks(&self, bytes: u64) -> u32 {
        let missing = blocks(bytes).saturating_sub(self.reserved_blocks());
        u32::try_from(missing).unwrap_or(u32::MAX)
    }

    fn add(&mut self, permit: OwnedSemaphorePermit, bytes: u64) {
        match &mut self.reserved {
            Some(reserved) => reserved.merge(permit),
            None => self.reserved = Some(permit),
        }
        self.bytes = bytes;
    }

    /// Releases what is not needed for so many bytes.
    fn shrink(&mut self, bytes: u64) {
        let spare = self.reserved_blocks() - blocks(bytes);
        if let Some(reserved) = &mut self.reserved {
            drop(reserved.split(spare));
        }
        self.bytes = bytes;
    }
}

fn blocks(bytes: u64) -> usize {
    if bytes <= FREE_BYTES {
        return 0;
    }
    usize::try_from(bytes.div_ceil(BLOCK_BYTES)).unwrap_or(usize::MAX)
}

impl Catalog {
    /// Reads like [`Catalog::read`], with memory for the values in `loaded`. Values that are not
    /// short are read after it is reserved. Fails if they have more than `max_bytes`.
    pub async fn load(
        &self,
        request: ReadRequest<'_>,
        max_bytes: u64,
        loaded: &mut LoadedBytes,
    ) -> Result<ReadReply, LoadError> {
        let reply = self.load_stored(request, max_bytes, loaded).await?;
        Ok(without_secrets(request, reply))
    }

    /// [`Catalog::load`] with secrets, for callers whose right to read them was checked.
    pub(crate) async fn load_stored(
        &self,
        request: ReadRequest<'_>,
        max_bytes: u64,
        loaded: &mut LoadedBytes,
    ) -> Result<ReadReply, LoadError> {
        // A level of a GraphQL query may need nothing but URNs.
        if request.is_empty() {
            return Ok(ReadReply::default());
        }
        let memory = self.loaded_memory();
        let before = loaded.bytes;
        let check = |bytes: u64| {
            if bytes > max_bytes {
                return Err(LoadError::TooLong(bytes));
            }
            Ok(before.saturating_add(bytes))
        };
        if let Some(reply) = self.reader().read_if_short(request).await? {
            let total = check(reply.value_bytes())?;
            if memory.try_resize(loaded, total) {
                return Ok(reply);
            }
            // It is read again, so that it takes no memory while it waits for some.
        }
        let expected = self.store().read_bytes(request.rows, request.entities);
        let expected = expected.await.map_err(Error::from)?;
        memory.resize(loaded, check(expected)?).await?;
        let reply = self.reader().read(request).await?;
        // Others may have written longer values meanwhile.
        let actual = reply.value_bytes();
        if actual > expected {
            memory.resize(loaded, check(actual)?).await?;
        }
        Ok(reply)
    }

    /// Reserves memory for values that were read otherwise.
    pub async fn add_loaded(&self, loaded: &mut LoadedBytes, bytes: u64) -> Result<(), Error> {
        let total = loaded.bytes.saturating_add(bytes);
        self.loaded_memory().resize(loaded, total).await
    }

    pub(crate) fn loaded_memory(&self) -> &LoadedMemory {
        &self.inner.loaded_memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[tokio::test]
    async fn large_requests_wait_for_each_other_and_small_ones_do_not() {
        let memory = LoadedMemory::new(4 * FREE_BYTES, Duration::from_millis(20));
        let mut held = LoadedBytes::default();
        memory.resize(&mut held, 3 * FREE_BYTES).await.unwrap();
        let mut small = LoadedBytes::default();
        memory.resize(&mut small, FREE_BYTES).await.unwrap();
        let mut large = LoadedBytes::default();
        let error = memory.resize(&mut large, 2 * FREE_BYTES).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        // One that grows does not start again.
        memory.resize(&mut held, 4 * FREE_BYTES).await.unwrap();
        memory.resize(&mut held, 2 * FREE_BYTES).await.unwrap();
        memory.resize(&mut large, 2 * FREE_BYTES).await.unwrap();
        drop((held, large));
        assert_eq!(memory.free_blocks.available_permits(), 4096);
    }
}
