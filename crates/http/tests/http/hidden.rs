//! For a caller who may not see something, it does not exist: every read over every API, and every
//! write that names it, gets the reply of a server that has never stored it. A query or a route
//! without a row fails the test.

mod columns;
mod references;
mod replies;
mod rows;
pub(crate) mod world;

use std::collections::BTreeSet;

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::audit::events;
use crate::routes::NOT_READING;
use crate::support::{App, DATASET, encoded, proposal, token_of};
use crate::tokens::PROTECTED;
use crate::{access, rest_access};
use rows::{queries, requests};
use world::{
    ASSERTION, BEHIND, CONTAINER, DOMAIN, FINANCE, PAULA, SEEN_TERM, SUBDOMAIN, TABLE, TERM, WORD,
    app, grant,
};

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
    let (status, mut reply) = app.send_as(token, method, path, body).await;
    remove_scores(&mut reply);
    (status, without_ids(&reply.to_string()))
}

#[tokio::test]
async fn reads_are_those_of_a_server_that_never_stored_it() {
    let (with, token) = app(true).await;
    let (without, other_token) = app(false).await;
    let declared = access::fields_of(&with, "queryType").await;
    let queries = queries();
    let listed: BTreeSet<String> = queries.iter().map(|it| it.0.to_owned()).collect();
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
        // A request that is invalid for everyone would show nothing.
        assert_ne!(found.0, StatusCode::BAD_REQUEST, "{method} {path} {body}");
    }
    // The caller sees something.
    let all = r#"{ searchAcrossEntities(input: { query: "*", types: [DATASET, DOMAIN, GLOSSARY_TERM] }) { total } }"#;
    let found = with.graphql_as(&token, all).await;
    assert_eq!(found["data"]["searchAcrossEntities"]["total"], 4, "{found}");
}

/// Totals would tell what there is.
#[tokio::test]
async fn what_needs_the_right_to_see_everything_is_denied_and_audited() {
    let (app, token) = app(true).await;
    let run = json!({"runId": "one", "dryRun": false});
    let (status, reply) = app
        .send_as(&token, "POST", "/runs?action=rollback", &run)
        .await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    let denied = events(&app, json!({"outcome": "DENIED", "count": 1})).await;
    assert_eq!(denied[0]["operation"], "POST /runs?action=rollback");
    let reason = denied[0]["reason"].as_str().unwrap();
    assert!(reason.contains("VIEW_ENTITY_PAGE"), "{reason}");
}

/// What is seen refers to a hidden container, by which it could be sorted.
#[tokio::test]
async fn the_order_of_results_and_its_cursors_do_not_tell_what_is_hidden() {
    let (app, vera) = app(true).await;
    let page = async |token: &str, cursor: Option<&Value>, field: &str| {
        let query = "query ($cursor: String, $field: String!) { scrollAcrossEntities(input: { types: [DATASET],
            query: \"*\", count: 1, scrollId: $cursor, sortInput: { sortCriterion: { field: $field,
            sortOrder: DESCENDING } } }) { nextScrollId searchResults { entity { urn } } } }";
        let body = json!({"query": query, "variables": {"cursor": cursor, "field": field}});
        let (_, reply) = app.send_as(token, "POST", "/api/graphql", &body).await;
        assert_eq!(reply.get("errors"), None, "{reply}");
        let page = &reply["data"]["scrollAcrossEntities"];
        let urn = page["searchResults"][0]["entity"]["urn"].clone();
        (urn, page["nextScrollId"].clone())
    };
    for field in ["container", "glossaryTerms", "browsePathV2"] {
        let (first, cursor) = page(&vera, None, field).await;
        let hides = |id: &str| !cursor.to_string().contains(id);
        assert!(hides(CONTAINER) && hides(TERM), "{field}: {cursor}");
        let (second, end) = page(&vera, Some(&cursor), field).await;
        assert_ne!(first, second, "{field}");
        assert_eq!(end, Value::Null, "{field}");
    }
    // A made-up cursor is no way to compare with it either.
    let made_up = |value: &str| json!(json!({"values": [value], "urn": ""}).to_string());
    let below = page(&vera, Some(&made_up("urn:li:container:a")), "container").await;
    let above = page(&vera, Some(&made_up("urn:li:container:z")), "container").await;
    assert_eq!(below, above);
    let (_, cursor) = page(&app.token, None, "container").await;
    assert!(cursor.to_string().contains(CONTAINER), "{cursor}");
}

