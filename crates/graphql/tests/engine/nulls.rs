//! Null propagation, lists, and values of the wrong type.

use serde_json::{Value, json};

use crate::fixture::{Fixture, messages};

async fn chain(value: &Value, selection: &str) -> Value {
    let fixture = Fixture::new(&[]).await;
    let text = Value::from(value.to_string());
    fixture
        .json(&format!("{{ chain(json: {text}) {selection} }}"))
        .await
}

#[tokio::test]
async fn null_in_a_non_null_field_propagates_to_the_nearest_nullable_parent() {
    let reply = chain(
        &json!({"next": {"must": {"must": {"value": 1}}, "value": 2}, "value": 3}),
        "{ value next { value must { must { value number } } } }",
    )
    .await;
    assert_eq!(reply["data"], json!({"chain": {"value": 3, "next": null}}));
    assert_eq!(reply["errors"].as_array().unwrap().len(), 1);
    assert_eq!(
        reply["errors"][0]["path"],
        json!(["chain", "next", "must", "must", "number"])
    );
    assert_eq!(
        reply["errors"][0]["extensions"],
        json!({"classification": "NullValueInNonNullableField"})
    );
}

#[tokio::test]
async fn null_that_propagates_to_the_root_makes_data_null() {
    let fixture = Fixture::new(&[]).await;
    let reply = fixture
        .text(r#"{ a: __typename requiredChain(json: "null") { value } }"#)
        .await;
    assert!(
        reply.ends_with(r#""data":null,"extensions":{}}"#),
        "{reply}"
    );
    let reply = fixture
        .json(r#"{ requiredChain(json: "{}") { number } }"#)
        .await;
    assert_eq!(reply["data"], Value::Null);
    assert_eq!(
        reply["errors"][0]["path"],
        json!(["requiredChain", "number"])
    );
}

#[tokio::test]
async fn null_in_a_list_propagates_to_the_element_or_the_list() {
    let reply = chain(
        &json!({"list": [1, null, 3], "grid": [[1, 2], []], "chains": [{"number": 1}, {}]}),
        "{ list grid chains { number } }",
    )
    .await;
    assert_eq!(
        reply["data"],
        json!({"chain": {"list": null, "grid": [[1, 2], []], "chains": null}})
    );
    let paths: Vec<_> = reply["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["path"].to_string())
        .collect();
    assert_eq!(
        paths,
        [r#"["chain","list",1]"#, r#"["chain","chains",1,"number"]"#]
    );
    let reply = chain(&json!({"grid": [[1], null]}), "{ grid }").await;
    assert_eq!(reply["data"], json!({"chain": null}));
    assert_eq!(reply["errors"][0]["path"], json!(["chain", "grid", 1]));
}

#[tokio::test]
async fn values_of_the_wrong_type_are_errors() {
    let reply = chain(
        &json!({"value": "many", "text": {"a": 1}, "list": 5, "next": {"value": 4_000_000_000_i64}}),
        "{ value text list next { value } }",
    )
    .await;
    assert_eq!(
        reply["data"],
        json!({"chain": {"value": null, "text": null, "list": null, "next": {"value": null}}})
    );
    assert_eq!(messages(&reply).len(), 4);
    assert!(
        messages(&reply)[0].contains("'value' of type 'Chain'"),
        "{reply}"
    );
}

#[tokio::test]
async fn maps_are_lists_of_entries_and_paths_are_tried_in_order() {
    let reply = chain(
        &json!({"map": {"x": {"value": 1}, "y": null}, "second": ["a", "b"]}),
        "{ map { key value { value } } fallback }",
    )
    .await;
    assert_eq!(
        reply["data"]["chain"],
        json!({"map": [{"key": "x", "value": {"value": 1}}, {"key": "y", "value": null}], "fallback": "b"})
    );
    let reply = chain(
        &json!({"first": {"a": "1"}, "second": ["a", "b"]}),
        "{ fallback }",
    )
    .await;
    assert_eq!(reply["data"]["chain"]["fallback"], "1");
    let reply = chain(&json!("just text"), "{ fallback value }").await;
    assert_eq!(
        reply["data"]["chain"],
        json!({"fallback": "just text", "value": null})
    );
}

#[tokio::test]
async fn interfaces_use_the_type_name_and_enums_their_stored_spellings() {
    let fixture = Fixture::new(&[]).await;
    let shapes = json!([
        {"__typename": "Circle", "area": 3, "radius": 1},
        {"__typename": "Square", "area": 4, "side": 2},
        {"__typename": "Blob", "area": 5},
        {"area": 6},
    ]);
    let text = Value::from(shapes.to_string());
    let query = format!(
        "{{ shapes(json: {text}) {{ area ... on Circle {{ radius }} ... on Square {{ side }} __typename }} }}"
    );
    assert_eq!(
        fixture.data(&query).await,
        r#"{"shapes":[{"area":3,"radius":1,"__typename":"Circle"},{"area":4,"side":2,"__typename":"Square"},null,null]}"#
    );
    let colors =
        json!(["TEXT", "stored spelling", {"com.linkedin.schema.NumberType": {}}, "PINK", 5, null]);
    let text = Value::from(colors.to_string());
    assert_eq!(
        fixture.data(&format!("{{ colors(json: {text}) }}")).await,
        r#"{"colors":["TEXT","TEXT","NUMBER",null,null,null]}"#
    );
}

#[tokio::test]
async fn errors_of_resolvers_have_code_type_and_location() {
    let fixture = Fixture::new(&[]).await;
    for (code, name) in [
        (400, "BAD_REQUEST"),
        (403, "UNAUTHORIZED"),
        (404, "NOT_FOUND"),
        (409, "CONFLICT"),
        (500, "SERVER_ERROR"),
        (503, "SERVICE_UNAVAILABLE"),
    ] {
        let reply = fixture
            .json(&format!("{{ ok: __typename failing(code: {code}) }}"))
            .await;
        assert_eq!(reply["data"], json!({"ok": "Query", "failing": null}));
        assert_eq!(
            reply["errors"][0]["extensions"],
            json!({"code": code, "type": name, "classification": "DataFetchingException"})
        );
        assert_eq!(
            reply["errors"][0]["locations"],
            json!([{"line": 1, "column": 18}])
        );
        assert!(!reply.to_string().contains("secret"), "{reply}");
    }
}
