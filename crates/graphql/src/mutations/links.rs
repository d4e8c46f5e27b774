//! Reference links.

use docent_catalog::Error;
use docent_catalog::links::LinkText;
use serde::Deserialize;
use serde_json::{Value, json};

use super::urn;
use crate::{Args, Context};

/// `AddLinkInput` and `UpsertLinkInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LinkInput {
    link_url: String,
    label: String,
    resource_urn: String,
    settings: Option<Settings>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settings {
    show_in_asset_preview: Option<bool>,
}

fn link_text(url: String, label: String, settings: Option<Settings>) -> LinkText {
    LinkText {
        url,
        label,
        show_in_asset_preview: settings
            .map(|settings| settings.show_in_asset_preview.unwrap_or_default()),
    }
}

pub(super) async fn add_link(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: LinkInput = arguments.input()?;
    let resource = urn(&input.resource_urn)?;
    let link = link_text(input.link_url, input.label, input.settings);
    context
        .catalog
        .add_link(&context.caller, &resource, link)
        .await?;
    Ok(json!(true))
}

pub(super) async fn upsert_link(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: LinkInput = arguments.input()?;
    let resource = urn(&input.resource_urn)?;
    let link = link_text(input.link_url, input.label, input.settings);
    context
        .catalog
        .upsert_link(&context.caller, &resource, link)
        .await?;
    Ok(json!(true))
}

pub(super) async fn update_link(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        current_url: String,
        current_label: String,
        link_url: String,
        label: String,
        settings: Option<Settings>,
        resource_urn: String,
    }
    let input: Input = arguments.input()?;
    let resource = urn(&input.resource_urn)?;
    let link = link_text(input.link_url, input.label, input.settings);
    context
        .catalog
        .update_link(
            &context.caller,
            &resource,
            input.current_url,
            input.current_label,
            link,
        )
        .await?;
    Ok(json!(true))
}

pub(super) async fn remove_link(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        link_url: String,
        label: Option<String>,
        resource_urn: String,
    }
    let input: Input = arguments.input()?;
    let resource = urn(&input.resource_urn)?;
    context
        .catalog
        .remove_link(&context.caller, &resource, input.link_url, input.label)
        .await?;
    Ok(json!(true))
}
