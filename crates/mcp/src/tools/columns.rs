//! `list_schema_fields`.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AgentTool, page, variables};
use crate::answer::Answer;
use crate::call::{AgentCall, ToolError};
use crate::reply::items;
use crate::summary::{self, is_empty};

const DOCUMENT: &str = concat!(
    include_str!("../../documents/columns.graphql"),
    include_str!("../../documents/labels.graphql"),
    include_str!("../../documents/named.graphql"),
);

const DESCRIPTION: &str = "\
Returns the columns of a dataset in their order: path, type, description and where it comes from, tags, glossary terms, \
keys. Wide tables have several pages; keywords narrow them down.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Columns {
    /// The URN of the dataset.
    urn: String,
    /// Only columns with one of these words in their path or description.
    #[serde(default)]
    keywords: Vec<String>,
    /// How many columns to skip: `next_start` of the previous answer.
    start: Option<usize>,
    /// How many columns to return: at most 200; 100 if left out.
    count: Option<usize>,
}

pub(super) fn tool() -> AgentTool {
    AgentTool::read("list_schema_fields", DESCRIPTION, columns)
}

async fn columns(call: AgentCall, input: Columns) -> Result<Answer, ToolError> {
    let (start, count) = page(input.start, input.count, 100, 200);
    let variables = variables([("urn", json!(input.urn))]);
    let data = call.execute(DOCUMENT, None, variables).await?;
    let dataset = &data["dataset"];
    let edits: HashMap<&str, &Value> =
        items(&dataset["editableSchemaMetadata"]["editableSchemaFieldInfo"])
            .iter()
            .filter_map(|edit| Some((edit["fieldPath"].as_str()?, edit)))
            .collect();
    let keywords: Vec<String> = input
        .keywords
        .iter()
        .map(|word| word.to_lowercase())
        .collect();
    let schema = &dataset["schemaMetadata"];
    let keys = items(&schema["primaryKeys"]);
    let fields = items(&schema["fields"]).iter();
    let matching: Vec<Value> = fields
        .map(|field| {
            let edit = field["fieldPath"].as_str().and_then(|path| edits.get(path));
            column(field, edit.copied().unwrap_or(&Value::Null), keys)
        })
        .filter(|column| is_match(column, &keywords))
        .collect();
    let total = matching.len();
    let shown = matching.into_iter().skip(start).take(count).collect();
    Ok(Answer::page("columns", shown, start, total).with("dataset", summary::named(dataset)))
}

fn column(field: &Value, edit: &Value, keys: &[Value]) -> Value {
    let mut column = json!({"path": field["fieldPath"]});
    let mut add = |name: &str, value: Value| {
        if !is_empty(&value) {
            column[name] = value;
        }
    };
    let native = field["nativeDataType"].as_str().filter(|it| !it.is_empty());
    add(
        "type",
        native.map_or_else(|| field["type"].clone(), |it| json!(it)),
    );
    let texts = [
        (&edit["description"], "edited in the catalog"),
        (&field["description"], "imported from the source system"),
    ];
    let mut texts = texts.into_iter().filter(|(text, _)| !is_empty(text));
    if let Some((text, source)) = texts.next() {
        add("description", text.clone());
        add("description_source", json!(source));
    }
    if field["nullable"] == false {
        add("nullable", json!(false));
    }
    if field["isPartOfKey"] == true || keys.contains(&field["fieldPath"]) {
        add("is_primary_key", json!(true));
    }
    for (name, labels) in [
        ("tags", [&field["tags"], &edit["tags"]].map(summary::tags)),
        (
            "glossary_terms",
            [&field["glossaryTerms"], &edit["glossaryTerms"]].map(summary::terms),
        ),
    ] {
        let mut distinct: Vec<Value> = Vec::new();
        for label in labels.into_iter().flatten() {
            if !distinct.contains(&label) {
                distinct.push(label);
            }
        }
        add(name, json!(distinct));
    }
    column
}

fn is_match(column: &Value, keywords: &[String]) -> bool {
    let texts = [&column["path"], &column["description"]].map(|text| {
        let text = text.as_str().unwrap_or_default();
        text.to_lowercase()
    });
    let is_in = |word: &String| texts.iter().any(|text| text.contains(word.as_str()));
    keywords.is_empty() || keywords.iter().any(is_in)
}
