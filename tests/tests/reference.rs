//! Compares the GraphQL executor with a reference implementation: both execute the same documents
//! over the same schema and data.
//!
//! The reference is graphql-core; the Python code in `tests/reference/` interprets the directives
//! of the schema independently. Documents are in `tests/reference/documents/`, and `generate.py`
//! generates more from a seed. To add a document, add it to the file of its topic; to add data that
//! the demo lacks, add it to `additions.json`.
//!
//! Before each document, the server executes it with other strings, because texts that differ only
//! in strings share what was parsed.
//!
//! Replies are equal if their data is, including the order of members, and if their errors have the
//! same paths and locations. Messages are not compared. Both must reject the same documents.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use docent_e2e::{Options, Server, python, repository_root, temporary_directory};
use serde_json::{Map, Value, json};

/// The number of generated documents, and the seed.
const GENERATED: usize = 400;
const SEED: usize = 1;

/// The minimum number of documents, so that none are lost.
const AT_LEAST: usize = 650;

/// The number of differences that a failing run prints.
const SHOWN: usize = 10;

#[test]
fn the_executor_agrees_with_the_reference_on_every_document() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo().without_authentication())?;
    let urns = fill(&server)?;
    let scratch = temporary_directory()?;
    let data = scratch.path().join("data.json");
    fs::write(&data, Value::Object(dump(&server, urns)?).to_string())?;

    let cases = run_reference(&data)?;
    ensure!(
        cases.len() >= AT_LEAST,
        "the reference executed only {} documents",
        cases.len()
    );
    let mut failed = 0;
    let mut shown = String::new();
    for case in &cases {
        share_document(&server, &case["request"])?;
        let reply = server.post("/api/graphql", &case["request"])?;
        ensure!(
            reply.status == 200,
            "{}: status {}: {}",
            case["name"],
            reply.status,
            reply.body
        );
        if let Some(difference) = difference(case, &reply.json()?) {
            failed += 1;
            if failed <= SHOWN {
                let request = &case["request"];
                writeln!(
                    shown,
                    "=== {}\n{}\nvariables: {}\n{difference}",
                    case["name"].as_str().unwrap_or_default(),
                    request["query"].as_str().unwrap_or_default().trim(),
                    request["variables"]
                )?;
            }
        }
    }
    ensure!(
        failed == 0,
        "{failed} of {} replies differ from the reference:\n{shown}",
        cases.len()
    );
    Ok(())
}

/// Lets the request be executed with the document of a text that has other strings.
fn share_document(server: &Server, request: &Value) -> anyhow::Result<()> {
    let query = request["query"].as_str().unwrap_or_default();
    let Some(other) = with_other_strings(query) else {
        return Ok(());
    };
    let mut request = request.clone();
    request["query"] = other.into();
    server.post("/api/graphql", &request)?;
    Ok(())
}

