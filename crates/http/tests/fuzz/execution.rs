//! Planning and execution: a document that the schema allows is executed, without an internal
//! error. Its members come in the order of the selection, and the cached plan gives the same.

use axum::http::StatusCode;
use serde_json::Value;

use crate::engine::{Format, Outcome, Target};
use crate::schema::Schema;
use crate::support::App;
use crate::{expect_clear_reply, world};

const TARGET: Target = Target {
    name: "execution",
    format: Format::Generated,
    dictionary: &[],
};

#[tokio::test]
async fn fuzz_documents_of_the_schema_are_executed_in_the_order_of_their_selections() {
    let app = world().await;
    let schema = Schema::of(&app).await;
    let generate = |random: &mut _, _| {
        let document = schema.document(random);
        // It may revoke the token of these requests. No other mutation may.
        if document.contains("signOutEverywhere") {
            return "{ __typename }".to_owned();
        }
        document
    };
    TARGET
        .run_with(generate, async |document| check(&app, document).await)
        .await;
    let damage = app.store().check().await.unwrap();
    assert!(damage.is_empty(), "{damage:#?}");
}

async fn check(app: &App, document: &str) -> Outcome {
    let reply = app.graphql(document).await;
    let outcome = expect_clear_reply(&reply)?;
    for error in reply["errors"].as_array().into_iter().flatten() {
        let classification = error["extensions"]["classification"].as_str();
        if ["InvalidSyntax", "ValidationError"]
            .map(Some)
            .contains(&classification)
        {
            return Err(format!("a valid document is rejected: {error}"));
        }
    }
    expect_ordered(&reply["data"])?;
    if document.starts_with("mutation")
        && app.get("/entities/urn:li:tag:pii").await.0 == StatusCode::UNAUTHORIZED
    {
        return Err("it ended the token of its caller".to_owned());
    }
    // Each invitation and each token has a new secret.
    let creates = ["getInviteToken", "getAccessToken("];
    if !document.starts_with("mutation") && !creates.iter().any(|it| document.contains(it)) {
        let again = app.graphql(document).await;
        if again != reply {
            return Err(format!("{reply}, and then {again}"));
        }
    }
    Ok(outcome)
}

/// Fails unless the numbers of the aliases increase in every object.
fn expect_ordered(value: &Value) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter().try_for_each(expect_ordered),
        Value::Object(members) => {
            let numbers = members
                .keys()
                .filter_map(|name| name.strip_prefix('a')?.parse::<usize>().ok());
            if !numbers.is_sorted() {
                return Err(format!("members in another order: {value}"));
            }
            members.values().try_for_each(expect_ordered)
        }
        _ => Ok(()),
    }
}
