//! Fields whose aspects are secret, so that only the catalog reads them: access tokens, and whether a user has a
//! password.

use docent_catalog::tokens::Token;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

pub(super) async fn name(context: &Context, tokens: &[EntityView<'_>], _: Args<'_>) -> BatchResult {
    field(context, tokens, |token| json!(token.info.name)).await
}

pub(super) async fn description(
    context: &Context,
    tokens: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    field(context, tokens, |token| json!(token.info.description)).await
}

pub(super) async fn actor_urn(
    context: &Context,
    tokens: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    field(context, tokens, |token| json!(token.info.actor_urn)).await
}

pub(super) async fn owner_urn(
    context: &Context,
    tokens: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    field(context, tokens, |token| json!(token.info.owner_urn)).await
}

pub(super) async fn created_at(
    context: &Context,
    tokens: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    field(context, tokens, |token| json!(token.info.created_at)).await
}

pub(super) async fn expires_at(
    context: &Context,
    tokens: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    field(context, tokens, |token| json!(token.info.expires_at)).await
}

pub(super) async fn last_used_at(
    context: &Context,
    tokens: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    field(context, tokens, |token| json!(token.last_used_at)).await
}

/// Whether each user signs in with a password that is stored here.
pub(super) async fn is_native_user(
    context: &Context,
    users: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let native = context.catalog.have_credentials(&urns(users)).await?;
    Ok(native.into_iter().map(|native| Ok(json!(native))).collect())
}

/// One field of each token; null for a token that was revoked meanwhile.
async fn field(
    context: &Context,
    tokens: &[EntityView<'_>],
    value: fn(&Token) -> Value,
) -> BatchResult {
    let tokens = context.catalog.read_tokens(&urns(tokens)).await?;
    let values = tokens
        .iter()
        .map(|token| Ok(token.as_ref().map_or(Value::Null, value)));
    Ok(values.collect())
}

fn urns(entities: &[EntityView<'_>]) -> Vec<Urn> {
    entities.iter().map(|entity| entity.urn().clone()).collect()
}
