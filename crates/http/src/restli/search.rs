//! `POST /entities?action=search`, `searchAcrossEntities`, `scrollAcrossEntities`, `autocomplete`
//! and `browse`.

use axum::response::Response;
use docent_catalog::Catalog;
use docent_catalog::search::browse::STEP;
use docent_catalog::search::{
    Facet, Facets, Hit, SearchPage, SearchRequest, Sort, page, scroll_page, whole,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::AppState;
use crate::error::ErrorResponse;
use crate::filter::WireFilter;
use crate::wire::{parse_like, reply};

const DEFAULT_COUNT: usize = 10;
const FACET_VALUES: usize = 20;

/// Which entities a search is for, and in which pages.
#[derive(Clone, Copy)]
pub(super) enum SearchAction {
    /// Of one type.
    OneType,
    /// Of several types, or of those that the web page searches.
    AcrossTypes,
    /// The same, in pages by cursor.
    Scroll,
}

impl SearchAction {
    fn example(self) -> &'static str {
        match self {
            Self::OneType => r#"{"entity": "dataset", "input": "*", "start": 0, "count": 10}"#,
            Self::AcrossTypes => {
                r#"{"entities": ["dataset", "chart"], "input": "*", "start": 0, "count": 10}"#
            }
            Self::Scroll => r#"{"entities": ["dataset", "chart"], "input": "*", "count": 10}"#,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with input")]
struct SearchInput {
    entity: Option<String>,
    entities: Option<Vec<String>>,
    input: Option<String>,
    start: Option<i64>,
    count: Option<i64>,
    scroll_id: Option<String>,
    filter: Option<WireFilter>,
    sort: Option<WireSort>,
    sort_criteria: Option<Vec<WireSort>>,
    search_flags: Option<SearchFlags>,
}

#[derive(Deserialize)]
pub(super) struct WireSort {
    field: String,
    order: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct SearchFlags {
    skip_aggregates: bool,
    skip_highlighting: bool,
    include_soft_deleted: bool,
    include_hidden_lifecycle_stages: Option<bool>,
    filter_non_latest_versions: Option<bool>,
}

pub(super) async fn search(
    state: &AppState,
    action: SearchAction,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let input: SearchInput = parse_like(bytes, action.example()).await?;
    let flags = input.search_flags.unwrap_or_default();
    let types = match action {
        SearchAction::OneType => vec![input.entity.ok_or_else(|| {
            let example = action.example();
            ErrorResponse::bad_request(format!("entity is missing: send for example {example}"))
        })?],
        SearchAction::AcrossTypes | SearchAction::Scroll => input.entities.unwrap_or_default(),
    };
    let page = match action {
        SearchAction::Scroll => scroll_page(input.scroll_id, input.count, DEFAULT_COUNT)?,
        _ => page(input.start, input.count, DEFAULT_COUNT)?,
    };
    let one = || input.sort.into_iter().collect();
    let sort = input.sort_criteria.unwrap_or_else(one).into_iter();
    let request = SearchRequest {
        types,
        query: input.input.unwrap_or_default(),
        filter: input.filter.unwrap_or_default().read()?,
        include_removed: flags.include_soft_deleted,
        include_hidden_stages: flags.include_hidden_lifecycle_stages == Some(true),
        include_older_versions: flags.filter_non_latest_versions == Some(false),
        sort: sort.map(WireSort::read).collect(),
        page,
        facets: if flags.skip_aggregates {
            Facets::None
        } else {
            Facets::Default {
                values: FACET_VALUES,
            }
        },
        explain_matches: !flags.skip_highlighting,
        ..SearchRequest::default()
    };
    let found = state.catalog().search(&request).await?;
    let (start, count) = window(&request.page);
    let mut value = json!({
        "pageSize": count,
        "numEntities": found.total,
        "entities": found.hits.iter().map(hit).collect::<Vec<Value>>(),
        "metadata": {"aggregations": found.facets.iter().map(facet).collect::<Vec<Value>>()},
    });
    match (action, found.next) {
        (SearchAction::Scroll, Some(next)) => value["scrollId"] = json!(next),
        (SearchAction::Scroll, None) => {}
        _ => value["from"] = json!(start),
    }
    Ok(reply(&json!({ "value": value })))
}

impl WireSort {
    pub(super) fn read(self) -> Sort {
        Sort {
            field: self.field,
            descending: self.order.as_deref() == Some("DESCENDING"),
        }
    }
}

fn window(page: &SearchPage) -> (usize, usize) {
    match page {
        SearchPage::Offset { start, count } => (*start, *count),
        SearchPage::Cursor { count, .. } => (0, *count),
    }
}

fn hit(hit: &Hit) -> Value {
    let matched: Vec<Value> = hit
        .matched
        .iter()
        .map(|matched| json!({"name": matched.field, "value": matched.value}))
        .collect();
    json!({"entity": hit.urn, "matchedFields": matched, "score": hit.score})
}

fn facet(facet: &Facet) -> Value {
    let counts: Map<String, Value> = facet
        .values
        .iter()
        .map(|counted| (counted.value.clone(), json!(counted.count)))
        .collect();
    let values: Vec<Value> = facet
        .values
        .iter()
        .map(|counted| json!({"value": counted.value, "facetCount": counted.count}))
        .collect();
    json!({
        "name": facet.field,
        "displayName": facet.label,
        "aggregations": counts,
        "filterValues": values,
    })
}

#[derive(Deserialize)]
#[serde(expecting = "an object with entity and query")]
struct AutocompleteInput {
    entity: String,
    query: String,
    filter: Option<WireFilter>,
    limit: Option<i64>,
}

pub(super) async fn autocomplete(
    state: &AppState,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let completion: AutocompleteInput = parse_like(
        bytes,
        "{\"entity\": \"dataset\", \"query\": \"fct\", \"limit\": 10}",
    )
    .await?;
    let filter = completion.filter.unwrap_or_default().read()?;
    let limit = whole("limit", completion.limit, DEFAULT_COUNT)?;
    let found = state
        .catalog()
        .complete(&[completion.entity], &completion.query, &filter, limit)
        .await?;
    let entities: Vec<Value> = found
        .entities
        .iter()
        .map(|urn| json!({"urn": urn}))
        .collect();
    Ok(reply(&json!({"value": {
        "query": completion.query,
        "suggestions": found.suggestions,
        "entities": entities,
    }})))
}

#[derive(Deserialize)]
#[serde(expecting = "an object with entity and path")]
struct BrowseInput {
    entity: String,
    path: Option<String>,
    filter: Option<WireFilter>,
    start: Option<i64>,
    limit: Option<i64>,
}

/// The groups below a path, and the entities at it.
pub(super) async fn browse(state: &AppState, bytes: &[u8]) -> Result<Response, ErrorResponse> {
    let browse: BrowseInput = parse_like(
        bytes,
        "{\"entity\": \"dataset\", \"path\": \"/prod/hive\", \"start\": 0, \"limit\": 10}",
    )
    .await?;
    let text = browse.path.unwrap_or_default();
    let steps: Vec<String> = text
        .split(if text.contains(STEP) { STEP } else { '/' })
        .filter(|step| !step.is_empty())
        .map(str::to_owned)
        .collect();
    let mut request = SearchRequest {
        types: vec![browse.entity],
        filter: browse.filter.unwrap_or_default().read()?,
        page: page(browse.start, browse.limit, DEFAULT_COUNT)?,
        ..SearchRequest::default()
    };
    let (start, count) = window(&request.page);
    let below = state.catalog().browse_older(&steps, &request).await?;
    let groups: Vec<Value> = below
        .groups
        .iter()
        .map(|group| json!({"name": group.name, "count": group.entities}))
        .collect();
    let mut entities = Vec::new();
    let mut total = 0;
    if !steps.is_empty() {
        request.filter = Catalog::at_older_path(request.filter, &steps)?;
        let found = state.catalog().search(&request).await?;
        total = found.total;
        entities = found
            .hits
            .iter()
            .map(|hit| json!({"name": hit.urn, "urn": hit.urn}))
            .collect();
    }
    Ok(reply(&json!({"value": {
        "from": start,
        "pageSize": count,
        "numEntities": total,
        "numGroups": groups.len(),
        "numElements": total + groups.len(),
        "entities": entities,
        "metadata": {
            "path": text,
            "totalNumEntities": below.entities + total as u64,
            "groups": groups,
        },
    }})))
}
