//! The ancestors of domains, containers, glossary nodes, data products, documents and metrics.

use docent_catalog::{AspectKey, Error, ReadRequest};
use docent_model::{AspectName, Registry, Urn};
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

/// Longer chains are truncated; no real hierarchy is as deep.
const MAX_DEPTH: usize = 50;

pub(super) async fn parent_domains(
    context: &Context,
    entities: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let urns = EntityView::urns(entities);
    let chains = context.catalog.domain_ancestors(&urns).await?;
    Ok(counted(chains, "domains"))
}

pub(super) async fn parent_containers(
    context: &Context,
    entities: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let step = |_: &Urn| Some((AspectName::CONTAINER, "/container"));
    let chains = climb(context, entities, step).await?;
    Ok(counted(chains, "containers"))
}

pub(super) async fn parent_nodes(
    context: &Context,
    entities: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let step = |urn: &Urn| {
        let aspect = match urn.entity_type() {
            "glossaryTerm" => "glossaryTermInfo",
            _ => "glossaryNodeInfo",
        };
        Some((Registry::get().aspect(aspect)?, "/parentNode"))
    };
    let chains = climb(context, entities, step).await?;
    Ok(counted(chains, "nodes"))
}

/// The data products above others, nearest first.
pub(super) async fn parent_data_products(
    context: &Context,
    entities: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let step = |_: &Urn| Some((AspectName::DATA_PRODUCT_PROPERTIES, "/parentDataProduct"));
    let chains = climb(context, entities, step).await?;
    Ok(chains.into_iter().map(|chain| Ok(json!(chain))).collect())
}

pub(super) async fn parent_documents(
    context: &Context,
    entities: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let step = |_: &Urn| Some((AspectName::DOCUMENT_INFO, "/parentDocument/document"));
    let chains = climb(context, entities, step).await?;
    Ok(counted(chains, "documents"))
}

pub(super) async fn parent_metrics(
    context: &Context,
    entities: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let step = |_: &Urn| Some((AspectName::METRIC_RELATIONSHIPS, "/parentMetric"));
    let chains = climb(context, entities, step).await?;
    Ok(chains.into_iter().map(|chain| Ok(json!(chain))).collect())
}

/// The reply for chains that come with their lengths; `name` is the list in it.
fn counted(chains: Vec<Vec<Urn>>, name: &str) -> Vec<Result<Value, Error>> {
    let reply = |chain: Vec<Urn>| Ok(json!({"count": chain.len(), name: chain}));
    chains.into_iter().map(reply).collect()
}

/// Follows a member of an aspect to the ancestors of all entities: one read per step, not per
/// entity.
async fn climb(
    context: &Context,
    entities: &[EntityView<'_>],
    step: impl Fn(&Urn) -> Option<(AspectName, &'static str)>,
) -> Result<Vec<Vec<Urn>>, Error> {
    let mut chains: Vec<Vec<Urn>> = vec![Vec::new(); entities.len()];
    let mut climbing: Vec<(usize, Urn)> = entities
        .iter()
        .enumerate()
        .map(|(index, entity)| (index, entity.urn().clone()))
        .collect();
    for _ in 0..MAX_DEPTH {
        climbing.retain(|(_, urn)| step(urn).is_some());
        let keys: Vec<AspectKey> = climbing
            .iter()
            .filter_map(|(_, urn)| Some(AspectKey::new(urn, step(urn)?.0)))
            .collect();
        if keys.is_empty() {
            break;
        }
        let rows = context.catalog.read(ReadRequest::rows(&keys)).await?.rows;
        climbing = climbing
            .into_iter()
            .zip(rows)
            .filter_map(|((index, urn), row)| {
                let value: Value = serde_json::from_str(&row?.metadata).ok()?;
                let parent = Urn::parse(value.pointer(step(&urn)?.1)?.as_str()?).ok()?;
                // A cycle ends the chain.
                if parent == *entities[index].urn() || chains[index].contains(&parent) {
                    return None;
                }
                chains[index].push(parent.clone());
                Some((index, parent))
            })
            .collect();
    }
    // A chain ends before a parent that the caller may not see.
    let hidden = context.catalog.hidden_among(chains.iter().flatten());
    let hidden = hidden.await?;
    for chain in &mut chains {
        let end = chain.iter().position(|urn| hidden.contains(urn));
        chain.truncate(end.unwrap_or(chain.len()));
    }
    Ok(chains)
}
