//! Measures what DataHub's own web page sends for its home page, a search and a dataset: on the
//! sample catalog, and in the catalog of a million datasets that search is measured with.
//!
//! The requests are recorded in a browser (`DOCENT_PAGE_REQUESTS`, see CONTRIBUTING.md), because
//! their text belongs to DataHub's sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bench::{Bench, Docent, Store, median};
use crate::report::{Report, Target};
use crate::search_data::vocabulary::Random;
use crate::search_data::{ACTOR, Catalog};

/// The dataset and the search text with which the requests are recorded.
const DATASET: &str = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.books,PROD)";
const TEXT: &str = "books";

/// How often each request is sent.
const TURNS: usize = 41;

/// One recorded request.
#[derive(Debug, Clone, Deserialize)]
struct Request {
    /// The path of the page that sent it.
    path: String,
    body: Body,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    operation_name: String,
    #[serde(default)]
    variables: Value,
    query: String,
}

impl Request {
    /// The measured page that sends the request.
    fn page(&self) -> Option<&'static str> {
        match self.path.split('/').nth(1)? {
            "" => Some("home"),
            "search" => Some("search"),
            "dataset" => Some("dataset"),
            _ => None,
        }
    }

    /// Whether it asks for a dataset, a user or a group that only the sample catalog has.
    fn is_about_another(&self) -> bool {
        const TYPES: [&str; 3] = ["urn:li:dataset:(", "urn:li:corpuser:", "urn:li:corpGroup:"];
        let variables = self.body.variables.to_string();
        let others = variables.replace(DATASET, "").replace(ACTOR, "");
        TYPES.iter().any(|prefix| others.contains(prefix))
    }

    /// The same request for another dataset and another text.
    fn about(&self, dataset: &str, text: &str) -> String {
        let body = json!({
            "operationName": self.body.operation_name,
            "variables": replaced(&self.body.variables, dataset, text),
            "query": self.body.query,
        });
        body.to_string()
    }
}

fn replaced(value: &Value, dataset: &str, text: &str) -> Value {
    match value {
        Value::String(string) if string == TEXT => json!(text),
        Value::String(string) => json!(string.replace(DATASET, dataset)),
        Value::Array(items) => items
            .iter()
            .map(|item| replaced(item, dataset, text))
            .collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), replaced(value, dataset, text)))
            .collect(),
        other => other.clone(),
    }
}

/// The distinct queries of each page.
fn recorded(file: &Path) -> Result<BTreeMap<&'static str, Vec<Request>>> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let requests: Vec<Request> = serde_json::from_str(&text)
        .with_context(|| format!("{} has no recorded requests", file.display()))?;
    let mut pages: BTreeMap<&'static str, Vec<Request>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for request in requests {
        let Some(page) = request.page() else {
            continue;
        };
        let is_query = !request.body.query.trim_start().starts_with("mutation");
        if is_query
            && !request.is_about_another()
            && seen.insert((page, request.about(DATASET, TEXT)))
        {
            pages.entry(page).or_default().push(request);
        }
    }
    ensure!(
        pages.len() == 3,
        "{} must have requests of the home page, a search and a dataset",
        file.display()
    );
    Ok(pages)
}

/// Measures the sample catalog.
pub(crate) async fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let Some(file) = &bench.page_requests else {
        report.progress("DataHub's page is left out: --page-requests names no recorded requests");
        return Ok(());
    };
    report.progress("DataHub's page on the sample catalog");
    let store = bench.create_store("page.db")?;
    let docent = bench.serve_demo(&store)?;
    let about = |_: usize| (DATASET.to_owned(), TEXT.to_owned());
    let limit = Target::Below(30.0, "ms");
    pages(&docent, file, "the sample catalog", limit, about, report).await?;
    docent.server.stop()?;
    store.remove()
}

/// Measures the same requests in a large catalog, each time for another dataset and other words.
pub(crate) async fn at_scale(
    bench: &Bench,
    store: &Store,
    catalog: &Catalog,
    report: &mut Report,
) -> Result<()> {
    let Some(file) = &bench.page_requests else {
        return Ok(());
    };
    report.progress("DataHub's page in the large catalog");
    let docent = bench.serve(store, None)?;
    let about = |turn: usize| {
        let mut random = Random::new(turn as u64);
        let dataset = catalog.dataset(random.below(catalog.len()));
        (dataset.urn(), catalog.two_words(&mut random).join(" "))
    };
    let place = format!("{} datasets", catalog.len());
    let limit = Target::Below(100.0, "ms");
    pages(&docent, file, &place, limit, about, report).await?;
    docent.server.stop()
}

fn write(dataset: &str, turn: usize) -> String {
    let query =
        "mutation write($input: DescriptionUpdateInput!) { updateDescription(input: $input) }";
    let input =
        json!({"resourceUrn": dataset, "description": format!("Described in turn {turn}.")});
    json!({"query": query, "variables": {"input": input}}).to_string()
}

/// Reports the slowest request of each page by its median. All requests of a page are sent in
/// turns, and a write comes before each, so that no reply comes from an earlier turn.
async fn pages(
    docent: &Docent,
    file: &Path,
    place: &str,
    limit: Target,
    about: impl Fn(usize) -> (String, String),
    report: &mut Report,
) -> Result<()> {
    let mut client = docent.client(1).await?;
    for (page, requests) in recorded(file)? {
        let mut times = vec![Vec::with_capacity(TURNS); requests.len()];
        for turn in 0..TURNS {
            let (dataset, text) = about(turn);
            client.ask(&docent.graphql(&write(&dataset, turn))).await?;
            for (request, times) in requests.iter().zip(&mut times) {
                let bytes = docent.graphql(&request.about(&dataset, &text));
                let started = Instant::now();
                let reply = client.ask(&bytes).await?;
                times.push(started.elapsed().as_secs_f64() * 1e3);
                let reply: Value = serde_json::from_slice(&reply)?;
                let errors = &reply["errors"];
                let name = &request.body.operation_name;
                ensure!(errors.is_null(), "{name} was answered with {errors}");
            }
        }
        let medians = times.iter().map(|times| median(times));
        let names = requests.iter().map(|it| &it.body.operation_name);
        let slowest = medians.zip(names).zip(&times);
        let Some(((median, name), times)) =
            slowest.max_by(|one, other| one.0.0.total_cmp(&other.0.0))
        else {
            continue;
        };
        let longest = times.iter().copied().fold(0.0, f64::max);
        report.line(
            format!("DataHub's page, {place}: slowest request of the {page} page, p50"),
            format!("{median:.1} ms"),
            format!(
                "{name}, of {} requests; at most {longest:.1} ms",
                requests.len()
            ),
            median,
            limit,
            "People who keep DataHub's web page wait this long for the slowest part of a page.",
        );
    }
    Ok(())
}
