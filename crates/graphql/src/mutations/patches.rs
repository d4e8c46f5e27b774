//! Patches of aspects: `patchEntity` and `patchEntities`.
//!
//! A patch is a direct write, as over REST: it creates missing entities and follows the same rules.

use std::sync::Arc;

use docent_catalog::{Catalog, Change, Conditions, Error, ErrorSubject, Proposal};
use docent_model::patch::Patch;
use docent_model::{EpochMillis, Registry, SystemMetadata, Urn};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::urn;
use crate::condition_headers::set_condition;
use crate::{Args, Context};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PatchInput {
    urn: Option<String>,
    entity_type: Option<String>,
    aspect_name: String,
    patch: Vec<OperationInput>,
    array_primary_keys: Option<Vec<ArrayKeysInput>>,
    force_generic_patch: Option<bool>,
    system_metadata: Option<SystemMetadataInput>,
    headers: Option<Vec<MapEntryInput>>,
}

#[derive(Deserialize)]
struct OperationInput {
    op: String,
    path: String,
    value: Option<String>,
    from: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArrayKeysInput {
    array_field: String,
    keys: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SystemMetadataInput {
    last_observed: Option<EpochMillis>,
    run_id: Option<String>,
    properties: Option<Vec<MapEntryInput>>,
}

#[derive(Deserialize)]
struct MapEntryInput {
    key: String,
    value: Option<String>,
}

pub(super) async fn patch_entity(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: PatchInput = arguments.input()?;
    let mut results = patch(context, vec![input]).await?;
    Ok(results.pop().unwrap_or_default())
}

pub(super) async fn patch_entities(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let inputs: Vec<PatchInput> = arguments.input()?;
    Ok(Value::Array(patch(context, inputs).await?))
}

async fn patch(context: &Context, inputs: Vec<PatchInput>) -> Result<Vec<Value>, Error> {
    let many = inputs.len() > 1;
    let names: Vec<Option<String>> = inputs.iter().map(PatchInput::name).collect();
    let proposals = inputs
        .into_iter()
        .enumerate()
        .map(|(position, input)| {
            let position = many.then_some(position);
            let subject = ErrorSubject {
                position,
                urn: input.urn.clone(),
                aspect: Some(input.aspect_name.clone()),
                column: None,
            };
            let proposal = input.proposal(&context.catalog);
            let mut proposal = proposal.map_err(|error| error.about(subject))?;
            proposal.position = position;
            Ok(proposal)
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let results = proposals.iter().zip(names);
    let results = results
        .map(|(proposal, name)| json!({"urn": proposal.urn, "name": name, "success": true}))
        .collect();
    context.catalog.ingest(&context.caller, proposals).await?;
    Ok(results)
}

impl PatchInput {
    fn proposal(self, catalog: &Catalog) -> Result<Proposal, Error> {
        let mut conditions = Conditions::default();
        for MapEntryInput { key, value } in self.headers.iter().flatten() {
            if let Some(value) = value {
                set_condition(&mut conditions, key, value)?;
            }
        }
        let entity = self.entity(catalog)?;
        let aspect = Registry::get().aspect(&self.aspect_name).ok_or_else(|| {
            Error::invalid(format!(
                "there is no aspect called '{}' in the registry",
                self.aspect_name
            ))
        })?;
        let operations: Vec<Value> = self.patch.into_iter().map(OperationInput::wire).collect();
        let keys: Map<String, Value> = self
            .array_primary_keys
            .unwrap_or_default()
            .into_iter()
            .map(|keys| (keys.array_field, json!(keys.keys)))
            .collect();
        let wire = json!({
            "patch": operations,
            "arrayPrimaryKeys": keys,
            "forceGenericPatch": self.force_generic_patch.unwrap_or_default(),
        });
        let patch = Patch::from_value(wire)
            .map_err(|error| Error::invalid(format!("{error} ({entity} {aspect})")))?;
        let change = Change::Patch {
            aspect,
            patch: Arc::new(patch),
        };
        let system_metadata = self
            .system_metadata
            .map(SystemMetadataInput::into_model)
            .transpose()?;
        let proposal = Proposal::new(entity, change);
        Ok(conditions
            .apply_to(proposal.with_system_metadata(Some(system_metadata.unwrap_or_default()))))
    }

    /// The name that the patch sets.
    fn name(&self) -> Option<String> {
        let operation = self.patch.iter().rev().find(|it| it.path == "/name")?;
        let value = operation.value.as_deref()?;
        Some(serde_json::from_str(value).unwrap_or_else(|_| value.to_owned()))
    }

    /// The URN of the entity; a new one if the input has none.
    fn entity(&self, catalog: &Catalog) -> Result<Urn, Error> {
        if let Some(text) = &self.urn {
            let entity = urn(text)?;
            if let Some(kind) = &self.entity_type {
                entity.expect_type(kind)?;
            }
            return Ok(entity);
        }
        let kind = self.entity_type.as_deref().ok_or_else(|| {
            Error::invalid("input needs a urn, or an entityType to create an entity")
        })?;
        catalog.new_urn(kind, None)
    }
}

impl OperationInput {
    /// Converts to JSON Patch. A value is JSON in a string; text that is not JSON is used as a
    /// string.
    fn wire(self) -> Value {
        let mut wire = json!({"op": self.op.to_lowercase(), "path": self.path});
        if let Some(text) = self.value {
            let parsed = serde_json::from_str(&text);
            wire["value"] = parsed.unwrap_or_else(|_| Value::String(text));
        }
        if let Some(from) = self.from {
            wire["from"] = json!(from);
        }
        wire
    }
}

impl SystemMetadataInput {
    fn into_model(self) -> Result<SystemMetadata, Error> {
        let mut wire = Map::new();
        if let Some(time) = self.last_observed {
            wire.insert("lastObserved".to_owned(), json!(time));
        }
        if let Some(run) = self.run_id {
            wire.insert("runId".to_owned(), json!(run));
        }
        if let Some(properties) = self.properties {
            let properties: Map<String, Value> = properties
                .into_iter()
                .map(|entry| (entry.key, json!(entry.value.unwrap_or_default())))
                .collect();
            wire.insert("properties".to_owned(), Value::Object(properties));
        }
        serde_json::from_value(Value::Object(wire))
            .map_err(|error| Error::invalid(format!("input.systemMetadata: {error}")))
    }
}
