//! What one execution has used so far of what it may use.
//!
//! The same entity at the same place is loaded once but written as often as it is reached, so a short query over
//! few entities can ask for a reply without end. That is noticed while it grows; what is over a limit is not
//! executed further, and nothing of it is answered.

use serde_json::Value;

use crate::limits::{Exceeded, Limits};

#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    visited: u64,
    values: u64,
    loaded_bytes: u64,
    error_bytes: u64,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            visited: 0,
            values: 0,
            loaded_bytes: 0,
            error_bytes: 0,
        }
    }

    /// More entities are about to be loaded.
    pub(crate) fn visit(&mut self, entities: usize) -> Result<(), Exceeded> {
        self.visited += entities as u64;
        Exceeded::check(
            "number of entities visited",
            self.visited,
            self.limits.visited,
        )
    }

    /// How many entities may still be visited.
    pub(crate) fn visits_left(&self) -> usize {
        let left = self.limits.visited.saturating_sub(self.visited);
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// One more value is looked at.
    pub(crate) fn value(&mut self) -> Result<(), Exceeded> {
        self.values += 1;
        Exceeded::check(
            "number of values looked at",
            self.values,
            self.limits.values,
        )
    }

    /// More metadata is held in memory.
    pub(crate) fn load(&mut self, bytes: usize) -> Result<(), Exceeded> {
        self.loaded_bytes += bytes as u64;
        Exceeded::check(
            "bytes of loaded metadata",
            self.loaded_bytes,
            self.limits.loaded_bytes,
        )
    }

    /// An error has been recorded, which will be part of the reply.
    pub(crate) fn error(&mut self, bytes: usize) {
        self.error_bytes += bytes as u64;
    }

    /// So long is the reply, without its errors.
    pub(crate) fn reply(&self, bytes: usize) -> Result<(), Exceeded> {
        Exceeded::check(
            "bytes of the reply",
            bytes as u64 + self.error_bytes,
            self.limits.reply_bytes,
        )
    }
}

/// About how much memory a JSON value takes.
pub(crate) fn size_bytes(value: &Value) -> usize {
    let inside: usize = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(size_bytes).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len() + size_bytes(value))
            .sum(),
    };
    size_of::<Value>() + inside
}
