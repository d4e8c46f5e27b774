//! Runs the work of a transaction, and retries it after conflicts.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use docent_store::{AbortReason, StoreError, TransactionBody};
use futures_util::FutureExt as _;

use crate::error::{EngineError, NO_RESPONSE, unavailable};
use crate::pool::{Connections, Lease};
use crate::transaction::{Committed, Failure, LockRequest, PostgresTransaction};

/// A retry takes all locks first, so even work on a contended entity needs few attempts.
const MAX_ATTEMPTS: u32 = 12;
const MAX_PAUSE_MS: u64 = 100;

enum Outcome {
    Done(Committed),
    /// The work itself aborted.
    Aborted,
    Failed(StoreError),
    Retry(LockRequest),
}

pub(crate) async fn run(
    connections: &Connections,
    first: Lease,
    mut work: Box<dyn TransactionBody>,
) -> Result<Committed, StoreError> {
    connections.transactions.increment();
    let (mut first, mut locks) = (Some(first), LockRequest::default());
    // A hanging database is noticed after this time; a retry would wait as long again.
    let (begun, timeout) = (Instant::now(), connections.response_timeout());
    for attempt in 0..MAX_ATTEMPTS {
        // The second attempt queues for its locks and needs no pause.
        if attempt > 1 {
            if begun.elapsed() >= timeout {
                break;
            }
            tokio::time::sleep(pause(attempt)).await;
        }
        let lease = match first.take() {
            Some(first) => first,
            None => connections.lease().await?,
        };
        match attempt_on(&lease, work.as_mut(), locks).await {
            Outcome::Done(committed) => return Ok(committed),
            Outcome::Aborted => return Ok(Committed::Nothing),
            Outcome::Failed(error) => return Err(error),
            Outcome::Retry(_) if lease.is_lost() && begun.elapsed() >= timeout => {
                return Err(unavailable(NO_RESPONSE.to_owned()));
            }
            Outcome::Retry(needed) => {
                connections.retries.increment();
                locks = needed;
            }
        }
    }
    tracing::warn!("a write failed after {MAX_ATTEMPTS} conflicts with other transactions");
    Err(StoreError::Busy)
}

async fn attempt_on(lease: &Lease, work: &mut dyn TransactionBody, locks: LockRequest) -> Outcome {
    lease.mark_of_write();
    let mut transaction = PostgresTransaction::new(lease, locks);
    let ran = AssertUnwindSafe(work.run(&mut transaction))
        .catch_unwind()
        .await;
    if transaction.failure == Some(Failure::Transient) {
        let locks = transaction.needed_locks();
        transaction.roll_back().await;
        return Outcome::Retry(locks);
    }
    let outcome = match ran {
        Ok(Ok(())) if transaction.failure.is_some() => Outcome::Failed(StoreError::other(
            "the work continued although its transaction had failed",
        )),
        Ok(Ok(())) => match transaction.commit().await {
            Ok(committed) => return Outcome::Done(committed),
            Err(EngineError::Conflict) => Outcome::Retry(transaction.needed_locks()),
            Err(EngineError::Lost(reason)) => Outcome::Failed(unavailable(format!(
                "{reason}; it is unknown whether the write was stored"
            ))),
            Err(EngineError::Store(error)) => Outcome::Failed(error),
        },
        Ok(Err(AbortReason::Decided)) => Outcome::Aborted,
        Ok(Err(AbortReason::Failed(error))) => Outcome::Failed(error),
        Err(panic) => Outcome::Failed(StoreError::other(format!(
            "the work panicked: {}",
            panic_text(panic.as_ref())
        ))),
    };
    transaction.roll_back().await;
    outcome
}

/// A random pause up to a bound that doubles, so that conflicting transactions do not meet again.
fn pause(attempt: u32) -> Duration {
    let bound = MAX_PAUSE_MS.min(1 << attempt.min(10));
    let random = getrandom::u32().unwrap_or_default();
    Duration::from_micros(u64::from(random) % (bound * 1000))
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
