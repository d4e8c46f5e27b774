//! The values of secrets.

use docent_catalog::Error;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Args, Context};

pub(super) async fn get_secret_values(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        secrets: Vec<String>,
    }
    let input: Input = arguments.input()?;
    let values = context
        .catalog
        .secret_values(&context.caller, &input.secrets)
        .await?;
    let value = |it: &docent_catalog::ingestion_secrets::SecretValue| json!({"name": it.name, "value": it.value});
    Ok(values.iter().map(value).collect())
}
