//! Who points at an entity, and whom it points at.

use docent_catalog::{Error, Page, Related};
use docent_model::Urn;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

const DEFAULT_COUNT: i64 = 20;
/// As many as DataHub gives when nobody says how many.
const DEFAULT_ASSERTIONS: i64 = 200;
const MAX_COUNT: i64 = 1000;
/// How many edges of one entity are looked through when they are filtered by what stands at their other end.
const MAX_FILTERED: usize = 10_000;
/// Of how many entities at once, so that not more than some hundred thousand edges are in memory.
const FILTERED_ENTITIES: usize = 32;
/// How many edges the pages of all entities of a level may have together.
const MAX_TOTAL: usize = 200_000;

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
    /// Where the page starts, and how long it may be.
    fn window(&self) -> (usize, usize) {
        let start = self.start.unwrap_or(0).max(0) as usize;
        let count = self.count.unwrap_or(DEFAULT_COUNT).clamp(0, MAX_COUNT) as usize;
        (start, count)
    }

    /// Whether it matters what stands at the other end.
    fn is_filtered(&self) -> bool {
        self.include_soft_delete == Some(false) || self.wanted_types().is_some()
    }

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
    let pages = pages(context, entities, &input).await?;
    Ok(pages
        .into_iter()
        .map(|page| Ok(reply(&page, &input)))
        .collect())
}

/// What is checked about each entity.
pub(super) async fn assertions(
    context: &Context,
    entities: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let count: Option<i64> = arguments.member("count")?;
    let removed: Option<bool> = arguments.member("includeSoftDeleted")?;
    let input = Input {
        types: vec!["Asserts".to_owned()],
        direction: "INCOMING".to_owned(),
        start: arguments.member("start")?,
        count: Some(count.unwrap_or(DEFAULT_ASSERTIONS)),
        include_soft_delete: Some(removed.unwrap_or(false)),
        related_entity_types: Some(vec!["assertion".to_owned()]),
    };
    let pages = pages(context, entities, &input).await?;
    let reply = |page: Page<Related>| {
        let urns = page.items.iter().map(|related| &related.urn);
        let urns: Vec<&Urn> = urns.collect();
        json!({"start": input.window().0, "count": urns.len(), "total": page.total, "assertions": urns})
    };
    Ok(pages.into_iter().map(|page| Ok(reply(page))).collect())
}

async fn pages(
    context: &Context,
    entities: &[EntityView<'_>],
    input: &Input,
) -> Result<Vec<Page<Related>>, Error> {
    let (start, count) = input.window();
    if entities.len().saturating_mul(count) > MAX_TOTAL {
        return Err(Error::invalid(format!(
            "{count} relationships of each of {} entities are too many at once, at most {MAX_TOTAL} are given: \
             make count smaller or ask for fewer entities",
            entities.len()
        )));
    }
    let urns: Vec<Urn> = entities.iter().map(|entity| entity.urn().clone()).collect();
    if input.is_filtered() {
        filtered(context, &urns, input).await
    } else {
        list(context, &urns, input, start, count).await
    }
}

async fn list(
    context: &Context,
    urns: &[Urn],
    input: &Input,
    start: usize,
    count: usize,
) -> Result<Vec<Page<Related>>, Error> {
    let Context { catalog, caller } = context;
    let types: Vec<&str> = input.types.iter().map(String::as_str).collect();
    let outgoing = input.direction == "OUTGOING";
    catalog
        .relationships(caller, urns, outgoing, &types, start, count)
        .await
}

/// Pages of the edges whose other end is wanted. All edges are looked through, so only some entities are taken at
/// a time.
async fn filtered(
    context: &Context,
    urns: &[Urn],
    input: &Input,
) -> Result<Vec<Page<Related>>, Error> {
    let (start, count) = input.window();
    let mut pages = Vec::with_capacity(urns.len());
    for urns in urns.chunks(FILTERED_ENTITIES) {
        let all = list(context, urns, input, 0, MAX_FILTERED).await?;
        for kept in keep(context, all, input).await? {
            pages.push(Page {
                total: kept.len(),
                items: kept.into_iter().skip(start).take(count).collect(),
            });
        }
    }
    Ok(pages)
}

/// The edges of each page whose other end is of a wanted type and, if asked for, not soft-deleted.
async fn keep(
    context: &Context,
    pages: Vec<Page<Related>>,
    input: &Input,
) -> Result<Vec<Vec<Related>>, Error> {
    let mut lists: Vec<Vec<Related>> = pages.into_iter().map(|page| page.items).collect();
    if let Some(types) = input.wanted_types() {
        for edges in &mut lists {
            edges.retain(|edge| types.iter().any(|name| name == edge.urn.entity_type()));
        }
    }
    if input.include_soft_delete == Some(false) {
        let ends = lists.iter().flatten().map(|edge| &edge.urn);
        let removed = context.catalog.soft_deleted(&context.caller, ends).await?;
        for edges in &mut lists {
            edges.retain(|edge| !removed.contains(&edge.urn));
        }
    }
    Ok(lists)
}

fn reply(page: &Page<Related>, input: &Input) -> Value {
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
    json!({
        "start": input.window().0,
        "count": relationships.len(),
        "total": page.total,
        "relationships": relationships,
    })
}
