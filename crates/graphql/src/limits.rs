//! Limits on one operation and on its execution.
//!
//! What an operation costs is computed in [`crate::cost`]; what an execution uses is counted in
//! [`crate::execute::Budget`].

use crate::error::{Classification, RequestError};

/// Limits on what one operation may select and on what its execution may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub depth: u64,
    pub complexity: u64,
    /// Compiled fields of the types that occur ([`crate::plan`]).
    pub size: u64,
    /// Root fields of a query that a resolver computes, such as searches and lists.
    pub root_calls: u64,
    /// Root fields `__schema` and `__type`.
    pub introspection_fields: u64,
    /// Estimated number of values in their results.
    pub introspection_values: u64,
    /// Loaded entities; an entity counts once per selection that reaches it.
    pub entities: u64,
    /// Values visited, while loading and while writing.
    pub values: u64,
    /// Metadata in memory: rows of the store and results of resolvers. The catalog limits that of
    /// all executions together.
    pub loaded_bytes: u64,
    pub reply_bytes: u64,
}

impl Default for Limits {
    /// Depth, complexity and entities are DataHub's limits, so every query it executes is executed
    /// here. The others are far above what its clients need: their largest replies have a few
    /// megabytes, and the usual introspection query returns about 90,000 values.
    fn default() -> Self {
        Self {
            depth: 50,
            complexity: 2000,
            size: 20_000,
            root_calls: 100,
            introspection_fields: 4,
            introspection_values: 400_000,
            entities: 20_000,
            values: 10_000_000,
            loaded_bytes: 256 * 1024 * 1024,
            reply_bytes: 64 * 1024 * 1024,
        }
    }
}

/// An exceeded limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitExceeded {
    what: &'static str,
    actual: u64,
    allowed: u64,
}

impl LimitExceeded {
    pub(crate) fn check(what: &'static str, actual: u64, allowed: u64) -> Result<(), Self> {
        if actual > allowed {
            return Err(Self {
                what,
                actual,
                allowed,
            });
        }
        Ok(())
    }
}

impl From<LimitExceeded> for RequestError {
    fn from(exceeded: LimitExceeded) -> Self {
        let LimitExceeded {
            what,
            actual,
            allowed,
        } = exceeded;
        Self::new(
            Classification::ExecutionAborted,
            format!("maximum {what} exceeded {actual} > {allowed}"),
        )
    }
}
