//! How much one list may read and write. A list is one transaction, in memory until it is carried out, and others wait
//! for it: the bound on a request's body says nothing about patches, which are small and write large aspects.

use docent_store::{AspectWrite, Effect, StoredAspect};

use crate::Error;

const MIB: usize = 1024 * 1024;
/// All aspects that a list looks at, together.
const MAX_LOADED_BYTES: usize = 256 * MIB;
/// All values that a list parses in order to change them, together. One that is changed several times counts each time,
/// also where nothing comes of it: a mebibyte takes some 40 ms to parse, check and write down again.
const MAX_PARSED_BYTES: usize = 128 * MIB;
/// All versions that a list writes, together: eight times the largest body of a request.
const MAX_PRODUCED_BYTES: usize = 128 * MIB;
/// Decided writes are handed to the store when they are more than this.
const MAX_PENDING_BYTES: usize = 8 * MIB;

#[derive(Default)]
pub(super) struct Budget {
    loaded: usize,
    parsed: usize,
    produced: usize,
    pending: usize,
}

impl Budget {
    /// Counts an aspect that was read.
    pub(super) fn load(&mut self, row: &StoredAspect) -> Result<(), Error> {
        self.loaded += row.metadata.len();
        if self.loaded > MAX_LOADED_BYTES {
            return Err(too_large("looks at", MAX_LOADED_BYTES));
        }
        Ok(())
    }

    /// Counts a stored value that is about to be parsed.
    pub(super) fn parse(&mut self, row: Option<&StoredAspect>) -> Result<(), Error> {
        self.parsed += row.map_or(0, |row| row.metadata.len());
        if self.parsed > MAX_PARSED_BYTES {
            return Err(too_large("changes values of", MAX_PARSED_BYTES));
        }
        Ok(())
    }

    /// Counts a write; says whether it is time to carry out what is decided.
    pub(super) fn produce(&mut self, write: &AspectWrite) -> Result<bool, Error> {
        let (written, kept) = match &write.effect {
            Effect::Put { row, history, .. } => {
                let kept = history.as_ref().map_or(0, |former| former.metadata.len());
                (row.metadata.len(), kept)
            }
            Effect::Revert { row, .. } => (row.metadata.len(), 0),
            Effect::Timeseries(point) => (point.metadata.len(), 0),
            Effect::Touch { .. } | Effect::Delete { .. } | Effect::DeletePoints(_) => (0, 0),
        };
        self.produced += written;
        self.pending += written + kept;
        if self.produced > MAX_PRODUCED_BYTES {
            return Err(too_large("writes", MAX_PRODUCED_BYTES));
        }
        Ok(self.pending > MAX_PENDING_BYTES)
    }

    pub(super) fn flushed(&mut self) {
        self.pending = 0;
    }

    /// Nothing that was read is kept any more.
    pub(super) fn forgotten(&mut self) {
        self.loaded = 0;
    }

    /// How much was written so far.
    pub(super) fn produced(&self) -> usize {
        self.produced
    }

    /// Whether what can be done in another transaction should be.
    pub(super) fn is_half_used(&self) -> bool {
        self.loaded > MAX_LOADED_BYTES / 2
            || self.parsed > MAX_PARSED_BYTES / 2
            || self.produced > MAX_PRODUCED_BYTES / 2
    }
}

fn too_large(verb: &str, limit: usize) -> Error {
    Error::too_large(format!(
        "with this item the list {verb} more than {} MiB, which is too much for one transaction: send it in parts, and \
         what changes one aspect as one patch",
        limit / MIB
    ))
}
