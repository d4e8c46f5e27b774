//! Reads the JSON of replies, in which members may be null.

use serde_json::Value;

/// The total of a reply.
pub(crate) fn total(value: &Value) -> usize {
    let total = value.as_u64().and_then(|total| usize::try_from(total).ok());
    total.unwrap_or_default()
}

/// The items of a list in a reply.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
