//! Completing names as they are typed.

use docent_catalog::Error;
use docent_catalog::search::whole;
use futures_util::future::try_join_all;
use serde_json::{Value, json};

use super::input::Input;
use super::kinds;
use crate::{Args, Context};

const DEFAULT_LIMIT: usize = 5;

/// The kinds whose names are completed, unless some are named.
const DEFAULT_KINDS: [&str; 19] = [
    "dataset",
    "dashboard",
    "chart",
    "container",
    "mlModel",
    "mlModelGroup",
    "mlFeatureTable",
    "dataFlow",
    "dataJob",
    "glossaryTerm",
    "tag",
    "corpuser",
    "corpGroup",
    "notebook",
    "dataProduct",
    "domain",
    "businessAttribute",
    "application",
    "structuredProperty",
];

fn kinds_or_default(input: &Input) -> Result<Vec<String>, Error> {
    let named = input.kinds()?;
    Ok(if named.is_empty() {
        DEFAULT_KINDS.map(str::to_owned).to_vec()
    } else {
        named
    })
}

pub(in super::super) async fn auto_complete(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let mut input = Input::of(&arguments)?;
    let kinds = kinds_or_default(&input)?;
    let filter = input.filter()?;
    let limit = whole("limit", input.limit, DEFAULT_LIMIT)?;
    let text = input.query.unwrap_or_default();
    let found = context
        .catalog
        .complete(&context.caller, &kinds, &text, &filter, limit)
        .await?;
    Ok(json!({"query": text, "suggestions": found.suggestions, "entities": found.entities}))
}

pub(in super::super) async fn auto_complete_for_multiple(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let mut input = Input::of(&arguments)?;
    let kinds = kinds_or_default(&input)?;
    let filter = input.filter()?;
    let limit = whole("limit", input.limit, DEFAULT_LIMIT)?;
    let text = input.query.unwrap_or_default();
    let (text, filter) = (&text, &filter);
    let found = try_join_all(kinds.iter().map(|kind| async move {
        let one = std::slice::from_ref(kind);
        let found = context
            .catalog
            .complete(&context.caller, one, text, filter, limit)
            .await?;
        Ok::<_, Error>((kind, found))
    }))
    .await?;
    let suggestions: Vec<Value> = found
        .into_iter()
        .filter(|(_, found)| !found.suggestions.is_empty())
        .map(|(kind, found)| {
            json!({
                "type": kinds::in_schema(kind),
                "suggestions": found.suggestions,
                "entities": found.entities,
            })
        })
        .collect();
    Ok(json!({"query": text, "suggestions": suggestions}))
}
