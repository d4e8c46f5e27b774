//! What refers to something hidden: conditions and queries do not find it that way, and no reply
//! names what is hidden.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::send;
use super::world::{BEHIND, CONTAINER, DOMAIN, FINANCE, SEEN_TERM, TAG, TERM, app, grant};
use crate::support::{App, DATASET, encoded};

/// Conditions that only references to something hidden meet.
fn conditions() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    vec![
        ("container", "EQUAL", vec![CONTAINER]),
        ("container.keyword", "EQUAL", vec![CONTAINER]),
        ("container", "IEQUAL", vec!["URN:LI:CONTAINER:C-1"]),
        ("container", "CONTAIN", vec!["c-1"]),
        ("container", "START_WITH", vec!["urn:li:container:"]),
        ("container", "END_WITH", vec!["-1"]),
        ("container", "GREATER_THAN", vec!["urn:li:container:"]),
        ("container", "DESCENDANTS_INCL", vec![CONTAINER]),
        ("container", "ANCESTORS_INCL", vec![CONTAINER]),
        ("container", "RELATED_INCL", vec![CONTAINER]),
        (
            "_entityType␞container",
            "EQUAL",
            vec!["dataset␞urn:li:container:c-1"],
        ),
        (
            "glossaryTerms",
            "EQUAL",
            vec![TERM, "urn:li:glossaryTerm:none"],
        ),
        ("browsePathV2", "CONTAIN", vec!["c-1"]),
        ("browsePathV2", "EQUAL", vec!["␟urn:li:container:c-1␟part"]),
    ]
}

/// Queries that only references to something hidden match.
const QUERIES: [&str; 8] = [
    "container:c-1",
    r#"container:\"urn:li:container:c-1\""#,
    "container:c*",
    "container:*1",
    "glossaryTerms:t-1",
    "glossaryTerms:hush",
    r#"\"t-1\""#,
    "+t-1",
];

fn search(query: &str, conditions: &str) -> String {
    format!(
        r#"{{ searchAcrossEntities(input: {{ types: [DATASET], query: "{query}", count: 10,
            orFilters: [{{ and: [{conditions}] }}] }}) {{ total
            searchResults {{ entity {{ urn }} matchedFields {{ name value }} }} }} }}"#
    )
}

fn condition(field: &str, operator: &str, values: &[&str], negated: bool) -> String {
    format!(
        r#"{{ field: "{field}", condition: {operator}, values: {}, negated: {negated} }}"#,
        json!(values)
    )
}

async fn total(app: &App, token: &str, query: &str) -> Value {
    let mut reply = app.graphql_as(token, query).await;
    assert!(reply.get("errors").is_none(), "{query}: {reply}");
    reply["data"]["searchAcrossEntities"]["total"].take()
}

#[tokio::test]
async fn conditions_on_it_match_nothing() {
    let (app, token) = app(true).await;
    for (field, operator, values) in conditions() {
        let query = |negated| search("*", &condition(field, operator, &values, negated));
        assert_eq!(
            total(&app, &token, &query(false)).await,
            0,
            "{field} {operator}"
        );
        assert_eq!(
            total(&app, &token, &query(true)).await,
            2,
            "{field} {operator}"
        );
        // They mean something.
        assert_ne!(
            total(&app, &app.token, &query(false)).await,
            0,
            "{field} {operator}"
        );
    }
    for text in QUERIES {
        let query = search(text, "");
        assert_eq!(total(&app, &token, &query).await, 0, "{text}");
        assert_ne!(total(&app, &app.token, &query).await, 0, "{text}");
    }
}

#[tokio::test]
async fn conditions_on_it_match_nothing_over_any_api() {
    let (app, token) = app(true).await;
    let filter = format!(
        "orFilters: [{{ and: [{}] }}]",
        condition("container", "EQUAL", &[CONTAINER], false)
    );
    let graphql = [
        r#"search(input: { type: DATASET, query: "container:c-1" }) { total }"#.to_owned(),
        format!(
            r#"scrollAcrossEntities(input: {{ types: [DATASET], query: "*", {filter} }}) {{ total }}"#
        ),
        format!(
            r#"aggregateAcrossEntities(input: {{ types: [DATASET], query: "*", facets: ["platform"], {filter} }}) {{
                facets {{ aggregations {{ count }} }} }}"#
        ),
        format!(
            r#"autoComplete(input: {{ type: DATASET, query: "fct", {filter} }}) {{ suggestions }}"#
        ),
        format!(
            r#"browseV2(input: {{ type: DATASET, path: ["{CONTAINER}"], query: "*", start: 0, count: 10 }}) {{ total }}"#
        ),
        format!(
            r#"browseV2(input: {{ type: DATASET, path: [], query: "*", start: 0, count: 10, {filter} }}) {{ total }}"#
        ),
    ];
    for text in graphql {
        let query = json!({"query": format!("{{ {text} }}")});
        let found = send(&app, &token, "POST", "/api/graphql", &query).await;
        let everything = send(&app, &app.token, "POST", "/api/graphql", &query).await;
        assert_ne!(found, everything, "{text}");
        let is_empty = [
            r#""total":0"#,
            r#""aggregations":[]"#,
            r#""suggestions":[]"#,
        ]
        .iter()
        .any(|it| found.1.contains(it));
        assert!(is_empty, "{text}: {}", found.1);
    }
    let or = json!({"or": [{"and": [{"field": "container", "value": CONTAINER, "values": [CONTAINER], "condition": "EQUAL"}]}]});
    let requests = [
        (
            "POST",
            "/entities?action=search".to_owned(),
            json!({"entity": "dataset", "input": "container:c-1", "start": 0, "count": 10}),
        ),
        (
            "POST",
            "/entities?action=search".to_owned(),
            json!({"entity": "dataset", "input": "*", "start": 0, "count": 10, "filter": or}),
        ),
        (
            "POST",
            "/entities?action=autocomplete".to_owned(),
            json!({"entity": "dataset", "query": "fct", "limit": 10, "filter": or}),
        ),
        (
            "GET",
            "/openapi/v3/entity/dataset?query=container:c-1&aspects=datasetKey".to_owned(),
            Value::Null,
        ),
        (
            "POST",
            "/openapi/v3/entity/scroll?query=container:c-1".to_owned(),
            json!({"entities": ["dataset"]}),
        ),
    ];
    for (method, path, body) in requests {
        let (status, found) = send(&app, &token, method, &path, &body).await;
        assert_eq!(status, StatusCode::OK, "{found}");
        assert!(!found.contains("urn:li:dataset"), "{path}: {found}");
        let (_, everything) = send(&app, &app.token, method, &path, &body).await;
        assert!(
            everything.contains("urn:li:dataset"),
            "{path}: {everything}"
        );
    }
}

