//! A store for tests of what happens around transactions.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use docent_store::{Store, StoreError, TransactionBody};
use docent_test_store::{Intercept, InterceptedStore};
use tokio::sync::Mutex;

type Step = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A store where something happens between a use case and its transaction.
pub(crate) struct Interrupted {
    pub(crate) inner: Arc<dyn Store>,
    /// Transactions that still succeed.
    remaining: AtomicUsize,
    /// Happens before the next transaction.
    before: Mutex<Option<Step>>,
}

impl Interrupted {
    pub(crate) fn store(inner: Arc<dyn Store>) -> Arc<InterceptedStore<Self>> {
        Arc::new(InterceptedStore(Self {
            inner,
            remaining: AtomicUsize::new(usize::MAX),
            before: Mutex::default(),
        }))
    }

    /// Lets so many transactions succeed.
    pub(crate) fn allow_transactions(&self, number: usize) {
        self.remaining.store(number, Ordering::SeqCst);
    }

    /// Takes a step before the next transaction.
    pub(crate) async fn before_next(&self, step: impl Future<Output = ()> + Send + 'static) {
        *self.before.lock().await = Some(Box::pin(step));
    }
}

impl fmt::Debug for Interrupted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Interrupted")
    }
}

#[async_trait]
impl Intercept for Interrupted {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    async fn run_transaction(&self, body: Box<dyn TransactionBody>) -> Result<(), StoreError> {
        if let Some(step) = self.before.lock().await.take() {
            step.await;
        }
        let take = |left: usize| left.checked_sub(1);
        let taken = self
            .remaining
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        if taken.is_err() {
            return Err(StoreError::other("the server was killed".to_owned()));
        }
        self.inner.run_transaction(body).await
    }
}
