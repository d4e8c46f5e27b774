//! Ownership types.

use docent_model::aspects::built_in_ownership_type;
use serde_json::{Value, json};

use crate::EntityView;

/// The URN of an ownership type. Types given by name are built in.
pub(super) fn ownership_type(entity: &EntityView<'_>) -> Value {
    let owner = entity.value();
    if let Some(urn) = owner["typeUrn"].as_str() {
        return json!(urn);
    }
    owner["type"]
        .as_str()
        .map_or(Value::Null, |kind| json!(built_in_ownership_type(kind)))
}
