//! Invite links and service accounts.

use docent_catalog::Error;
use docent_model::Registry;
use serde::Deserialize;
use serde_json::{Value, json};

use super::queries::Window;
use crate::service_account::service_account_value;
use crate::{Args, Context};

/// Creates another link: the earlier ones cannot be read, and stay valid.
pub(super) async fn get_invite_token(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        role_urn: Option<String>,
    }
    let input: Input = arguments.input()?;
    let role = input.role_urn.as_deref();
    let role = role
        .map(|text| Registry::get().parse_urn(text))
        .transpose()?;
    let token = context
        .catalog
        .create_invite_token(&context.caller, role.as_ref(), false)
        .await?;
    Ok(json!({"inviteToken": token}))
}

pub(super) async fn list_service_accounts(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        #[serde(flatten)]
        window: Window,
        query: Option<String>,
    }
    let input: Input = arguments.input()?;
    let (start, count) = input.window.checked()?;
    let page = context
        .catalog
        .list_service_accounts(&context.caller, input.query.as_deref(), start, count)
        .await?;
    let accounts: Vec<Value> = page.items.iter().map(service_account_value).collect();
    Ok(json!({"start": start, "count": count, "total": page.total, "serviceAccounts": accounts}))
}

pub(super) async fn get_service_account(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let urn = arguments.urn("urn")?;
    let account = context
        .catalog
        .service_account(&context.caller, &urn)
        .await?;
    Ok(account.as_ref().map_or(Value::Null, service_account_value))
}
