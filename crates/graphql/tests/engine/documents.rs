//! Selections, fragments, conditions, variables and operations.

use serde_json::{Value, json};

use crate::fixture::{Fixture, data, messages};

const CHAIN: &str =
    r#"{\"value\": 1, \"text\": \"t\", \"next\": {\"value\": 2, \"text\": \"u\", \"number\": 3}}"#;

#[tokio::test]
async fn selections_with_the_same_response_name_are_merged_at_the_first_occurrence() {
    let fixture = Fixture::new(&[]).await;
    let query = format!(
        r#"{{ chain(json: "{CHAIN}") {{
            next {{ value }} text n: next {{ text }} ...More next {{ text ...Deep }} ... {{ value }} text
        }} }}
        fragment More on Chain {{ next {{ number value }} }}
        fragment Deep on Chain {{ ...Deeper value }}
        fragment Deeper on Chain {{ list }}"#
    );
    assert_eq!(
        fixture.data(&query).await,
        r#"{"chain":{"next":{"value":2,"number":3,"text":"u","list":null},"text":"t","n":{"text":"u"},"value":1}}"#
    );
}

#[tokio::test]
async fn fragments_on_interfaces_and_unions_apply_to_their_types() {
    let fixture = Fixture::new(&[
        (
            "urn:li:domain:a",
            "domainProperties",
            json!({"name": "A", "description": ""}),
        ),
        (
            "urn:li:corpuser:jdoe",
            "corpUserInfo",
            json!({"active": true, "title": "Dr"}),
        ),
    ])
    .await;
    let query = r#"{
        entities(urns: ["urn:li:domain:a", "urn:li:corpuser:jdoe", "urn:li:dataPlatform:hive"]) {
            ...OnEntity ... on Named { name } ... on Domain { id ...OnEntity } ... on Entity { ... on CorpUser { title } }
        }
        chain(json: "{\"any\": \"urn:li:corpuser:jdoe\"}") { any { ...Person __typename } }
    }
    fragment OnEntity on Entity { __typename type }
    fragment Person on Person { ... on Entity { urn } ... on CorpGroup { name } }"#;
    assert_eq!(
        fixture.data(query).await,
        concat!(
            r#"{"entities":[{"__typename":"Domain","type":"DOMAIN","name":"A","id":"a"},"#,
            r#"{"__typename":"CorpUser","type":"CORP_USER","title":"Dr"},"#,
            r#"{"__typename":"DataPlatform","type":"DATA_PLATFORM","name":"hive"}],"#,
            r#""chain":{"any":{"urn":"urn:li:corpuser:jdoe","__typename":"CorpUser"}}}"#
        )
    );
    // The user is reached by two selections, and both are read in one call.
    assert_eq!(fixture.store.take_reads(), 1);
}

#[tokio::test]
async fn skip_and_include_accept_literals_variables_and_defaults() {
    let fixture = Fixture::new(&[]).await;
    let query = format!(
        r#"query($yes: Boolean!, $no: Boolean = false) {{ chain(json: "{CHAIN}") {{
            a: value @include(if: $yes)
            b: value @skip(if: $yes)
            c: value @include(if: $no)
            d: value @skip(if: false) @include(if: true)
            ... @include(if: $no) {{ e: value }}
            ...F @skip(if: $no)
            next @include(if: $yes) {{ value }}
            next @skip(if: $yes) {{ text }}
        }} }} fragment F on Chain {{ f: value @include(if: $yes) }}"#
    );
    for (variables, expected) in [
        (
            json!({"yes": true}),
            r#"{"a":1,"d":1,"f":1,"next":{"value":2}}"#,
        ),
        (
            json!({"yes": false}),
            r#"{"b":1,"d":1,"next":{"text":"u"}}"#,
        ),
        (
            json!({"yes": true, "no": true}),
            r#"{"a":1,"c":1,"d":1,"e":1,"next":{"value":2}}"#,
        ),
        (
            json!({"yes": true}),
            r#"{"a":1,"d":1,"f":1,"next":{"value":2}}"#,
        ),
    ] {
        let reply = fixture.with_variables(&query, variables).await;
        assert_eq!(data(&reply), format!(r#"{{"chain":{expected}}}"#));
    }
}

async fn arguments(query: &str, variables: Value) -> Value {
    let fixture = Fixture::new(&[]).await;
    let reply: Value =
        serde_json::from_str(&fixture.with_variables(query, variables).await).unwrap();
    match reply["data"]["arguments"].as_str() {
        Some(text) => serde_json::from_str(text).unwrap(),
        None => reply,
    }
}

#[tokio::test]
async fn arguments_come_from_literals_variables_and_defaults() {
    assert_eq!(
        arguments("{ arguments }", json!({})).await,
        json!({"text": "none"})
    );
    let literal = "{ arguments(number: 5, input: {x: 1}, flags: true, color: NUMBER, text: null, long: 5000000000) }";
    assert_eq!(
        arguments(literal, json!({})).await,
        json!({"text": null, "number": 5, "input": [{"x": 1, "y": 7, "color": "TEXT"}],
               "long": 5_000_000_000_i64, "color": "NUMBER", "flags": [[true]]})
    );
    let query = "query($text: String, $number: Int = 3, $x: Int!, $point: Point, $missing: Int) {
        arguments(text: $text, number: $number, point: $point, input: [{x: $x, y: $missing}, {x: 2}]) }";
    assert_eq!(
        arguments(query, json!({"x": 1, "point": {"x": 9}})).await,
        json!({"text": "none", "number": 3, "point": {"x": 9, "y": 7, "color": "TEXT"},
               "input": [{"x": 1, "y": 7, "color": "TEXT"}, {"x": 2, "y": 7, "color": "TEXT"}]})
    );
    assert_eq!(
        arguments(
            query,
            json!({"x": 1, "text": null, "number": null, "missing": 4, "more": 1})
        )
        .await,
        json!({"text": null, "number": null,
               "input": [{"x": 1, "y": 4, "color": "TEXT"}, {"x": 2, "y": 7, "color": "TEXT"}]})
    );
}

