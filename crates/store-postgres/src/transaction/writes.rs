//! The writes of a transaction that have not been sent yet.

use std::collections::HashSet;

use docent_store::{AspectKey, AspectWrite, Effect, LogicalVersion};

use crate::segment::{LogEntries, Segment};

#[derive(Debug, Default)]
pub(super) struct PendingWrites {
    pub(super) segments: Vec<Segment>,
    /// The aspects in the segments.
    pub(super) keys: HashSet<AspectKey>,
    /// Those of them that are inserted.
    pub(super) inserted: HashSet<AspectKey>,
    /// Sent with the commit, for all writes of the transaction.
    pub(super) log: LogEntries,
}

impl PendingWrites {
    /// Adds a write. `is_new` if the aspect is known to be missing; then `retired` is its retired
    /// version.
    pub(super) fn add(
        &mut self,
        write: &AspectWrite,
        is_new: bool,
        retired: Option<LogicalVersion>,
    ) {
        self.keys.insert(write.key.clone());
        if is_new && matches!(write.effect, Effect::Put { .. }) {
            self.inserted.insert(write.key.clone());
        }
        let last = self.segments.last();
        if last.is_none_or(|segment| segment.conflicts_with(write)) {
            self.segments.push(Segment::default());
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.push(write, is_new, retired);
        }
        self.log.push(write);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
}
