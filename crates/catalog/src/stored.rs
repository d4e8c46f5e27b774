//! Values of stored aspects.

use docent_model::EpochMillis;
use docent_store::{AspectRow, StoredAspect, version};
use serde::de::DeserializeOwned;

/// The value of a row as the aspect's struct; `None` if it is missing or has another shape.
pub(crate) fn aspect_value<T: DeserializeOwned>(row: &AspectRow) -> Option<T> {
    serde_json::from_str(&row.as_ref()?.metadata).ok()
}

/// A time in the properties of the system metadata.
pub(crate) fn time_property(row: &StoredAspect, property: &str) -> Option<EpochMillis> {
    let properties = version::system_metadata_of(row).properties?;
    properties.get(property)?.as_str()?.parse().ok()
}
