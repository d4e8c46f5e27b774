//! Domains and their members.

use docent_catalog::Error;
use docent_catalog::domains::{DisplayUpdate, NewDomain};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::owners::{self, OwnerInput};
use super::{ResourceInput, optional_urn, targets, urn};
use crate::{Args, Context};

pub(super) async fn create_domain(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        id: Option<String>,
        name: String,
        description: Option<String>,
        parent_domain: Option<String>,
        owners: Option<Vec<OwnerInput>>,
    }
    let input: Input = arguments.input()?;
    let owners = owners::new_owners(input.owners.unwrap_or_default())?;
    let new = NewDomain {
        id: input.id,
        name: input.name,
        description: input.description,
        parent: optional_urn(input.parent_domain.as_deref())?,
        owners,
    };
    let domain = context.catalog.create_domain(&context.caller, new).await?;
    Ok(json!(domain))
}

pub(super) async fn set_domain(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let (entity, domain) = (arguments.urn("entityUrn")?, arguments.urn("domainUrn")?);
    context
        .catalog
        .set_domain(&context.caller, &entity, &domain)
        .await?;
    Ok(json!(true))
}

pub(super) async fn unset_domain(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let entity = arguments.urn("entityUrn")?;
    context
        .catalog
        .unset_domain(&context.caller, &entity)
        .await?;
    Ok(json!(true))
}

pub(super) async fn batch_set_domain(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        domain_urn: Option<String>,
        resources: Vec<ResourceInput>,
    }
    let input: Input = arguments.input()?;
    let domain = optional_urn(input.domain_urn.as_deref())?;
    let targets = targets(input.resources, ResourceInput::target)?;
    context
        .catalog
        .batch_set_domain(&context.caller, domain.as_ref(), &targets)
        .await?;
    Ok(json!(true))
}

pub(super) async fn move_domain(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        resource_urn: String,
        parent_domain: Option<String>,
    }
    let input: Input = arguments.input()?;
    let parent = optional_urn(input.parent_domain.as_deref())?;
    context
        .catalog
        .move_domain(&context.caller, &urn(&input.resource_urn)?, parent.as_ref())
        .await?;
    Ok(json!(true))
}

pub(super) async fn delete_domain(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let domain = arguments.urn("urn")?;
    context
        .catalog
        .delete_domain(&context.caller, &domain)
        .await?;
    Ok(json!(true))
}

pub(super) async fn update_display_properties(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        color_hex: Option<String>,
        icon: Option<Map<String, Value>>,
    }
    let entity = arguments.urn("urn")?;
    let input: Input = arguments.input()?;
    let mut icon = input.icon.unwrap_or_default();
    icon.retain(|_, value| !value.is_null());
    let update = DisplayUpdate {
        color_hex: input.color_hex,
        icon,
    };
    context
        .catalog
        .update_display_properties(&context.caller, &entity, update)
        .await?;
    Ok(json!(true))
}
