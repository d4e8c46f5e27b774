//! Invite links, service accounts, and what gives users rights.

use docent_catalog::Error;
use docent_catalog::service_accounts::service_account_name;
use docent_model::{AspectName, Registry, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use super::queries::Window;
use crate::{Args, Context, EntityView};

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

pub(super) async fn list_invite_tokens(context: &Context, _: Args<'_>) -> Result<Value, Error> {
    let open = context.catalog.list_invitations(&context.caller).await?;
    let invitations = open.iter().map(|invitation| {
        json!({
            "urn": invitation.urn,
            "role": invitation.role,
            "createdAt": invitation.created_at,
            "expiresAt": invitation.expires_at(),
            "createdBy": invitation.created_by,
        })
    });
    Ok(invitations.collect())
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
    let accounts: Vec<&Urn> = page.items.iter().map(|account| &account.urn).collect();
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
    Ok(json!(account.map(|account| account.urn)))
}

/// The generated name of a service account, and who created it when.
pub(super) fn service_account(account: &EntityView<'_>) -> Value {
    let created = account.aspect(AspectName::SUB_TYPES);
    let updated = account.aspect(AspectName::CORP_USER_INFO).or(created);
    json!({
        "name": service_account_name(account.urn()),
        "createdBy": created.map(|row| &row.created_by),
        "createdAt": created.map(|row| row.created_on_ms),
        "updatedAt": updated.map(|row| row.created_on_ms),
    })
}

pub(super) async fn debug_access(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let user = arguments.urn("userUrn")?;
    let access = context
        .catalog
        .explain_access(&context.caller, &user)
        .await?;
    Ok(json!({
        "roles": access.roles,
        "groups": access.groups,
        "groupsWithRoles": access.groups_with_roles,
        "rolesViaGroups": access.roles_via_groups,
        "allRoles": access.all_roles,
        "policies": access.policies,
        "privileges": access.privileges,
    }))
}
