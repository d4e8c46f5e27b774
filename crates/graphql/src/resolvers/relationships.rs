//! Relationships of entities, and assertions about them.

use docent_catalog::{Error, ListPage, RelatedEntity};
use docent_model::Urn;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

const DEFAULT_COUNT: i64 = 20;
/// DataHub's default.
const DEFAULT_ASSERTIONS: i64 = 200;
const MAX_COUNT: i64 = 1000;
/// Limit on the edges of one entity that are read when they are filtered by the related entity.
const MAX_FILTERED: usize = 10_000;
/// The entities per read of filtered edges; bounds the edges in memory to a few hundred thousand.
const FILTERED_ENTITIES: usize = 32;
/// Limit on the edges in the pages of all entities of a level.
const MAX_TOTAL: usize = 200_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RelationshipsInput {
    types: Vec<String>,
    direction: String,
    start: Option<i64>,
    count: Option<i64>,
    include_soft_delete: Option<bool>,
    related_entity_types: Option<Vec<String>>,
}

impl RelationshipsInput {
    /// The start and the maximum length of the page.
    fn window(&self) -> (usize, usize) {
        let or_zero = |number: i64| usize::try_from(number).unwrap_or(0);
        let count = self.count.unwrap_or(DEFAULT_COUNT).min(MAX_COUNT);
        (or_zero(self.start.unwrap_or(0)), or_zero(count))
    }

    /// Whether edges are filtered by the related entity.
    fn is_filtered(&self) -> bool {
        self.include_soft_delete == Some(false) || self.entity_types().is_some()
    }

    /// The entity types of related entities; `None` means all.
    fn entity_types(&self) -> Option<&[String]> {
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
    let input: RelationshipsInput = arguments.input()?;
    let pages = pages(context, entities, &input).await?;
    Ok(pages
        .into_iter()
        .map(|page| Ok(reply(&page, &input)))
        .collect())
}

/// The assertions about each entity.
pub(super) async fn assertions(
    context: &Context,
    entities: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let count: Option<i64> = arguments.member("count")?;
    let include_removed: Option<bool> = arguments.member("includeSoftDeleted")?;
    let input = RelationshipsInput {
        types: vec!["Asserts".to_owned()],
        direction: "INCOMING".to_owned(),
        start: arguments.member("start")?,
        count: Some(count.unwrap_or(DEFAULT_ASSERTIONS)),
        include_soft_delete: Some(include_removed.unwrap_or(false)),
        related_entity_types: Some(vec!["assertion".to_owned()]),
    };
    let pages = pages(context, entities, &input).await?;
    let reply = |page: ListPage<RelatedEntity>| {
        let urns = page.items.iter().map(|related| &related.urn);
        let urns: Vec<&Urn> = urns.collect();
        json!({"start": input.window().0, "count": urns.len(), "total": page.total, "assertions": urns})
    };
    Ok(pages.into_iter().map(|page| Ok(reply(page))).collect())
}

/// The tasks of each pipeline, in the legacy form of relationships.
pub(super) async fn flow_jobs(
    context: &Context,
    flows: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let input = RelationshipsInput {
        types: vec!["IsPartOf".to_owned()],
        direction: "INCOMING".to_owned(),
        start: None,
        count: Some(MAX_COUNT),
        include_soft_delete: Some(false),
        related_entity_types: Some(vec!["dataJob".to_owned()]),
    };
    let pages = pages(context, flows, &input).await?;
    let reply = |page: ListPage<RelatedEntity>| {
        let jobs = page
            .items
            .iter()
            .map(|related| json!({"entity": related.urn}));
        json!({"entities": jobs.collect::<Vec<Value>>()})
    };
    Ok(pages.into_iter().map(|page| Ok(reply(page))).collect())
}

async fn pages(
    context: &Context,
    entities: &[EntityView<'_>],
    input: &RelationshipsInput,
) -> Result<Vec<ListPage<RelatedEntity>>, Error> {
    let (start, count) = input.window();
    if entities.len().saturating_mul(count) > MAX_TOTAL {
        return Err(Error::invalid(format!(
            "{count} relationships of each of {} entities are too many, at most {MAX_TOTAL} are allowed in total: \
             reduce count or the number of entities",
            entities.len()
        )));
    }
    let urns = EntityView::urns(entities);
    if input.is_filtered() {
        filtered(context, &urns, input).await
    } else {
        list(context, &urns, input, start, count).await
    }
}

async fn list(
    context: &Context,
    urns: &[Urn],
    input: &RelationshipsInput,
    start: usize,
    count: usize,
) -> Result<Vec<ListPage<RelatedEntity>>, Error> {
    let types: Vec<&str> = input.types.iter().map(String::as_str).collect();
    let outgoing = input.direction == "OUTGOING";
    context
        .catalog
        .relationships(urns, outgoing, &types, start, count)
        .await
}

/// Pages of filtered edges. All edges are read, so entities are processed in chunks.
async fn filtered(
    context: &Context,
    urns: &[Urn],
    input: &RelationshipsInput,
) -> Result<Vec<ListPage<RelatedEntity>>, Error> {
    let (start, count) = input.window();
    let mut pages = Vec::with_capacity(urns.len());
    for urns in urns.chunks(FILTERED_ENTITIES) {
        let all = list(context, urns, input, 0, MAX_FILTERED).await?;
        for edges in filter(context, all, input).await? {
            pages.push(ListPage {
                total: edges.len(),
                items: edges.into_iter().skip(start).take(count).collect(),
            });
        }
    }
    Ok(pages)
}

/// The edges of each page whose related entity has a requested type and, on request, is not
/// soft-deleted.
async fn filter(
    context: &Context,
    pages: Vec<ListPage<RelatedEntity>>,
    input: &RelationshipsInput,
) -> Result<Vec<Vec<RelatedEntity>>, Error> {
    let mut lists: Vec<Vec<RelatedEntity>> = pages.into_iter().map(|page| page.items).collect();
    if let Some(types) = input.entity_types() {
        for edges in &mut lists {
            edges.retain(|edge| types.iter().any(|name| name == edge.urn.entity_type()));
        }
    }
    if input.include_soft_delete == Some(false) {
        let related = lists.iter().flatten().map(|edge| &edge.urn);
        let removed = context.catalog.soft_deleted(related).await?;
        for edges in &mut lists {
            edges.retain(|edge| !removed.contains(&edge.urn));
        }
    }
    Ok(lists)
}

fn reply(page: &ListPage<RelatedEntity>, input: &RelationshipsInput) -> Value {
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