/// The mutations of the table of access, about hidden entities instead of others.
fn mutations_of_hidden() -> Vec<String> {
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
    // Removing the edge to it finds no edge, like that to a missing entity.
    mutations.push(format!(
        r#"updateLineage(input: {{ edgesToAdd: [], edgesToRemove: [{{ downstreamUrn: "{BEHIND}", upstreamUrn: "{TABLE}" }}] }})"#
    ));
    assert!(mutations.len() > 30, "{}", mutations.len());
    mutations
}

/// Sends a mutation to two servers, and expects the same reply.
async fn expect_same_reply(with: (&App, &str), without: (&App, &str), mutation: &str) {
    let query = json!({"query": format!("mutation {{ {mutation} }}")});
    let path = "/api/graphql";
    let found = send(with.0, with.1, "POST", path, &query).await;
    let expected = send(without.0, without.1, "POST", path, &query).await;
    assert_eq!(found, expected, "{mutation}");
}

#[tokio::test]
async fn writes_that_name_it_do_not_find_it() {
    let (with, token) = app(true).await;
    let (without, other_token) = app(false).await;
    for mutation in mutations_of_hidden() {
        expect_same_reply((&with, &token), (&without, &other_token), &mutation).await;
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
    let lineage = with.aspect(BEHIND, "upstreamLineage").await.unwrap();
    assert_eq!(lineage["upstreams"][0]["dataset"], TABLE);
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
async fn the_history_of_a_dataset_does_not_name_it() {
    let (app, token) = app(true).await;
    for domain in [DOMAIN, FINANCE] {
        let assign = format!(r#"setDomain(entityUrn: "{BEHIND}", domainUrn: "{domain}")"#);
        let reply = app.graphql(&format!("mutation {{ {assign} }}")).await;
        assert_eq!(reply["data"]["setDomain"], true, "{reply}");
    }
    let history = format!(
        r#"{{ history(input: {{ urn: "{BEHIND}", subject: DOMAIN }}) {{ changes {{ domain {{ urn }} }} }} }}"#
    );
    for (token, former) in [(&token, Value::Null), (&app.token, json!({"urn": DOMAIN}))] {
        let reply = app.graphql_as(token, &history).await;
        let changes = &reply["data"]["history"]["changes"];
        assert_eq!(changes[0]["domain"]["urn"], FINANCE, "{reply}");
        assert_eq!(changes[1]["domain"], former, "{reply}");
    }
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

/// Privileges to edit that do not include viewing.
const EDIT_PARTS: [&str; 12] = [
    "EDIT_ENTITY_DOCS",
    "EDIT_ENTITY_TAGS",
    "EDIT_ENTITY_GLOSSARY_TERMS",
    "EDIT_ENTITY_OWNERS",
    "EDIT_ENTITY_DOC_LINKS",
    "EDIT_DOMAINS_PRIVILEGE",
    "EDIT_ENTITY_STATUS",
    "EDIT_ENTITY_PROPERTIES",
    "EDIT_ENTITY_ASSERTIONS",
    "CREATE_ENTITY",
    "MANAGE_DOMAINS",
    "MANAGE_GLOSSARIES",
];

#[tokio::test]
async fn privileges_to_edit_everything_do_not_reach_it() {
    let (with, token) = app(true).await;
    let (without, other_token) = app(false).await;
    let everything = json!({"filter": {"criteria": []}});
    let in_domain = json!({"filter": {"criteria": [{"field": "DOMAIN", "values": [DOMAIN]}]}});
    for (number, resources) in [everything, in_domain].iter().enumerate() {
        let (with, without) = ((&with, &*token), (&without, &*other_token));
        for app in [with.0, without.0] {
            grant(app, "parts", "urn:li:corpuser:vera", &EDIT_PARTS, resources).await;
        }
        // Patches create their entity: this is denied, like ingestion.
        let mutations = mutations_of_hidden().into_iter();
        for mutation in mutations.filter(|it| !it.starts_with("patchEntit")) {
            expect_same_reply(with, without, &mutation).await;
        }
        // Ingestion cannot create what exists: this is denied, and in words.
        let text = json!({"description": "hush five"});
        let body =
            json!({"proposal": proposal("UPSERT", TABLE, "editableDatasetProperties", &text)});
        let path = "/aspects?action=ingestProposal";
        let (status, reply) = send(with.0, with.1, "POST", path, &body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
        let needed = ["VIEW_ENTITY_PAGE", "CREATE_ENTITY"][number];
        assert!(reply.contains(needed), "{reply}");
        let path = format!("/openapi/v3/entity/dataset/{}/globalTags", encoded(TABLE));
        let deleted = send(with.0, with.1, "DELETE", &path, &Value::Null).await;
        let expected = send(without.0, without.1, "DELETE", &path, &Value::Null).await;
        assert_eq!(deleted, expected);
        let text = with.0.aspect(TABLE, "editableDatasetProperties").await;
        assert_eq!(text.unwrap()["description"], "hush two");
        assert!(with.0.aspect(TABLE, "globalTags").await.is_some());
        assert!(with.0.aspect(DOMAIN, "domainProperties").await.is_some());
    }
}

#[tokio::test]
async fn privileges_on_it_are_those_on_a_missing_entity() {
    let mut replies = Vec::new();
    for has_hidden in [true, false] {
        let (app, token) = app(has_hidden).await;
        let in_domain = json!({"filter": {"criteria": [{"field": "DOMAIN", "values": [DOMAIN]}]}});
        let vera = "urn:li:corpuser:vera";
        grant(&app, "tags", vera, &["EDIT_ENTITY_TAGS"], &in_domain).await;
        let query = format!(
            r#"{{ getGrantedPrivileges(input: {{ actorUrn: "{vera}",
                resourceSpec: {{ resourceType: DATASET, resourceUrn: "{TABLE}" }} }}) {{ privileges }} }}"#
        );
        let reply = app.graphql_as(&token, &query).await;
        assert!(reply["data"]["getGrantedPrivileges"].is_object(), "{reply}");
        replies.push(reply);
    }
    assert_eq!(replies[0], replies[1]);
}

