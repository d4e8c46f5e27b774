//! `POST /openapi/v3/entity/scroll` and `GET /openapi/v3/entity/{type}`: scrolls through entities
//! with their aspects, by default in the order of their URNs.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::response::Response;
use docent_catalog::search::{
    MAX_COUNT, MAX_SCROLL_COUNT, SearchPage, SearchRequest, Sort, scroll_page,
};
use docent_catalog::{AspectKey, AspectRow, EntityAspects, ReadRequest};
use docent_model::{AspectName, Registry, Urn};
use serde::{Deserialize, Serialize};

use super::address;
use super::slice::Slice;
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::error::ErrorResponse;
use crate::filter::WireFilter;
use crate::query::{Parameters, Path};
use crate::reply_budget::{AspectReply, READ_CHUNK, ReplyBudget};
use crate::wire::{parse_aspect, parse_optional};

const DEFAULT_COUNT: usize = 10;

#[derive(Deserialize, Default)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with entities, aspects and filter"
)]
struct ScrollInput {
    entities: Option<Vec<String>>,
    aspects: Option<Vec<String>>,
    filter: Option<WireFilter>,
    sort_criteria: Option<Vec<WireSort>>,
}

#[derive(Deserialize)]
#[serde(expecting = "a sort criterion with field and order")]
struct WireSort {
    field: String,
    order: Option<String>,
}

impl WireSort {
    fn read(self) -> Result<Sort, ErrorResponse> {
        let descending = match self.order.as_deref() {
            None | Some("ASCENDING") => false,
            Some("DESCENDING") => true,
            Some(order) => {
                return Err(ErrorResponse::bad_request(format!(
                    "sortCriteria has the order {order} for {}: use ASCENDING or DESCENDING",
                    self.field,
                )));
            }
        };
        Ok(Sort {
            field: self.field,
            descending,
        })
    }
}

/// The requested order. A scroll is ordered by URN anyway, and URNs are unique, so criteria after
/// `urn` are dropped.
fn sort(criteria: Vec<WireSort>) -> Result<Vec<Sort>, ErrorResponse> {
    let read = criteria.into_iter().map(WireSort::read);
    let mut sort = read.collect::<Result<Vec<Sort>, ErrorResponse>>()?;
    let by_urn = sort
        .iter()
        .position(|it| it.field == "urn" && !it.descending);
    sort.truncate(by_urn.unwrap_or(sort.len()));
    Ok(sort)
}

/// The aspects in the reply.
pub(super) enum AspectSelection {
    None,
    All,
    These(Vec<AspectName>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reply<'a> {
    entities: Vec<EntityReply<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scroll_id: Option<String>,
    facets: Vec<Facet<'a>>,
    total_count: usize,
}

/// How many entities of the page have each type.
#[derive(Serialize)]
struct Facet<'a> {
    field: &'static str,
    aggregations: BTreeMap<&'a str, usize>,
}

#[derive(Serialize)]
pub(super) struct EntityReply<'a> {
    pub(super) urn: &'a Urn,
    #[serde(flatten)]
    pub(super) aspects: BTreeMap<&'static str, AspectReply>,
}

/// Entities of any types. Without `aspects` only their URNs, with an empty list all aspects.
pub(crate) async fn scroll(
    Authenticated { state, .. }: Authenticated,
    parameters: Parameters,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let input: ScrollInput = parse_optional(&bytes).await?;
    let types = input.entities.filter(|types| !types.is_empty());
    let aspects = match input.aspects {
        None => AspectSelection::None,
        Some(names) if names.is_empty() => AspectSelection::All,
        Some(names) => AspectSelection::These(parse_aspects(&names)?),
    };
    let request = SearchRequest {
        // No types means all types here, not only the searchable ones.
        types: types.unwrap_or_else(|| {
            let all = Registry::get().entities();
            all.map(|entity| entity.name.to_owned()).collect()
        }),
        filter: input.filter.unwrap_or_default().read()?,
        sort: sort(input.sort_criteria.unwrap_or_default())?,
        ..SearchRequest::default()
    };
    page(&state, &parameters, request, &aspects, types_of_page).await
}

/// Entities of one type, with all aspects or those in the query.
pub(crate) async fn list(
    Authenticated { state, .. }: Authenticated,
    Path(entity_type): Path,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let spec = address::entity_type(&entity_type)?;
    let names = parameters.all("aspects");
    let aspects = if names.is_empty() {
        AspectSelection::All
    } else {
        AspectSelection::These(parse_aspects(&names)?)
    };
    let request = SearchRequest {
        types: vec![spec.name.to_owned()],
        ..SearchRequest::default()
    };
    page(&state, &parameters, request, &aspects, |_| Vec::new()).await
}

