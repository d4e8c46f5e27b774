//! Owners.

use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

/// The kind of an ownership as an entity. Kinds given by name are those that every installation has.
pub(super) async fn ownership_type(
    _: &Context,
    entities: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    Ok(entities
        .iter()
        .map(|entity| {
            let owner = entity.value();
            if let Some(urn) = owner["typeUrn"].as_str() {
                return Ok(json!(urn));
            }
            Ok(owner["type"].as_str().map_or(Value::Null, |kind| {
                let kind = kind.to_lowercase();
                json!(format!("urn:li:ownershipType:__system__{kind}"))
            }))
        })
        .collect())
}
