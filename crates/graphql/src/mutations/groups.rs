//! Groups, and the accounts of users.

use docent_catalog::Error;
use docent_catalog::groups::{MemberChange, NewGroup};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{urn, urns};
use crate::{Args, Context};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members {
    group_urn: String,
    user_urns: Vec<String>,
}

pub(super) async fn create_group(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        id: Option<String>,
        name: String,
        description: Option<String>,
    }
    let Input {
        id,
        name,
        description,
    } = arguments.input()?;
    let new = NewGroup {
        id,
        name,
        description,
    };
    let group = context.catalog.create_group(&context.caller, new).await?;
    Ok(json!(group))
}

pub(super) async fn add_group_members(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    change_members(context, arguments, MemberChange::Add).await
}

pub(super) async fn remove_group_members(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    change_members(context, arguments, MemberChange::Remove).await
}

async fn change_members(
    context: &Context,
    arguments: Args<'_>,
    change: MemberChange,
) -> Result<Value, Error> {
    let input: Members = arguments.input()?;
    let (group, users) = (urn(&input.group_urn)?, urns(&input.user_urns)?);
    context
        .catalog
        .change_group_members(&context.caller, &group, &users, change)
        .await?;
    Ok(json!(true))
}

pub(super) async fn remove_group(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let group = arguments.urn("urn")?;
    context
        .catalog
        .remove_group(&context.caller, &group)
        .await?;
    Ok(json!(true))
}

pub(super) async fn remove_user(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let user = arguments.urn("urn")?;
    context.catalog.remove_user(&context.caller, &user).await?;
    Ok(json!(true))
}

/// Suspends or resumes a user.
pub(super) async fn update_user_status(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let user = arguments.urn("urn")?;
    let (catalog, caller) = (&context.catalog, &context.caller);
    if arguments.text("status")? == "SUSPENDED" {
        catalog.suspend_user(caller, &user).await?;
    } else {
        catalog.resume_user(caller, &user).await?;
    }
    Ok(json!(user))
}
