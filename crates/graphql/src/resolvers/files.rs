//! Files in an object store, which the server does not have.

use docent_catalog::Error;
use docent_catalog::files::FileUse;
use docent_model::{Registry, Urn};
use serde::Deserialize;
use serde_json::Value;

use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .query("getPresignedUploadUrl", get_presigned_upload_url)
        .mutation("createDataHubFile", create_data_hub_file)
}

/// The members of both inputs that decide what the caller gets.
#[derive(Deserialize)]
struct FileInput {
    #[serde(alias = "referencedByAsset", rename = "assetUrn")]
    asset: Option<String>,
    #[serde(alias = "schemaField", rename = "schemaFieldUrn")]
    column: Option<String>,
    scenario: String,
}

/// Fails: see [`docent_catalog::Catalog::reject_file`].
async fn reject_file(context: &Context, input: FileInput) -> Result<Value, Error> {
    let urn = |text: Option<String>| -> Result<Option<Urn>, Error> {
        Ok(text
            .map(|text| Registry::get().parse_urn(&text))
            .transpose()?)
    };
    let (asset, column) = (urn(input.asset)?, urn(input.column)?);
    let purpose = match input.scenario.as_str() {
        "ASSET_DOCUMENTATION_LINKS" => FileUse::Link,
        _ => FileUse::Documentation,
    };
    context
        .catalog
        .reject_file(&context.caller, asset.as_ref(), column.as_ref(), purpose)
        .await?;
    Ok(Value::Null)
}

async fn get_presigned_upload_url(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    reject_file(context, arguments.input()?).await
}

async fn create_data_hub_file(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    reject_file(context, arguments.input()?).await
}
