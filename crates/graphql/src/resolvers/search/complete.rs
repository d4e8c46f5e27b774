//! Autocompletion of names.

use docent_catalog::Error;
use docent_catalog::search::{Completions, Filter, whole};
use futures_util::future::try_join_all;
use serde_json::{Value, json};

use super::input::SearchInput;
use crate::entity_types;
use crate::{Args, Context};

const DEFAULT_LIMIT: usize = 5;

/// The default entity types.
const DEFAULT_TYPES: [&str; 19] = [
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

struct CompletionRequest {
    text: String,
    types: Vec<String>,
    filter: Filter,
    limit: usize,
}

impl CompletionRequest {
    async fn of(context: &Context, arguments: &Args<'_>) -> Result<Self, Error> {
        let mut input = SearchInput::of(arguments)?;
        let request = input.request(context, &DEFAULT_TYPES).await?;
        Ok(Self {
            types: request.types,
            filter: request.filter,
            limit: whole("limit", input.limit, DEFAULT_LIMIT)?,
            text: input.query.unwrap_or_default(),
        })
    }

    /// The names of entities of these types that start with the text.
    async fn complete(&self, context: &Context, types: &[String]) -> Result<Completions, Error> {
        let Self {
            text,
            filter,
            limit,
            ..
        } = self;
        let catalog = &context.catalog;
        catalog.complete(types, text, filter, *limit).await
    }
}

pub(in super::super) async fn auto_complete(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let request = CompletionRequest::of(context, &arguments).await?;
    let found = request.complete(context, &request.types).await?;
    Ok(json!({"query": request.text, "suggestions": found.suggestions, "entities": found.entities}))
}

pub(in super::super) async fn auto_complete_for_multiple(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let request = &CompletionRequest::of(context, &arguments).await?;
    let found = try_join_all(request.types.iter().map(|entity_type| async move {
        let types = std::slice::from_ref(entity_type);
        let found = request.complete(context, types).await?;
        Ok::<_, Error>((entity_type, found))
    }))
    .await?;
    let suggestions: Vec<Value> = found
        .into_iter()
        .filter(|(_, found)| !found.suggestions.is_empty())
        .map(|(entity_type, found)| {
            json!({
                "type": entity_types::schema_name(entity_type),
                "suggestions": found.suggestions,
                "entities": found.entities,
            })
        })
        .collect();
    Ok(json!({"query": request.text, "suggestions": suggestions}))
}
