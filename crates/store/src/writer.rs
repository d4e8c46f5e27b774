//! Writing, in transactions.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use crate::{AbortReason, StoreError, Transaction, TransactionBody};

#[async_trait]
pub trait StoreWriter: Send + Sync {
    /// Whether the database accepts writes. It may be read-only, temporarily or permanently.
    async fn is_writable(&self) -> Result<bool, StoreError>;

    /// Runs a transaction: all of its writes are committed durably, or none. A body that aborts by
    /// its own decision is rolled back without an error of the store. Callers use
    /// [`transact`].
    async fn run_transaction(&self, body: Box<dyn TransactionBody>) -> Result<(), StoreError>;
}

/// Runs `body` in one transaction and returns its result. An error of the body rolls everything
/// back; so does an error of the store.
pub async fn transact<T, E, F>(store: &dyn StoreWriter, body: F) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
    F: for<'t> FnMut(&'t mut dyn Transaction) -> BoxFuture<'t, Result<T, E>> + Send + 'static,
{
    let outcome = Arc::new(Mutex::new(None));
    let adapter = Adapter {
        body,
        outcome: Arc::clone(&outcome),
    };
    let ran = store.run_transaction(Box::new(adapter)).await;
    let outcome = outcome
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    match (ran, outcome) {
        // The error of the body matters more than that of the rollback.
        (_, Some(Err(error))) => Err(error),
        (Ok(()), Some(Ok(value))) => Ok(value),
        (Err(error), _) => Err(error.into()),
        (Ok(()), None) => {
            Err(StoreError::other("the transaction was committed but its body never ran").into())
        }
    }
}

struct Adapter<T, E, F> {
    body: F,
    outcome: Arc<Mutex<Option<Result<T, E>>>>,
}

#[async_trait]
impl<T, E, F> TransactionBody for Adapter<T, E, F>
where
    T: Send,
    E: Send,
    F: for<'t> FnMut(&'t mut dyn Transaction) -> BoxFuture<'t, Result<T, E>> + Send,
{
    async fn run(&mut self, tx: &mut dyn Transaction) -> Result<(), AbortReason> {
        let result = (self.body)(tx).await;
        let decision = if result.is_ok() {
            Ok(())
        } else {
            Err(AbortReason::Decided)
        };
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        decision
    }
}
