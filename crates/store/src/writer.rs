//! Writing: one transaction at a time.

use async_trait::async_trait;

use crate::{StoreError, Work};

#[async_trait]
pub trait StoreWriter: Send + Sync {
    /// Whether the database accepts writes. It may be read-only, temporarily or permanently.
    async fn is_writable(&self) -> Result<bool, StoreError>;

    /// Runs the work in one transaction: all of it is committed durably, or nothing. Work that aborts by its
    /// own decision is rolled back and is no error of the store. Use [`crate::transact`].
    async fn run(&self, work: Box<dyn Work>) -> Result<(), StoreError>;
}
