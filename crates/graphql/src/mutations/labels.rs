//! Tags and glossary terms on entities and columns.

use docent_catalog::Error;
use docent_catalog::labels::LabelKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Resource, targets, urns};
use crate::{Args, Context};

/// Every input of this file, as far as each has the members: one label or several, one resource or several.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    #[serde(alias = "termUrn")]
    tag_urn: Option<String>,
    #[serde(alias = "termUrns")]
    tag_urns: Option<Vec<String>>,
    resources: Option<Vec<Resource>>,
    #[serde(flatten)]
    resource: Option<Resource>,
}

#[derive(Clone, Copy)]
enum Operation {
    Add,
    Remove,
}

async fn change(
    context: &Context,
    arguments: Args<'_>,
    kind: LabelKind,
    operation: Operation,
) -> Result<Value, Error> {
    let input: Input = arguments.input()?;
    let mut labels = input.tag_urns.unwrap_or_default();
    labels.extend(input.tag_urn);
    let labels = urns(&labels)?;
    let mut resources = input.resources.unwrap_or_default();
    resources.extend(input.resource);
    let targets = targets(resources, Resource::target)?;
    let (catalog, caller) = (&context.catalog, &context.caller);
    match operation {
        Operation::Add => catalog.add_labels(caller, kind, &labels, &targets).await?,
        Operation::Remove => {
            catalog
                .remove_labels(caller, kind, &labels, &targets)
                .await?;
        }
    }
    Ok(json!(true))
}

pub(super) async fn add_tags(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    change(context, arguments, LabelKind::Tag, Operation::Add).await
}

pub(super) async fn remove_tags(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    change(context, arguments, LabelKind::Tag, Operation::Remove).await
}

pub(super) async fn add_terms(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    change(context, arguments, LabelKind::Term, Operation::Add).await
}

pub(super) async fn remove_terms(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    change(context, arguments, LabelKind::Term, Operation::Remove).await
}
