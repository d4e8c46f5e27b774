//! Tags, glossary terms and glossary nodes.

use docent_catalog::Error;
use docent_catalog::vocabulary::{NewWord, TagUpdate, WordKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::datasets::OwnersInput;
use super::optional_urn;
use crate::{Args, Context};

/// `CreateTagInput` and `CreateGlossaryEntityInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreateInput {
    id: Option<String>,
    name: String,
    description: Option<String>,
    parent_node: Option<String>,
}

async fn create(context: &Context, arguments: Args<'_>, kind: WordKind) -> Result<Value, Error> {
    let input: CreateInput = arguments.input()?;
    let new = NewWord {
        id: input.id,
        name: input.name,
        description: input.description,
        parent: optional_urn(input.parent_node.as_deref())?,
    };
    let word = context
        .catalog
        .create_word(&context.caller, kind, new)
        .await?;
    Ok(json!(word))
}

pub(super) async fn create_tag(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    create(context, arguments, WordKind::Tag).await
}

pub(super) async fn create_glossary_term(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    create(context, arguments, WordKind::GlossaryTerm).await
}

pub(super) async fn create_glossary_node(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    create(context, arguments, WordKind::GlossaryNode).await
}

pub(super) async fn update_tag(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        urn: String,
        name: String,
        description: Option<String>,
        ownership: Option<OwnersInput>,
    }
    let tag = arguments.urn("urn")?;
    let input: Input = arguments.input()?;
    if input.urn != tag.as_str() {
        return Err(Error::invalid(format!(
            "input.urn is '{}' but urn is '{tag}': both must be the same tag",
            input.urn
        )));
    }
    let update = TagUpdate {
        name: input.name,
        description: input.description,
        owners: input.ownership.map(OwnersInput::new_owners).transpose()?,
    };
    context
        .catalog
        .update_tag(&context.caller, &tag, update)
        .await?;
    Ok(json!(tag))
}

pub(super) async fn set_tag_color(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let (tag, color) = (arguments.urn("urn")?, arguments.text("colorHex")?);
    context
        .catalog
        .set_tag_color(&context.caller, &tag, color)
        .await?;
    Ok(json!(true))
}

pub(super) async fn delete_tag(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let tag = arguments.urn("urn")?;
    context.catalog.delete_tag(&context.caller, &tag).await?;
    Ok(json!(true))
}
