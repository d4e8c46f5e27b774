//! Texts that differ only in the strings of arguments share a document.

use std::fmt::Write as _;

use proptest::prelude::{Strategy, any, prop};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::fixture::{Fixture, data, dataset, messages};

fn misses(fixture: &Fixture) -> u64 {
    fixture.engine.measurements().plan_cache.misses
}

#[tokio::test]
async fn a_urn_in_the_text_is_read_with_the_plan_of_another() {
    let names = ["a", "b"].map(dataset);
    let aspects = names.each_ref().map(|name| {
        let properties = json!({"name": name, "description": "d"});
        (name.as_str(), "datasetProperties", properties)
    });
    let fixture = Fixture::new(&aspects).await;
    for name in &names {
        let query = format!("{{ dataset(urn: \"{name}\") {{ urn properties {{ name }} }} }}");
        let expected = json!({"dataset": {"urn": name, "properties": {"name": name}}});
        assert_eq!(fixture.data(&query).await, expected.to_string());
    }
    assert_eq!(misses(&fixture), 1);
    let query = format!("{{ dataset(urn: \"{}\") {{ urn name }} }}", names[0]);
    fixture.text(&query).await;
    assert_eq!(misses(&fixture), 2);
}

#[tokio::test]
async fn every_form_of_a_string_has_the_value_of_the_request() {
    let fixture = Fixture::new(&[]).await;
    for (misses_expected, literal, value) in [
        (1, r#""first""#, json!("first")),
        (1, r#""second""#, json!("second")),
        (1, r#""""#, json!("")),
        (1, r#""\"\\\/\b\f\n\r\t""#, json!("\"\\/\u{8}\u{c}\n\r\t")),
        (1, "\"raw\r\n\tbreak é\"", json!("raw\r\n\tbreak é")),
        // Parsed, because they need more than a simple replacement.
        (2, r#""\u0041""#, json!("A")),
        (3, "\"\"\"\n  block\n\"\"\"", json!("block")),
        (3, r#""last""#, json!("last")),
    ] {
        let reply = fixture
            .data(&format!("{{ arguments(text: {literal}) }}"))
            .await;
        let reply: Value = serde_json::from_str(&reply).unwrap();
        let arguments: Value = serde_json::from_str(reply["arguments"].as_str().unwrap()).unwrap();
        assert_eq!(arguments["text"], value, "{literal}");
        assert_eq!(misses(&fixture), misses_expected, "{literal}");
    }
}

#[tokio::test]
async fn fields_are_merged_only_if_their_strings_are_equal() {
    let fixture = Fixture::new(&[]).await;
    let query = |a: &str, b: &str| format!("{{ x: arguments(text: {a}) x: arguments(text: {b}) }}");
    fixture.data(&query("\"a\"", "\"a\"")).await;
    fixture.data(&query("\"b\"", "\"b\"")).await;
    fixture.data(&query("\"\\n\"", "\"\n\"")).await;
    assert_eq!(misses(&fixture), 1);
    for (a, b) in [
        ("\"a\"", "\"b\""),
        ("\"b\"", "\"a\""),
        ("\"a\"", "\"\"\"b\"\"\""),
    ] {
        let reply = fixture.json(&query(a, b)).await;
        assert!(messages(&reply)[0].contains("Conflict"), "{reply}");
    }
}

#[tokio::test]
async fn strings_in_lists_and_objects_are_replaced() {
    let fixture = Fixture::docent(&[]).await;
    for (id, name) in [("one", "One"), ("two", r#"\"2\""#)] {
        let mutation =
            format!("mutation {{ createTag(input: {{id: \"{id}\", name: \"{name}\"}}) }}");
        let expected = json!({"createTag": format!("urn:li:tag:{id}")});
        assert_eq!(fixture.data(&mutation).await, expected.to_string());
    }
    assert_eq!(misses(&fixture), 1);
    let query = "query($u: String!) { tag(urn: $u) { properties { name } } }";
    let reply = fixture
        .with_variables(query, json!({"u": "urn:li:tag:two"}))
        .await;
    let expected = json!({"tag": {"properties": {"name": "\"2\""}}});
    assert_eq!(data(&reply), expected.to_string());
    let fixture = Fixture::new(&[]).await;
    for platform in ["hive", "mysql"] {
        let urns = ["a", "b"].map(|name| format!("urn:li:dataPlatform:{platform}{name}"));
        let list = json!(urns);
        let expected = json!({"entities": urns.map(|urn| json!({"urn": urn}))});
        let query = format!("{{ entities(urns: {list}) {{ urn }} }}");
        assert_eq!(fixture.data(&query).await, expected.to_string());
    }
    assert_eq!(misses(&fixture), 1);
}

/// A string in their place is valid or not by its value.
#[tokio::test]
async fn strings_of_other_types_are_checked_in_each_text() {
    let fixture = Fixture::new(&[]).await;
    let query = |long: &str| format!("{{ arguments(long: \"{long}\") }}");
    assert!(fixture.data(&query("12")).await.contains("12"));
    assert!(fixture.data(&query("13")).await.contains("13"));
    let reply = fixture.json(&query("many")).await;
    assert!(
        messages(&reply)[0].contains("\"many\" is not a 'Long'"),
        "{reply}"
    );
    for wrong in [
        "arguments(number: \"a\")",
        "arguments(color: \"RED\")",
        "entity(id: \"a\")",
    ] {
        let reply = fixture.json(&format!("{{ {wrong} }}")).await;
        assert!(
            messages(&reply)[0].starts_with("Validation error"),
            "{reply}"
        );
    }
}

#[tokio::test]
async fn errors_have_their_locations_in_the_text_of_the_request() {
    let fixture = Fixture::new(&[]).await;
    let query = |text: &str| {
        format!(
            "query($n: Int) {{\n  arguments(text: \"{text}\", number: $n) failing(code: 404)\n}}"
        )
    };
    let location = async |text: &str, variables: Value| {
        let reply = fixture.with_variables(&query(text), variables).await;
        let reply: Value = serde_json::from_str(&reply).unwrap();
        reply["errors"][0]["locations"][0].clone()
    };
    for (text, line, column) in [("a", 2, 36), ("", 2, 35), ("é\n\n1", 4, 17), ("abc", 2, 38)] {
        let found = location(text, json!({})).await;
        assert_eq!(found, json!({"line": line, "column": column}), "{text}");
        let found = location(text, json!({"n": "wrong"})).await;
        assert_eq!(found, json!({"line": 1, "column": 7}), "{text}");
    }
    assert_eq!(misses(&fixture), 1);
}

#[tokio::test]
async fn introspection_reads_the_names_of_the_request() {
    let fixture = Fixture::new(&[]).await;
    for name in ["Dataset", "Domain"] {
        let reply = fixture
            .data(&format!("{{ __type(name: \"{name}\") {{ name }} }}"))
            .await;
        assert_eq!(reply, json!({"__type": {"name": name}}).to_string());
    }
}

#[tokio::test]
async fn values_of_several_operations_and_fragments_are_independent_of_variables() {
    let fixture = Fixture::new(&[]).await;
    for text in ["one", "two"] {
        let query = format!(
            "query A($t: String = \"default\") {{ arguments(text: $t) ...F }}
             query B {{ b: arguments(text: \"{text}\") ...F }}
             fragment F on Query {{ f: arguments(text: \"{text}!\") }}"
        );
        for (operation, other) in [("A", "\"text\":\"default\""), ("B", text)] {
            let reply = fixture.operation(&query, Some(operation), json!({})).await;
            let reply = data(&reply).replace("\\\"", "\"");
            assert!(reply.contains(other), "{reply}");
            assert!(reply.contains(&format!("{text}!")), "{reply}");
        }
    }
    assert_eq!(misses(&fixture), 1);
}

/// Whatever a text contains, its strings arrive as variables with the same values do.
#[test]
fn a_string_in_the_text_is_the_same_as_one_in_a_variable() {
    let runtime = Runtime::new().unwrap();
    let fixture = runtime.block_on(Fixture::new(&[]));
    let part = prop::sample::select(vec![
        "\"", "\\", "\n", "\r", "\t", "{", ")", "#", "é", "urn", "\u{1}",
    ]);
    let text = prop::collection::vec(part.prop_map(str::to_owned), 0..8);
    let text = text.prop_map(|parts| parts.concat());
    let mut runner = TestRunner::new(Config::with_cases(300));
    runner
        .run(&(text, any::<bool>()), |(text, raw)| {
            let literal = literal(&text, raw);
            let inline =
                format!("{{ arguments(text: {literal}) chain(json: \"null\") {{ value }} }}");
            let query = "query($t: String) { arguments(text: $t) chain(json: \"null\") { value } }";
            let variables = json!({"t": text});
            let (found, expected) = runtime.block_on(async {
                (
                    fixture.data(&inline).await,
                    data(&fixture.with_variables(query, variables).await),
                )
            });
            assert_eq!(found, expected, "{literal}");
            Ok(())
        })
        .unwrap();
}

/// A quoted string. Raw line breaks are left as they are on request.
fn literal(text: &str, raw: bool) -> String {
    let mut literal = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                literal.push('\\');
                literal.push(character);
            }
            '\n' | '\r' | '\t' if raw => literal.push(character),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            '\u{1}' => {
                let _ = write!(literal, "\\u{:04x}", u32::from(character));
            }
            character => literal.push(character),
        }
    }
    literal.push('"');
    literal
}
