//! What of a walk is wanted.

use std::collections::HashMap;
use std::future::{Future, ready};

use docent_catalog::Error;
use docent_catalog::lineage::Reached;
use docent_model::Urn;
use serde_json::Value;

use super::conditions::{Alternatives, Filter};
use crate::Context;

/// An entity that is wanted.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) reached: Reached,
    /// The fields that matched the query, as the schema's `MatchedField` has them.
    pub(super) matched: Vec<Value>,
}

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
    conditions: &'a [Filter],
}

/// Those of the candidates that match the query and one of the alternatives, in their order.
pub(super) async fn narrow(
    context: &Context,
    query: &str,
    alternatives: &Alternatives,
    candidates: &[&Reached],
) -> Result<Vec<Hit>, Error> {
    let is_answered = matches!(query.trim(), "" | "*")
        && alternatives
            .iter()
            .all(|conditions| conditions.unknown.is_empty());
    if is_answered {
        let wanted = candidates.iter().filter(|reached| {
            alternatives
                .iter()
                .any(|conditions| conditions.may_match(reached))
        });
        return Ok(wanted
            .map(|reached| Hit {
                reached: (*reached).clone(),
                matched: Vec::new(),
            })
            .collect());
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
    let mut found = matching(context, &question).await?;
    Ok(candidates
        .iter()
        .filter_map(|reached| {
            let matched = found.remove(&reached.urn)?;
            Some(Hit {
                reached: (*reached).clone(),
                matched,
            })
        })
        .collect())
}

/// Those of the entities that search finds, with the fields that matched.
///
/// The only place of this module that needs an index: each alternative is a list of conditions with one more, that the
/// `urn` is one of the entities. Without an index the answer is that there is none.
fn matching(
    _context: &Context,
    question: &Question<'_>,
) -> impl Future<Output = Result<HashMap<Urn, Vec<Value>>, Error>> {
    let what = question
        .alternatives
        .iter()
        .flat_map(|narrowed| narrowed.conditions)
        .map(|filter| format!("the filter on {}", filter.field))
        .next()
        .unwrap_or_else(|| format!("the query '{}'", question.query));
    ready(Err(Error::Unavailable(format!(
        "{what} needs search, which is off: lineage can be narrowed by types, degree, removed and urn"
    ))))
}
