//! How much a read may copy on a thread that serves requests.

use docent_store::SHORT_READ_BYTES;

/// What a read may still copy. Statements get it as a parameter, and return null instead of a value
/// that is longer, without reading it.
#[derive(Debug)]
pub(crate) struct ByteLimit {
    left: u64,
    is_short: bool,
    is_exceeded: bool,
}

impl ByteLimit {
    /// For a read on the calling thread.
    pub(crate) fn short() -> Self {
        Self {
            // Takes about a millisecond.
            left: SHORT_READ_BYTES,
            is_short: true,
            is_exceeded: false,
        }
    }

    /// For a read on a blocking thread, or in a transaction.
    pub(crate) fn unlimited() -> Self {
        Self {
            left: u64::MAX,
            is_short: false,
            is_exceeded: false,
        }
    }

    pub(crate) fn is_short(&self) -> bool {
        self.is_short
    }

    /// The longest value that may be read, as a parameter of a statement.
    pub(crate) fn parameter(&self) -> i64 {
        i64::try_from(self.left).unwrap_or(i64::MAX)
    }

    /// Counts a value that was read.
    pub(crate) fn count(&mut self, bytes: u64) {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => self.exceed(),
        }
    }

    /// The read is too long for this thread. Its result does not matter any more.
    pub(crate) fn exceed(&mut self) {
        self.left = 0;
        self.is_exceeded = true;
    }

    pub(crate) fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }
}