#[tokio::test]
async fn deleting_a_domain_names_no_hidden_subdomain() {
    let (app, token) = app(true).await;
    let only = |urn: &str| json!({"filter": {"criteria": [{"field": "URN", "values": [urn]}]}});
    let vera = "urn:li:corpuser:vera";
    let privileges = ["EDIT_ENTITY", "DELETE_ENTITY"];
    grant(&app, "parent", vera, &privileges, &only(DOMAIN)).await;
    let mutation = format!(r#"mutation {{ deleteDomain(urn: "{DOMAIN}") }}"#);
    let reply = app.graphql_as(&token, &mutation).await;
    let message = reply["errors"][0]["message"].as_str().unwrap();
    assert_eq!(reply["errors"][0]["extensions"]["code"], 409, "{reply}");
    assert!(
        message.contains("child domains that you may not see"),
        "{message}"
    );
    assert!(!reply.to_string().contains(SUBDOMAIN), "{reply}");
    let path = format!("/openapi/v3/entity/domain/{}", encoded(DOMAIN));
    for path in [format!("{path}/domainProperties"), path] {
        let (status, reply) = send(&app, &token, "DELETE", &path, &Value::Null).await;
        assert_eq!(status, StatusCode::CONFLICT, "{reply}");
        assert!(!reply.contains(SUBDOMAIN), "{reply}");
    }
    // One that the caller sees is named.
    let other = "urn:li:domain:d-3";
    let properties = json!({"name": "other", "parentDomain": DOMAIN});
    app.ingest(other, "domainProperties", &properties).await;
    grant(&app, "child", vera, &["VIEW_ENTITY_PAGE"], &only(other)).await;
    let reply = app.graphql_as(&token, &mutation).await;
    let message = reply["errors"][0]["message"].as_str().unwrap();
    assert!(
        message.contains(other) && !message.contains(SUBDOMAIN),
        "{message}"
    );
}

#[tokio::test]
async fn proposers_withdraw_what_they_may_not_see_any_more() {
    let (app, _) = app(true).await;
    let paula = token_of(&app.catalog, PAULA, None).await;
    let list = "{ listActionRequests(input: {}) { total actionRequests { urn canDecide changes { urn } } } }";
    let reply = app.graphql_as(&paula, list).await;
    let listed = &reply["data"]["listActionRequests"];
    assert_eq!(listed["total"], 1, "{reply}");
    let request = &listed["actionRequests"][0];
    assert_eq!(
        (&request["changes"], &request["canDecide"]),
        (&json!([]), &json!(false))
    );
    assert!(!reply.to_string().contains(WORD), "{reply}");
    let about =
        format!(r#"{{ listActionRequests(input: {{ resourceUrn: "{TABLE}" }}) {{ total }} }}"#);
    let reply = app.graphql_as(&paula, &about).await;
    assert_eq!(reply["data"]["listActionRequests"]["total"], 0, "{reply}");

    let decide =
        |field: &str| format!("mutation {{ {field}(proposalUrns: [{}]) }}", request["urn"]);
    let reply = app.graphql_as(&paula, &decide("acceptProposals")).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 404, "{reply}");
    let reply = app.graphql_as(&paula, &decide("rejectProposals")).await;
    assert_eq!(reply["data"]["rejectProposals"], true, "{reply}");
    let decided =
        "{ listActionRequests(input: { status: COMPLETED }) { total actionRequests { result } } }";
    let reply = app.graphql(decided).await;
    let results = &reply["data"]["listActionRequests"]["actionRequests"];
    let withdrawn = json!({"result": "WITHDRAWN"});
    assert!(results.as_array().unwrap().contains(&withdrawn), "{reply}");
}

#[tokio::test]
async fn a_steward_sees_and_decides_what_is_proposed_for_the_domain() {
    let (app, vera) = app(true).await;
    let in_finance = json!({"filter": {"criteria": [{"field": "DOMAIN", "values": [FINANCE]}]}});
    grant(&app, "paula", PAULA, &["VIEW_ENTITY_PAGE"], &in_finance).await;
    let paula = token_of(&app.catalog, PAULA, None).await;
    let other = token_of(&app.catalog, "urn:li:corpuser:olga", None).await;
    world::assign(&app, "urn:li:corpuser:olga", "Reader").await;
    let create = |id: &str| {
        format!(
            r#"mutation {{ createDomain(input: {{ id: "{id}", name: "{id}", parentDomain: "{FINANCE}" }}) }}"#
        )
    };
    let list = "{ listActionRequests(input: { concernsMe: true }) { total actionRequests { canDecide } } }";
    for (id, field) in [("taxes", "acceptProposals"), ("audits", "rejectProposals")] {
        let reply = app.graphql_as(&paula, &create(id)).await;
        let urn = &reply["extensions"]["proposals"][0];
        assert!(urn.is_string(), "{reply}");
        let decide = format!("mutation {{ {field}(proposalUrns: [{urn}]) }}");
        let reply = app.graphql_as(&other, list).await;
        assert_eq!(reply["data"]["listActionRequests"]["total"], 0, "{reply}");
        let reply = app.graphql_as(&other, &decide).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 404, "{reply}");

        let reply = app.graphql_as(&vera, list).await;
        let listed = &reply["data"]["listActionRequests"];
        assert_eq!(
            *listed,
            json!({"total": 1, "actionRequests": [{"canDecide": true}]}),
            "{reply}"
        );
        let reply = app.graphql_as(&vera, &decide).await;
        assert_eq!(reply["data"][field], true, "{reply}");
    }
    assert!(
        app.aspect("urn:li:domain:taxes", "domainProperties")
            .await
            .is_some()
    );
    assert!(
        app.aspect("urn:li:domain:audits", "domainProperties")
            .await
            .is_none()
    );
    // The rejected one is still seen by those who see the domain, and by nobody else.
    let decided = "{ listActionRequests(input: { status: COMPLETED }) { total } }";
    for (token, total) in [(&vera, 2), (&other, 0)] {
        let reply = app.graphql_as(token, decided).await;
        assert_eq!(
            reply["data"]["listActionRequests"]["total"], total,
            "{reply}"
        );
    }
}

#[tokio::test]
async fn a_subdomain_of_it_is_a_root_with_and_without_a_query() {
    let (app, token) = app(true).await;
    let only = json!({"filter": {"criteria": [{"field": "URN", "values": [SUBDOMAIN]}]}});
    grant(
        &app,
        "sub",
        "urn:li:corpuser:vera",
        &["VIEW_ENTITY_PAGE"],
        &only,
    )
    .await;
    for (query, expected) in [
        ("", json!([{"urn": SUBDOMAIN}, {"urn": FINANCE}])),
        (r#"query: "hush below""#, json!([{"urn": SUBDOMAIN}])),
        (r#"query: "Finance""#, json!([{"urn": FINANCE}])),
    ] {
        let query =
            format!("{{ listDomains(input: {{ {query} }}) {{ total domains {{ urn }} }} }}");
        let mut reply = app.graphql_as(&token, &query).await;
        let list = reply["data"]["listDomains"].take();
        let mut domains = list["domains"].as_array().unwrap().clone();
        domains.sort_by_key(|domain| domain["urn"].to_string());
        assert_eq!(json!(domains), expected, "{query}: {reply}");
        assert_eq!(list["total"], domains.len(), "{query}");
    }
}
