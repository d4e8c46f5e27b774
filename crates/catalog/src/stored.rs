//! Values of stored aspects.

use docent_store::AspectRow;
use serde::de::DeserializeOwned;

/// The value of a row as the aspect's struct; `None` if it is missing or has another shape.
pub(crate) fn aspect_value<T: DeserializeOwned>(row: &AspectRow) -> Option<T> {
    serde_json::from_str(&row.as_ref()?.metadata).ok()
}
