//! GraphQL over HTTP: requests and their errors.

use crate::support::{App, DATASET};
use axum::http::{HeaderValue, Method, StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

#[tokio::test]
async fn invalid_requests_get_400_with_a_message() {
    let app = App::empty().await;
    for (body, says) in [
        ("", "empty"),
        ("{", "JSON"),
        ("not json", "JSON"),
        ("{}", "query"),
        (r#"{"query": null}"#, "query"),
        (r#"{"query": 5}"#, "JSON"),
        (r#"[{"query": "{ __typename }"}]"#, "array"),
        (
            r#"{"query": "{ __typename }", "variables": []}"#,
            "variables",
        ),
    ] {
        let request = app.request(Method::POST, "/api/graphql", body);
        let (status, reply) = app.send(request).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
        let message = reply["message"].as_str().unwrap_or_default();
        assert!(
            message.contains(says) || says == "variables",
            "{body}: {reply}"
        );
    }
    let (status, reply) = app.get("/api/graphql").await;
    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
    let message = reply["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("Send POST."), "{reply}");
}

#[tokio::test]
async fn variables_may_be_null_and_unknown_members_are_ignored() {
    let app = App::empty().await;
    for path in ["/api/graphql", "/api/v2/graphql"] {
        let body = json!({"query": "{ __typename }", "variables": null, "operationName": null, "more": [1]});
        let (status, reply) = app.post(path, &body).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(
            reply,
            json!({"data": {"__typename": "Query"}, "extensions": {}})
        );
    }
}

fn error(reply: &Value) -> (&str, &str) {
    let error = &reply["errors"][0];
    (
        error["extensions"]["classification"]
            .as_str()
            .unwrap_or_default(),
        error["message"].as_str().unwrap_or_default(),
    )
}

#[tokio::test]
async fn document_errors_have_the_format_that_clients_expect() {
    let app = App::empty().await;
    let reply = app.graphql("{ dataset(urn: \"x\") { foo } }").await;
    assert_eq!(
        error(&reply),
        (
            "ValidationError",
            "Validation error (FieldUndefined@[dataset/foo]) : Field 'foo' in type 'Dataset' is undefined"
        )
    );
    assert_eq!(reply["data"], Value::Null);
    assert_eq!(reply["extensions"], json!({}));
    assert!(reply.as_object().unwrap().contains_key("data"));
    assert_eq!(
        reply["errors"][0]["locations"],
        json!([{"line": 1, "column": 23}])
    );

    let reply = app.graphql("{ dataset(").await;
    assert_eq!(error(&reply).0, "InvalidSyntax");
    assert!(error(&reply).1.starts_with("Invalid syntax"), "{reply}");

    let reply = app
        .graphql_with(
            "query ($urn: String!) { dataset(urn: $urn) { urn } }",
            json!({}),
        )
        .await;
    assert_eq!(error(&reply).0, "ValidationError", "{reply}");

    let reply = app.graphql("{ dataset { urn } }").await;
    assert_eq!(error(&reply).0, "ValidationError");
    assert!(error(&reply).1.contains("MissingFieldArgument"), "{reply}");
}

#[tokio::test]
async fn clients_of_the_newer_media_type_get_400_for_what_is_not_executed() {
    let app = App::empty().await;
    let ask = async |query: &str, accept: &'static str| {
        let body = json!({"query": query}).to_string();
        let mut request = app.request(Method::POST, "/api/graphql", body);
        let accept = HeaderValue::from_static(accept);
        request.headers_mut().insert(header::ACCEPT, accept);
        let response = app.respond(request).await;
        let status = response.status();
        let content_type = response.headers()[header::CONTENT_TYPE].clone();
        let reply = response.into_body().collect().await.unwrap().to_bytes();
        let reply: Value = serde_json::from_slice(&reply).unwrap();
        (status, content_type, reply)
    };
    let newer = "application/graphql-response+json";
    // Unknown fields, a syntax error, a missing variable and a query over a limit.
    let many: Vec<String> = (0..700)
        .map(|number| format!(r#"a{number}: dataset(urn: "{DATASET}") {{ urn name }}"#))
        .collect();
    let wide = format!("{{ {} }}", many.join(" "));
    for rejected in [
        "{ foo }",
        "{",
        "query ($a: String!) { dataset(urn: $a) { urn } }",
        &wide,
    ] {
        let (status, content_type, reply) = ask(rejected, newer).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
        assert_eq!(
            content_type,
            "application/graphql-response+json;charset=utf-8"
        );
        assert!(reply.get("data").is_none(), "{reply}");
        assert!(!error(&reply).1.is_empty(), "{reply}");
        let (status, content_type, reply) = ask(rejected, "application/json").await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        assert_eq!(content_type, "application/json;charset=utf-8");
        assert_eq!(reply["data"], Value::Null);
    }
    // Executed, although fields failed, which makes `data` null in the second one.
    for executed in [
        r#"{ dataset(urn: "x") { urn } }"#,
        r#"{ getAccessTokenMetadata(token: "x") { name } }"#,
    ] {
        let (status, _, reply) = ask(executed, newer).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        assert!(reply.get("data").is_some(), "{reply}");
        assert!(!error(&reply).1.is_empty(), "{reply}");
    }
}

#[tokio::test]
async fn depth_and_complexity_limits_are_reported_with_both_numbers() {
    let app = App::empty().await;
    let mut deep = String::from("urn");
    for _ in 0..30 {
        deep = format!("parentDomains {{ domains {{ urn ... on Domain {{ {deep} }} }} }}");
    }
    let reply = app
        .graphql(&format!(
            r#"{{ domain(urn: "urn:li:domain:a") {{ {deep} }} }}"#
        ))
        .await;
    assert_eq!(error(&reply).0, "ExecutionAborted", "{reply}");
    assert!(error(&reply).1.contains("50"), "{reply}");

    let many: Vec<String> = (0..700)
        .map(|number| format!(r#"a{number}: dataset(urn: "{DATASET}") {{ urn name }}"#))
        .collect();
    let reply = app.graphql(&format!("{{ {} }}", many.join(" "))).await;
    assert_eq!(error(&reply).0, "ExecutionAborted", "{reply}");
    assert!(error(&reply).1.contains("2000"), "{reply}");
    assert_eq!(reply["data"], Value::Null);
}

#[tokio::test]
async fn a_raw_newline_in_a_quoted_string_is_accepted() {
    let app = App::with_dataset().await;
    let update = format!(
        "mutation {{ updateDataset(urn: \"{DATASET}\", input: {{ editableProperties: {{ description: \"one\ntwo\" }} }}) {{ editableProperties {{ description }} }} }}"
    );
    let reply = app.graphql(&update).await;
    assert_eq!(
        reply["data"]["updateDataset"]["editableProperties"]["description"], "one\ntwo",
        "{reply}"
    );
}

#[tokio::test]
async fn introspection_returns_the_schema() {
    let app = App::empty().await;
    let reply = app
        .graphql(r#"{ __type(name: "SubResourceType") { name kind enumValues { name } } __schema { queryType { name } mutationType { name } } }"#)
        .await;
    assert_eq!(
        reply["data"],
        json!({
            "__type": {"name": "SubResourceType", "kind": "ENUM", "enumValues": [{"name": "DATASET_FIELD"}]},
            "__schema": {"queryType": {"name": "Query"}, "mutationType": {"name": "Mutation"}}
        })
    );
}

#[tokio::test]
async fn other_root_fields_are_resolved_when_one_fails() {
    let app = App::with_dataset().await;
    let query = format!(
        r#"{{ here: dataset(urn: "{DATASET}") {{ name }} gone: dataset(urn: "{}") {{ name }} wrong: domain(urn: "x") {{ urn }} }}"#,
        crate::support::MISSING
    );
    let reply = app.graphql(&query).await;
    assert_eq!(
        reply["data"],
        json!({"here": {"name": "fct_users_deleted"}, "gone": null, "wrong": null})
    );
    let codes: Vec<u64> = reply["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["extensions"]["code"].as_u64().unwrap())
        .collect();
    assert_eq!(codes.len(), 2, "{reply}");
    assert!(codes.contains(&404) && codes.contains(&400), "{codes:?}");
    let first = &reply["errors"][0];
    assert_eq!(
        first["extensions"]["classification"],
        "DataFetchingException"
    );
    assert!(first["locations"][0]["line"].is_u64());
}

#[tokio::test]
async fn several_mutations_run_in_order_and_see_each_other() {
    let app = App::empty().await;
    let reply = app
        .graphql(
            r#"mutation {
                a: createDomain(input: { id: "a", name: "A" })
                b: createDomain(input: { id: "b", name: "B", parentDomain: "urn:li:domain:a" })
                again: createDomain(input: { id: "a", name: "A" })
                c: moveDomain(input: { resourceUrn: "urn:li:domain:b" })
            }"#,
        )
        .await;
    assert_eq!(
        reply["data"],
        json!({"a": "urn:li:domain:a", "b": "urn:li:domain:b", "again": null, "c": true})
    );
    assert_eq!(reply["errors"].as_array().unwrap().len(), 1);
    assert_eq!(reply["errors"][0]["path"], json!(["again"]));
}

#[tokio::test]
async fn entities_of_any_type_are_read_by_urn() {
    let app = App::with_dataset().await;
    app.ingest("urn:li:domain:a", "domainProperties", &json!({"name": "A"}))
        .await;
    let query = format!(
        r#"{{
            entity(urn: "{DATASET}") {{ __typename urn type ... on Dataset {{ name platform {{ name }} }} }}
            entities(urns: ["urn:li:domain:a", "{DATASET}", "{}"], checkForExistence: true) {{ urn type }}
        }}"#,
        crate::support::MISSING
    );
    assert_eq!(
        app.graphql(&query).await["data"],
        json!({
            "entity": {"__typename": "Dataset", "urn": DATASET, "type": "DATASET", "name": "fct_users_deleted", "platform": {"name": "hive"}},
            "entities": [{"urn": "urn:li:domain:a", "type": "DOMAIN"}, {"urn": DATASET, "type": "DATASET"}]
        })
    );
}
