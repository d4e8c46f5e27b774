//! Secrets of ingestion, and connections.

use docent_catalog::Error;
use docent_catalog::connections::NewConnection;
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
        .mutation("upsertConnection", upsert_connection)
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

async fn upsert_connection(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        id: Option<String>,
        platform_urn: String,
        json: Option<JsonInput>,
        name: Option<String>,
    }
    #[derive(Deserialize)]
    struct JsonInput {
        blob: String,
    }
    let input: Input = arguments.input()?;
    let json = input
        .json
        .ok_or_else(|| Error::invalid("json is missing: a connection of type JSON needs it"))?;
    let new = NewConnection {
        id: input.id,
        name: input.name,
        platform: urn(&input.platform_urn)?,
        blob: json.blob,
    };
    let created = context
        .catalog
        .upsert_connection(&context.caller, new)
        .await?;
    Ok(json!(created))
}
