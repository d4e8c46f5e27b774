//! `updateChart` and the like, `updateEmbed`, and the profiles of users and groups.

use docent_catalog::Error;
use docent_catalog::asset_updates::AssetUpdate;
use docent_catalog::profiles::{GroupProfile, UserProfile};
use serde::Deserialize;
use serde_json::{Value, json};

use super::datasets::{OwnersInput, TagsInput, tag_urns};
use super::urn;
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("updateChart", update_chart)
        .mutation("updateDashboard", update_dashboard)
        .mutation("updateNotebook", update_notebook)
        .mutation("updateDataFlow", update_data_flow)
        .mutation("updateDataJob", update_data_job)
        .mutation("updateEmbed", update_embed)
        .mutation("updateCorpUserProperties", update_corp_user_properties)
        .mutation("updateCorpGroupProperties", update_corp_group_properties)
}

/// `ChartUpdateInput` and the like; all members are optional.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct AssetUpdateInput {
    editable_properties: Option<PropertiesInput>,
    ownership: Option<OwnersInput>,
    global_tags: Option<TagsInput>,
    tags: Option<TagsInput>,
}

#[derive(Deserialize)]
struct PropertiesInput {
    description: String,
}

async fn update_chart(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    update(context, &arguments, "chart").await
}

async fn update_dashboard(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    update(context, &arguments, "dashboard").await
}

async fn update_notebook(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    update(context, &arguments, "notebook").await
}

async fn update_data_flow(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    update(context, &arguments, "dataFlow").await
}

async fn update_data_job(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    update(context, &arguments, "dataJob").await
}

async fn update(
    context: &Context,
    arguments: &Args<'_>,
    entity_type: &str,
) -> Result<Value, Error> {
    let asset = arguments.urn("urn")?;
    let input: AssetUpdateInput = arguments.input()?;
    let update = AssetUpdate {
        description: input.editable_properties.map(|it| it.description),
        owners: input.ownership.map(OwnersInput::new_owners).transpose()?,
        tags: tag_urns(input.tags.or(input.global_tags))?,
    };
    context
        .catalog
        .update_asset(&context.caller, &asset, entity_type, update)
        .await?;
    Ok(json!(asset))
}

async fn update_embed(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        urn: String,
        render_url: Option<String>,
    }
    let input: Input = arguments.input()?;
    let asset = urn(&input.urn)?;
    context
        .catalog
        .update_embed(&context.caller, &asset, input.render_url.as_deref())
        .await?;
    Ok(json!(true))
}

async fn update_corp_user_properties(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let user = arguments.urn("urn")?;
    let profile: UserProfile = arguments.input()?;
    context
        .catalog
        .update_user_profile(&context.caller, &user, &profile)
        .await?;
    Ok(json!(user))
}

async fn update_corp_group_properties(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let group = arguments.urn("urn")?;
    let profile: GroupProfile = arguments.input()?;
    context
        .catalog
        .update_group_profile(&context.caller, &group, &profile)
        .await?;
    Ok(json!(group))
}
