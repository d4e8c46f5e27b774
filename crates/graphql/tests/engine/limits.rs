//! Limits on execution: entities, values, memory and the size of the reply.

use docent_graphql::Limits;
use serde_json::{Value, json};

use crate::fixture::{Fixture, data, dataset, messages};

const USER: &str = "urn:li:corpuser:jdoe";

fn described(name: &str, length: usize) -> (String, Value) {
    let properties = json!({"name": name, "description": "x".repeat(length), "customProperties": {}, "tags": []});
    (dataset(name), properties)
}

async fn limited(limits: Limits, names: &[&str]) -> Fixture {
    limited_with(limits, names, 100).await
}

/// With descriptions of a length.
async fn limited_with(limits: Limits, names: &[&str], length: usize) -> Fixture {
    let described: Vec<_> = names.iter().map(|name| described(name, length)).collect();
    let aspects: Vec<_> = described
        .iter()
        .map(|(urn, value)| (urn.as_str(), "datasetProperties", value.clone()))
        .collect();
    Fixture::limited(limits, &aspects).await
}

fn datasets(names: &[&str], selection: &str) -> String {
    let urns: Vec<_> = names.iter().map(|name| dataset(name)).collect();
    format!("{{ datasets(urns: {urns:?}) {{ {selection} }} }}")
}

fn assert_aborted(reply: &Value, message: &str) {
    assert_eq!(messages(reply), [message], "{reply}");
    assert_eq!(
        reply["errors"][0]["extensions"],
        json!({"classification": "ExecutionAborted"})
    );
    assert_eq!(reply["data"], Value::Null);
}

