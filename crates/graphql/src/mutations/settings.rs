//! Settings of everybody, and of an asset.

use docent_catalog::Error;
use docent_catalog::settings::Feature;
use serde::Deserialize;
use serde_json::{Value, json};

use super::urn;
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("updateDocPropagationSettings", update_doc_propagation)
        .mutation("updateApplicationsSettings", update_applications)
        .mutation("updateAssetSettings", update_asset_settings)
}

async fn update_doc_propagation(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        doc_column_propagation: Option<bool>,
    }
    let is_on = arguments.input::<Input>()?.doc_column_propagation;
    let feature = Feature::ColumnDocsPropagation;
    set_feature(context, feature, "docColumnPropagation", is_on).await
}

async fn update_applications(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        enabled: Option<bool>,
    }
    let is_on = arguments.input::<Input>()?.enabled;
    set_feature(context, Feature::Applications, "enabled", is_on).await
}

async fn set_feature(
    context: &Context,
    feature: Feature,
    name: &str,
    is_on: Option<bool>,
) -> Result<Value, Error> {
    let is_on = is_on.ok_or_else(|| Error::invalid(format!("give {name}: true or false")))?;
    let (catalog, caller) = (&context.catalog, &context.caller);
    catalog.set_feature(caller, feature, is_on).await?;
    Ok(json!(true))
}

async fn update_asset_settings(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        urn: String,
        summary: Option<Summary>,
    }
    #[derive(Deserialize)]
    struct Summary {
        template: String,
    }
    let input: Input = arguments.input()?;
    let summary = input.summary.ok_or_else(|| {
        Error::invalid("give summary.template: the URN of a page template for the asset")
    })?;
    let (asset, template) = (urn(&input.urn)?, urn(&summary.template)?);
    context
        .catalog
        .set_summary_template(&context.caller, &asset, &template)
        .await?;
    Ok(json!({"assetSummary": {"templates": [{"template": template}]}}))
}