#[tokio::test]
async fn invalid_variables_are_validation_errors() {
    for (query, variables, reason) in [
        (
            "query($v: Int!) { arguments(number: $v) }",
            json!({}),
            "Variable 'v'",
        ),
        (
            "query($v: Int!) { arguments(number: $v) }",
            json!({"v": null}),
            "not null",
        ),
        (
            "query($v: Int) { arguments(number: $v) }",
            json!({"v": "x"}),
            "is not a 'Int'",
        ),
        (
            "query($v: Point) { arguments(point: $v) }",
            json!({"v": {"x": 1, "q": 1}}),
            "no field 'q'",
        ),
    ] {
        let reply = arguments(query, variables).await;
        assert_eq!(reply["data"], Value::Null);
        assert!(messages(&reply)[0].contains(reason), "{reply}");
        assert_eq!(
            reply["errors"][0]["extensions"],
            json!({"classification": "ValidationError"})
        );
        assert_eq!(
            reply["errors"][0]["locations"],
            json!([{"line": 1, "column": 7}])
        );
    }
    // Validation accepts any literal for a custom scalar, so this is an error of the field.
    let reply = arguments(r#"{ arguments(long: "x") }"#, json!({})).await;
    assert_eq!(reply["data"], json!({"arguments": null}));
    assert!(messages(&reply)[0].contains("argument 'long'"), "{reply}");
    assert_eq!(reply["errors"][0]["extensions"]["code"], 400);
}

#[tokio::test]
async fn block_strings_and_raw_line_breaks_are_preserved() {
    let block = "{ arguments(text: \"\"\"\n    # Title\n\n      indented \"quotes\" \\\"\"\"\n    \"\"\") }";
    assert_eq!(
        arguments(block, json!({})).await["text"],
        "# Title\n\n  indented \"quotes\" \"\"\""
    );
    let raw = "{ arguments(text: \"one\ntwo\r\n\tthree # no comment\") # \"a\nb: __typename }";
    assert_eq!(
        arguments(raw, json!({})).await["text"],
        "one\ntwo\r\n\tthree # no comment"
    );
}

#[tokio::test]
async fn operation_name_selects_one_of_several_operations() {
    let fixture = Fixture::new(&[]).await;
    let query = "query A { a: __typename } query B { b: __typename } mutation C { c: __typename }";
    for (name, expected) in [
        ("A", r#"{"a":"Query"}"#),
        ("B", r#"{"b":"Query"}"#),
        ("C", r#"{"c":"Mutation"}"#),
    ] {
        let reply = fixture.operation(query, Some(name), json!({})).await;
        assert_eq!(data(&reply), expected);
    }
    for (name, reason) in [
        (None, "several operations"),
        (Some("D"), "'D'"),
        (Some(""), "several"),
    ] {
        let reply = fixture.operation(query, name, json!({})).await;
        assert!(reply.contains(reason), "{reply}");
        assert!(reply.contains(r#""data":null,"extensions":{}"#), "{reply}");
    }
    let reply = fixture.text("fragment F on Chain { value }").await;
    assert!(reply.contains("Unused fragment 'F'"), "{reply}");
}
