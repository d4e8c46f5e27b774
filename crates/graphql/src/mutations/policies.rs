//! Policies.

use docent_catalog::Error;
use docent_catalog::groups::MemberChange;
use docent_catalog::policies::{NewPolicy, PolicyActors, PolicyKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::urns;
use crate::{Args, Context};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    #[serde(rename = "type")]
    kind: Kind,
    name: String,
    state: String,
    description: Option<String>,
    resources: Option<Value>,
    privileges: Vec<String>,
    actors: Actors,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Kind {
    Metadata,
    Platform,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Actors {
    users: Option<Vec<String>>,
    groups: Option<Vec<String>>,
    roles: Option<Vec<String>>,
    resource_owners: bool,
    resource_owners_types: Option<Vec<String>>,
    all_users: bool,
    all_groups: bool,
}

pub(super) async fn create_policy(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let new = policy(arguments.input()?)?;
    let urn = context.catalog.create_policy(&context.caller, new).await?;
    Ok(json!(urn))
}

pub(super) async fn update_policy(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let urn = arguments.urn("urn")?;
    let new = policy(arguments.input()?)?;
    context
        .catalog
        .update_policy(&context.caller, &urn, new)
        .await?;
    Ok(json!(urn))
}

pub(super) async fn delete_policy(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let urn = arguments.urn("urn")?;
    context.catalog.delete_policy(&context.caller, &urn).await?;
    Ok(json!(urn))
}

pub(super) async fn add_domain_steward(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    change_steward(context, arguments, MemberChange::Add).await
}

pub(super) async fn remove_domain_steward(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    change_steward(context, arguments, MemberChange::Remove).await
}

async fn change_steward(
    context: &Context,
    arguments: Args<'_>,
    change: MemberChange,
) -> Result<Value, Error> {
    let (domain, actor) = (arguments.urn("domainUrn")?, arguments.urn("actorUrn")?);
    let is_change = context
        .catalog
        .change_steward(&context.caller, &domain, &actor, change)
        .await?;
    Ok(json!(is_change))
}

fn policy(input: Input) -> Result<NewPolicy, Error> {
    let list = |texts: Option<Vec<String>>| texts.as_deref().map(urns).transpose();
    let Actors {
        users,
        groups,
        roles,
        resource_owners,
        resource_owners_types,
        all_users,
        all_groups,
    } = input.actors;
    Ok(NewPolicy {
        name: input.name,
        description: input.description,
        kind: match input.kind {
            Kind::Metadata => PolicyKind::Metadata,
            Kind::Platform => PolicyKind::Platform,
        },
        state: input.state,
        privileges: input.privileges,
        actors: PolicyActors {
            users: list(users)?.unwrap_or_default(),
            groups: list(groups)?.unwrap_or_default(),
            roles: list(roles)?,
            all_users,
            all_groups,
            resource_owners,
            resource_owners_types: list(resource_owners_types)?,
        },
        resources: input.resources.map(without_nulls),
    })
}

/// Absent members of an input are absent in the aspect, too.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .filter(|(_, member)| !member.is_null())
            .map(|(name, member)| (name, without_nulls(member)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}
