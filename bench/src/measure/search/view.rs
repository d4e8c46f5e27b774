//! Sends the same queries as a user who may view one percent of the datasets: to the library, and
//! to docent.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::ask::{self, Asker, Times};
use super::graphql::{SEARCH, request};
use crate::bench::{Bench, Docent, Store};
use crate::process::Server;
use crate::report::{Report, Target};
use crate::search_data::{Catalog, domain_urn};

const USER: &str = "viewer";
/// The share of the datasets that the user sees.
const SHARE: f64 = 0.01;
/// How many datasets to count to find domains with that share.
const SAMPLE: usize = 20_000;

pub(super) async fn measure(
    bench: &Bench,
    store: &Store,
    catalog: &Catalog,
    words: &[[String; 2]],
    report: &mut Report,
) -> Result<()> {
    report.progress("the same for a user who sees one percent");
    let viewer = bench.create_token_of(USER, store)?;
    let docent = bench.serve_with_view_policies(store)?;
    let mut asker = Asker::open(&docent.server).await?;
    allow(&mut asker, &docent, &domains(catalog)).await?;
    let everything = asker.ask(&request(&viewer, SEARCH, "*")).await?;
    let seen = everything.pointer("/data/searchAcrossEntities/total");
    let seen = seen.and_then(Value::as_u64).unwrap_or_default();
    ensure!(seen > 0, "the user sees nothing: {everything}");
    let mut times = Vec::new();
    for token in [&docent.token, &viewer] {
        let requests: Vec<Vec<u8>> = words
            .iter()
            .map(|words| request(token, SEARCH, &words.join(" ")))
            .collect();
        for request in requests.iter().take(50) {
            asker.ask(request).await?;
        }
        times.push(asker.time(&docent.server, &requests, is_answered).await?);
    }
    let [all, some] = &times[..] else {
        bail!("two users were measured");
    };
    report.line(
        format!(
            "search: two words with facets through GraphQL, by a user who may view {seen} of the \
             entities, p50"
        ),
        some.text(50),
        format!("{} by one who may view all", all.text(50)),
        some.percentile_ms(50),
        Target::Below(15.0, "ms"),
        "Users who may see only a part of the catalog search as fast as everybody else.",
    );
    docent.server.stop().context("docent with view policies")
}

/// Alternately with and without the view, so that both meet the same noise.
pub(super) async fn in_library(
    server: &Server,
    catalog: &Catalog,
    words: &[[String; 2]],
    report: &mut Report,
) -> Result<()> {
    report.progress("the same for a user who sees one percent");
    let domains = domains(catalog);
    let mut asker = Asker::open(server).await?;
    let everything = asker.ask(&ask::search_in("*", &domains)).await?;
    let seen = ask::total(&everything).unwrap_or_default();
    ensure!(seen > 0, "the user sees nothing: {everything}");
    let (mut all, mut some) = (Times::default(), Times::default());
    for words in words.chunks(50) {
        let queries = words.iter().map(|words| words.join(" "));
        let requests = |make: &dyn Fn(&str) -> Vec<u8>| -> Vec<Vec<u8>> {
            queries.clone().map(|query| make(&query)).collect()
        };
        let unrestricted = requests(&ask::search);
        all.add(asker.time(server, &unrestricted, ask::has_found).await?);
        let restricted = requests(&|query| ask::search_in(query, &domains));
        some.add(asker.time(server, &restricted, has_total).await?);
    }
    report.line(
        format!("search: the same, by a user who may view {seen} of the datasets, p50"),
        some.text(50),
        format!("{} by one who may view all", all.text(50)),
        some.percentile_ms(50),
        Target::Below(15.0, "ms"),
        "Hiding datasets from a user costs no more than showing them all.",
    );
    Ok(())
}

fn has_total(reply: &Value) -> bool {
    ask::total(reply).is_some()
}

/// Domains that have about the share of the datasets together, the smallest ones.
fn domains(catalog: &Catalog) -> Vec<String> {
    let mut counts: Vec<(usize, usize)> = Vec::new();
    let sample = SAMPLE.min(catalog.len());
    for number in 0..sample {
        if let Some(domain) = catalog.dataset(number).domain {
            match counts.iter_mut().find(|(known, _)| *known == domain) {
                Some((_, count)) => *count += 1,
                None => counts.push((domain, 1)),
            }
        }
    }
    counts.sort_unstable_by_key(|(domain, count)| (*count, *domain));
    let mut chosen = Vec::new();
    let mut total = 0;
    // Those at the end of the tree have no others below them.
    for (domain, count) in counts.into_iter().filter(|(domain, _)| *domain >= 100) {
        if total as f64 >= SHARE * sample as f64 {
            break;
        }
        total += count;
        chosen.push(domain_urn(domain));
    }
    chosen
}

/// Leaves the user one policy, for the domains.
async fn allow(asker: &mut Asker, docent: &Docent, domains: &[String]) -> Result<()> {
    let delete = json!({
        "query": "mutation { deletePolicy(urn: \"urn:li:dataHubPolicy:view-entity-page-all\") }",
    });
    let create = json!({
        "query": "mutation ($input: PolicyUpdateInput!) { createPolicy(input: $input) }",
        "variables": {"input": {
            "type": "METADATA", "state": "ACTIVE", "name": "Viewers", "privileges": ["VIEW_ENTITY_PAGE"],
            "actors": {
                "users": [format!("urn:li:corpuser:{USER}")],
                "resourceOwners": false, "allUsers": false, "allGroups": false,
            },
            "resources": {"filter": {"criteria": [
                {"field": "DOMAIN", "values": domains, "condition": "EQUALS"},
            ]}},
        }},
    });
    for mutation in [delete, create] {
        let reply = asker.ask(&docent.graphql(&mutation.to_string())).await?;
        ensure!(reply.get("errors").is_none(), "{reply}");
    }
    Ok(())
}

fn is_answered(reply: &Value) -> bool {
    reply
        .pointer("/data/searchAcrossEntities/total")
        .is_some_and(Value::is_u64)
}
