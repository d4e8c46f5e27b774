//! For a caller who may not see something, it does not exist: every read over every API, and every
//! write that names it, gets the reply of a server that has never stored it. A query or a route
//! without a row fails the test.

mod rows;
mod world;

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::support::{App, DATASET, encoded};
use crate::tokens::PROTECTED;
use crate::{access, rest_access};
use rows::{queries, requests};
use world::{ASSERTION, BEHIND, CONTAINER, DOMAIN, FINANCE, SEEN_TERM, TABLE, TERM, WORD, app};

/// Routes that only write, and those of one's own account. [`writes_that_name_it_do_not_find_it`]
/// sends writes.
const NOT_READING: [(&str, &str); 9] = [
    ("POST", "/api/graphql"),
    ("POST", "/api/v2/graphql"),
    ("POST", "/openapi/v3/entity/{type}"),
    ("PATCH", "/openapi/v3/entity/{type}"),
    ("POST", "/openapi/v3/entity/{type}/{*urn}"),
    ("PATCH", "/openapi/v3/entity/{type}/{*urn}"),
    ("DELETE", "/openapi/v3/entity/{type}/{*urn}"),
    ("POST", "/changePassword"),
    ("GET", "/openapi/v1/registry/models/entity/specifications"),
];

/// Removes scores, which depend on how common a word is among all entities.
fn remove_scores(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("score");
            members.values_mut().for_each(remove_scores);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_scores),
        _ => {}
    }
}

/// Replaces generated ids, which differ between two servers.
fn without_ids(text: &str) -> String {
    let is_id = |part: &&str| {
        part.len() == 36 && part.bytes().all(|it| it.is_ascii_hexdigit() || it == b'-')
    };
    let parts = text.split_inclusive(|it: char| !it.is_ascii_alphanumeric() && it != '-');
    parts
        .map(|part| {
            let word = part.trim_end_matches(|it: char| !it.is_ascii_alphanumeric());
            if is_id(&word) {
                part.replacen(word, "ID", 1)
            } else {
                part.to_owned()
            }
        })
        .collect()
}

async fn send(
    app: &App,
    token: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> (StatusCode, String) {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let mut request = app.request(method, path, body);
    let bearer = format!("Bearer {token}").parse().unwrap();
    request.headers_mut().insert(header::AUTHORIZATION, bearer);
    let (status, mut reply) = app.send(request).await;
    remove_scores(&mut reply);
    (status, without_ids(&reply.to_string()))
}

#[tokio::test]
async fn reads_are_those_of_a_server_that_never_stored_it() {
    let (with, token) = app(true).await;
    let (without, other_token) = app(false).await;
    let introspected = with
        .graphql("{ __schema { queryType { fields { name } } } }")
        .await;
    let fields = introspected["data"]["__schema"]["queryType"]["fields"].as_array();
    let names = fields
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap());
    let declared: BTreeSet<&str> = names.collect();
    let queries = queries();
    let listed: BTreeSet<&str> = queries.iter().map(|(field, _)| *field).collect();
    assert_eq!(declared, listed, "every query has a row");
    for (_, text) in queries {
        let query = json!({"query": format!("{{ {text} }}")});
        let path = "/api/graphql";
        let found = send(&with, &token, "POST", path, &query).await;
        let expected = send(&without, &other_token, "POST", path, &query).await;
        assert!(
            !found.1.contains("ValidationError") && !found.1.contains("InvalidSyntax"),
            "{text}: {}",
            found.1
        );
        assert_eq!(found, expected, "{text}");
    }

    let requests = requests();
    let routes = PROTECTED.iter().filter(|it| !NOT_READING.contains(it));
    for (method, route) in routes {
        let start = route.split('{').next().unwrap();
        let mut sent = requests.iter();
        assert!(
            sent.any(|it| it.0 == *method && it.1 == start),
            "{method} {route} has no row"
        );
    }
    for (method, route, rest, body) in requests {
        let path = format!("{route}{rest}");
        let found = send(&with, &token, method, &path, &body).await;
        let expected = send(&without, &other_token, method, &path, &body).await;
        assert_eq!(found, expected, "{method} {path} {body}");
    }
    // The caller sees something.
    let all = r#"{ searchAcrossEntities(input: { query: "*", types: [DATASET, DOMAIN, GLOSSARY_TERM] }) { total } }"#;
    let found = with.graphql_as(&token, all).await;
    assert_eq!(found["data"]["searchAcrossEntities"]["total"], 4, "{found}");
}

