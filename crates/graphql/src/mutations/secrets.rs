//! Secrets of ingestion.

use docent_catalog::Error;
use docent_catalog::ingestion_secrets::NewSecret;
use serde::Deserialize;
use serde_json::{Value, json};

use super::urn;
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("createSecret", create_secret)
        .mutation("updateSecret", update_secret)
        .mutation("deleteSecret", delete_secret)
}

#[derive(Deserialize)]
struct Input {
    urn: Option<String>,
    name: String,
    value: String,
    description: Option<String>,
}

impl Input {
    fn secret(self) -> NewSecret {
        NewSecret {
            name: self.name,
            value: self.value,
            description: self.description,
        }
    }
}

pub(super) async fn create_secret(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: Input = arguments.input()?;
    let new = input.secret();
    let created = context.catalog.create_secret(&context.caller, new).await?;
    Ok(json!(created))
}

pub(super) async fn update_secret(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: Input = arguments.input()?;
    let secret = urn(input.urn.as_deref().unwrap_or_default())?;
    context
        .catalog
        .update_secret(&context.caller, &secret, input.secret())
        .await?;
    Ok(json!(secret))
}

pub(super) async fn delete_secret(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let secret = arguments.urn("urn")?;
    context
        .catalog
        .delete_secret(&context.caller, &secret)
        .await?;
    Ok(json!(secret))
}
