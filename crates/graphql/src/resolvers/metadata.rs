//! Fields about stored aspects: raw values, timestamps, system metadata.

use docent_model::{AspectName, Registry, SystemMetadata};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

/// When an ingestion run last observed the entity.
pub(super) fn last_ingested(entity: &EntityView<'_>) -> Value {
    let observed = entity.aspects().iter().filter_map(|(_, row)| {
        let metadata: SystemMetadata =
            serde_json::from_str(row.system_metadata.as_deref()?).ok()?;
        metadata.run().is_some().then_some(metadata.last_observed)
    });
    json!(observed.max())
}

/// When an ingestion run last observed the schema.
pub(super) fn last_observed(dataset: &EntityView<'_>) -> Value {
    let row = dataset.aspect(AspectName::SCHEMA_METADATA);
    let metadata = row.and_then(|row| row.system_metadata.as_deref());
    let metadata = metadata.and_then(|text| serde_json::from_str::<SystemMetadata>(text).ok());
    json!(metadata.map(|metadata| metadata.last_observed))
}

/// The aspects as stored.
pub(super) async fn raw_aspects(
    _: &Context,
    entities: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        auto_render_only: Option<bool>,
        aspect_names: Option<Vec<String>>,
    }
    let input = arguments.input::<Option<Input>>()?.unwrap_or_default();
    let is_requested = |aspect: AspectName| {
        let is_named = input
            .aspect_names
            .as_ref()
            .is_none_or(|names| names.iter().any(|name| name == aspect.as_str()));
        // No aspect of the registry is marked for automatic rendering.
        is_named && input.auto_render_only != Some(true)
    };
    let raw_aspects = |entity: &EntityView<'_>| -> Value {
        entity
            .aspects()
            .iter()
            .filter(|(aspect, _)| is_requested(*aspect))
            .map(|(aspect, row)| json!({"aspectName": aspect.as_str(), "payload": row.metadata}))
            .collect()
    };
    Ok(entities
        .iter()
        .map(|entity| Ok(raw_aspects(entity)))
        .collect())
}

/// When and by whom an entity was created: from its aspect, or from the row of its key aspect.
pub(super) fn created_on(entity: &EntityView<'_>) -> Value {
    let created = entity
        .value()
        .get("created")
        .filter(|created| !created.is_null());
    if let Some(created) = created {
        return created.clone();
    }
    let spec = Registry::get().entity(entity.urn().entity_type());
    let key = spec.and_then(|spec| entity.aspect(spec.key_aspect));
    key.map_or(
        Value::Null,
        |row| json!({"time": row.created_on_ms, "actor": row.created_by}),
    )
}
