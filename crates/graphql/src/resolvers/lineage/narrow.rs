//! Filters the entities of a traversal with search.

use std::collections::{HashMap, HashSet};

use docent_catalog::Error;
use docent_catalog::lineage::Reached;
use docent_catalog::search::{Filter, MAX_SCROLL_COUNT, SearchPage, SearchRequest, criterion};
use docent_model::Urn;
use serde_json::Value;

use super::conditions::Alternatives;
use crate::Context;
use crate::resolvers::search::input::FacetFilter;
use crate::resolvers::search::matched_fields;

/// A search for entities that match the query and one of the alternatives.
#[derive(Debug)]
struct LineageQuery<'a> {
    query: &'a str,
    alternatives: Vec<Candidates<'a>>,
}

/// Entities and conditions that must all hold.
#[derive(Debug)]
struct Candidates<'a> {
    urns: Vec<&'a Urn>,
    conditions: &'a [FacetFilter],
}

/// The candidates that match the query and one of the alternatives, in order.
pub(super) async fn narrow(
    context: &Context,
    query: &str,
    alternatives: &Alternatives,
    candidates: &[&Reached],
) -> Result<Vec<Reached>, Error> {
    let needs_search = !matches_everything(query)
        || alternatives
            .iter()
            .any(|conditions| !conditions.search.is_empty());
    if !needs_search {
        let matching = candidates.iter().filter(|reached| {
            alternatives
                .iter()
                .any(|conditions| conditions.may_match(reached))
        });
        return Ok(matching.map(|reached| (*reached).clone()).collect());
    }
    let alternatives: Vec<Candidates<'_>> = alternatives
        .iter()
        .map(|conditions| Candidates {
            urns: candidates
                .iter()
                .filter(|reached| conditions.may_match(reached))
                .map(|reached| &reached.urn)
                .collect(),
            conditions: &conditions.search,
        })
        .filter(|candidates| !candidates.urns.is_empty())
        .collect();
    if alternatives.is_empty() {
        return Ok(Vec::new());
    }
    let query = LineageQuery {
        query,
        alternatives,
    };
    let found = search(context, &query).await?;
    let matching = candidates.iter().filter(|it| found.contains(&it.urn));
    Ok(matching.map(|reached| (*reached).clone()).collect())
}

/// Whether the query matches every entity.
fn matches_everything(query: &str) -> bool {
    matches!(query.trim(), "" | "*")
}

/// The fields of each entity that match the query, as `MatchedField`.
pub(super) async fn explained(
    context: &Context,
    query: &str,
    page: &[&Reached],
) -> Result<HashMap<Urn, Vec<Value>>, Error> {
    if matches_everything(query) || page.is_empty() {
        return Ok(HashMap::new());
    }
    let all = Candidates {
        urns: page.iter().map(|reached| &reached.urn).collect(),
        conditions: &[],
    };
    let query = LineageQuery {
        query,
        alternatives: vec![all],
    };
    let request = SearchRequest {
        explain_matches: true,
        ..request(&query)?
    };
    let found = context.catalog.search(&request).await?;
    let hits = found.hits.iter();
    Ok(hits
        .map(|hit| (hit.urn.clone(), matched_fields(hit)))
        .collect())
}

/// The search for all of these entities.
pub(super) fn request_of(hits: &[Reached]) -> Result<SearchRequest, Error> {
    let all = Candidates {
        urns: hits.iter().map(|reached| &reached.urn).collect(),
        conditions: &[],
    };
    request(&LineageQuery {
        query: "*",
        alternatives: vec![all],
    })
}

/// The entities that search finds.
///
/// Each alternative gets one more condition: the `urn` is one of its entities. Soft deletion is
/// already decided. Lineage includes every lifecycle stage and version: gaps would break its paths.
async fn search(context: &Context, query: &LineageQuery<'_>) -> Result<HashSet<Urn>, Error> {
    let request = request(query)?;
    let found = context.catalog.search(&request).await?;
    Ok(found.hits.into_iter().map(|hit| hit.urn).collect())
}

fn request(query: &LineageQuery<'_>) -> Result<SearchRequest, Error> {
    let mut types: Vec<String> = Vec::new();
    let mut any = Vec::new();
    for candidates in &query.alternatives {
        let conditions = candidates.conditions.iter();
        let mut criteria = conditions
            .map(FacetFilter::criterion)
            .collect::<Result<Vec<_>, _>>()?;
        let urns = candidates.urns.iter().map(ToString::to_string).collect();
        criteria.push(criterion("urn".to_owned(), urns, None, false)?);
        any.push(criteria);
        for urn in &candidates.urns {
            if !types.iter().any(|name| name == urn.entity_type()) {
                types.push(urn.entity_type().to_owned());
            }
        }
    }
    Ok(SearchRequest {
        types,
        query: query.query.to_owned(),
        filter: Filter { any },
        include_removed: true,
        include_hidden_stages: true,
        include_older_versions: true,
        page: SearchPage::Cursor {
            cursor: None,
            count: MAX_SCROLL_COUNT,
        },
        ..SearchRequest::default()
    })
}
