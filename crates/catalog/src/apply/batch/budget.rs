//! Limits on what one list may read and write. A list is one transaction in memory, and other
//! writers wait for it. What is computed outside ([`crate::apply::ahead`]) does not count. The
//! limit on request bodies does not cover patches, which are small and write large aspects.

use std::sync::Arc;

use docent_model::patch::PatchBudget;
use docent_store::{AspectWrite, Effect, StoredAspect};

use crate::Error;
use crate::apply::ahead::is_long;
use crate::long_work::LONG_TEXT_BYTES;

const MIB: usize = 1024 * 1024;
/// All aspects that a list reads, together.
const MAX_LOADED_BYTES: usize = 256 * MIB;
/// All stored values that a list changes in its transaction, together. Each change counts, even one
/// without effect: a mebibyte takes about 40 ms to parse, check and serialise. The largest value
/// must fit, because the transaction changes it if others did so while it was changed outside.
const MAX_PARSED_BYTES: usize = 20 * MIB;
/// A value that is only compared takes this part of the time.
pub(super) const COMPARED_PART: usize = 4;
/// All versions that a list writes, together: four times the largest request body.
const MAX_PRODUCED_BYTES: usize = 64 * MIB;
/// What each of several transactions changes or writes: about 150 ms, for which others wait.
const MAX_CHUNK_BYTES: usize = 4 * MIB;
/// Pending writes beyond this are flushed.
const MAX_PENDING_BYTES: usize = 8 * MIB;

#[derive(Default)]
pub(super) struct Budget {
    loaded: usize,
    has_long_values: bool,
    /// Whether all values are changed outside the transaction.
    pub(super) is_long_list: bool,
    parsed: usize,
    produced: usize,
    changes: usize,
    pending: usize,
    /// What was parsed and produced before the last pause.
    paused_at: usize,
    patches: PatchBudget,
}

impl Budget {
    /// Counts an aspect that was read.
    pub(super) fn load(&mut self, row: &StoredAspect) -> Result<(), Error> {
        self.loaded += row.metadata.len();
        self.has_long_values |= is_long(row);
        if self.loaded > MAX_LOADED_BYTES {
            return Err(too_large("reads", MAX_LOADED_BYTES));
        }
        Ok(())
    }

    /// How many bytes were read.
    pub(super) fn loaded(&self) -> usize {
        self.loaded
    }

    /// Whether a value was read whose change should be computed outside the transaction.
    pub(super) fn has_long_values(&self) -> bool {
        self.has_long_values
    }

    /// Counts a stored value that is about to be parsed.
    pub(super) fn parse(&mut self, row: Option<&Arc<StoredAspect>>) -> Result<(), Error> {
        self.count_parsed(row.map_or(0, |row| row.metadata.len()))
    }

    /// Counts a stored value that is about to be compared with a new one.
    pub(super) fn compare(&mut self, row: &StoredAspect) -> Result<(), Error> {
        self.count_parsed(row.metadata.len() / COMPARED_PART)
    }

    fn count_parsed(&mut self, bytes: usize) -> Result<(), Error> {
        self.parsed += bytes;
        if self.parsed > MAX_PARSED_BYTES {
            return Err(too_large("changes values of", MAX_PARSED_BYTES));
        }
        Ok(())
    }

    /// Counts a write; returns whether the pending writes should be flushed.
    pub(super) fn produce(&mut self, write: &AspectWrite) -> Result<bool, Error> {
        let (written, history) = match &write.effect {
            Effect::Put { row, history, .. } => {
                let history = history.as_ref().map_or(0, |former| former.metadata.len());
                (row.metadata.len(), history)
            }
            Effect::Revert { row, .. } => (row.metadata.len(), 0),
            Effect::Timeseries(point) => (point.metadata.len(), 0),
            Effect::Touch { .. } | Effect::Delete { .. } | Effect::DeletePoints(_) => (0, 0),
        };
        self.changes += usize::from(!matches!(write.effect, Effect::Touch { .. }));
        self.produced += written;
        self.pending += written + history;
        if self.produced > MAX_PRODUCED_BYTES {
            return Err(too_large("writes", MAX_PRODUCED_BYTES));
        }
        Ok(self.pending > MAX_PENDING_BYTES)
    }

    /// Whether the list has computed so much since the last pause that other tasks should run.
    pub(super) fn is_pause_due(&mut self) -> bool {
        let computed = self.parsed + self.produced;
        let is_due = computed - self.paused_at > LONG_TEXT_BYTES;
        if is_due {
            self.paused_at = computed;
        }
        is_due
    }

    /// Whether the pending writes take long to send.
    pub(super) fn is_pending_long(&self) -> bool {
        self.pending > LONG_TEXT_BYTES
    }

    pub(super) fn flushed(&mut self) {
        self.pending = 0;
    }

    /// The batch has dropped what it read.
    pub(super) fn dropped(&mut self) {
        self.loaded = 0;
    }

    /// The limit on the work of the patches in the list.
    pub(super) fn patches(&self) -> &PatchBudget {
        &self.patches
    }

    /// How many writes have changed a value so far.
    pub(super) fn changes(&self) -> usize {
        self.changes
    }

    /// Whether work that can wait for another transaction should do so.
    pub(super) fn is_chunk_full(&self) -> bool {
        self.loaded > MAX_LOADED_BYTES / 2
            || self.parsed > MAX_CHUNK_BYTES
            || self.produced > MAX_CHUNK_BYTES
    }
}

pub(in crate::apply) fn too_large(verb: &str, limit: usize) -> Error {
    Error::too_large(format!(
        "with this item the list {verb} more than {} MiB, the limit of one transaction: send it in parts, and \
         all changes of one aspect as one patch",
        limit / MIB
    ))
}
