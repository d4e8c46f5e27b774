//! The memory of cached documents is bounded, even if short texts expand to large plans.

use std::fmt::Write as _;

use crate::fixture::Fixture;
use serde_json::{Map, Value, json};

/// The limit of the cache is 32 MiB; the rest is for the allocator and the requests.
const ALLOWED_KIB: usize = 60 * 1024;

/// Fragments that spread each other twice; `f{depth}` selects about 6 * 2^depth fields.
fn fragments(depth: usize, directive: &str) -> String {
    let mut text = format!(" fragment f0 on Domain {{ urn id name {directive} type }}");
    for level in 1..=depth {
        let inner = format!("parent {{ ...f{} }}", level - 1);
        let _ = write!(
            text,
            " fragment f{level} on Domain {{ a: {inner} b: {inner} }}"
        );
    }
    text
}

/// The resident memory of the process.
fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.unwrap().parse().unwrap()
}

fn check(before_kib: usize) {
    let grown_kib = resident_kib().saturating_sub(before_kib);
    assert!(grown_kib < ALLOWED_KIB, "grown by {grown_kib} KiB");
}

#[tokio::test]
async fn texts_that_expand_by_fragments_take_bounded_memory() {
    let fixture = Fixture::new(&[]).await;
    let before_kib = resident_kib();
    let fragments = fragments(8, "");
    for number in 0..200 {
        let query = format!("# {number}\n{{ domain(urn: \"urn:li:domain:d\") {{ ...f8 }} }}");
        fixture.text(&(query + &fragments)).await;
    }
    check(before_kib);
}

#[tokio::test]
async fn wide_fragments_that_are_spread_often_are_rejected_before_they_are_expanded() {
    let fixture = Fixture::new(&[]).await;
    let before_kib = resident_kib();
    let mut spreads = String::new();
    for number in 0..1_000 {
        let _ = write!(
            spreads,
            "a{number}: domain(urn: \"urn:li:domain:d\") {{ ...F }} "
        );
    }
    let fields = "__typename ".repeat(3_000);
    let query = format!("{{ {spreads} }} fragment F on Domain {{ {fields} }}");
    let reply = fixture.text(&query).await;
    assert!(reply.contains("number of selections"), "{reply}");
    check(before_kib);
}

#[tokio::test]
async fn plans_for_all_values_of_conditions_take_bounded_memory() {
    let fixture = Fixture::new(&[]).await;
    let before_kib = resident_kib();
    let names = ["a", "b", "c", "d", "e"];
    let declared: String = names.map(|name| format!("${name}: Boolean!")).join(" ");
    let skips: String = names
        .map(|name| format!("{name}: name @skip(if: ${name})"))
        .join(" ");
    let fragments = fragments(7, &skips);
    for number in 0..8 {
        let query = format!(
            "# {number}\nquery ({declared}) {{ domain(urn: \"urn:li:domain:d\") {{ ...f7 }} }}{fragments}"
        );
        for bits in 0..32 {
            let values: Map<String, Value> = names
                .iter()
                .enumerate()
                .map(|(bit, name)| ((*name).to_owned(), json!(bits >> bit & 1 == 1)))
                .collect();
            fixture.with_variables(&query, Value::Object(values)).await;
        }
    }
    check(before_kib);
}

#[tokio::test]
async fn plans_compiled_during_execution_take_bounded_memory() {
    let domain = "urn:li:domain:d";
    let value = json!({"name": "D", "description": ""});
    let fixture = Fixture::new(&[(domain, "domainProperties", value)]).await;
    let before_kib = resident_kib();
    let fragments = fragments(8, "");
    for number in 0..200 {
        let query =
            format!("# {number}\n{{ entity(urn: \"{domain}\") {{ ... on Domain {{ ...f8 }} }} }}");
        fixture.data(&(query + &fragments)).await;
    }
    check(before_kib);
}
