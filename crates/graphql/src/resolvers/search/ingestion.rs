//! Lists of ingestion sources and of requests to run them.

use std::collections::BTreeMap;

use docent_catalog::ingestion_sources::{REQUEST, SOURCE};
use docent_catalog::search::{Criterion, Filter, Hit, SearchPage, SearchRequest, Sort, criterion};
use docent_catalog::{AspectKey, Error, ReadRequest};
use docent_model::AspectName;
use serde_json::{Value, json};

use super::input::SearchInput;
use super::lists;
use crate::{Args, BatchResult, Context, EntityView};

/// The field of a request with its source.
const OF_SOURCE: &str = "ingestionSource";
/// The most sources that are counted by type, or whose requests are told apart.
const MAX_SOURCES: usize = 1_000;

/// Sources by name, with a facet of their types.
pub(in super::super) async fn sources(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let mut input = SearchInput::of(&arguments)?;
    let order = lists::by_name();
    let mut request = lists::request(context, &mut input, SOURCE, Vec::new(), order).await?;
    let found = context.catalog.search(&request).await?;
    let mut reply = lists::urn_page(&request.page, &found, "ingestionSources");
    if arguments.selects(&["facets"]) {
        request.page = SearchPage::Offset {
            start: 0,
            count: MAX_SOURCES,
        };
        reply["facets"] = json!([type_facet(context, &request).await?]);
    }
    Ok(reply)
}

/// How many of the sources have each type. The index has no facet of it.
async fn type_facet(context: &Context, request: &SearchRequest) -> Result<Value, Error> {
    let found = context.catalog.search(request).await?;
    let key = |hit: &Hit| AspectKey::new(&hit.urn, AspectName::INGESTION_SOURCE_INFO);
    let keys: Vec<AspectKey> = found.hits.iter().map(key).collect();
    let rows = context.catalog.read(ReadRequest::rows(&keys)).await?.rows;
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows.iter().flatten() {
        let info: Value = serde_json::from_str(&row.metadata).unwrap_or_default();
        if let Some(name) = info["type"].as_str() {
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    let counted = counts.into_iter();
    let values = counted.map(|(value, count)| json!({"value": value, "count": count}));
    let values: Vec<Value> = values.collect();
    Ok(json!({"field": "type", "displayName": "Type", "aggregations": values}))
}

/// Requests to run sources, newest first. Tests of connections have no source and are not listed.
pub(in super::super) async fn execution_requests(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let mut input = SearchInput::of(&arguments)?;
    let mut conditions = vec![criterion(
        OF_SOURCE.to_owned(),
        Vec::new(),
        Some("EXISTS"),
        false,
    )?];
    if let Some(of_system) = input.system_sources {
        let system = system_sources(context).await?;
        conditions.push(criterion(OF_SOURCE.to_owned(), system, None, !of_system)?);
    }
    let name = "executionRequests";
    lists::list(context, &mut input, REQUEST, conditions, newest(), name).await
}

/// The newest request of each source that succeeded.
pub(in super::super) async fn latest_successful_executions(
    context: &Context,
    sources: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let mut replies = Vec::with_capacity(sources.len());
    for source in sources {
        let request = SearchRequest {
            types: vec![REQUEST.to_owned()],
            query: "*".to_owned(),
            filter: Filter::all(vec![
                Criterion::equal(OF_SOURCE, source.urn().as_str()),
                Criterion::equal("executionResultStatus", "SUCCESS"),
            ]),
            sort: vec![newest()],
            page: SearchPage::Offset { start: 0, count: 1 },
            ..SearchRequest::default()
        };
        let found = context.catalog.search(&request).await?;
        replies.push(Ok(json!(found.hits.first().map(|hit| &hit.urn))));
    }
    Ok(replies)
}

/// The sources that the system created.
async fn system_sources(context: &Context) -> Result<Vec<String>, Error> {
    let request = SearchRequest {
        types: vec![SOURCE.to_owned()],
        query: "*".to_owned(),
        filter: Filter::all(vec![Criterion::equal("sourceType", "SYSTEM")]),
        page: SearchPage::Offset {
            start: 0,
            count: MAX_SOURCES,
        },
        ..SearchRequest::default()
    };
    let found = context.catalog.search(&request).await?;
    Ok(found.hits.iter().map(|hit| hit.urn.to_string()).collect())
}

fn newest() -> Sort {
    Sort {
        field: "requestTimeMs".to_owned(),
        descending: true,
    }
}