#[tokio::test]
async fn a_short_query_cannot_produce_an_endless_reply() {
    let urn = |number: usize| format!("urn:li:domain:d{number}");
    let domains: Vec<_> = (0..30)
        .map(|number| {
            let mut value = json!({"name": format!("d{number}")});
            if number > 0 {
                value["parentDomain"] = json!(urn(number - 1));
            }
            (urn(number), value)
        })
        .collect();
    let aspects: Vec<_> = domains
        .iter()
        .map(|(urn, value)| (urn.as_str(), "domainProperties", value.clone()))
        .collect();
    let fixture = Fixture::docent(&aspects).await;
    let nested = |times: usize| {
        let inner = (0..times).fold("urn".to_owned(), |inner, _| {
            format!("urn parentDomains {{ domains {{ ... on Domain {{ {inner} }} }} }}")
        });
        format!(r#"{{ domain(urn: "{}") {{ {inner} }} }}"#, urn(29))
    };
    data(&fixture.text(&nested(3)).await);
    let reply = fixture.json(&nested(9)).await;
    let message = messages(&reply)[0];
    assert!(
        message.starts_with("maximum bytes of the reply exceeded 671088")
            && message.ends_with(" > 67108864"),
        "{message}"
    );
    assert_aborted(&reply, message);
}

#[tokio::test]
async fn errors_count_as_part_of_the_reply() {
    let limits = Limits {
        reply_bytes: 2000,
        ..Limits::default()
    };
    let fixture = limited(limits, &[]).await;
    let missing: Vec<_> = (0..20).map(|number| format!("missing{number}")).collect();
    let missing: Vec<_> = missing.iter().map(String::as_str).collect();
    let few = fixture.json(&datasets(&missing[..2], "name")).await;
    assert_eq!(few["data"]["datasets"], json!([null, null]));
    assert_eq!(messages(&few).len(), 2);
    let many = fixture.json(&datasets(&missing, "name")).await;
    assert!(
        messages(&many)[0].starts_with("maximum bytes of the reply exceeded"),
        "{many}"
    );
    assert_aborted(&many, messages(&many)[0]);
}

#[tokio::test]
async fn a_reply_is_at_most_as_long_as_the_limit() {
    let query = datasets(&["a"], "properties { description }");
    let unlimited = limited(Limits::default(), &["a"]).await;
    let reply = unlimited.text(&query).await;
    // The limit applies to the part before `,"extensions":{}}`.
    let length = reply.strip_suffix(r#","extensions":{}}"#).unwrap().len() as u64;
    for (reply_bytes, fits) in [(length, true), (length - 1, false)] {
        let limits = Limits {
            reply_bytes,
            ..Limits::default()
        };
        let fixture = limited(limits, &["a"]).await;
        let limited = fixture.text(&query).await;
        assert_eq!(limited == reply, fits, "{limited}");
    }
}

#[tokio::test]
async fn entities_are_counted_once_per_selection() {
    let limits = Limits {
        entities: 3,
        ..Limits::default()
    };
    let fixture = limited(limits, &["a", "b", "c"]).await;
    let names = ["a", "b", "c", "a", "b", "c", "a", "b", "c"];
    data(&fixture.text(&datasets(&names, "name")).await);
    // Three datasets and their platform.
    let reply = fixture.json(&datasets(&names, "platform { urn }")).await;
    assert_aborted(&reply, "maximum number of entities visited exceeded 4 > 3");
    fixture.store.take_reads();
    let many: Vec<_> = (0..50).map(|number| format!("d{number}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let reply = fixture.json(&datasets(&many, "name")).await;
    // Detected early: not all of them are collected, and none is read.
    assert_aborted(&reply, "maximum number of entities visited exceeded 8 > 3");
    assert_eq!(fixture.store.take_reads(), 0);
}

#[tokio::test]
async fn the_fields_of_a_mutation_share_the_limits() {
    let limits = Limits {
        entities: 2,
        ..Limits::default()
    };
    let fixture = Fixture::limited(limits, &[]).await;
    let rename = |count: usize| {
        let fields: Vec<_> = (0..count)
            .map(|number| {
                format!(r#"m{number}: rename(urn: "urn:li:domain:a", name: "{number}") {{ name }}"#)
            })
            .collect();
        format!("mutation {{ {} }}", fields.join(" "))
    };
    data(&fixture.text(&rename(2)).await);
    let reply = fixture.json(&rename(3)).await;
    assert_aborted(&reply, "maximum number of entities visited exceeded 3 > 2");
}

#[tokio::test]
async fn visited_values_are_counted_while_loading_and_writing() {
    let limits = Limits {
        values: 100,
        ..Limits::default()
    };
    let fixture = Fixture::limited(limits, &[]).await;
    let chain = |count: usize, selection: &str| {
        let json = json!({"chains": vec![json!({"user": USER}); count]}).to_string();
        format!("{{ chain(json: {json:?}) {{ chains {{ {selection} }} }} }}")
    };
    data(&fixture.text(&chain(40, "value")).await);
    let reply = fixture.json(&chain(60, "value")).await;
    assert_aborted(
        &reply,
        "maximum number of values visited exceeded 101 > 100",
    );
    // While loading, before anything is written.
    fixture.store.take_reads();
    let reply = fixture.json(&chain(60, "user { title }")).await;
    assert_aborted(
        &reply,
        "maximum number of values visited exceeded 101 > 100",
    );
    assert_eq!(fixture.store.take_reads(), 0);
}

#[tokio::test]
async fn rows_and_results_of_resolvers_count_as_loaded_bytes() {
    let limits = Limits {
        loaded_bytes: 1000,
        ..Limits::default()
    };
    let fixture = limited(limits, &["a", "b", "c", "d", "e", "f", "g", "h"]).await;
    data(&fixture.text(&datasets(&["a", "b"], "shout")).await);
    for query in [
        datasets(
            &["a", "b", "c", "d", "e", "f", "g", "h"],
            "properties { description }",
        ),
        datasets(&["a", "b"], "a: shout b: shout c: shout d: shout"),
        datasets(&["a", "b", "c", "d", "e", "f"], "aspectNames"),
    ] {
        let reply = fixture.json(&query).await;
        assert_eq!(messages(&reply).len(), 1, "{reply}");
        assert!(
            messages(&reply)[0].starts_with("maximum bytes of loaded metadata exceeded"),
            "{query}: {reply}"
        );
    }
}

#[tokio::test]
async fn what_exceeds_the_loaded_bytes_is_not_read() {
    let limits = Limits {
        loaded_bytes: 1_500_000,
        ..Limits::default()
    };
    let names: Vec<String> = (0..100).map(|number| format!("t{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let fixture = limited_with(limits, &names, 20_000).await;
    fixture.store.take_reads();
    let query = datasets(&names, "properties { description }");
    let reply = fixture.json(&query).await;
    assert!(
        messages(&reply)[0].starts_with("maximum bytes of loaded metadata exceeded"),
        "{reply}"
    );
    assert_eq!(fixture.store.take_reads(), 0);
}

/// A few values can be long, too.
#[tokio::test]
async fn what_exceeds_the_loaded_bytes_is_not_read_if_it_is_a_few_long_values() {
    let limits = Limits {
        loaded_bytes: 1_300_000,
        ..Limits::default()
    };
    let names = ["a", "b", "c"];
    let fixture = limited_with(limits, &names, 500_000).await;
    fixture.store.take_reads();
    let query = |names: &[&str]| datasets(names, "properties { description }");
    let reply = fixture.json(&query(&names)).await;
    assert!(
        messages(&reply)[0].starts_with("maximum bytes of loaded metadata exceeded"),
        "{reply}"
    );
    assert_eq!(fixture.store.take_reads(), 0);
    data(&fixture.text(&query(&names[..2])).await);
    assert_eq!(fixture.store.take_reads(), 1);
}