/// The text with a character before each quoted string; `None` if there are none.
fn with_other_strings(query: &str) -> Option<String> {
    if query.contains("\"\"\"") || query.contains('#') || query.contains("mutation") {
        return None;
    }
    let mut other = String::with_capacity(query.len() + 16);
    let (mut is_string, mut is_escaped) = (false, false);
    for character in query.chars() {
        other.push(character);
        if character == '"' && !is_escaped {
            is_string = !is_string;
            if is_string {
                other.push('x');
            }
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    (other != query).then_some(other)
}

#[test]
fn a_changed_reply_is_a_difference() {
    let case = json!({
        "name": "x",
        "rejected": false,
        "reply": {
            "data": {"a": 1, "b": [null, {"c": "x"}]},
            "errors": [{"message": "m", "path": ["b", 0], "locations": [{"line": 1, "column": 3}]}]
        }
    });
    let same = json!({
        "data": {"a": 1, "b": [null, {"c": "x"}]},
        "errors": [{"message": "another", "path": ["b", 0], "locations": [{"line": 1, "column": 3}]}],
        "extensions": {}
    });
    assert_eq!(difference(&case, &same), None);
    for (pointer, changed) in [
        ("/data", json!({"b": [null, {"c": "x"}], "a": 1})),
        ("/data", Value::Null),
        ("/data/a", json!(1.0)),
        ("/data/b/1/c", json!("y")),
        ("/data/b/1", json!({"c": "x", "d": null})),
        ("/errors", json!([])),
        ("/errors/0/path", json!(["b", 1])),
        ("/errors/0/locations/0/column", json!(4)),
        ("/errors", json!([same["errors"][0], same["errors"][0]])),
    ] {
        let mut reply = same.clone();
        *reply.pointer_mut(pointer).unwrap() = changed;
        assert!(difference(&case, &reply).is_some(), "{reply}");
    }
}

#[test]
fn executing_a_document_that_the_reference_rejects_is_a_difference() {
    let case = json!({
        "name": "x",
        "rejected": true,
        "reply": {"data": null, "errors": [{"message": "m"}]}
    });
    let rejection = json!({"data": null, "errors": [{"message": "other"}]});
    assert_eq!(difference(&case, &rejection), None);
    for reply in [
        json!({"data": {"a": 1}}),
        json!({"data": null}),
        json!({"data": null, "errors": [{"message": "m", "path": ["a"]}]}),
        json!({"data": {"a": 1}, "errors": [{"message": "m"}]}),
    ] {
        assert!(difference(&case, &reply).is_some(), "{reply}");
    }
}

/// Describes the first difference between the reference and the server's reply.
fn difference(case: &Value, reply: &Value) -> Option<String> {
    let none = Vec::new();
    let errors = |reply: &Value| reply["errors"].as_array().unwrap_or(&none).clone();
    let ours = errors(reply);
    let expected = errors(&case["reply"]);
    let rejected = reply["data"].is_null()
        && !ours.is_empty()
        && ours.iter().all(|error| error.get("path").is_none());
    if case["rejected"] == true {
        let reason = &expected.first()?["message"];
        return (!rejected).then(|| {
            format!("only the reference rejects it: {reason}\nthe server replies: {reply}")
        });
    }
    if rejected {
        return Some(format!("only the server rejects it: {}", reply["errors"]));
    }
    let introspection = case["name"]
        .as_str()
        .is_some_and(|name| name.starts_with("introspection"));
    let comparable = |data: &Value| {
        let mut data = data.clone();
        if introspection {
            normalize(&mut data);
        }
        data.to_string()
    };
    let (expected_data, data) = (
        comparable(&case["reply"]["data"]),
        comparable(&reply["data"]),
    );
    if expected_data != data {
        return Some(first_difference(&expected_data, &data));
    }
    let (expected, ours) = (locations(&expected), locations(&ours));
    (expected != ours)
        .then(|| format!("errors of the reference: {expected:?}\nof the server: {ours:?}"))
}

/// The paths and locations of errors, sorted because their order is unspecified.
fn locations(errors: &[Value]) -> Vec<String> {
    let mut locations: Vec<String> = errors
        .iter()
        .map(|error| format!("{} at {}", error["path"], error["locations"]))
        .collect();
    locations.sort();
    locations
}

/// Shows two texts around their first difference.
fn first_difference(expected: &str, actual: &str) -> String {
    let same = expected
        .chars()
        .zip(actual.chars())
        .take_while(|(expected, actual)| expected == actual)
        .count();
    let around = |text: &str| -> String {
        text.chars()
            .skip(same.saturating_sub(120))
            .take(300)
            .collect()
    };
    format!(
        "the reference: …{}…\nthe server:    …{}…",
        around(expected),
        around(actual)
    )
}

/// Normalizes introspection: sorts by name, because the order is unspecified, and reduces built-in
/// types and directives to their names, because implementations describe them differently.
fn normalize(value: &mut Value) {
    const BUILT_IN: [&str; 9] = [
        "Boolean",
        "Float",
        "ID",
        "Int",
        "String",
        "deprecated",
        "include",
        "skip",
        "specifiedBy",
    ];
    match value {
        Value::Object(members) => {
            if let Some(name) = members.get("name").and_then(Value::as_str)
                && (name.starts_with("__") || BUILT_IN.contains(&name))
            {
                members.retain(|member, _| member == "name");
            }
            members.values_mut().for_each(normalize);
        }
        Value::Array(elements) => {
            elements.iter_mut().for_each(normalize);
            elements.sort_by_key(|element| element["name"].as_str().map(str::to_owned));
        }
        _ => {}
    }
}

/// Adds the additional data and returns the URNs of all entities.
fn fill(server: &Server) -> anyhow::Result<BTreeSet<String>> {
    let root = repository_root();
    let entities = |path: &Path| -> anyhow::Result<Vec<Value>> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    };
    let mut demo = Vec::new();
    for file in fs::read_dir(root.join("crates/docent/demo"))? {
        demo.extend(entities(&file?.path())?);
    }
    let additions = entities(&root.join("tests/reference/additions.json"))?;
    for entity in &additions {
        let urn = entity["urn"].as_str().context("an addition has no URN")?;
        let aspects = entity["aspects"]
            .as_object()
            .context("an addition has no aspects")?;
        let proposals: Vec<Value> = aspects
            .iter()
            .map(|(name, value)| {
                json!({
                    "entityType": urn.split(':').nth(2),
                    "entityUrn": urn,
                    "changeType": "UPSERT",
                    "aspectName": name,
                    "aspect": {"contentType": "application/json", "value": value.to_string()}
                })
            })
            .collect();
        let reply = server.post(
            "/aspects?action=ingestProposalBatch",
            &json!({ "proposals": proposals }),
        )?;
        ensure!(reply.status == 200, "{urn}: {}", reply.body);
    }
    // Policies refer to roles, and owners to ownership types by their names alone.
    let listed = "{ listPolicies(input: {count: 100}) { policies { urn } }
        listOwnershipTypes(input: {count: 100}) { ownershipTypes { urn } } }";
    let listed = server.graphql(listed, json!({}))?;
    let types = listed["data"]["listOwnershipTypes"]["ownershipTypes"].as_array();
    let policies = listed["data"]["listPolicies"]["policies"].as_array();
    let policies = policies.context("no policies")?;
    demo.iter()
        .chain(&additions)
        .chain(policies)
        .chain(types.context("no ownership types")?)
        .map(|entity| {
            let urn = entity["urn"].as_str().context("an entity has no URN")?;
            Ok(urn.to_owned())
        })
        .collect()
}

