//! Estimates of heap memory, for caches and budgets.

use serde_json::Value;

/// Approximate overhead of the allocator per allocation.
pub(crate) const ALLOCATION_BYTES: usize = 16;

/// Approximate size of a JSON value.
pub(crate) fn json_bytes(value: &Value) -> usize {
    let heap: usize = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(json_bytes).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len() + json_bytes(value))
            .sum(),
    };
    size_of::<Value>() + heap
}
