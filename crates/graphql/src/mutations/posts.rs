//! Posts: announcements on the home page, and notes on entities.

use docent_catalog::Error;
use docent_catalog::posts::{PostContent, PostKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{SubResource, optional_urn, urn};
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("createPost", create_post)
        .mutation("updatePost", update_post)
        .mutation("deletePost", delete_post)
}

/// `UpdatePostContentInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContentInput {
    content_type: String,
    title: String,
    description: Option<String>,
    link: Option<String>,
    media: Option<Value>,
}

impl ContentInput {
    fn content(self) -> PostContent {
        PostContent {
            r#type: self.content_type,
            title: self.title,
            description: self.description,
            link: self.link,
            media: self.media,
        }
    }
}

fn kind(name: &str) -> PostKind {
    match name {
        "ENTITY_ANNOUNCEMENT" => PostKind::EntityAnnouncement,
        _ => PostKind::HomePageAnnouncement,
    }
}

pub(super) async fn create_post(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        post_type: String,
        content: ContentInput,
        resource_urn: Option<String>,
        #[serde(flatten)]
        sub_resource: SubResource,
    }
    let input: Input = arguments.input()?;
    if input.sub_resource.column()?.is_some() {
        return Err(Error::invalid(
            "posts about columns are not supported: omit subResource",
        ));
    }
    let target = optional_urn(input.resource_urn.as_deref())?;
    let new = input.content.content();
    let catalog = &context.catalog;
    catalog
        .create_post(
            &context.caller,
            kind(&input.post_type),
            new,
            target.as_ref(),
        )
        .await?;
    Ok(json!(true))
}

pub(super) async fn update_post(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        urn: String,
        post_type: String,
        content: ContentInput,
    }
    let input: Input = arguments.input()?;
    let post = urn(&input.urn)?;
    let kind = kind(&input.post_type);
    let new = input.content.content();
    let catalog = &context.catalog;
    catalog
        .update_post(&context.caller, &post, kind, new)
        .await?;
    Ok(json!(true))
}

pub(super) async fn delete_post(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let post = arguments.urn("urn")?;
    context.catalog.delete_post(&context.caller, &post).await?;
    Ok(json!(true))
}
