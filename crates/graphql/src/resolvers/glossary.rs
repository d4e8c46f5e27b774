//! The tree of the glossary.

use docent_catalog::Error;
use docent_catalog::glossary::GlossaryKind;
use serde_json::{Value, json};

use super::queries::Window;
use super::search;
use crate::{Args, BatchResult, Context, EntityView, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .query("getRootGlossaryTerms", root_terms)
        .query("getRootGlossaryNodes", root_nodes)
        .entity_field("glossaryChildrenCount", children_count)
        .entity_field("glossaryChildren", search::members::glossary_children)
}

async fn root_terms(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    roots(context, &arguments, GlossaryKind::Term, "terms").await
}

async fn root_nodes(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    roots(context, &arguments, GlossaryKind::Node, "nodes").await
}

/// A page of the entries without a parent; `name` is the list in the reply.
async fn roots(
    context: &Context,
    arguments: &Args<'_>,
    kind: GlossaryKind,
    name: &str,
) -> Result<Value, Error> {
    let window: Window = arguments.input()?;
    let (start, count) = window.checked()?;
    let page = context.catalog.glossary_roots(kind, start, count).await?;
    Ok(json!({"start": start, "count": page.items.len(), "total": page.total, name: page.items}))
}

async fn children_count(context: &Context, nodes: &[EntityView<'_>], _: Args<'_>) -> BatchResult {
    let counts = context
        .catalog
        .glossary_children_counts(&EntityView::urns(nodes))
        .await?;
    Ok(counts
        .into_iter()
        .map(|count| Ok(json!({"termsCount": count.terms, "nodesCount": count.nodes})))
        .collect())
}
