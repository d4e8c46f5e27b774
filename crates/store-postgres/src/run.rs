//! Running a piece of work: again, if another was faster.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use docent_store::{Aborted, StoreError, Work};
use futures_util::FutureExt as _;

use crate::contended::Contended;
use crate::error::{EngineError, NO_RESPONSE, unavailable};
use crate::pool::{Connections, Lease};
use crate::transaction::{Committed, Failure, Locks, PostgresTransaction};

/// From the second attempt on the locks are taken first, so even a row that everybody wants needs few.
const ATTEMPTS: u32 = 12;
const MAX_PAUSE_MS: u64 = 100;

enum Outcome {
    Done(Committed),
    /// The work decided against it.
    Aborted,
    Failed(StoreError),
    Again(Locks),
}

pub(crate) async fn run(
    connections: &Connections,
    first: Lease,
    contended: &Contended,
    mut work: Box<dyn Work>,
) -> Result<Committed, StoreError> {
    let (mut first, mut locks) = (Some(first), Locks::default());
    // A database that hangs takes this long to be noticed, and nobody waits for it twice.
    let (begun, patience) = (Instant::now(), connections.response_timeout());
    for attempt in 0..ATTEMPTS {
        // The second attempt waits for its locks like in a queue.
        if attempt > 1 {
            if begun.elapsed() >= patience {
                break;
            }
            tokio::time::sleep(pause(attempt)).await;
        }
        let lease = match first.take() {
            Some(first) => first,
            None => connections.lease().await?,
        };
        match attempt_on(&lease, contended, work.as_mut(), locks).await {
            Outcome::Done(committed) => return Ok(committed),
            Outcome::Aborted => return Ok(Committed::Nothing),
            Outcome::Failed(error) => return Err(error),
            Outcome::Again(_) if lease.is_lost() && begun.elapsed() >= patience => {
                return Err(unavailable(NO_RESPONSE.to_owned()));
            }
            Outcome::Again(needed) => {
                contended.note(needed.urns());
                locks = needed;
            }
        }
    }
    tracing::warn!("a write was given up: others were always faster");
    Err(StoreError::Busy)
}

async fn attempt_on(
    lease: &Lease,
    contended: &Contended,
    work: &mut dyn Work,
    locks: Locks,
) -> Outcome {
    let begun = PostgresTransaction::begin(lease, contended, locks.clone()).await;
    let mut transaction = match begun {
        Ok(transaction) => transaction,
        Err(EngineError::Conflict | EngineError::Lost(_)) => return Outcome::Again(locks),
        Err(error) => return Outcome::Failed(error.into()),
    };
    let ran = AssertUnwindSafe(work.run(&mut transaction))
        .catch_unwind()
        .await;
    if transaction.failure == Some(Failure::Passing) {
        let locks = transaction.locks();
        transaction.roll_back().await;
        return Outcome::Again(locks);
    }
    let outcome = match ran {
        Ok(Ok(())) if transaction.failure.is_some() => Outcome::Failed(StoreError::other(
            "the work went on although its transaction had failed",
        )),
        Ok(Ok(())) => match transaction.commit().await {
            Ok(committed) => return Outcome::Done(committed),
            Err(EngineError::Conflict) => Outcome::Again(transaction.locks()),
            Err(EngineError::Lost(reason)) => Outcome::Failed(unavailable(format!(
                "{reason}; it is unknown whether the write was stored"
            ))),
            Err(EngineError::Store(error)) => Outcome::Failed(error),
        },
        Ok(Err(Aborted::ByWork)) => Outcome::Aborted,
        Ok(Err(Aborted::ByStore(error))) => Outcome::Failed(error),
        Err(panic) => Outcome::Failed(StoreError::other(format!(
            "the work panicked: {}",
            panic_text(panic.as_ref())
        ))),
    };
    transaction.roll_back().await;
    outcome
}

/// Some time up to a bound that doubles, so that those who met do not meet again.
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
