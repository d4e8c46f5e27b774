//! Searches: converts the input to a request of the catalog (`input`) and its result to the reply.
//! Facets and matches are computed only if they are selected.
//!
//! To add a search, add a function here or in the module of its noun that reads [`SearchInput`] and
//! calls [`results`].

mod analytics;
pub(super) mod browse;
pub(super) mod complete;
mod counts;
pub(super) mod documents;
pub(super) mod ingestion;
pub(super) mod input;
pub(super) mod lists;
pub(super) mod members;
pub(super) mod products;

use docent_catalog::Error;
use docent_catalog::search::{
    Criterion, DescriptionCounts, ENTITY_TYPE, Facet, FacetValue, Facets, FieldMatch, Hit,
    PAIR_SEPARATOR, SearchPage, SearchResults, page, scroll_page,
};
use docent_model::Registry;
use serde_json::{Value, json};

use self::input::SearchInput;
use crate::entity_types;
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    analytics::register(resolvers)
        .query("listQueries", lists::queries)
        .query("listOwnershipTypes", lists::ownership_types)
        .query("listBusinessAttributes", lists::business_attributes)
        .query("listTests", lists::tests)
        .query("listIngestionSources", ingestion::sources)
        .query("listExecutionRequests", ingestion::execution_requests)
        .query("listPolicies", lists::policies)
        .query("listRoles", lists::roles)
        .query("listSecrets", lists::secrets)
        .query("listPosts", lists::posts)
        .query("listMyViews", lists::my_views)
        .query("listGlobalViews", lists::global_views)
        .query("listGroups", lists::groups)
        .query("listUsers", lists::users)
        .query("searchUsers", counts::search_users)
        .query("getEntityCounts", counts::entity_counts)
        .query("search", search)
        .query("searchAcrossEntities", search_across_entities)
        .query("scrollAcrossEntities", scroll_across_entities)
        .query("aggregateAcrossEntities", aggregate_across_entities)
        .query("autoComplete", complete::auto_complete)
        .query(
            "autoCompleteForMultiple",
            complete::auto_complete_for_multiple,
        )
        .query("browse", browse::browse)
        .query("browsePaths", browse::browse_paths)
        .query("browseV2", browse::browse_v2)
        .query("getQuickFilters", browse::get_quick_filters)
        .query("searchDocuments", documents::search_documents)
        .query("documentationCoverage", documentation_coverage)
        .entity_field("domainEntities", members::domain_entities)
        .entity_field("executions", members::executions)
        .entity_field(
            "latestSuccessfulExecution",
            ingestion::latest_successful_executions,
        )
        .entity_field("datasetRuns", members::dataset_runs)
        .entity_field("jobRuns", members::job_runs)
        .entity_field("containerEntities", members::container_entities)
        .entity_field("siblingsSearch", members::siblings)
        .entity_field("versionsSearch", members::versions)
        .entity_field("childMetrics", members::child_metrics)
        .entity_field("modelMetrics", members::model_metrics)
        .entity_field("relatedDocuments", documents::related_documents)
}

const DEFAULT_COUNT: usize = 10;

pub(super) async fn search(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    search_across_entities(context, arguments).await
}

pub(super) async fn search_across_entities(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    search_where(
        context,
        &arguments,
        SearchInput::of(&arguments)?,
        Vec::new(),
    )
    .await
}

/// Searches the entities that meet conditions besides those of the input.
async fn search_where(
    context: &Context,
    arguments: &Args<'_>,
    mut input: SearchInput,
    conditions: Vec<Criterion>,
) -> Result<Value, Error> {
    let mut request = input.request(context, &[]).await?;
    for condition in conditions {
        request.filter = request.filter.and(condition);
    }
    request.page = page(input.start, input.count, DEFAULT_COUNT)?;
    request.facets = facets(&input, arguments)?;
    request.explain_matches &= arguments.selects(&["searchResults", "matchedFields"]);
    let found = context.catalog.search(&request).await?;
    Ok(results(&request.page, &found))
}

pub(super) async fn scroll_across_entities(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let mut input = SearchInput::of(&arguments)?;
    let mut request = input.request(context, &[]).await?;
    request.page = scroll_page(input.cursor(), input.count, DEFAULT_COUNT)?;
    request.facets = facets(&input, &arguments)?;
    request.explain_matches &= arguments.selects(&["searchResults", "matchedFields"]);
    let found = context.catalog.search(&request).await?;
    Ok(results(&request.page, &found))
}

