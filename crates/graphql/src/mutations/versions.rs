//! Version sets.

use docent_catalog::Error;
use docent_catalog::versions::NewVersion;
use serde::Deserialize;
use serde_json::{Value, json};

use super::urn;
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("linkAssetVersion", link_asset_version)
        .mutation("unlinkAssetVersion", unlink_asset_version)
}

async fn link_asset_version(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        version_set: String,
        linked_entity: String,
        version: String,
        source_timestamp: Option<i64>,
        source_creator: Option<String>,
        comment: Option<String>,
    }
    let input: Input = arguments.input()?;
    let set = urn(&input.version_set)?;
    let asset = urn(&input.linked_entity)?;
    let new = NewVersion {
        tag: input.version,
        comment: input.comment,
        source_time_ms: input.source_timestamp,
        source_creator: input.source_creator,
    };
    let catalog = &context.catalog;
    catalog
        .link_version(&context.caller, &set, &asset, new)
        .await?;
    Ok(json!(set))
}

async fn unlink_asset_version(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        version_set: Option<String>,
        unlinked_entity: Option<String>,
    }
    let input: Input = arguments.input()?;
    let (Some(set), Some(asset)) = (input.version_set, input.unlinked_entity) else {
        return Err(Error::invalid("versionSet and unlinkedEntity are required"));
    };
    let (set, asset) = (urn(&set)?, urn(&asset)?);
    let catalog = &context.catalog;
    let is_unlinked = catalog
        .unlink_version(&context.caller, &set, &asset)
        .await?;
    Ok(json!(is_unlinked.then_some(set)))
}
