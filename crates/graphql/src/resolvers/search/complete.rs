//! Completing names as they are typed.

use docent_catalog::Error;
use docent_catalog::search::{Completions, Filter, whole};
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

/// What is to be completed.
struct Typed {
    text: String,
    kinds: Vec<String>,
    filter: Filter,
    limit: usize,
}

impl Typed {
    fn of(arguments: &Args<'_>) -> Result<Self, Error> {
        let mut input = Input::of(arguments)?;
        let mut kinds = input.kinds()?;
        if kinds.is_empty() {
            kinds = DEFAULT_KINDS.map(str::to_owned).to_vec();
        }
        Ok(Self {
            kinds,
            filter: input.filter()?,
            limit: whole("limit", input.limit, DEFAULT_LIMIT)?,
            text: input.query.unwrap_or_default(),
        })
    }

    /// The names of these kinds that begin so.
    async fn complete(&self, context: &Context, kinds: &[String]) -> Result<Completions, Error> {
        let Self {
            text,
            filter,
            limit,
            ..
        } = self;
        let catalog = &context.catalog;
        catalog
            .complete(&context.caller, kinds, text, filter, *limit)
            .await
    }
}

pub(in super::super) async fn auto_complete(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let typed = Typed::of(&arguments)?;
    let found = typed.complete(context, &typed.kinds).await?;
    Ok(json!({"query": typed.text, "suggestions": found.suggestions, "entities": found.entities}))
}

pub(in super::super) async fn auto_complete_for_multiple(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let typed = &Typed::of(&arguments)?;
    let found = try_join_all(typed.kinds.iter().map(|kind| async move {
        let found = typed.complete(context, std::slice::from_ref(kind)).await?;
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
    Ok(json!({"query": typed.text, "suggestions": suggestions}))
}
