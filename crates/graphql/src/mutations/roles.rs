//! Roles of users and groups.

use docent_catalog::Error;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{optional_urn, urns};
use crate::{Args, Context};

pub(super) async fn batch_assign_role(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        role_urn: Option<String>,
        actors: Vec<String>,
    }
    let input: Input = arguments.input()?;
    let role = optional_urn(input.role_urn.as_deref())?;
    context
        .catalog
        .assign_role(&context.caller, &urns(&input.actors)?, role.as_ref())
        .await?;
    Ok(json!(true))
}
