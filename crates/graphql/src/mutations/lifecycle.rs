//! Deprecation, soft deletion and lifecycle stages.

use docent_catalog::lifecycle::Deprecation;
use docent_catalog::{Error, Target};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ResourceInput, SubResource, optional_urn, targets, urn};
use crate::{Args, Context};

/// The common members of the deprecation inputs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeprecationInput {
    deprecated: bool,
    decommission_time: Option<i64>,
    note: Option<String>,
    replacement: Option<String>,
}

impl DeprecationInput {
    fn into_catalog(self) -> Result<Deprecation, Error> {
        Ok(Deprecation {
            deprecated: self.deprecated,
            decommission_time: self.decommission_time,
            note: self.note,
            replacement: optional_urn(self.replacement.as_deref())?,
        })
    }
}

pub(super) async fn update_deprecation(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        urn: String,
        #[serde(flatten)]
        sub_resource: SubResource,
        #[serde(flatten)]
        deprecation: DeprecationInput,
    }
    let input: Input = arguments.input()?;
    let target = Target::new(urn(&input.urn)?, input.sub_resource.column()?);
    deprecate(context, &[target], input.deprecation).await
}

pub(super) async fn batch_update_deprecation(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        resources: Vec<ResourceInput>,
        #[serde(flatten)]
        deprecation: DeprecationInput,
    }
    let input: Input = arguments.input()?;
    let targets = targets(input.resources, ResourceInput::target)?;
    deprecate(context, &targets, input.deprecation).await
}

async fn deprecate(
    context: &Context,
    targets: &[Target],
    input: DeprecationInput,
) -> Result<Value, Error> {
    let update = input.into_catalog()?;
    context
        .catalog
        .update_deprecation(&context.caller, targets, &update)
        .await?;
    Ok(json!(true))
}

pub(super) async fn batch_update_soft_deleted(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        urns: Vec<String>,
        deleted: bool,
    }
    let input: Input = arguments.input()?;
    let targets = targets(input.urns, |text| Ok(Target::entity(urn(&text)?)))?;
    context
        .catalog
        .update_soft_deleted(&context.caller, &targets, input.deleted)
        .await?;
    Ok(json!(true))
}

pub(super) async fn set_lifecycle_stage(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let entity = arguments.urn("urn")?;
    let stage: Option<String> = arguments.member("lifecycleStageUrn")?;
    // A text that became empty by mistake would publish a draft.
    if stage.as_deref().is_some_and(|it| it.trim().is_empty()) {
        return Err(Error::invalid(
            "lifecycleStageUrn is empty: send the URN of a stage, or null to remove the stage",
        ));
    }
    let stage = optional_urn(stage.as_deref())?;
    context
        .catalog
        .set_lifecycle_stage(&context.caller, &entity, stage.as_ref())
        .await?;
    Ok(json!(true))
}
