//! Limits of one request, whatever is stored: on the work of the writer, the size of replies, and
//! time.

use std::time::Duration;

use axum::http::{Method, StatusCode, header};
use docent_http::{HttpSettings, RequestTimeout};
use serde_json::{Value, json};

use crate::support::{App, proposal};

const MIB: usize = 1024 * 1024;

fn urn(number: usize) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,large{number},PROD)")
}

fn message(body: &Value) -> &str {
    body["message"].as_str().unwrap_or_default()
}

fn count(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

/// Datasets with properties of ten mebibytes, from the run `r`.
async fn with_large(count: usize) -> App {
    let app = App::empty().await;
    let properties = json!({"description": "x".repeat(10 * MIB)});
    for number in 0..count {
        let mut wire = proposal("UPSERT", &urn(number), "datasetProperties", &properties);
        wire["systemMetadata"] = json!({"runId": "r", "lastObserved": 1});
        let (status, reply) = app
            .post("/aspects?action=ingestProposal", &json!({"proposal": wire}))
            .await;
        assert_eq!(status, StatusCode::OK, "{reply}");
    }
    app
}

/// This many patches without effect.
async fn patch(app: &App, count: usize) -> (StatusCode, Value) {
    let operations = json!([{"op": "remove", "path": "/customProperties/none"}]);
    let item = json!({"urn": urn(0), "datasetProperties": {"value": {"patch": operations}}});
    let body = Value::from(vec![item; count]).to_string();
    let path = "/openapi/v3/entity/dataset?async=false";
    app.send(app.request(Method::PATCH, path, body)).await
}

#[tokio::test]
async fn repeated_patches_of_a_large_aspect_use_the_budget_and_are_returned_once() {
    let app = with_large(1).await;
    // The first one is applied outside the transaction.
    let (status, reply) = patch(&app, 2).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(count(&reply), 1);
    let (status, reply) = patch(&app, 13).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    let expected =
        "item 2 (urn:li:dataset:(urn:li:dataPlatform:hive,large0,PROD) datasetProperties)";
    assert!(message(&reply).starts_with(expected), "{}", message(&reply));
    assert!(message(&reply).contains("in parts"), "{}", message(&reply));
}

#[tokio::test]
async fn replies_omit_duplicates_and_have_a_maximum_size() {
    let app = with_large(7).await;
    let input = |number: usize| json!({"urn": urn(number), "datasetProperties": {}});
    let urns = |numbers: &[usize]| numbers.iter().map(|it| urn(*it)).collect::<Vec<_>>();
    let get = "/openapi/v3/entity/dataset/batchGet";
    let batch = "/openapi/v2/entity/batch/dataset";
    let (status, reply) = app.post(get, &vec![input(0); 50].into()).await;
    assert_eq!((status, count(&reply)), (StatusCode::OK, 1));
    let (status, reply) = app.post(batch, &json!({"urns": urns(&[0; 50])})).await;
    assert_eq!((status, count(&reply["entities"])), (StatusCode::OK, 1));
    // Aspects that are read but not returned do not count.
    let keys = json!({"urns": urns(&[0, 1, 2, 3, 4, 5, 6]), "aspectNames": ["datasetKey"]});
    let (status, reply) = app.post(batch, &keys).await;
    assert_eq!((status, count(&reply["entities"])), (StatusCode::OK, 7));
    let describe = |include: bool| json!({"runId": "r", "count": 100, "includeAspect": include});
    let (status, reply) = app.post("/runs?action=describe", &describe(false)).await;
    assert_eq!(status, StatusCode::OK);
    assert!(count(&reply["value"]) >= 7, "{reply}");

    let different = (0..7).map(|number| {
        let mut input = input(0);
        for name in ["status", "ownership", "globalTags"]
            .iter()
            .take(number % 4)
        {
            input[*name] = json!({});
        }
        input["domains"] = if number < 4 {
            Value::Null
        } else {
            json!({"headers": {"If-Version-Match": "1"}})
        };
        input
    });
    for (path, body) in [
        (get, (0..7).map(input).collect::<Value>()),
        (get, different.collect()),
        (batch, json!({"urns": urns(&[0, 1, 2, 3, 4, 5, 6])})),
        ("/runs?action=describe", describe(true)),
    ] {
        let (status, reply) = app.post(path, &body).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{path}");
        assert!(
            message(&reply).contains("fewer"),
            "{path}: {}",
            message(&reply)
        );
    }
}

/// Parsed, these bodies would take forty times their size or more.
#[tokio::test]
async fn bodies_that_take_much_more_memory_than_their_text_are_rejected() {
    let app = App::empty().await;
    let many = |unit: &str| unit.repeat(2 * MIB / unit.len());
    let lists = format!("[{}0]", many("[],"));
    let objects = format!("[{}{{}}]", many("{},"));
    let value = json!({"proposal": {
        "entityUrn": urn(0), "entityType": "dataset", "changeType": "UPSERT",
        "aspectName": "datasetProperties",
        "aspect": {"value": lists, "contentType": "application/json"},
    }});
    for (path, body) in [
        ("/aspects?action=ingestProposal", value.to_string()),
        (
            "/aspects?action=ingestProposalBatch",
            format!("{{\"proposals\":{objects}}}"),
        ),
        (
            "/entities?action=batchIngest",
            format!("{{\"entities\":{objects}}}"),
        ),
        (
            "/usageStats?action=batchIngest",
            format!("{{\"buckets\":{objects}}}"),
        ),
        ("/openapi/v3/entity/dataset", objects.clone()),
        ("/openapi/v3/entity/dataset/batchGet", objects.clone()),
        (
            "/openapi/v2/entity/batch/dataset",
            format!("{{\"urns\":{lists}}}"),
        ),
        (
            "/runs?action=rollback",
            format!("{{\"runId\":\"r\",\"x\":{lists}}}"),
        ),
    ] {
        let (status, reply) = app.send(app.request(Method::POST, path, body)).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{path} {reply}");
        let message = message(&reply);
        assert!(message.contains("too many values"), "{path}: {message}");
    }
}

#[tokio::test]
async fn lists_end_at_the_first_item_that_is_too_many() {
    let app = App::empty().await;
    let item = format!("{{\"{}\":0}}", "x".repeat(30));
    let items = format!("[{}]", vec![item.as_str(); 10_001].join(","));
    for (path, body) in [
        (
            "/aspects?action=ingestProposalBatch",
            format!("{{\"proposals\":{items}}}"),
        ),
        ("/openapi/v3/entity/dataset", items.clone()),
        (
            "/openapi/v3/entity/generic",
            format!("{{\"dataset\":{items}}}"),
        ),
    ] {
        let (status, reply) = app.send(app.request(Method::POST, path, body)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path} {reply}");
        let message = message(&reply);
        assert!(message.contains("at most 10000 items"), "{path}: {message}");
    }
}

#[tokio::test]
async fn a_large_batch_of_dense_schemas_is_accepted() {
    let app = App::empty().await;
    let fields: Vec<Value> = (0..50)
        .map(|number| {
            json!({
                "fieldPath": format!("c{number}"), "nativeDataType": "int", "nullable": true,
                "type": {"type": {"com.linkedin.schema.NumberType": {}}},
            })
        })
        .collect();
    let schema = json!({
        "schemaName": "s", "platform": "urn:li:dataPlatform:hive", "version": 0, "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": fields,
    });
    let proposals: Vec<Value> = (0..1000)
        .map(|number| proposal("UPSERT", &urn(number), "schemaMetadata", &schema))
        .collect();
    let body = json!({ "proposals": proposals });
    assert!(body.to_string().len() > 4 * MIB);
    let (status, reply) = app.post("/aspects?action=ingestProposalBatch", &body).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
}

#[tokio::test]
async fn a_reply_has_a_hundred_errors_and_says_how_many_are_left_out() {
    let app = App::empty().await;
    // The comment makes the positions of the errors costly to compute from the start of the text.
    let query = format!(
        "#{}\nquery($u: [String!]!) {{ entities(urns: $u) {{ urn ... on AccessTokenMetadata {{ name }} }} }}",
        "x".repeat(1_900_000)
    );
    for (count, omitted) in [(100, None), (400, Some(300))] {
        let urns = vec!["urn:li:dataHubAccessToken:none"; count];
        let reply = app.graphql_with(&query, json!({"u": urns})).await;
        let errors = reply["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 100);
        for error in errors {
            let expected = json!([{"line": 2, "column": 25}]);
            assert_eq!(error["locations"], expected, "{error}");
        }
        assert_eq!(reply["extensions"]["omittedErrors"].as_u64(), omitted);
        assert_eq!(reply["data"]["entities"].as_array().unwrap().len(), count);
    }
}

#[tokio::test]
async fn one_query_makes_at_most_a_hundred_searches() {
    let app = App::empty().await;
    let search = |number: usize| {
        format!("s{number}: searchAcrossEntities(input: {{query: \"a\"}}) {{ total }} ")
    };
    let searches = |count| format!("{{ {} }}", (0..count).map(search).collect::<String>());
    let reply = app.graphql(&searches(100)).await;
    assert_eq!(reply["data"]["s99"]["total"], 0, "{reply}");
    let reply = app.graphql(&searches(101)).await;
    let message = &reply["errors"][0]["message"];
    assert_eq!(
        message, "maximum number of root fields exceeded 101 > 100",
        "{reply}"
    );
}

#[tokio::test]
async fn requests_over_their_time_get_503_and_what_to_do() {
    let app = App::with_settings(HttpSettings {
        request_timeout: RequestTimeout(Duration::ZERO),
        ..HttpSettings::default()
    })
    .await;
    // The first search waits for the index.
    let search = "{ searchAcrossEntities(input: { query: \"*\" }) { total } }";
    let (status, reply) = app.post("/api/graphql", &json!({"query": search})).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{reply}");
    assert!(message(&reply).contains("--request-timeout"), "{reply}");
    assert!(message(&reply).contains("may have been stored"), "{reply}");
    // A request that never waits needs no time.
    assert_eq!(app.get("/health/live").await.0, StatusCode::OK);
}

#[tokio::test]
async fn variables_that_take_much_more_memory_than_their_body_are_rejected() {
    let app = App::empty().await;
    let ask = async |query: &str, variables: String| {
        let query = Value::from(query);
        let body = format!("{{\"query\":{query},\"variables\":{variables}}}");
        app.send(app.request(Method::POST, "/api/graphql", body))
            .await
    };
    let list = format!("[{}\"\"]", "\"\",".repeat(4 * MIB));
    let declared = "query($u: [String!]!) { entities(urns: $u) { urn } }";
    let (status, reply) = ask(declared, format!("{{\"u\":{list}}}")).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{reply}");
    assert!(message(&reply).contains("several requests"), "{reply}");
    // What the operation does not declare is not parsed.
    let (status, reply) = ask("{ __typename }", format!("{{\"u\":{list}}}")).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(reply["data"]["__typename"], "Query");
}

/// Larger bodies share their memory with those of all users.
#[tokio::test]
async fn strangers_send_small_bodies_only() {
    let app = App::empty().await;
    for path in [
        "/logIn",
        "/signUp",
        "/signUp/check",
        "/resetNativeUserCredentials",
    ] {
        for (length, is_rejected) in [(16 * 1024, false), (16 * 1024 + 1, true)] {
            let body = Value::from("x".repeat(length - 2)).to_string();
            let mut request = app.request(Method::POST, path, body);
            request.headers_mut().remove(header::AUTHORIZATION);
            let (status, reply) = app.send(request).await;
            let is_too_large = status == StatusCode::PAYLOAD_TOO_LARGE;
            assert_eq!(is_too_large, is_rejected, "{path} {length}: {reply}");
        }
    }
}

/// Each of these has 72 MiB, of which one reply may have 64.
#[tokio::test]
async fn replies_over_the_limit_are_rejected_before_their_values_are_read() {
    let app = App::empty().await;
    let text = "x".repeat(12 * MIB);
    let ingest = async |aspect: &str, value: Value| {
        let wire = proposal("UPSERT", &urn(0), aspect, &value);
        let path = "/aspects?action=ingestProposal";
        let (status, reply) = app.post(path, &json!({"proposal": wire})).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
    };
    for time in 0..6 {
        let partition = json!({"partition": text, "type": "QUERY"});
        let point = json!({"timestampMillis": time, "partitionSpec": partition});
        ingest("datasetProfile", point).await;
    }
    let values = async |limit: usize| {
        let body = json!({"urn": urn(0), "aspect": "datasetProfile", "limit": limit});
        let path = "/aspects?action=getTimeseriesAspectValues";
        app.post(path, &body).await
    };
    let (status, reply) = values(10).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(message(&reply).contains("use a lower limit"), "{reply}");
    let (status, reply) = values(2).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(count(&reply["value"]["values"]), 2);

    for aspect in [
        "datasetProperties",
        "editableDatasetProperties",
        "deprecation",
        "datasetDeprecation",
        "viewProperties",
        "documentation",
    ] {
        let value = match aspect {
            "deprecation" | "datasetDeprecation" => {
                json!({"deprecated": true, "note": text, "actor": "urn:li:corpuser:x"})
            }
            "viewProperties" => {
                json!({"materialized": true, "viewLogic": text, "viewLanguage": "SQL"})
            }
            "documentation" => json!({"documentations": [{"documentation": text}]}),
            _ => json!({"description": text}),
        };
        ingest(aspect, value).await;
    }
    for path in ["/entitiesV2/", "/entities/", "/openapi/v3/entity/dataset/"] {
        let (status, reply) = app.get(&format!("{path}{}", urn(0))).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{path}");
        let expected = "request fewer entities or aspects";
        assert!(message(&reply).contains(expected), "{reply}");
    }
    for (path, aspects, pointer) in [
        ("/entitiesV2/", "List(datasetKey)", "/aspects/datasetKey"),
        ("/openapi/v3/entity/dataset/", "datasetKey", "/datasetKey"),
    ] {
        let path = format!("{path}{}?aspects={aspects}", urn(0));
        let (status, reply) = app.get(&path).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        let origin = reply.pointer(&format!("{pointer}/value/origin"));
        assert_eq!(origin, Some(&json!("PROD")), "{reply}");
    }
}

/// The memory of values is free again after each request: all of these together need more.
#[tokio::test]
async fn requests_for_long_values_release_their_memory() {
    let app = with_large(1).await;
    for _ in 0..60 {
        let (status, _) = app.get(&format!("/entitiesV2/{}", urn(0))).await;
        assert_eq!(status, StatusCode::OK);
    }
}
