//! GraphQL variables: a value gives the same result as a variable and in the document, and never an
//! internal error.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::engine::{Format, Outcome, Target};
use crate::support::App;
use crate::{expect_clear, expect_clear_reply, post_text, world};

const TARGET: Target = Target {
    name: "variables",
    format: Format::Json,
    dictionary: &[
        "DATASET",
        "TAG",
        "urn",
        "type",
        "types",
        "query",
        "start",
        "count",
        "orFilters",
        "and",
        "field",
        "values",
        "condition",
        "negated",
        "EQUAL",
        "urn:li:tag:pii",
        "input",
        "direction",
        "INCOMING",
        "OUTGOING",
        "name",
        "value",
        "removed",
        "platform",
    ],
};

/// Declarations of `$v` and selections with it, which an input refers to by their names.
const OPERATIONS: [(&str, &str, &str); 6] = [
    ("entities", "[String!]!", "entities(urns: $v) { urn type }"),
    ("tag", "String!", "tag(urn: $v) { urn properties { name } }"),
    (
        "search",
        "SearchAcrossEntitiesInput!",
        "searchAcrossEntities(input: $v) { start count total searchResults { entity { urn } } }",
    ),
    (
        "complete",
        "AutoCompleteMultipleInput!",
        "autoCompleteForMultiple(input: $v) { query suggestions { type suggestions } }",
    ),
    (
        "related",
        "RelationshipsInput!",
        "tag(urn: \"urn:li:tag:pii\") { relationships(input: $v) { total relationships { type } } }",
    ),
    (
        "scroll",
        "ScrollAcrossEntitiesInput!",
        "scrollAcrossEntities(input: $v) { count total searchResults { entity { urn } } }",
    ),
];

/// Members whose values are enums, which have another form in documents. Relationships have names.
fn has_enum(operation: &str, member: &str) -> bool {
    let members = ["types", "condition", "direction", "sortOrder"];
    members.contains(&member) && (operation, member) != ("related", "types")
}

#[tokio::test]
async fn fuzz_variables_mean_the_same_as_values_in_the_document() {
    let app = world().await;
    TARGET.run(async |input| check(&app, input).await).await;
}

async fn check(app: &App, input: &str) -> Outcome {
    let Ok(parsed) = serde_json::from_str::<Value>(input) else {
        let (status, reply) = post_text(app, "/api/graphql", input).await;
        return expect_clear(status, &reply);
    };
    let named = OPERATIONS
        .iter()
        .find(|(name, _, _)| parsed["operation"] == *name);
    let Some((name, kind, selection)) = named else {
        // Any other body.
        let (status, reply) = post_text(app, "/api/graphql", input).await;
        if status == StatusCode::OK {
            return expect_clear_reply(&reply);
        }
        return expect_clear(status, &reply);
    };
    let value = &parsed["value"];
    let document = format!("query ($v: {kind}) {{ r: {selection} }}");
    let body = json!({"query": document, "variables": {"v": value}});
    let (_, reply) = app.post("/api/graphql", &body).await;
    let outcome = expect_clear_reply(&reply)?;
    let Some(literal) = literal(value, name, "") else {
        return Ok(outcome);
    };
    let document = format!("{{ r: {} }}", selection.replace("$v", &literal));
    let (_, inline) = app.post("/api/graphql", &json!({"query": document})).await;
    expect_clear_reply(&inline)?;
    let failed = |reply: &Value| reply.get("errors").is_some();
    if failed(&reply) != failed(&inline) || !failed(&reply) && reply["data"] != inline["data"] {
        return Err(format!("{reply} with a variable, {inline} for {document}"));
    }
    Ok(outcome)
}

/// A value in the syntax of documents; `None` if it has another meaning there.
fn literal(value: &Value, operation: &str, member: &str) -> Option<String> {
    let is_name = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        // A variable may be 1.0 for an Int, and the document must have 1.
        Value::Number(number) if number.is_f64() => return None,
        Value::Number(number) => number.to_string(),
        Value::String(text) if has_enum(operation, member) && is_name(text) => {
            // These are other literals.
            if ["true", "false", "null"].contains(&text.as_str()) {
                return None;
            }
            text.clone()
        }
        Value::String(text) => {
            let escaped = |it: char| match it {
                '"' | '\\' => format!("\\{it}"),
                it if u32::from(it) < 0x20 => format!("\\u{:04x}", u32::from(it)),
                it => it.to_string(),
            };
            format!("\"{}\"", text.chars().map(escaped).collect::<String>())
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| literal(item, operation, member));
            format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(", "))
        }
        Value::Object(members) => {
            if !members.keys().all(|name| is_name(name)) {
                return None;
            }
            let members = members
                .iter()
                .map(|(name, value)| Some(format!("{name}: {}", literal(value, operation, name)?)));
            format!("{{{}}}", members.collect::<Option<Vec<_>>>()?.join(", "))
        }
    })
}