/// The facet that DataHub has without aggregations.
fn types_of_page(urns: &[Urn]) -> Vec<Facet<'_>> {
    if urns.is_empty() {
        return Vec::new();
    }
    let mut aggregations = BTreeMap::new();
    for urn in urns {
        *aggregations.entry(urn.entity_type()).or_default() += 1;
    }
    let field = "entity";
    vec![Facet {
        field,
        aggregations,
    }]
}

pub(super) fn parse_aspects(names: &[String]) -> Result<Vec<AspectName>, ErrorResponse> {
    names.iter().map(|name| Ok(parse_aspect(name)?)).collect()
}

async fn page(
    state: &AppState,
    parameters: &Parameters,
    mut request: SearchRequest,
    aspects: &AspectSelection,
    facets: fn(&[Urn]) -> Vec<Facet<'_>>,
) -> Result<Response, ErrorResponse> {
    let slice = Slice::read(parameters)?;
    request.query = parameters.get("query").unwrap_or("*").to_owned();
    request.include_removed = parameters.flag("includeSoftDelete")?;
    // Clients export the catalog with it, and could not request the rest.
    request.include_hidden_stages = true;
    request.include_older_versions = true;
    let cursor = parameters.get("scrollId").filter(|text| !text.is_empty());
    request.page = scroll_page(
        cursor.map(str::to_owned),
        parameters.number("count")?,
        DEFAULT_COUNT,
    )?;
    if let SearchPage::Cursor { count, .. } = &mut request.page {
        // As in DataHub, larger pages are cut: the scroll id leads to the rest.
        *count = (*count).min(match aspects {
            AspectSelection::None => MAX_SCROLL_COUNT,
            _ => MAX_COUNT,
        });
    }
    let found = state.catalog().search(&request).await?;
    let mut urns: Vec<Urn> = found.hits.into_iter().map(|hit| hit.urn).collect();
    urns.retain(|urn| slice.contains(urn));
    let with_system_metadata = parameters.flag("systemMetadata")?;
    let mut budget = ReplyBudget::new(state.reply_memory());
    let mut entities = Vec::with_capacity(urns.len());
    for urns in urns.chunks(READ_CHUNK) {
        let rows = read(state, urns, aspects, &mut budget).await?;
        let build = |budget: &mut ReplyBudget<'_>| {
            for (urn, rows) in urns.iter().zip(rows) {
                let aspects = budget.aspects(rows, with_system_metadata)?;
                entities.push(EntityReply { urn, aspects });
            }
            Ok::<_, ErrorResponse>(())
        };
        budget.build(build).await?;
    }
    let reply = Reply {
        entities,
        scroll_id: found.next,
        facets: facets(&urns),
        total_count: found.total,
    };
    budget.build(|budget| budget.reply(&reply)).await
}

/// The selected aspects of each entity, in one read.
pub(super) async fn read(
    state: &AppState,
    urns: &[Urn],
    aspects: &AspectSelection,
    budget: &mut ReplyBudget<'_>,
) -> Result<Vec<EntityAspects>, ErrorResponse> {
    let catalog = state.catalog();
    match aspects {
        AspectSelection::None => Ok(urns.iter().map(|_| Vec::new()).collect()),
        AspectSelection::All => {
            let request = ReadRequest::entities(urns);
            Ok(budget.read(catalog, request).await?.entities)
        }
        AspectSelection::These(names) => {
            let keys = aspect_keys(urns, names);
            let rows = budget.read_current(catalog, &keys).await?;
            Ok(by_entity(rows, names))
        }
    }
}

/// The keys of the same aspects of each entity.
pub(super) fn aspect_keys(urns: &[Urn], names: &[AspectName]) -> Vec<AspectKey> {
    urns.iter()
        .flat_map(|urn| names.iter().map(|name| AspectKey::new(urn, *name)))
        .collect()
}

/// The rows of [`aspect_keys`], by entity.
pub(super) fn by_entity(rows: Vec<AspectRow>, names: &[AspectName]) -> Vec<EntityAspects> {
    let mut entities = Vec::with_capacity(rows.len() / names.len().max(1));
    let mut rows = rows.into_iter();
    while rows.len() > 0 {
        let of_entity = names.iter().zip(rows.by_ref());
        let found = of_entity
            .filter_map(|(name, row)| Some((*name, Arc::unwrap_or_clone(row?))))
            .collect();
        entities.push(found);
    }
    entities
}
