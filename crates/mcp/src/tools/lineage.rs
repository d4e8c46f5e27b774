//! `get_lineage`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AgentTool, page, variables};
use crate::answer::Answer;
use crate::call::{AgentCall, ToolError};
use crate::reply::{items, total};
use crate::summary;

const DOCUMENT: &str = concat!(
    include_str!("../../documents/lineage.graphql"),
    include_str!("../../documents/brief.graphql"),
    include_str!("../../documents/labels.graphql"),
    include_str!("../../documents/named.graphql"),
);

const DESCRIPTION: &str = "\
Returns what an asset is made from ('upstream') or what is made from it ('downstream'), the nearest first, with the shortest \
path to each. With a column, follows that column. Use it to explain a number, or to say what a change would break.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Lineage {
    /// The URN of the asset to start from.
    urn: String,
    /// `upstream` or `downstream`.
    direction: Direction,
    /// The path of a column, to follow that column of a dataset only.
    column: Option<String>,
    /// How far to go: 1 for direct neighbors, 2 for theirs too; everything if left out.
    max_hops: Option<u8>,
    /// How many results to skip: `next_start` of the previous answer.
    start: Option<usize>,
    /// How many results to return: at most 100; 30 if left out.
    count: Option<usize>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Upstream,
    Downstream,
}

pub(super) fn tool() -> AgentTool {
    AgentTool::read("get_lineage", DESCRIPTION, lineage)
}

async fn lineage(call: AgentCall, input: Lineage) -> Result<Answer, ToolError> {
    let (start, count) = page(input.start, input.count, 30, 100);
    let degrees: &[&str] = match input.max_hops {
        None => &[],
        Some(1) => &["1"],
        Some(2) => &["1", "2"],
        Some(other) => {
            return Err(ToolError::new(format!(
                "'max_hops' is {other}: it may be 1 or 2; leave it out to follow the whole lineage"
            )));
        }
    };
    let direction = match input.direction {
        Direction::Upstream => "UPSTREAM",
        Direction::Downstream => "DOWNSTREAM",
    };
    let urn = match input.column {
        Some(column) => format!("urn:li:schemaField:({},{column})", input.urn),
        None => input.urn.clone(),
    };
    let mut variables = variables([
        ("asset", json!(input.urn)),
        ("urn", json!(urn)),
        ("direction", json!(direction)),
        ("start", json!(start)),
        ("count", json!(count)),
    ]);
    if !degrees.is_empty() {
        let filter = json!([{"and": [{"field": "degree", "values": degrees}]}]);
        variables.insert("filters".to_owned(), filter);
    }
    let data = call.execute(DOCUMENT, None, variables).await?;
    let found = &data["searchAcrossLineage"];
    let results = items(&found["searchResults"]).iter();
    let results = results.map(|result| relative(&call, result)).collect();
    let answer = Answer::page("results", results, start, total(&found["total"]));
    let answer = answer.with("of", summary::named(&data["entity"]));
    Ok(if found["isPartial"] == true {
        answer.with(
            "is_partial",
            json!("the lineage is too large to follow all of it"),
        )
    } else {
        answer
    })
}

fn relative(call: &AgentCall, result: &Value) -> Value {
    let entity = &result["entity"];
    let mut relative = summary::brief(call, entity);
    relative.insert("hops".to_owned(), result["degree"].clone());
    // Of a column, the paths end at the columns of the result.
    let ends = items(&result["paths"]).iter();
    let ends = ends.filter_map(|path| items(&path["path"]).last()?.get("fieldPath"));
    let mut columns: Vec<&Value> = Vec::new();
    for column in ends {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    if !columns.is_empty() {
        relative.insert("columns".to_owned(), json!(columns));
    }
    let shortest = items(&result["paths"]).first();
    let path = shortest.map(|path| items(&path["path"]).iter());
    let path: Vec<&Value> = path
        .into_iter()
        .flatten()
        .map(|step| &step["urn"])
        .collect();
    if path.len() > 2 {
        relative.insert("path".to_owned(), json!(path));
    }
    Value::Object(relative)
}
