//! Mutations run one after another, each with its selection.

use serde_json::{Value, json};

use crate::fixture::{Fixture, messages};

#[tokio::test]
async fn mutations_run_in_order_and_continue_after_a_failure() {
    let fixture = Fixture::new(&[]).await;
    let query = r#"mutation { z: append(text: "clear") { text } b: append(text: "b") { text } fail a: append(text: "a") { text } }"#;
    let reply = fixture.json(query).await;
    assert_eq!(
        reply["data"].to_string(),
        r#"{"z":{"text":""},"b":{"text":"b"},"fail":null,"a":{"text":"ba"}}"#
    );
    assert_eq!(messages(&reply), ["no"]);
    assert_eq!(reply["errors"][0]["path"], json!(["fail"]));
    // Null in a non-null root field ends the operation.
    let reply = fixture
        .json(r#"mutation { a: append(text: "null") { text } b: append(text: "never") { text } }"#)
        .await;
    assert_eq!(reply["data"], Value::Null);
    let reply = fixture
        .json(r#"mutation { append(text: "c") { text } }"#)
        .await;
    assert_eq!(reply["data"]["append"]["text"], "bac");
}

#[tokio::test]
async fn each_mutation_reads_the_writes_of_previous_ones() {
    let fixture = Fixture::new(&[(
        "urn:li:domain:a",
        "domainProperties",
        json!({"name": "A", "description": ""}),
    )])
    .await;
    let query = r#"mutation {
        one: rename(urn: "urn:li:domain:a", name: "B") { name }
        two: rename(urn: "urn:li:domain:a", name: "C") { name }
    }"#;
    assert_eq!(
        fixture.data(query).await,
        r#"{"one":{"name":"B"},"two":{"name":"C"}}"#
    );
}
