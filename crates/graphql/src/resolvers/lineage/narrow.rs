//! What of a walk is wanted.

use std::collections::{HashMap, HashSet};

use docent_catalog::Error;
use docent_catalog::lineage::Reached;
use docent_catalog::search::{Filter, MAX_SCROLL_COUNT, Page, Request, criterion};
use docent_model::Urn;
use serde_json::Value;

use super::conditions::Alternatives;
use crate::Context;
use crate::resolvers::search::input::FacetFilter;
use crate::resolvers::search::matched_fields;

/// What is asked of search: entities that match the query and one of the alternatives.
#[derive(Debug)]
struct Question<'a> {
    query: &'a str,
    alternatives: Vec<Narrowed<'a>>,
}

/// The entity is one of these, and all these conditions hold.
#[derive(Debug)]
struct Narrowed<'a> {
    urns: Vec<&'a Urn>,
    conditions: &'a [FacetFilter],
}

/// Those of the candidates that match the query and one of the alternatives, in their order.
pub(super) async fn narrow(
    context: &Context,
    query: &str,
    alternatives: &Alternatives,
    candidates: &[&Reached],
) -> Result<Vec<Reached>, Error> {
    let is_answered = is_everything(query)
        && alternatives
            .iter()
            .all(|conditions| conditions.unknown.is_empty());
    if is_answered {
        let wanted = candidates.iter().filter(|reached| {
            alternatives
                .iter()
                .any(|conditions| conditions.may_match(reached))
        });
        return Ok(wanted.map(|reached| (*reached).clone()).collect());
    }
    let alternatives: Vec<Narrowed<'_>> = alternatives
        .iter()
        .map(|conditions| Narrowed {
            urns: candidates
                .iter()
                .filter(|reached| conditions.may_match(reached))
                .map(|reached| &reached.urn)
                .collect(),
            conditions: &conditions.unknown,
        })
        .filter(|narrowed| !narrowed.urns.is_empty())
        .collect();
    if alternatives.is_empty() {
        return Ok(Vec::new());
    }
    let question = Question {
        query,
        alternatives,
    };
    let found = matching(context, &question).await?;
    let wanted = candidates.iter().filter(|it| found.contains(&it.urn));
    Ok(wanted.map(|reached| (*reached).clone()).collect())
}

/// Whether the query asks for nothing in particular.
fn is_everything(query: &str) -> bool {
    matches!(query.trim(), "" | "*")
}

/// The fields of each entity that match the query, as the schema's `MatchedField` has them.
pub(super) async fn explained(
    context: &Context,
    query: &str,
    page: &[&Reached],
) -> Result<HashMap<Urn, Vec<Value>>, Error> {
    if is_everything(query) || page.is_empty() {
        return Ok(HashMap::new());
    }
    let all = Narrowed {
        urns: page.iter().map(|reached| &reached.urn).collect(),
        conditions: &[],
    };
    let question = Question {
        query,
        alternatives: vec![all],
    };
    let request = Request {
        explain_matches: true,
        ..request(&question)?
    };
    let found = context.catalog.search(&context.caller, &request).await?;
    let hits = found.hits.iter();
    Ok(hits
        .map(|hit| (hit.urn.clone(), matched_fields(hit)))
        .collect())
}

/// Those of the entities that search finds.
///
/// Each alternative is its list of conditions with one more, that the `urn` is one of the entities. Whether an entity
/// is removed has been decided already.
async fn matching(context: &Context, question: &Question<'_>) -> Result<HashSet<Urn>, Error> {
    let request = request(question)?;
    let found = context.catalog.search(&context.caller, &request).await?;
    Ok(found.hits.into_iter().map(|hit| hit.urn).collect())
}

fn request(question: &Question<'_>) -> Result<Request, Error> {
    let mut kinds: Vec<String> = Vec::new();
    let mut any = Vec::new();
    for narrowed in &question.alternatives {
        let conditions = narrowed.conditions.iter();
        let mut criteria = conditions
            .map(FacetFilter::criterion)
            .collect::<Result<Vec<_>, _>>()?;
        let urns = narrowed.urns.iter().map(ToString::to_string).collect();
        criteria.push(criterion("urn".to_owned(), urns, None, false)?);
        any.push(criteria);
        for urn in &narrowed.urns {
            if !kinds.iter().any(|kind| kind == urn.entity_type()) {
                kinds.push(urn.entity_type().to_owned());
            }
        }
    }
    Ok(Request {
        types: kinds,
        query: question.query.to_owned(),
        filter: Filter { any },
        include_removed: true,
        page: Page::After {
            mark: None,
            count: MAX_SCROLL_COUNT,
        },
        ..Request::default()
    })
}
