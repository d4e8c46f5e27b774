//! Memory that requests share: one permit of a semaphore for each byte.
//!
//! Small requests have a share of their own, so that they never wait for large ones.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ErrorResponse;

pub(crate) const MIB: usize = 1024 * 1024;

/// How many bytes a small request takes at most, and how many all small and all large ones may
/// take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShareSizes {
    pub(crate) max_small: usize,
    pub(crate) small: usize,
    pub(crate) large: usize,
}

/// Free memory.
#[derive(Debug)]
pub(crate) struct Shares {
    max_small: usize,
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

/// Memory that is free again when this is dropped.
pub(crate) type ReservedMemory = OwnedSemaphorePermit;

impl Shares {
    pub(crate) fn new(sizes: ShareSizes) -> Self {
        Self {
            max_small: sizes.max_small,
            small: Arc::new(Semaphore::new(sizes.small)),
            large: Arc::new(Semaphore::new(sizes.large)),
        }
    }

    /// How many bytes a small request takes at most.
    pub(crate) fn max_small(&self) -> usize {
        self.max_small
    }

    /// The share of a request that takes this much.
    fn of(&self, bytes: usize) -> &Arc<Semaphore> {
        if bytes <= self.max_small {
            &self.small
        } else {
            &self.large
        }
    }

    /// Reserves memory if it is free.
    pub(crate) fn try_reserve(&self, bytes: usize) -> Result<ReservedMemory, ErrorResponse> {
        let share = Arc::clone(self.of(bytes));
        let reserved = share.try_acquire_many_owned(permits(bytes));
        reserved.map_err(|_| exhausted())
    }

    /// Reserves memory, and waits for it if necessary.
    pub(crate) async fn reserve(
        &self,
        bytes: usize,
        max_wait: Duration,
    ) -> Result<ReservedMemory, ErrorResponse> {
        if let Ok(reserved) = self.try_reserve(bytes) {
            return Ok(reserved);
        }
        let reserved = Arc::clone(self.of(bytes)).acquire_many_owned(permits(bytes));
        match tokio::time::timeout(max_wait, reserved).await {
            Ok(Ok(reserved)) => Ok(reserved),
            _ => Err(exhausted()),
        }
    }

    /// Extends what is reserved to this many bytes, if they are free.
    pub(crate) fn extend(
        &self,
        reserved: &mut Option<ReservedMemory>,
        bytes: usize,
    ) -> Result<(), ErrorResponse> {
        let share = self.of(bytes);
        match reserved {
            Some(part) if Arc::ptr_eq(part.semaphore(), share) => {
                let more = permits(bytes.saturating_sub(part.num_permits()));
                let more = Arc::clone(share).try_acquire_many_owned(more);
                part.merge(more.map_err(|_| exhausted())?);
            }
            // The first part, or the one that makes it large.
            _ => *reserved = Some(self.try_reserve(bytes)?),
        }
        Ok(())
    }

    /// How many bytes of small and of large requests are free.
    #[cfg(test)]
    pub(crate) fn free(&self) -> (usize, usize) {
        let free = |share: &Semaphore| share.available_permits();
        (free(&self.small), free(&self.large))
    }
}

fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn exhausted() -> ErrorResponse {
    ErrorResponse::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "Too many requests of this size are in progress. Try again in a moment.",
    )
}

/// Bytes that free their memory when the last copy is dropped.
struct ReservedBytes<B, R> {
    bytes: B,
    _reserved: R,
}

impl<B: AsRef<[u8]>, R> AsRef<[u8]> for ReservedBytes<B, R> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

/// Ties bytes to the [`ReservedMemory`] for them, or for what is made of them.
pub(crate) fn reserved_bytes(
    bytes: impl AsRef<[u8]> + Send + 'static,
    reserved: impl Send + 'static,
) -> Bytes {
    Bytes::from_owner(ReservedBytes {
        bytes,
        _reserved: reserved,
    })
}
