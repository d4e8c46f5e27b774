//! Writing, in transactions.

use async_trait::async_trait;

use crate::{StoreError, TransactionBody};

#[async_trait]
pub trait StoreWriter: Send + Sync {
    /// Whether the database accepts writes. It may be read-only, temporarily or permanently.
    async fn is_writable(&self) -> Result<bool, StoreError>;

    /// Runs a transaction: all of its writes are committed durably, or none. A body that aborts by
    /// its own decision is rolled back without an error of the store. Callers use
    /// [`crate::transact`].
    async fn run_transaction(&self, body: Box<dyn TransactionBody>) -> Result<(), StoreError>;
}
