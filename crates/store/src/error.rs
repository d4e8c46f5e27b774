//! Errors of a store: one case for each that callers treat differently.

use std::error::Error;

/// Each engine converts the errors of its driver in one function.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The queue is full; a retry may succeed.
    #[error("the store is busy: too many writes are waiting")]
    Busy,
    /// The database is unreachable, full, read-only or shutting down.
    #[error("the store is unavailable: {reason}")]
    Unavailable { reason: String },
    /// The operation is not possible in the current state; the reason says what to change.
    #[error("{reason}")]
    Rejected { reason: String },
    /// A stored row is damaged.
    #[error("damaged row in {table}, column {column}, key {key}: {reason}")]
    Corrupt {
        table: &'static str,
        column: &'static str,
        key: String,
        reason: String,
    },
    /// Any other error of the driver: a defect of ours.
    #[error("the store failed")]
    Other(#[source] Box<dyn Error + Send + Sync>),
}

impl StoreError {
    pub fn other(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Other(source.into())
    }
}
