//! Limits the texts of documents that wait for a thread of the index.
//!
//! tantivy queues up to ten thousand documents, and one may have megabytes of text.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The bytes of all that wait, unless a single document has more.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// How long to wait for others. The threads end only if indexing has failed, which the caller
/// learns from tantivy.
const MAX_WAIT: Duration = Duration::from_secs(30);

static PENDING: Pending = Pending {
    bytes: Mutex::new(0),
    freed: Condvar::new(),
};

struct Pending {
    bytes: Mutex<usize>,
    freed: Condvar,
}

/// Text that counts until it is dropped.
#[derive(Debug)]
pub(crate) struct PendingText {
    bytes: usize,
}

impl PendingText {
    /// Counts text, and waits until it fits. Blocks the thread.
    pub(crate) fn wait_for(bytes: usize) -> Self {
        let is_full = |pending: &mut usize| *pending > 0 && *pending + bytes > MAX_BYTES;
        let pending = lock(&PENDING.bytes);
        let waited = PENDING.freed.wait_timeout_while(pending, MAX_WAIT, is_full);
        let (mut pending, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *pending += bytes;
        Self { bytes }
    }
}

impl Drop for PendingText {
    fn drop(&mut self) {
        *lock(&PENDING.bytes) -= self.bytes;
        PENDING.freed.notify_all();
    }
}

fn lock(bytes: &Mutex<usize>) -> MutexGuard<'_, usize> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Threads add and drop text as fast as they can; never is more pending than allowed.
    #[test]
    fn texts_that_wait_for_the_index_are_limited() {
        const THREADS: usize = 6;
        let share = MAX_BYTES / 3;
        let most = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let text = PendingText::wait_for(share);
                        most.fetch_max(*lock(&PENDING.bytes), Ordering::SeqCst);
                        std::thread::yield_now();
                        drop(text);
                    }
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= MAX_BYTES);
        // A single one may have more.
        drop(PendingText::wait_for(2 * MAX_BYTES));
        assert_eq!(*lock(&PENDING.bytes), 0);
    }
}
