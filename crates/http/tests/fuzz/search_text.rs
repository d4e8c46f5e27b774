//! Search texts: every text is a query. All APIs find the same, never more than there is, and no
//! entity twice.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use docent_search::language::{self, MAX_CLAUSES, MAX_NESTING, Query, Term};
use serde_json::{Value, json};

use crate::engine::{Format, Outcome, Target};
use crate::support::App;
use crate::{count, expect_clear, world};

const TARGET: Target = Target {
    name: "search_text",
    format: Format::Text,
    dictionary: &[
        "AND",
        "OR",
        "NOT",
        "+",
        "-",
        "(",
        ")",
        "\"",
        "*",
        "?",
        ":",
        "\\",
        "/q ",
        "/",
        "~",
        "^",
        "[",
        "]",
        "name:",
        "description:",
        "tags:",
        "urn:li:tag:pii",
        "fieldPaths:",
        "orders",
        "customer",
        "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_deleted,PROD)",
        "a b",
        "_",
        ".",
    ],
};

/// Longer texts are rejected.
const MAX_TEXT_BYTES: usize = 16 * 1024;

const SEARCH: &str = "query($q: String!) { searchAcrossEntities(input: {types: [DATASET], query: $q, count: 100}) \
                      { total searchResults { entity { urn } } } }";

#[tokio::test]
async fn fuzz_search_texts_find_each_entity_at_most_once_in_all_apis() {
    let app = world().await;
    let total = count(&app, "*", &json!({})).await.unwrap();
    TARGET
        .run(async |text| check(&app, text, total).await)
        .await;
}

async fn check(app: &App, text: &str, total: u64) -> Outcome {
    let query = language::parse(text);
    let (clauses, nesting) = (clauses(&query), nesting(&query));
    if clauses > MAX_CLAUSES || nesting > MAX_NESTING {
        return Err(format!("{clauses} clauses in {nesting} levels"));
    }
    let found = count(app, text, &json!({})).await;
    if let Err((StatusCode::BAD_REQUEST, reply)) = &found
        && text.len() > MAX_TEXT_BYTES
    {
        return expect_clear(StatusCode::BAD_REQUEST, reply);
    }
    let found = found.map_err(|(status, reply)| format!("{status}: {reply}"))?;
    if found > total {
        return Err(format!("{found} of {total}"));
    }
    let reply = app.graphql_with(SEARCH, json!({"q": text})).await;
    let page = &reply["data"]["searchAcrossEntities"];
    let hits = page["searchResults"]
        .as_array()
        .ok_or_else(|| reply.to_string())?;
    let urns: BTreeSet<&str> = hits
        .iter()
        .filter_map(|hit| hit["entity"]["urn"].as_str())
        .collect();
    if page["total"] != found || urns.len() != hits.len() || hits.len() as u64 != found {
        return Err(format!("{found} by REST, but {page}"));
    }
    if text.trim().is_empty() {
        // Nothing is suggested for nothing.
        return Ok("empty".to_owned());
    }
    let body = json!({"entity": "dataset", "query": text, "limit": 5});
    let (status, reply) = app.post("/entities?action=autocomplete", &body).await;
    expect_clear(status, &reply)?;
    if status != StatusCode::OK {
        return Err(format!("suggestions: {status} {reply}"));
    }
    let suggestions = reply["value"]["suggestions"].as_array().map_or(0, Vec::len);
    Ok(format!(
        "{found} {} {nesting} {suggestions} {}",
        clauses.min(9),
        kinds(&query)
    ))
}

fn clauses(query: &Query) -> usize {
    let inner = query.clauses.iter().map(|clause| match &clause.term {
        Term::Group(group) => 1 + clauses(group),
        _ => 1,
    });
    inner.sum()
}

fn nesting(query: &Query) -> usize {
    let inner = query.clauses.iter().map(|clause| match &clause.term {
        Term::Group(group) => nesting(group),
        Term::Field { term, .. } => match &**term {
            Term::Group(group) => nesting(group),
            _ => 0,
        },
        _ => 0,
    });
    1 + inner.max().unwrap_or(0)
}

/// Which kinds of terms a query has.
fn kinds(query: &Query) -> String {
    let kinds: BTreeSet<String> = query
        .clauses
        .iter()
        .map(|clause| {
            let debug = format!("{:?}", clause.term);
            let kind = debug.split(['(', ' ']).next().unwrap_or_default();
            format!("{:?}{kind}", clause.occur)
        })
        .collect();
    Value::from_iter(kinds).to_string()
}
