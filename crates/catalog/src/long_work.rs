//! Keeps long computations from delaying other requests.
//!
//! A thread of the runtime serves many connections, so what it computes between two awaits must be
//! short. Longer computations run beside the runtime. One core is left for short ones, if there are
//! several.
//!
//! A transaction of PostgreSQL runs on such a thread, too; one of SQLite has a thread of its own,
//! where nothing may wait. Their computations ([`poll`]) wait for no others, because they hold
//! locks.

use std::pin::pin;
use std::sync::LazyLock;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

/// Parsing this much JSON takes about a millisecond.
pub const LONG_TEXT_BYTES: usize = 256 * 1024;

static SLOTS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(max_at_once()));

/// How many long computations run at a time.
pub fn max_at_once() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.saturating_sub(1).max(1)
}

/// Runs a computation, beside the runtime if it is long. A runtime with a single thread has nothing
/// to move its other tasks to, so there it runs in place.
pub async fn run<T>(is_long: bool, compute: impl FnOnce() -> T) -> T {
    if !is_long {
        return compute();
    }
    // Fails only if the semaphore is closed, which it never is.
    let _slot = SLOTS.acquire().await;
    beside(compute)
}

/// Polls a part of a transaction, beside the runtime if it computes long between its awaits.
pub(crate) async fn poll<T>(is_long: bool, part: impl Future<Output = T>) -> T {
    if !is_long {
        return part.await;
    }
    let mut part = pin!(part);
    std::future::poll_fn(|context| beside(|| part.as_mut().poll(context))).await
}

/// Lets other tasks of the thread run during a transaction, unless the thread is its own.
pub(crate) async fn pause() {
    if Handle::try_current().is_ok() {
        tokio::task::yield_now().await;
    }
}

fn beside<T>(compute: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(compute),
        _ => compute(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_tasks_of_the_same_thread_run_during_a_long_computation() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let computation = runtime.spawn(async move {
            tokio::spawn(async move { sender.send("served").unwrap() });
            let wait = move || receiver.recv_timeout(std::time::Duration::from_mins(1));
            run(true, wait).await
        });
        let reply = runtime.block_on(computation).unwrap();
        assert_eq!(reply, Ok("served"));
    }
}
