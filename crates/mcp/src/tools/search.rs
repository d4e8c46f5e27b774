//! `search`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{AgentTool, page, variables};
use crate::answer::Answer;
use crate::call::{AgentCall, ToolError};
use crate::reply::{items, total};
use crate::summary;

const DOCUMENT: &str = concat!(
    include_str!("../../documents/search.graphql"),
    include_str!("../../documents/brief.graphql"),
    include_str!("../../documents/labels.graphql"),
    include_str!("../../documents/named.graphql"),
);

const DESCRIPTION: &str = "\
Finds entities by words in their names, descriptions, columns, tags and so on, the best match first. Begin here to get URNs. \
Filters narrow the result; with the query '*' they list everything that fits.";

const PLATFORM: &str = "urn:li:dataPlatform:";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// Words to look for; `*` for everything. Also understood: "exact phrase", `-word`, `a OR b`.
    query: String,
    /// Only entities of these types, for example `DATASET`, `DASHBOARD`, `DATA_JOB`,
    /// `GLOSSARY_TERM`, `DOMAIN`, `TAG`, `CORP_USER`.
    #[serde(default)]
    types: Vec<String>,
    /// Only assets of these platforms, for example `snowflake`.
    #[serde(default)]
    platforms: Vec<String>,
    /// Only assets in these domains, or in domains inside them: URNs.
    #[serde(default)]
    domains: Vec<String>,
    /// Only entities with one of these tags: URNs.
    #[serde(default)]
    tags: Vec<String>,
    /// Only entities with one of these glossary terms: URNs.
    #[serde(default)]
    glossary_terms: Vec<String>,
    /// Only entities of one of these owners: URNs of users or groups.
    #[serde(default)]
    owners: Vec<String>,
    /// How many results to skip: `next_start` of the previous answer.
    start: Option<usize>,
    /// How many results to return: at most 50; 10 if left out.
    count: Option<usize>,
}

pub(super) fn tool() -> AgentTool {
    AgentTool::read("search", DESCRIPTION, search)
}

async fn search(call: AgentCall, input: Search) -> Result<Answer, ToolError> {
    let (start, count) = page(input.start, input.count, 10, 50);
    let platforms = input
        .platforms
        .iter()
        .map(|name| match name.strip_prefix(PLATFORM) {
            Some(_) => name.clone(),
            None => format!("{PLATFORM}{name}"),
        });
    let filters: Vec<Value> = [
        ("platform", "EQUAL", platforms.collect()),
        ("domains", "DESCENDANTS_INCL", input.domains),
        ("tags", "EQUAL", input.tags),
        ("glossaryTerms", "EQUAL", input.glossary_terms),
        ("owners", "EQUAL", input.owners),
    ]
    .into_iter()
    .filter(|(.., values): &(_, _, Vec<String>)| !values.is_empty())
    .map(|(field, condition, values)| {
        json!({"field": field, "condition": condition, "values": values})
    })
    .collect();
    let mut variables = variables([
        ("query", json!(input.query)),
        ("start", json!(start)),
        ("count", json!(count)),
    ]);
    if !input.types.is_empty() {
        let types = input.types.iter().map(|name| name.to_uppercase());
        variables.insert("types".to_owned(), types.collect());
    }
    if !filters.is_empty() {
        variables.insert("filters".to_owned(), json!([{"and": filters}]));
    }
    let data = call.execute(DOCUMENT, None, variables).await?;
    let found = &data["searchAcrossEntities"];
    let results = items(&found["searchResults"]).iter();
    let results = results.map(|result| Value::Object(hit(&call, result)));
    Ok(Answer::page(
        "results",
        results.collect(),
        start,
        total(&found["total"]),
    ))
}

fn hit(call: &AgentCall, result: &Value) -> Map<String, Value> {
    let mut hit = summary::brief(call, &result["entity"]);
    let matches = items(&result["matchedFields"]).iter();
    let matches: Map<String, Value> = matches
        .filter_map(|matched| {
            Some((
                matched["name"].as_str()?.to_owned(),
                matched["value"].clone(),
            ))
        })
        .collect();
    if !matches.is_empty() {
        hit.insert("matched".to_owned(), Value::Object(matches));
    }
    hit
}
