//! GraphQL documents: a reply with data or errors that point into the document, never an internal
//! error, and the same for the second request, which uses the cached plan.

use axum::http::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::engine::{Format, Outcome, Target};
use crate::support::App;
use crate::{expect_clear_reply, world};

const TARGET: Target = Target {
    name: "graphql",
    format: Format::Text,
    dictionary: &[
        "query",
        "mutation",
        "subscription",
        "fragment",
        "on",
        "...",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ":",
        "$",
        "!",
        "@",
        "@include(if: true)",
        "@skip(if: false)",
        "\"\"\"",
        "\"",
        "#",
        "&",
        "|",
        "=",
        "__typename",
        "__schema",
        "__type",
        "urn",
        "dataset",
        "search",
        "Dataset",
        "Entity",
        "null",
        "true",
        "input",
        "urn:li:tag:pii",
        "name",
        "properties",
    ],
};

#[tokio::test]
async fn fuzz_graphql_documents_get_data_or_errors_that_point_into_them() {
    let app = world().await;
    TARGET
        .run(async |document| check(&app, document).await)
        .await;
}

async fn check(app: &App, document: &str) -> Outcome {
    let body = json!({"query": document});
    let (status, reply) = app.post("/api/graphql", &body).await;
    if status != StatusCode::OK {
        return Err(format!("{status}: {reply}"));
    }
    let outcome = expect_clear_reply(&reply)?;
    for error in reply["errors"].as_array().into_iter().flatten() {
        expect_inside(document, error)?;
    }
    if document.contains("mutation") {
        return Ok(outcome);
    }
    let mut request = app.request(Method::POST, "/api/graphql", body.to_string());
    let accepted = header::HeaderValue::from_static("application/graphql-response+json");
    request.headers_mut().insert(header::ACCEPT, accepted);
    let (status, again) = app.send(request).await;
    let is_same = again["errors"] == reply["errors"] && again["data"] == reply["data"];
    let is_rejected = status == StatusCode::BAD_REQUEST && again.get("data").is_none();
    if is_same && (status == StatusCode::OK || is_rejected) {
        return Ok(outcome);
    }
    Err(format!("{reply}, and then {status} {again}"))
}

fn expect_inside(document: &str, error: &Value) -> Result<(), String> {
    let lines: Vec<&str> = document.split(['\n', '\r']).collect();
    for location in error["locations"].as_array().into_iter().flatten() {
        let (line, column) = (location["line"].as_u64(), location["column"].as_u64());
        let (line, column) = (line.unwrap_or(0), column.unwrap_or(0));
        let text = usize::try_from(line)
            .ok()
            .and_then(|line| lines.get(line.checked_sub(1)?));
        // Windows' line ends are two here, so lines are only counted.
        let is_inside = text.is_some() && column > 0 && column <= 1 + document.len() as u64;
        if !is_inside {
            return Err(format!("an error outside of the document: {error}"));
        }
    }
    Ok(())
}