/// Reads the entities and all existing entities that they refer to.
fn dump(server: &Server, urns: BTreeSet<String>) -> anyhow::Result<Map<String, Value>> {
    let mut found = BTreeMap::new();
    let mut seen = urns.clone();
    let mut pending: Vec<String> = urns.into_iter().collect();
    while let Some(urn) = pending.pop() {
        let reply = server.get(&format!("/entitiesV2/{}", encoded(&urn)))?;
        ensure!(reply.status == 200, "{urn}: {}", reply.body);
        let entity = reply.json()?;
        let aspects = entity["aspects"]
            .as_object()
            .context("an entity has no aspects")?;
        // A missing entity has only its key aspect, without system metadata.
        if !aspects
            .values()
            .any(|aspect| aspect.get("systemMetadata").is_some())
        {
            continue;
        }
        collect_urns(&entity, &mut |referenced| {
            if seen.insert(referenced.to_owned()) {
                pending.push(referenced.to_owned());
            }
        });
        found.insert(urn, entity);
    }
    Ok(found.into_iter().collect())
}

fn collect_urns(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) if text.starts_with("urn:li:") => found(text),
        Value::Array(elements) => elements.iter().for_each(|one| collect_urns(one, found)),
        Value::Object(members) => members.values().for_each(|one| collect_urns(one, found)),
        _ => {}
    }
}

/// Percent-encodes a path segment.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut path, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            write!(path, "%{byte:02X}").ok();
        }
        path
    })
}

/// Runs the reference on all documents.
fn run_reference(data: &Path) -> anyhow::Result<Vec<Value>> {
    let root = repository_root();
    let output = Command::new(python()?)
        .arg(root.join("tests/reference/reference.py"))
        .arg("--schema")
        .arg(root.join("crates/graphql/schema"))
        .arg("--registry")
        .arg(root.join("crates/model/registry.json"))
        .arg("--data")
        .arg(data)
        .arg("--documents")
        .arg(root.join("tests/reference/documents"))
        .args(["--generate", &GENERATED.to_string()])
        .args(["--seed", &SEED.to_string()])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .context("could not start Python")?;
    if !output.status.success() {
        bail!(
            "the reference failed with {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let printed = String::from_utf8(output.stdout).context("the reference did not print UTF-8")?;
    printed
        .lines()
        .map(|line| serde_json::from_str(line).context("the reference did not print JSON"))
        .collect()
}