pub(super) async fn aggregate_across_entities(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let mut input = SearchInput::of(&arguments)?;
    let mut request = input.request(context, &[]).await?;
    request.page = SearchPage::Offset { start: 0, count: 0 };
    request.facets = facets(&input, &arguments)?;
    request.explain_matches = false;
    let found = context.catalog.search(&request).await?;
    Ok(json!({"facets": facet_list(&found.facets)}))
}

pub(super) async fn documentation_coverage(context: &Context, _: Args<'_>) -> Result<Value, Error> {
    let coverage = context.catalog.documentation_coverage().await?;
    let counts = |counts: &DescriptionCounts| {
        json!({
            "datasets": counts.datasets,
            "describedDatasets": counts.described_datasets,
            "columns": counts.columns,
            "describedColumns": counts.described_columns,
        })
    };
    let domains = coverage.domains.iter();
    let domains = domains.map(|(urn, sum)| json!({"domain": urn, "counts": counts(sum)}));
    Ok(json!({
        "all": counts(&coverage.all),
        "domains": domains.collect::<Vec<Value>>(),
        "withoutDomain": counts(&coverage.without_domain),
    }))
}

/// The requested facets, if they are selected.
fn facets(input: &SearchInput, arguments: &Args<'_>) -> Result<Facets, Error> {
    let requested = input.facets()?;
    Ok(if arguments.selects(&["facets"]) {
        requested
    } else {
        Facets::None
    })
}

/// A page of results. `count` is the requested page size, not the number of results.
fn results(page: &SearchPage, found: &SearchResults) -> Value {
    let hits: Vec<Value> = found.hits.iter().map(hit).collect();
    let (start, count) = match page {
        SearchPage::Offset { start, count } => (*start, *count),
        SearchPage::Cursor { count, .. } => (0, *count),
    };
    json!({
        "start": start,
        "count": count,
        "total": found.total,
        "searchResults": hits,
        "facets": facet_list(&found.facets),
        "suggestions": [],
        "nextScrollId": found.next,
    })
}

fn hit(hit: &Hit) -> Value {
    json!({"entity": hit.urn, "matchedFields": matched_fields(hit), "extraProperties": []})
}

/// The matched fields of a hit, as `MatchedField`.
pub(super) fn matched_fields(hit: &Hit) -> Vec<Value> {
    hit.matched
        .iter()
        .map(|matched| {
            json!({
                "name": matched.field,
                "value": matched.value,
                "entity": urn(&matched.value),
                "columns": matched.columns,
                "pieces": split_at_matches(matched),
            })
        })
        .collect()
}

/// Splits the value at the matches, so that clients can highlight them without parsing markup.
fn split_at_matches(matched: &FieldMatch) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut end = 0;
    let mut push = |range: std::ops::Range<usize>, is_match: bool| {
        if let Some(text) = matched.value.get(range).filter(|text| !text.is_empty()) {
            parts.push(json!({"text": text, "matched": is_match}));
        }
    };
    for range in &matched.ranges {
        push(end..range.start, false);
        push(range.clone(), true);
        end = range.end;
    }
    push(end..matched.value.len(), false);
    parts
}

/// The facets, with the types of entities by their former name as well: parts of DataHub's page
/// look for that one alone.
fn facet_list(facets: &[Facet]) -> Vec<Value> {
    let mut list: Vec<Value> = facets.iter().map(facet).collect();
    let types = list.iter().find(|it| it["field"] == ENTITY_TYPE).cloned();
    list.extend(types.map(|mut types| {
        types["field"] = json!("entity");
        types
    }));
    list
}

pub(super) fn facet(facet: &Facet) -> Value {
    let value = |counted: &FacetValue| {
        let last = counted.value.rsplit(PAIR_SEPARATOR).next();
        json!({
            "value": entity_types::facet_value(&facet.field, &counted.value),
            "count": counted.count,
            "entity": last.and_then(urn),
        })
    };
    json!({
        "field": facet.field,
        "displayName": facet.label,
        "aggregations": facet.values.iter().map(value).collect::<Vec<Value>>(),
    })
}

/// The text, if it is a URN.
fn urn(text: &str) -> Option<&str> {
    let is_urn = text.starts_with("urn:li:") && Registry::get().parse_urn(text).is_ok();
    is_urn.then_some(text)
}
