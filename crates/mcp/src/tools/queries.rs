//! `get_dataset_queries`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AgentTool, page, variables};
use crate::answer::Answer;
use crate::call::{AgentCall, ToolError};
use crate::reply::{items, total};
use crate::summary::{self, is_empty};

const DOCUMENT: &str = include_str!("../../documents/queries.graphql");

const DESCRIPTION: &str = "\
Returns stored SQL queries that use a dataset, last changed first: those that people saved with a name, and those that \
connectors found. They show how the dataset is joined and filtered in practice.";

const MAX_TEXT: usize = 4_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Queries {
    /// The URN of the dataset.
    urn: String,
    /// How many queries to skip: `next_start` of the previous answer.
    start: Option<usize>,
    /// How many queries to return: at most 50; 10 if left out.
    count: Option<usize>,
}

pub(super) fn tool() -> AgentTool {
    AgentTool::read("get_dataset_queries", DESCRIPTION, queries)
}

async fn queries(call: AgentCall, input: Queries) -> Result<Answer, ToolError> {
    let (start, count) = page(input.start, input.count, 10, 50);
    let variables = variables([
        ("urn", json!(input.urn)),
        ("start", json!(start)),
        ("count", json!(count)),
    ]);
    let data = call.execute(DOCUMENT, None, variables).await?;
    let found = &data["listQueries"];
    let queries = items(&found["queries"]).iter().map(query).collect();
    let answer = Answer::page("queries", queries, start, total(&found["total"]));
    Ok(answer.with_texts_of(MAX_TEXT))
}

fn query(query: &Value) -> Value {
    let properties = &query["properties"];
    let mut summary = json!({"urn": query["urn"], "sql": properties["statement"]["value"]});
    for (name, value) in [
        ("name", &properties["name"]),
        ("description", &properties["description"]),
        ("last_modified_by", &properties["lastModified"]["actor"]),
    ] {
        if !is_empty(value) {
            summary[name] = value.clone();
        }
    }
    let source = match properties["source"].as_str() {
        Some("MANUAL") => "saved by a person",
        _ => "found by a connector",
    };
    summary["query_source"] = json!(source);
    if let Some(time) = summary::time(&properties["lastModified"]["time"]) {
        summary["last_modified"] = json!(time);
    }
    summary
}
