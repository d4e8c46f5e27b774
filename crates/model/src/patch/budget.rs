//! The limit on the work of patches.
//!
//! Operations are small and can be expensive: inserting at the start of a list moves all its
//! elements, and comparing a value copies it. They run inside a transaction that blocks other
//! writers, so the work of all patches of a transaction together is limited.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The limit on elements and bytes of text that patches visit, move or copy. That takes about a
/// second.
const MAX_WORK: usize = 20_000_000;

/// The work done by the patches of one transaction.
#[derive(Debug, Default)]
pub struct PatchBudget {
    work: AtomicUsize,
}

impl PatchBudget {
    /// Counts work. Fails if it exceeds the limit.
    pub(super) fn charge(&self, work: usize) -> Result<(), String> {
        // Each amount is at most the size of a value in memory, so the sum cannot overflow.
        let before = self.work.fetch_add(work, Ordering::Relaxed);
        if before + work > MAX_WORK {
            return Err(format!(
                "the patches of this request visit, move or copy more than {MAX_WORK} values: send them in \
                 parts, change long lists at their end ('-'), or write the whole aspect"
            ));
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.work.load(Ordering::Relaxed)
    }
}
