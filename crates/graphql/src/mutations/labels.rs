//! Tags and glossary terms on entities and columns.

use docent_catalog::Error;
use docent_catalog::labels::LabelKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ResourceInput, targets, urns};
use crate::{Args, Context};

/// The union of all inputs: one or several labels, one or several resources.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LabelInput {
    #[serde(alias = "termUrn")]
    tag_urn: Option<String>,
    #[serde(alias = "termUrns")]
    tag_urns: Option<Vec<String>>,
    resources: Option<Vec<ResourceInput>>,
    #[serde(flatten)]
    resource: Option<ResourceInput>,
}

#[derive(Clone, Copy)]
enum LabelOperation {
    Add,
    Remove,
}

async fn change(
    context: &Context,
    arguments: Args<'_>,
    kind: LabelKind,
    operation: LabelOperation,
) -> Result<Value, Error> {
    let input: LabelInput = arguments.input()?;
    let mut labels = input.tag_urns.unwrap_or_default();
    labels.extend(input.tag_urn);
    let labels = urns(&labels)?;
    let mut resources = input.resources.unwrap_or_default();
    resources.extend(input.resource);
    let targets = targets(resources, ResourceInput::target)?;
    let (catalog, caller) = (&context.catalog, &context.caller);
    match operation {
        LabelOperation::Add => catalog.add_labels(caller, kind, &labels, &targets).await?,
        LabelOperation::Remove => {
            catalog
                .remove_labels(caller, kind, &labels, &targets)
                .await?;
        }
    }
    Ok(json!(true))
}

pub(super) async fn add_tags(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    change(context, arguments, LabelKind::Tag, LabelOperation::Add).await
}

pub(super) async fn remove_tags(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    change(context, arguments, LabelKind::Tag, LabelOperation::Remove).await
}

pub(super) async fn add_terms(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    change(context, arguments, LabelKind::Term, LabelOperation::Add).await
}

pub(super) async fn remove_terms(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    change(context, arguments, LabelKind::Term, LabelOperation::Remove).await
}
