//! A log position that several tasks read and one advances.

use std::sync::atomic::{AtomicI64, Ordering};

use docent_store::LogPosition;

/// No position is negative.
const UNKNOWN: i64 = -1;

/// Unknown until it is set for the first time.
#[derive(Debug)]
pub(crate) struct SharedPosition(AtomicI64);

impl SharedPosition {
    pub(crate) const fn unknown() -> Self {
        Self(AtomicI64::new(UNKNOWN))
    }

    pub(crate) fn get(&self) -> Option<LogPosition> {
        let number = self.0.load(Ordering::Relaxed);
        (number != UNKNOWN).then(|| LogPosition::new(number))
    }

    pub(crate) fn set(&self, position: LogPosition) {
        self.0.store(position.get(), Ordering::Relaxed);
    }
}
