//! How people and programs get an account: invite links, reset links, service accounts.

use docent_catalog::Error;
use docent_catalog::service_accounts::NewServiceAccount;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{optional_urn, urn};
use crate::{Args, Context};

/// Ends the earlier links for the same role.
pub(super) async fn create_invite_token(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        role_urn: Option<String>,
    }
    let input: Input = arguments.input()?;
    let role = optional_urn(input.role_urn.as_deref())?;
    let token = context
        .catalog
        .create_invite_token(&context.caller, role.as_ref(), true)
        .await?;
    Ok(json!({"inviteToken": token}))
}

pub(super) async fn revoke_invite_token(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let invitation = arguments.urn("urn")?;
    context
        .catalog
        .revoke_invitation(&context.caller, &invitation)
        .await?;
    Ok(json!(true))
}

pub(super) async fn accept_role(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        invite_token: String,
    }
    let input: Input = arguments.input()?;
    context
        .catalog
        .accept_role(&context.caller, &input.invite_token)
        .await?;
    Ok(json!(true))
}

pub(super) async fn create_native_user_reset_token(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        user_urn: String,
    }
    let input: Input = arguments.input()?;
    let user = urn(&input.user_urn)?;
    let token = context
        .catalog
        .create_reset_token(&context.caller, &user)
        .await?;
    Ok(json!({"resetToken": token}))
}

pub(super) async fn sign_out_everywhere(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        user_urn: Option<String>,
        revoke_tokens: Option<bool>,
    }
    let input: Input = arguments.input()?;
    let user = optional_urn(input.user_urn.as_deref())?;
    let user = user.as_ref().unwrap_or(context.caller.actor());
    context
        .catalog
        .sign_out_everywhere(&context.caller, user, input.revoke_tokens.unwrap_or(false))
        .await?;
    Ok(json!(true))
}

pub(super) async fn create_service_account(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        display_name: Option<String>,
        description: Option<String>,
    }
    let input: Input = arguments.input()?;
    let new = NewServiceAccount {
        display_name: input.display_name,
        description: input.description,
    };
    let created = context
        .catalog
        .create_service_account(&context.caller, new)
        .await?;
    Ok(json!(created))
}

pub(super) async fn delete_service_account(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let account = arguments.urn("urn")?;
    context
        .catalog
        .delete_service_account(&context.caller, &account)
        .await?;
    Ok(json!(true))
}