#[tokio::test]
async fn writes_that_name_it_do_not_find_it() {
    let (with, token) = app(true).await;
    let (without, other_token) = app(false).await;
    let mut mutations = Vec::new();
    for (field, arguments, _) in access::rows() {
        // As the target, and as what the target refers to.
        for (seen, hidden) in [
            (DATASET, TABLE),
            (FINANCE, DOMAIN),
            ("urn:li:glossaryTerm:revenue", TERM),
            ("urn:li:assertion:fresh", ASSERTION),
        ] {
            // Creating what is hidden is denied.
            let creates = field == "upsertCustomAssertion" && hidden == ASSERTION;
            if arguments.contains(seen) && !creates {
                mutations.push(format!("{field}{}", arguments.replace(seen, hidden)));
            }
        }
    }
    mutations.push(format!(
        r#"moveDomain(input: {{ resourceUrn: "{FINANCE}", parentDomain: "{DOMAIN}" }})"#
    ));
    assert!(mutations.len() > 30, "{}", mutations.len());
    for mutation in mutations {
        let query = json!({"query": format!("mutation {{ {mutation} }}")});
        let path = "/api/graphql";
        let found = send(&with, &token, "POST", path, &query).await;
        let expected = send(&without, &other_token, "POST", path, &query).await;
        assert_eq!(found, expected, "{mutation}");
    }
    for (method, route, rest, body, ..) in rest_access::rows() {
        let text = body.to_string();
        let address = format!("{route}{rest}");
        if !text.contains(DATASET) && !address.contains(&encoded(DATASET)) {
            continue;
        }
        let body: Value = serde_json::from_str(&text.replace(DATASET, TABLE)).unwrap();
        let route = route.split("/{").next().unwrap();
        let path = format!(
            "{route}{}",
            rest.replace(&encoded(DATASET), &encoded(TABLE))
        );
        let found = send(&with, &token, method, &path, &body).await;
        let expected = send(&without, &other_token, method, &path, &body).await;
        assert_eq!(found, expected, "{method} {path} {body}");
    }
    // Nothing of it was changed.
    let text = with
        .aspect(TABLE, "editableDatasetProperties")
        .await
        .unwrap();
    assert_eq!(text["description"], "hush two");
    assert_eq!(
        with.aspect(DOMAIN, "domainProperties").await.unwrap()["name"],
        "hush"
    );
}

#[tokio::test]
async fn lineage_shows_only_that_something_is_there() {
    let (app, token) = app(true).await;
    let neighbors = format!(
        r#"{{ dataset(urn: "{BEHIND}") {{ lineage(input: {{ direction: UPSTREAM, start: 0, count: 10 }}) {{
            total relationships {{ type entity {{ urn type }} }} }} }} }}"#
    );
    let reply = app.graphql_as(&token, &neighbors).await;
    let lineage = &reply["data"]["dataset"]["lineage"];
    assert_eq!(lineage["total"], 1, "{reply}");
    let entity = &lineage["relationships"][0]["entity"];
    assert_eq!(entity["type"], "RESTRICTED", "{reply}");
    let stand_in = entity["urn"].as_str().unwrap().to_owned();
    assert!(stand_in.starts_with("urn:li:restricted:"), "{stand_in}");

    let walk = format!(
        r#"{{ searchAcrossLineage(input: {{ urn: "{BEHIND}", direction: UPSTREAM }}) {{ total
            searchResults {{ degree entity {{ urn }} paths {{ path {{ urn type }} }} }} }} }}"#
    );
    let reply = app.graphql_as(&token, &walk).await;
    let found = &reply["data"]["searchAcrossLineage"];
    assert_eq!(found["total"], 1, "{reply}");
    let result = &found["searchResults"][0];
    assert_eq!(
        (&result["entity"]["urn"], &result["degree"]),
        (&json!(DATASET), &json!(2))
    );
    let path = &result["paths"][0]["path"];
    assert_eq!(
        path[1],
        json!({"urn": stand_in, "type": "RESTRICTED"}),
        "{reply}"
    );
    assert!(!reply.to_string().contains(WORD), "{reply}");

    // What stands for it leads nowhere.
    let inside = format!(
        r#"{{ entity(urn: "{stand_in}") {{ urn ... on EntityWithRelationships {{
            lineage(input: {{ direction: UPSTREAM }}) {{ total }} }} }} }}"#
    );
    let reply = app.graphql_as(&token, &inside).await;
    assert!(!reply.to_string().contains(WORD), "{reply}");
    // The administrator sees it.
    let reply = app.graphql(&neighbors).await;
    let entity = &reply["data"]["dataset"]["lineage"]["relationships"][0]["entity"];
    assert_eq!(entity["urn"], TABLE, "{reply}");
}

