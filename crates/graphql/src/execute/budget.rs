//! Counts what one execution uses, against its [`Limits`].
//!
//! An entity is loaded once per selection but written at every occurrence, so a short query over
//! few entities can produce an endless reply. The budget stops it while it grows; the reply is then
//! an error without data.

use crate::limits::{LimitExceeded, Limits};

/// What a thread of the runtime may write at a time: less than ten milliseconds of work.
const SHORT_VALUES: u64 = 20_000;
const SHORT_REPLY_BYTES: usize = 1024 * 1024;
/// What it may parse and visit, in bytes of metadata times selections.
const SHORT_VISITED_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    limits: Limits,
    entities: u64,
    values: u64,
    loaded_bytes: u64,
    error_bytes: u64,
    /// The number of values from which on the reply is long.
    long_values: Option<u64>,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            entities: 0,
            values: 0,
            loaded_bytes: 0,
            error_bytes: 0,
            long_values: None,
        }
    }

    /// This budget, for a reply that is short.
    pub(crate) fn short(&self) -> Self {
        Self {
            long_values: Some(self.values + SHORT_VALUES),
            ..*self
        }
    }

    /// This budget, for a reply of any length.
    pub(crate) fn full(&self) -> Self {
        Self {
            long_values: None,
            ..*self
        }
    }

    /// Whether a reply that should be short is long.
    pub(crate) fn is_long(&self, reply_bytes: usize) -> bool {
        self.long_values
            .is_some_and(|values| self.values > values || reply_bytes > SHORT_REPLY_BYTES)
    }

    /// Whether it may take milliseconds to visit the loaded metadata with this many selections.
    pub(crate) fn is_long_visit(&self, selections: usize) -> bool {
        self.loaded_bytes.saturating_mul(selections as u64) > SHORT_VISITED_BYTES
    }

    /// Counts entities that are about to be loaded.
    pub(crate) fn add_entities(&mut self, count: usize) -> Result<(), LimitExceeded> {
        self.entities += count as u64;
        LimitExceeded::check(
            "number of entities visited",
            self.entities,
            self.limits.entities,
        )
    }

    pub(crate) fn remaining_entities(&self) -> usize {
        let remaining = self.limits.entities.saturating_sub(self.entities);
        usize::try_from(remaining).unwrap_or(usize::MAX)
    }

    /// Counts a visited value.
    pub(crate) fn add_value(&mut self) -> Result<(), LimitExceeded> {
        self.values += 1;
        LimitExceeded::check("number of values visited", self.values, self.limits.values)
    }

    /// Counts metadata in memory.
    pub(crate) fn add_loaded(&mut self, bytes: usize) -> Result<(), LimitExceeded> {
        self.loaded_bytes += bytes as u64;
        self.check_loaded(0)
    }

    /// Checks whether this much metadata may be loaded.
    pub(crate) fn check_loaded(&self, bytes: u64) -> Result<(), LimitExceeded> {
        LimitExceeded::check(
            "bytes of loaded metadata",
            self.loaded_bytes.saturating_add(bytes),
            self.limits.loaded_bytes,
        )
    }

    /// How much more metadata may be loaded.
    pub(crate) fn remaining_loaded(&self) -> u64 {
        self.limits.loaded_bytes.saturating_sub(self.loaded_bytes)
    }

    /// Counts an error that will be part of the reply.
    pub(crate) fn add_error(&mut self, bytes: usize) {
        self.error_bytes += bytes as u64;
    }

    /// Checks the length of the reply, given without its errors.
    pub(crate) fn check_reply(&self, bytes: usize) -> Result<(), LimitExceeded> {
        LimitExceeded::check(
            "bytes of the reply",
            bytes as u64 + self.error_bytes,
            self.limits.reply_bytes,
        )
    }
}
