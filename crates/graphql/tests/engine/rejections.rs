//! Requests that are rejected before execution.

use std::fmt::Write as _;

use docent_graphql::Limits;
use serde_json::{Value, json};

use crate::fixture::{Fixture, messages};

#[tokio::test]
async fn a_syntax_error_has_its_location() {
    let fixture = Fixture::new(&[]).await;
    let reply = fixture.text("{\n  dataset(urn: ) { name }\n}").await;
    let json: Value = serde_json::from_str(&reply).unwrap();
    assert!(messages(&json)[0].starts_with("Invalid syntax"), "{reply}");
    assert_eq!(
        json["errors"][0]["extensions"],
        json!({"classification": "InvalidSyntax"})
    );
    assert_eq!(
        json["errors"][0]["locations"],
        json!([{"line": 2, "column": 16}])
    );
    assert!(
        reply.ends_with(r#"],"data":null,"extensions":{}}"#),
        "{reply}"
    );
    for text in ["", "null", "{", "query {", "{ a(b: \"unfinished", "{ a }}"] {
        let reply = fixture.json(text).await;
        assert!(
            messages(&reply)[0].starts_with("Invalid syntax"),
            "{text}: {reply}"
        );
    }
}

#[tokio::test]
async fn an_unknown_field_is_reported_with_its_type_and_path() {
    let fixture = Fixture::new(&[]).await;
    let reply = fixture
        .text(r#"{ d: dataset(urn: "x") { foo properties { bar } } }"#)
        .await;
    assert_eq!(
        reply,
        concat!(
            r#"{"errors":[{"message":"Validation error (FieldUndefined@[dataset/foo]) : Field 'foo' in type 'Dataset' is undefined","locations":[{"line":1,"column":26}],"extensions":{"classification":"ValidationError"}},"#,
            r#"{"message":"Validation error (FieldUndefined@[dataset/properties/bar]) : Field 'bar' in type 'DatasetProperties' is undefined","locations":[{"line":1,"column":43}],"extensions":{"classification":"ValidationError"}}],"data":null,"extensions":{}}"#
        )
    );
}

#[tokio::test]
async fn at_most_a_hundred_errors_are_reported() {
    let fixture = Fixture::new(&[]).await;
    let fields: Vec<_> = (0..150).map(|number| format!("x{number}")).collect();
    let reply = fixture.json(&format!("{{ {} }}", fields.join(" "))).await;
    assert_eq!(messages(&reply).len(), 100);
}

#[tokio::test]
async fn operations_over_a_limit_are_rejected_with_both_numbers() {
    let fixture = Fixture::new(&[]).await;
    let nested = |depth: usize| {
        format!(
            r#"{{ chain(json: "null") {} }}"#,
            "{ next ".repeat(depth - 2) + "{ value" + &" }".repeat(depth - 1)
        )
    };
    let reply = fixture.json(&nested(50)).await;
    assert_eq!(messages(&reply), [""; 0], "{reply}");
    let reply = fixture.json(&nested(51)).await;
    assert_eq!(messages(&reply), ["maximum query depth exceeded 51 > 50"]);
    assert_eq!(
        reply["errors"][0]["extensions"],
        json!({"classification": "ExecutionAborted"})
    );
    assert_eq!(reply["data"], Value::Null);

    let wide = |count: usize| {
        let fields: Vec<_> = (0..count)
            .map(|number| format!("a{number}: value"))
            .collect();
        format!(r#"{{ chain(json: "null") {{ {} }} }}"#, fields.join(" "))
    };
    let reply = fixture.json(&wide(1999)).await;
    assert_eq!(messages(&reply), [""; 0]);
    let reply = fixture.json(&wide(2000)).await;
    assert_eq!(
        messages(&reply),
        ["maximum query complexity exceeded 2001 > 2000"]
    );

    let query = "query($input: [Point!]) { arguments(input: $input) b: arguments(input: [{x: 1}, {x: 2}]) }";
    let points = |count: usize| json!({"input": vec![json!({"x": 1}); count]});
    let reply = fixture.with_variables(query, points(1996)).await;
    assert!(reply.starts_with("{\"data\""));
    let reply = fixture.with_variables(query, points(1997)).await;
    assert!(
        reply.contains("maximum query complexity exceeded 2001 > 2000"),
        "{reply}"
    );
}

#[tokio::test]
async fn the_fields_of_a_fragment_count_once_however_often_it_is_spread() {
    let fixture = Fixture::new(&[]).await;
    let query = |fields: usize| {
        let fields: Vec<_> = (0..fields)
            .map(|number| format!("a{number}: urn"))
            .collect();
        let fields = fields.join(" ");
        format!(
            r#"{{ a: entity(urn: "urn:li:domain:d") {{ ...F }} b: entity(urn: "urn:li:domain:d") {{ ...F }} }}
               fragment F on Entity {{ type ... on Dataset {{ {fields} }} ... on Domain {{ {fields} }} }}"#
        )
    };
    let reply = fixture.json(&query(998)).await;
    assert_eq!(messages(&reply), [""; 0], "{reply}");
    let reply = fixture.json(&query(999)).await;
    assert_eq!(
        messages(&reply),
        ["maximum query complexity exceeded 2001 > 2000"]
    );
}

#[tokio::test]
async fn plans_are_limited_by_the_types_that_occur() {
    let fields: Vec<_> = (0..100).map(|number| format!("a{number}: urn")).collect();
    let fields = fields.join(" ");
    let selection = format!("... on Dataset {{ {fields} }} ... on Domain {{ {fields} }}");
    let query = |count: usize| {
        let entities = (0..count)
            .map(|number| format!(r#"e{number}: entity(urn: "urn:li:domain:d") {{ ...F }}"#));
        let entities: Vec<_> = entities.collect();
        format!(
            "{{ {} }} fragment F on Entity {{ {selection} }}",
            entities.join(" ")
        )
    };
    let limits = |size| Limits {
        size,
        ..Limits::default()
    };
    // Each has a plan for the domain, and none for a dataset.
    let possible = 20 * 50;
    let fixture = Fixture::limited(limits(20 * 100 + possible), &[]).await;
    let reply = fixture.json(&query(20)).await;
    assert_eq!(messages(&reply), [""; 0], "{reply}");
    let fixture = Fixture::limited(limits(20 * 99), &[]).await;
    for _ in 0..2 {
        let reply = fixture.json(&query(20)).await;
        let message = messages(&reply).concat();
        assert!(
            message.starts_with("maximum size of the plan exceeded "),
            "{message}"
        );
        assert_eq!(reply["data"], Value::Null);
    }
    // Without an abstract type, before anything is executed.
    let wide = format!(r#"{{ domain(urn: "urn:li:domain:d") {{ {fields} }} }}"#);
    let fixture = Fixture::limited(limits(100), &[]).await;
    let reply = fixture.json(&wide).await;
    assert_eq!(
        messages(&reply),
        ["maximum size of the plan exceeded 101 > 100"]
    );
}

#[tokio::test]
async fn fragments_that_double_at_every_level_are_rejected_without_being_expanded() {
    let fixture = Fixture::new(&[]).await;
    let mut query = String::from(r#"{ chain(json: "null") { ...F0 } }"#);
    // Expanding 2^60 fields would not end: the test would time out.
    for number in 0..60 {
        let next = number + 1;
        let _ = write!(
            query,
            " fragment F{number} on Chain {{ a: next {{ ...F{next} }} b: next {{ ...F{next} }} }}"
        );
    }
    query.push_str(" fragment F60 on Chain { value }");
    let reply = fixture.json(&query).await;
    assert!(
        messages(&reply)[0].contains("number of selections exceeded"),
        "{reply}"
    );
}

#[tokio::test]
async fn huge_or_deeply_nested_texts_are_rejected() {
    let fixture = Fixture::new(&[]).await;
    let deep = format!(
        "{{ chain(json: \"null\") {}{{ value }}{} }}",
        "{ next ".repeat(5000),
        " }".repeat(5000)
    );
    let huge = format!("{{ arguments(text: \"{}\") }}", "x".repeat(3 * 1024 * 1024));
    let lists = format!(
        "{{ arguments(flags: {}{}) }}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let tokens = format!("{{ {} }}", "__typename ".repeat(150_000));
    for (text, reason) in [
        (deep, "recursion limit"),
        (huge, "bytes, at most 2097152 are allowed"),
        (lists, "recursion limit"),
        (tokens, "token limit"),
    ] {
        let reply = fixture.json(&text).await;
        assert_eq!(reply["data"], Value::Null);
        assert!(messages(&reply)[0].contains(reason), "{reply}");
    }
}

#[tokio::test]
async fn subscriptions_are_rejected() {
    let fixture = Fixture::new(&[]).await;
    let reply = fixture.json("subscription { value }").await;
    assert!(messages(&reply)[0].contains("subscription"), "{reply}");
}
