//! Sends the same queries to docent: GraphQL over HTTP, with the fields of a result page.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::ask::Asker;
use crate::bench::{Bench, Store};
use crate::client;
use crate::report::{Report, Target};

pub(crate) const SEARCH: &str = "query search($query: String!) { searchAcrossEntities(input: {types: [], query: $query, start: 0, count: 10}) \
     { total searchResults { entity { urn type ... on Dataset { name platform { name } properties { name description } \
     domain { domain { urn properties { name } } } } } matchedFields { name value } } \
     facets { field aggregations { value count } } } }";

const COMPLETE: &str = "query complete($query: String!) { autoComplete(input: {type: DATASET, query: $query, limit: 10}) \
     { suggestions entities { urn } } }";

pub(super) async fn measure(
    bench: &Bench,
    store: &Store,
    words: &[[String; 2]],
    beginnings: &[String],
    report: &mut Report,
) -> Result<()> {
    report.progress("the same through GraphQL");
    let docent = bench.serve(store, None)?;
    let mut asker = Asker::open(&docent.server).await?;
    let requests: Vec<Vec<u8>> = words
        .iter()
        .map(|words| request(&docent.token, SEARCH, &words.join(" ")))
        .collect();
    for request in requests.iter().take(50) {
        asker.ask(request).await?;
    }
    let times = asker.time(&docent.server, &requests, has_found).await?;
    for (percent, limit) in [(50, 10.0), (99, 40.0)] {
        report.line(
            format!("search: two words with facets through GraphQL, p{percent}"),
            times.text(percent),
            "",
            times.percentile_ms(percent),
            Target::Below(limit, "ms"),
            "The same wait as a client of the server sees it, its API included.",
        );
    }
    let requests: Vec<Vec<u8>> = beginnings
        .iter()
        .map(|typed| request(&docent.token, COMPLETE, typed))
        .collect();
    let times = asker.time(&docent.server, &requests, has_completed).await?;
    report.line(
        "search: autocomplete through GraphQL, p50",
        times.text(50),
        format!("p99 {:.2} ms", times.percentile_ms(99)),
        times.percentile_ms(50),
        Target::Below(3.0, "ms"),
        "Suggestions in the search box of the web page appear between two keystrokes.",
    );
    docent.server.stop().context("docent after searching")
}

/// A query for what was typed, with a token.
pub(crate) fn request(token: &str, query: &str, typed: &str) -> Vec<u8> {
    let body = json!({"query": query, "variables": {"query": typed}});
    client::post("/api/graphql", token, &body.to_string())
}

fn has_found(reply: &Value) -> bool {
    reply
        .pointer("/data/searchAcrossEntities/searchResults/0/entity/urn")
        .is_some()
}

fn has_completed(reply: &Value) -> bool {
    reply.pointer("/data/autoComplete/suggestions/0").is_some()
}
