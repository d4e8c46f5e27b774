//! How large a plan is. Fragments can make plans very large, and most of a plan may be compiled
//! during execution, so it is counted while it grows.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits::{LimitExceeded, Limits};

/// The fields of a plan, and the possible types of its abstract selections.
#[derive(Debug)]
pub(crate) struct PlanSize {
    compiled: AtomicU64,
    allowed: u64,
}

impl PlanSize {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            compiled: AtomicU64::new(0),
            allowed: limits.size,
        }
    }

    /// Counts what is about to be compiled. Returns whether the plan may have it.
    pub(super) fn add(&self, count: usize) -> bool {
        self.compiled.fetch_add(count as u64, Ordering::Relaxed);
        self.check().is_ok()
    }

    /// Fails if a part of the plan is missing because the plan would be too large.
    pub(crate) fn check(&self) -> Result<(), LimitExceeded> {
        let compiled = self.compiled.load(Ordering::Relaxed);
        LimitExceeded::check("size of the plan", compiled, self.allowed)
    }
}
