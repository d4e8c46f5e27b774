//! Metrics and semantic models.

use docent_catalog::{Error, ListPage};
use docent_model::Urn;
use serde_json::{Value, json};

use super::queries::QueryWindow;
use super::search;
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .query("getRootMetrics", get_root_metrics)
        .query("getSemanticModels", get_semantic_models)
        .entity_field("modelEntities", search::members::model_entities)
}

async fn get_root_metrics(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: QueryWindow = arguments.input()?;
    let (start, count) = input.window.checked()?;
    let catalog = &context.catalog;
    let page = catalog.root_metrics(input.query(), start, count).await?;
    Ok(listed((start, count), &page, "metrics"))
}

async fn get_semantic_models(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: QueryWindow = arguments.input()?;
    let (start, count) = input.window.checked()?;
    let catalog = &context.catalog;
    let page = catalog.semantic_models(input.query(), start, count).await?;
    Ok(listed((start, count), &page, "semanticModels"))
}

fn listed((start, count): (usize, usize), page: &ListPage<Urn>, name: &str) -> Value {
    json!({"start": start, "count": count, "total": page.total, name: page.items})
}