#[tokio::test]
async fn matches_do_not_name_it() {
    let (app, token) = app(true).await;
    let text = "glossaryTerms:(t-1 seen)";
    let query = search(text, "");
    let rest = json!({"entity": "dataset", "input": text, "start": 0, "count": 10});
    for (token, is_named, count) in [(&token, false, 2), (&app.token, true, 3)] {
        let reply = app.graphql_as(token, &query).await;
        let total = &reply["data"]["searchAcrossEntities"]["total"];
        assert_eq!(*total, count, "{reply}");
        let (_, found) = send(&app, token, "POST", "/entities?action=search", &rest).await;
        for reply in [reply.to_string(), found] {
            assert!(reply.contains(SEEN_TERM), "{reply}");
            assert_eq!(reply.contains(TERM), is_named, "{reply}");
        }
    }
}

/// A reference to a term that nobody described is decided by what policies say about its URN.
#[tokio::test]
async fn conditions_on_missing_entities_follow_the_policies() {
    let (app, token) = app(true).await;
    let missing = "urn:li:glossaryTerm:missing";
    let audit = json!({"time": 0, "actor": "urn:li:corpuser:datahub"});
    let terms = json!({"terms": [{"urn": missing}], "auditStamp": audit});
    app.ingest(BEHIND, "glossaryTerms", &terms).await;
    let query = search("*", &condition("glossaryTerms", "EQUAL", &[missing], false));
    assert_eq!(total(&app, &token, &query).await, 0);
    let all_terms =
        json!({"filter": {"criteria": [{"field": "TYPE", "values": ["glossaryTerm"]}]}});
    let vera = "urn:li:corpuser:vera";
    grant(&app, "terms", vera, &["VIEW_ENTITY_PAGE"], &all_terms).await;
    assert_eq!(total(&app, &token, &query).await, 1);
    // Everyone sees tags.
    let query = search("*", &condition("tags", "EQUAL", &[TAG], false));
    assert_eq!(total(&app, &token, &query).await, 2);
}

/// The tree that a caller sees ends where something is hidden.
#[tokio::test]
async fn conditions_on_trees_do_not_pass_it() {
    let (app, token) = app(true).await;
    let below = "urn:li:domain:below";
    for (urn, parent) in [(DOMAIN, FINANCE), (below, DOMAIN)] {
        let properties = json!({"name": "hush", "parentDomain": parent});
        app.ingest(urn, "domainProperties", &properties).await;
    }
    // Seen by their URNs alone.
    for (name, urn) in [("below", below), ("behind", BEHIND)] {
        let only = json!({"filter": {"criteria": [{"field": "URN", "values": [urn]}]}});
        let vera = "urn:li:corpuser:vera";
        grant(&app, name, vera, &["VIEW_ENTITY_PAGE"], &only).await;
    }
    let only_finance =
        json!({"filter": {"criteria": [{"field": "URN", "values": [FINANCE, DATASET]}]}});
    grant(
        &app,
        "vera",
        "urn:li:corpuser:vera",
        &["VIEW_ENTITY_PAGE"],
        &only_finance,
    )
    .await;
    app.ingest(BEHIND, "domains", &json!({"domains": [below]}))
        .await;
    for (domain, seen, all) in [(FINANCE, 1, 3), (below, 1, 1)] {
        let query = search(
            "*",
            &condition("domains", "DESCENDANTS_INCL", &[domain], false),
        );
        assert_eq!(total(&app, &token, &query).await, seen, "{domain}");
        assert_eq!(total(&app, &app.token, &query).await, all, "{domain}");
    }
    let path = format!("/openapi/v3/entity/dataset/{}/domains", encoded(BEHIND));
    let (status, _) = send(&app, &token, "GET", &path, &Value::Null).await;
    assert_eq!(status, StatusCode::OK);
}
