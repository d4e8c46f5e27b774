//! Files in an object store, which the server does not have.

use docent_catalog::Error;
use docent_catalog::files::{FileUse, no_object_store};
use docent_model::{Registry, Urn};
use serde::Deserialize;
use serde_json::Value;

use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .query("getPresignedUploadUrl", get_presigned_upload_url)
        .mutation("createDataHubFile", create_data_hub_file)
}

/// Fails before it looks at the input, as in DataHub: no other one would do.
async fn get_presigned_upload_url(_: &Context, _: Args<'_>) -> Result<Value, Error> {
    Err(no_object_store())
}

/// Fails: see [`docent_catalog::Catalog::reject_file`].
async fn create_data_hub_file(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        referenced_by_asset: Option<String>,
        schema_field: Option<String>,
        scenario: String,
    }
    let input: Input = arguments.input()?;
    let urn = |text: Option<String>| -> Result<Option<Urn>, Error> {
        Ok(text
            .map(|text| Registry::get().parse_urn(&text))
            .transpose()?)
    };
    let (asset, column) = (urn(input.referenced_by_asset)?, urn(input.schema_field)?);
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
