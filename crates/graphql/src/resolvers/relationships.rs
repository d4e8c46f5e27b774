//! Who points at an entity, and whom it points at.

use docent_catalog::{Caller, Catalog, Error};
use docent_model::Urn;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

const DEFAULT_COUNT: i64 = 20;
const MAX_COUNT: i64 = 1000;

#[derive(Deserialize)]
struct Input {
    types: Vec<String>,
    direction: String,
    start: Option<i64>,
    count: Option<i64>,
}

pub(super) async fn relationships(
    context: &Context,
    entities: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let input: Input = arguments.input()?;
    let mut replies = Vec::with_capacity(entities.len());
    for entity in entities {
        replies.push(page(&context.catalog, &context.caller, entity.urn(), &input).await);
    }
    Ok(replies)
}

async fn page(
    catalog: &Catalog,
    caller: &Caller,
    urn: &Urn,
    input: &Input,
) -> Result<Value, Error> {
    let start = input.start.unwrap_or(0).max(0);
    let count = input.count.unwrap_or(DEFAULT_COUNT).clamp(0, MAX_COUNT);
    let types: Vec<&str> = input.types.iter().map(String::as_str).collect();
    let outgoing = input.direction == "OUTGOING";
    let page = catalog
        .relationships(caller, urn, outgoing, &types, start as usize, count as usize)
        .await?;
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
