//! Owners.

use docent_catalog::Error;
use docent_catalog::Target;
use docent_catalog::owners::NewOwner;
use docent_catalog::ownership_types::OwnershipTypeUpdate;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ResourceInput, optional_urn, targets, urn, urns};
use crate::{Args, Context};

/// `OwnerInput`, and other inputs with its members.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnerInput {
    owner_urn: String,
    owner_entity_type: String,
    r#type: Option<String>,
    ownership_type_urn: Option<String>,
}

impl OwnerInput {
    fn new_owner(self) -> Result<NewOwner, Error> {
        let owner = urn(&self.owner_urn)?;
        let (declared, label) = match self.owner_entity_type.as_str() {
            "CORP_GROUP" => ("corpGroup", "corp group"),
            _ => ("corpuser", "corp user"),
        };
        if owner.entity_type() != declared {
            return Err(Error::invalid(format!(
                "Failed to change ownership for resource(s). Expected a {label} urn, found {owner}."
            )));
        }
        Ok(NewOwner {
            owner,
            kind: self.r#type,
            kind_urn: optional_urn(self.ownership_type_urn.as_deref())?,
        })
    }
}

pub(super) fn new_owners(owners: Vec<OwnerInput>) -> Result<Vec<NewOwner>, Error> {
    owners.into_iter().map(OwnerInput::new_owner).collect()
}

pub(super) async fn add_owner(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        #[serde(flatten)]
        owner: OwnerInput,
        resource_urn: String,
    }
    let input: Input = arguments.input()?;
    let target = Target::entity(urn(&input.resource_urn)?);
    add(context, &new_owners(vec![input.owner])?, &[target]).await
}

pub(super) async fn add_owners(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        owners: Vec<OwnerInput>,
        resource_urn: String,
    }
    let input: Input = arguments.input()?;
    let target = Target::entity(urn(&input.resource_urn)?);
    add(context, &new_owners(input.owners)?, &[target]).await
}

pub(super) async fn batch_add_owners(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        owners: Vec<OwnerInput>,
        /// For owners without an ownership type.
        ownership_type_urn: Option<String>,
        resources: Vec<ResourceInput>,
    }
    let input: Input = arguments.input()?;
    let mut owners = new_owners(input.owners)?;
    let kind = optional_urn(input.ownership_type_urn.as_deref())?;
    for owner in &mut owners {
        if owner.kind.is_none() && owner.kind_urn.is_none() {
            owner.kind_urn.clone_from(&kind);
        }
    }
    add(
        context,
        &owners,
        &targets(input.resources, ResourceInput::target)?,
    )
    .await
}

async fn add(context: &Context, owners: &[NewOwner], targets: &[Target]) -> Result<Value, Error> {
    context
        .catalog
        .add_owners(&context.caller, owners, targets)
        .await?;
    Ok(json!(true))
}

pub(super) async fn remove_owner(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        owner_urn: String,
        ownership_type_urn: Option<String>,
        resource_urn: String,
    }
    let input: Input = arguments.input()?;
    let target = Target::entity(urn(&input.resource_urn)?);
    let kind = input.ownership_type_urn.as_deref();
    remove(context, &[input.owner_urn], kind, &[target]).await
}

pub(super) async fn batch_remove_owners(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        owner_urns: Vec<String>,
        ownership_type_urn: Option<String>,
        resources: Vec<ResourceInput>,
    }
    let input: Input = arguments.input()?;
    let kind = input.ownership_type_urn.as_deref();
    let targets = targets(input.resources, ResourceInput::target)?;
    remove(context, &input.owner_urns, kind, &targets).await
}

async fn remove(
    context: &Context,
    owners: &[String],
    kind: Option<&str>,
    targets: &[Target],
) -> Result<Value, Error> {
    let (owners, kind) = (urns(owners)?, optional_urn(kind)?);
    context
        .catalog
        .remove_owners(&context.caller, &owners, kind.as_ref(), targets)
        .await?;
    Ok(json!(true))
}

pub(super) async fn create_ownership_type(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        name: String,
        description: String,
    }
    let input: Input = arguments.input()?;
    let created = context
        .catalog
        .create_ownership_type(&context.caller, input.name, input.description)
        .await?;
    Ok(json!(created))
}

pub(super) async fn update_ownership_type(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        name: Option<String>,
        description: Option<String>,
    }
    let (kind, input) = (arguments.urn("urn")?, arguments.input::<Input>()?);
    let update = OwnershipTypeUpdate {
        name: input.name,
        description: input.description,
    };
    context
        .catalog
        .update_ownership_type(&context.caller, &kind, update)
        .await?;
    Ok(json!(kind))
}

pub(super) async fn delete_ownership_type(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let kind = arguments.urn("urn")?;
    context
        .catalog
        .delete_ownership_type(&context.caller, &kind)
        .await?;
    Ok(json!(true))
}
