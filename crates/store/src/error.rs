//! What can go wrong with a database, as the cases a caller treats differently.

use std::error::Error;

/// Engines translate their driver's errors into this in one function each.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Too much is waiting already; trying again a little later helps.
    #[error("the store is busy: too many writes are waiting")]
    Busy,
    /// The database cannot be reached, is full or read-only, or is shutting down.
    #[error("the store is unavailable: {reason}")]
    Unavailable { reason: String },
    /// What was asked for is not possible as things are; the reason says what to change.
    #[error("{reason}")]
    Refused { reason: String },
    /// A stored row cannot be what we wrote.
    #[error("damaged row in {table}, column {column}, key {key}: {reason}")]
    Corrupt {
        table: &'static str,
        column: &'static str,
        key: String,
        reason: String,
    },
    /// Anything else the driver said; a defect of ours.
    #[error("the store failed")]
    Other(#[source] Box<dyn Error + Send + Sync>),
}

impl StoreError {
    pub fn other(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Other(source.into())
    }
}