#[tokio::test]
async fn a_proposal_about_it_cannot_be_found_or_decided() {
    let (app, token) = app(true).await;
    let query = "{ listActionRequests(input: {}) { actionRequests { urn } } }";
    let listed = app.graphql(query).await;
    let urn = &listed["data"]["listActionRequests"]["actionRequests"][0]["urn"];
    assert!(urn.is_string(), "{listed}");
    for field in ["acceptProposals", "rejectProposals"] {
        let mutation = format!("mutation {{ {field}(proposalUrns: [{urn}]) }}");
        let reply = app.graphql_as(&token, &mutation).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 404, "{reply}");
        assert!(!reply.to_string().contains(WORD), "{reply}");
    }
}

#[tokio::test]
async fn an_assertion_is_seen_with_its_asset() {
    let (app, token) = app(true).await;
    let seen = "urn:li:assertion:seen";
    let info = json!({"type": "CUSTOM", "customAssertion": {"type": "t", "entity": DATASET}, "customProperties": {}});
    app.ingest(seen, "assertionInfo", &info).await;
    let query = |urn: &str| format!(r#"{{ assertion(urn: "{urn}") {{ urn info {{ type }} }} }}"#);
    let reply = app.graphql_as(&token, &query(seen)).await;
    assert_eq!(
        reply["data"]["assertion"]["info"]["type"], "CUSTOM",
        "{reply}"
    );
    let reply = app.graphql_as(&token, &query(ASSERTION)).await;
    assert_eq!(reply["data"]["assertion"], Value::Null, "{reply}");
}

#[tokio::test]
async fn references_to_it_have_another_urn() {
    let (app, token) = app(true).await;
    let query = format!(
        r#"{{ dataset(urn: "{DATASET}") {{ container {{ urn type properties {{ name }} }}
            parentContainers {{ count }}
            glossaryTerms {{ terms {{ term {{ urn properties {{ name }} }} }} }} }} }}"#
    );
    let reply = app.graphql_as(&token, &query).await;
    let dataset = &reply["data"]["dataset"];
    let urn = dataset["container"]["urn"].as_str().unwrap();
    assert!(urn.starts_with("urn:li:restricted:"), "{reply}");
    assert_eq!(dataset["container"]["type"], "RESTRICTED", "{reply}");
    assert_eq!(dataset["container"]["properties"], Value::Null, "{reply}");
    assert_eq!(dataset["parentContainers"]["count"], 0, "{reply}");
    // The others stay.
    let terms = dataset["glossaryTerms"]["terms"].as_array().unwrap();
    assert_eq!(terms[1]["term"]["urn"], SEEN_TERM, "{reply}");
    assert!(!reply.to_string().contains(TERM), "{reply}");
    let reply = app.graphql(&query).await;
    let container = &reply["data"]["dataset"]["container"]["urn"];
    assert_eq!(container, CONTAINER, "{reply}");
}

#[tokio::test]
async fn an_assertion_is_not_taken_over() {
    let (app, token) = app(true).await;
    let before = app.aspect(ASSERTION, "assertionInfo").await;
    let upsert = format!(
        r#"mutation {{ upsertCustomAssertion(urn: "{ASSERTION}", input: {{ entityUrn: "{DATASET}",
            type: "t", description: "d", platform: {{ urn: "urn:li:dataPlatform:hive" }} }}) {{ urn }} }}"#
    );
    let reply = app.graphql_as(&token, &upsert).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
    assert!(!reply.to_string().contains(TABLE), "{reply}");
    assert_eq!(app.aspect(ASSERTION, "assertionInfo").await, before);
}
