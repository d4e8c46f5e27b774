//! Memory that requests share: one permit of a semaphore for each byte.
//!
//! Smaller requests have shares of their own, so that they never wait for larger ones.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use bytes::Bytes;
use docent_catalog::spent;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ErrorResponse;

pub(crate) const MIB: usize = 1024 * 1024;

/// How many bytes all requests may take that take up to `max` bytes each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    pub(crate) max: usize,
    pub(crate) total: usize,
}

/// How many bytes are reserved, of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) used: u64,
    pub(crate) limit: u64,
}

/// Free memory.
#[derive(Debug)]
pub(crate) struct Shares {
    /// The size up to which each is used, from the smallest.
    limited: Vec<(usize, Arc<Semaphore>)>,
    /// For all larger requests.
    largest: Arc<Semaphore>,
    /// The bytes of all.
    total: usize,
}

/// Memory that is free again when this is dropped.
pub(crate) type ReservedMemory = OwnedSemaphorePermit;

impl Shares {
    /// Shares for requests of limited sizes, from the smallest, and for all larger ones together.
    pub(crate) fn new(limited: &[Share], largest: usize) -> Self {
        let share = |share: &Share| (share.max, Arc::new(Semaphore::new(share.total)));
        Self {
            limited: limited.iter().map(share).collect(),
            largest: Arc::new(Semaphore::new(largest)),
            total: limited.iter().map(|share| share.total).sum::<usize>() + largest,
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        let free: usize = self.free().iter().sum();
        Usage {
            used: self.total.saturating_sub(free) as u64,
            limit: self.total as u64,
        }
    }

    /// The share of a request that takes this much.
    fn of(&self, bytes: usize) -> &Arc<Semaphore> {
        let fitting = self.limited.iter().find(|(max, _)| bytes <= *max);
        fitting.map_or(&self.largest, |(_, share)| share)
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
        let reserved = tokio::time::timeout(max_wait, reserved);
        match spent::timed(|spent| &spent.waits, reserved).await {
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

    /// How many bytes of each share are free.
    pub(crate) fn free(&self) -> Vec<usize> {
        let shares = self.limited.iter().map(|(_, share)| share);
        let shares = shares.chain([&self.largest]);
        shares.map(|share| share.available_permits()).collect()
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
