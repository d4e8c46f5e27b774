//! Fields whose aspects are secret, so that only the catalog reads them: access tokens, and whether
//! a user has a password.

use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

/// The data of each token; null for one that was revoked meanwhile, or that is not the caller's.
pub(super) async fn access_token(
    context: &Context,
    tokens: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let catalog = &context.catalog;
    let tokens = catalog
        .read_tokens(&context.caller, &EntityView::urns(tokens))
        .await?;
    let values = tokens.into_iter().map(|token| {
        Ok(token.map_or(Value::Null, |token| {
            json!({
                "name": token.info.name,
                "description": token.info.description,
                "actorUrn": token.info.actor_urn,
                "ownerUrn": token.info.owner_urn,
                "createdAt": token.info.created_at,
                "expiresAt": token.info.expires_at,
                "lastUsedAt": token.last_used_at,
                "scope": token.info.scope.map(|scope| json!({
                    "readOnly": scope.read_only,
                    "privileges": scope.privileges,
                    "domainUrn": scope.domain,
                })),
            })
        }))
    });
    Ok(values.collect())
}

/// Whether each user signs in with a password that is stored here.
pub(super) async fn is_native_user(
    context: &Context,
    users: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let native = context
        .catalog
        .have_credentials(&EntityView::urns(users))
        .await?;
    Ok(native.into_iter().map(|native| Ok(json!(native))).collect())
}
