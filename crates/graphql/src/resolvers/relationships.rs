//! Who points at an entity, and whom it points at.

use docent_catalog::{AspectKey, Error, Page, Related, StoredAspect};
use docent_model::{AspectName, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

const DEFAULT_COUNT: i64 = 20;
const MAX_COUNT: i64 = 1000;
/// How many edges of one entity are looked through when they are filtered by what stands at their other end.
const MAX_FILTERED: usize = 10_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    types: Vec<String>,
    direction: String,
    start: Option<i64>,
    count: Option<i64>,
    include_soft_delete: Option<bool>,
    related_entity_types: Option<Vec<String>>,
}

impl Input {
    /// The entity types that the other end may have; none named means any.
    fn wanted_types(&self) -> Option<&[String]> {
        self.related_entity_types
            .as_deref()
            .filter(|types| !types.is_empty())
    }
}

pub(super) async fn relationships(
    context: &Context,
    entities: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let input: Input = arguments.input()?;
    let mut replies = Vec::with_capacity(entities.len());
    for entity in entities {
        replies.push(reply(context, entity.urn(), &input).await);
    }
    Ok(replies)
}

async fn reply(context: &Context, urn: &Urn, input: &Input) -> Result<Value, Error> {
    let start = input.start.unwrap_or(0).max(0) as usize;
    let count = input.count.unwrap_or(DEFAULT_COUNT).clamp(0, MAX_COUNT) as usize;
    let types: Vec<&str> = input.types.iter().map(String::as_str).collect();
    let outgoing = input.direction == "OUTGOING";
    let Context { catalog, caller } = context;
    let filtered = input.include_soft_delete == Some(false) || input.wanted_types().is_some();
    let page = if filtered {
        let all = catalog
            .relationships(caller, urn, outgoing, &types, 0, MAX_FILTERED)
            .await?;
        let kept = keep(context, all.items, input).await?;
        Page {
            total: kept.len(),
            items: kept.into_iter().skip(start).take(count).collect(),
        }
    } else {
        catalog
            .relationships(caller, urn, outgoing, &types, start, count)
            .await?
    };
    let relationships: Vec<Value> = page
        .items
        .iter()
        .map(|related| {
            json!({
                "type": related.relationship,
                "direction": input.direction,
                "entity": related.urn,
            })
        })
        .collect();
    Ok(json!({
        "start": start,
        "count": relationships.len(),
        "total": page.total,
        "relationships": relationships,
    }))
}

/// The edges whose other end is of a wanted type and, if asked for, not soft-deleted.
async fn keep(
    context: &Context,
    mut edges: Vec<Related>,
    input: &Input,
) -> Result<Vec<Related>, Error> {
    if let Some(types) = input.wanted_types() {
        edges.retain(|edge| types.iter().any(|name| name == edge.urn.entity_type()));
    }
    if input.include_soft_delete != Some(false) {
        return Ok(edges);
    }
    let keys: Vec<AspectKey> = edges
        .iter()
        .map(|edge| AspectKey::new(&edge.urn, AspectName::STATUS))
        .collect();
    let rows = context.catalog.read(&context.caller, &keys).await?;
    let removed = |row: &StoredAspect| {
        let status: Value = serde_json::from_str(&row.metadata).unwrap_or_default();
        status["removed"] == true
    };
    Ok(edges
        .into_iter()
        .zip(rows)
        .filter(|(_, row)| !row.as_ref().is_some_and(removed))
        .map(|(edge, _)| edge)
        .collect())
}
