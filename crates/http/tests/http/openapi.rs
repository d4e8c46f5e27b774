//! Entities and aspects by URN, over the OpenAPI endpoints.

use crate::support::{App, DATASET, MISSING, NOW_MS, encoded};
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

const SLASHED: &str = "urn:li:dataset:(urn:li:dataPlatform:s3,bucket/é x/part,PROD)";

fn message(body: &Value) -> &str {
    body["message"].as_str().unwrap_or_default()
}

async fn send(app: &App, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
    let path = format!("/openapi/v3/entity/{path}");
    app.send(app.request(method, &path, body.to_string())).await
}

async fn get(app: &App, path: &str) -> (StatusCode, Value) {
    send(app, Method::GET, path, Value::Null).await
}

#[tokio::test]
async fn entities_are_posted_one_aspect_at_a_time_or_several() {
    let app = App::empty().await;
    let system_metadata = json!({"lastObserved": NOW_MS, "runId": "r1", "lastRunId": "no-run-id-provided", "properties": {"clientId": "c"}});
    let body = json!([
        {"urn": DATASET, "status": {"value": {"removed": false}, "systemMetadata": system_metadata, "headers": {}}},
        {"urn": DATASET, "datasetKey": {"value": {"platform": "urn:li:dataPlatform:hive", "name": "fct_users_deleted", "origin": "PROD"}, "systemMetadata": null}},
        {"urn": MISSING, "status": {"value": {"removed": true}}, "datasetProperties": {"value": {"description": "d", "customProperties": {}}}},
    ]);
    let (status, reply) = send(&app, Method::POST, "dataset?async=false", body).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(
        reply[0]["status"],
        json!({"value": {"removed": false}}),
        "{reply}"
    );
    assert_eq!(
        reply[1],
        json!({
            "urn": MISSING,
            "status": {"value": {"removed": true}},
            "datasetProperties": {"value": {"description": "d", "customProperties": {}}},
        })
    );
    let (status, stored) = get(
        &app,
        &format!("dataset/{}?systemMetadata=true", encoded(DATASET)),
    )
    .await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(stored["urn"], DATASET);
    assert_eq!(stored["status"]["systemMetadata"]["runId"], "r1");
    assert_eq!(stored["status"]["systemMetadata"]["version"], "1");
    assert_eq!(stored["datasetKey"]["value"]["name"], "fct_users_deleted");
}

#[tokio::test]
async fn an_asynchronous_write_is_complete_before_its_response() {
    let app = App::empty().await;
    let body = json!([{"urn": DATASET, "status": {"value": {"removed": false}}}]);
    for query in ["?async=true", ""] {
        let (status, reply) =
            send(&app, Method::POST, &format!("dataset{query}"), body.clone()).await;
        assert_eq!(status, StatusCode::ACCEPTED);
        assert_eq!(reply, body);
    }
    assert!(app.aspect(DATASET, "status").await.is_some());
}

#[tokio::test]
async fn values_are_stored_as_they_were_sent() {
    let app = App::empty().await;
    let text = format!(
        r#"[{{"urn": "{DATASET}", "datasetProperties": {{"value": {{"customProperties":{{"b":"1","a":"2"}}, "description":"é\u00e9"}}}}}}]"#
    );
    let request = app.request(Method::POST, "/openapi/v3/entity/dataset?async=false", text);
    assert_eq!(app.send(request).await.0, StatusCode::OK);
    let stored = app.aspect(DATASET, "datasetProperties").await.unwrap();
    assert_eq!(
        stored.to_string(),
        r#"{"customProperties":{"b":"1","a":"2"},"description":"éé"}"#
    );
}

#[tokio::test]
async fn one_aspect_is_created_replaced_patched_read_and_deleted_by_path() {
    for urn in [
        encoded(SLASHED),
        SLASHED.replace(' ', "%20").replace('é', "%C3%A9"),
    ] {
        let app = App::empty().await;
        let path = format!("dataset/{urn}/STATUS");
        let value = |removed: bool| json!({"value": {"removed": removed}});
        let (status, reply) = send(&app, Method::POST, &path, value(false)).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        assert_eq!(reply, json!({"urn": SLASHED, "status": value(false)}));
        let (status, reply) = send(&app, Method::POST, &path, value(true)).await;
        assert_eq!(status, StatusCode::CONFLICT, "{reply}");
        let replace = format!("{path}?createIfNotExists=false&systemMetadata=true");
        let (status, reply) = send(&app, Method::POST, &replace, value(true)).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        assert_eq!(reply["status"]["systemMetadata"]["version"], "2");
        let operations = json!({"patch": [{"op": "add", "path": "/removed", "value": false}]});
        let (status, reply) = send(&app, Method::PATCH, &path, operations).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        assert_eq!(reply, json!({"urn": SLASHED, "status": value(false)}));
        assert_eq!(get(&app, &path).await, (StatusCode::OK, value(false)));
        assert_eq!(
            get(&app, &format!("{path}?version=2")).await,
            (StatusCode::OK, value(true))
        );
        assert_eq!(
            get(&app, &format!("{path}?version=4")).await.0,
            StatusCode::NOT_FOUND
        );
        let (status, _) = send(&app, Method::HEAD, &path, Value::Null).await;
        assert_eq!(status, StatusCode::NO_CONTENT);
        let (status, reply) = send(&app, Method::DELETE, &path, Value::Null).await;
        assert_eq!(
            (status, reply["rows"].as_u64()),
            (StatusCode::OK, Some(3)),
            "{reply}"
        );
        let (status, _) = send(&app, Method::HEAD, &path, Value::Null).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn an_entity_is_read_with_selected_aspects_and_deleted_by_its_raw_urn() {
    let app = App::with_dataset().await;
    let path = format!("dataset/{DATASET}");
    let (_, whole) = get(&app, &path).await;
    assert!(whole["schemaMetadata"]["value"].is_object(), "{whole}");
    let some = format!("{path}?aspects=datasetKey,datasetproperties&aspects=status");
    let (_, some) = get(&app, &some).await;
    let mut names: Vec<&String> = some.as_object().unwrap().keys().collect();
    names.sort_unstable();
    assert_eq!(names, ["datasetKey", "datasetProperties", "urn"]);
    let (status, _) = send(&app, Method::HEAD, &path, Value::Null).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let one = format!("{path}?aspects=datasetProperties");
    let (status, _) = send(&app, Method::DELETE, &one, Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(app.aspect(DATASET, "datasetProperties").await, None);
    let clear = format!("{path}?clear=true");
    let (status, _) = send(&app, Method::DELETE, &clear, Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    let (_, rest) = get(&app, &path).await;
    assert_eq!(rest.as_object().unwrap().len(), 2, "{rest}");
    let (status, _) = send(&app, Method::DELETE, &path, Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    for method in [Method::GET, Method::HEAD] {
        let (status, _) = send(&app, method, &path, Value::Null).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }
    let (status, _) = send(&app, Method::DELETE, &path, Value::Null).await;
    assert_eq!(status, StatusCode::OK, "what is not there needs no removal");
}

#[tokio::test]
async fn likely_mistakes_delete_and_overwrite_nothing() {
    let app = App::with_dataset().await;
    let before = app.aspect(DATASET, "datasetProperties").await;
    let entity = format!("dataset/{DATASET}");
    let value = json!({"value": {"description": "overwritten"}});
    for (method, path, body, part) in [
        (Method::DELETE, "?aspects=", json!({}), "aspects is empty"),
        (Method::DELETE, "?aspects[]=", json!({}), "aspects is empty"),
        (Method::DELETE, "?aspect=status", json!({}), "'aspect'"),
        (Method::DELETE, "/status?aspect=x", json!({}), "'aspect'"),
        (
            Method::DELETE,
            "/status?clear=true",
            json!({}),
            "clear=true",
        ),
        (Method::DELETE, "?clear=perhaps", json!({}), "true or false"),
        (
            Method::POST,
            "/datasetProperties?createIfNotExists=banana",
            value,
            "createIfNotExists is 'banana'",
        ),
    ] {
        let (status, body) = send(&app, method, &format!("{entity}{path}"), body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {body}");
        assert!(message(&body).contains(part), "{path}: {body}");
    }
    assert_eq!(app.aspect(DATASET, "datasetProperties").await, before);
    assert!(before.is_some());
}

#[tokio::test]
async fn a_batch_is_read_with_the_requested_aspects_and_versions() {
    let app = App::with_dataset().await;
    app.ingest(DATASET, "status", &json!({"removed": false}))
        .await;
    app.ingest(DATASET, "status", &json!({"removed": true}))
        .await;
    let request = json!([
        {"urn": DATASET, "status": {}, "datasetProperties": null},
        {"urn": MISSING, "status": {}},
        {"urn": DATASET, "status": {"headers": {"If-Version-Match": "1"}}},
        {"urn": DATASET, "globalTags": {}},
        {"urn": MISSING},
    ]);
    let (status, found) = send(&app, Method::POST, "dataset/batchGet", request).await;
    assert_eq!(status, StatusCode::OK, "{found}");
    let found = found.as_array().unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0]["status"], json!({"value": {"removed": true}}));
    assert!(found[0]["datasetProperties"]["value"].is_object());
    assert_eq!(found[1]["status"], json!({"value": {"removed": false}}));
    let all = json!([{"urn": DATASET}]);
    let (_, found) = send(
        &app,
        Method::POST,
        "generic/batchGet?systemMetadata=true",
        all,
    )
    .await;
    assert_eq!(found[0]["status"]["systemMetadata"]["version"], "2");
    assert!(found[0]["schemaMetadata"]["value"].is_object(), "{found}");
    let domain = "urn:li:domain:d";
    app.ingest(domain, "domainProperties", &json!({"name": "D"}))
        .await;
    let by_type = json!({
        "dataset": [{"urn": DATASET, "status": {}}, {"urn": MISSING, "status": {}}],
        "DOMAIN": [{"urn": domain, "domainProperties": {}}],
        "tag": [],
    });
    let (status, found) = send(&app, Method::POST, "generic/batchGet", by_type).await;
    assert_eq!(status, StatusCode::OK, "{found}");
    let expected = json!({
        "dataset": [{"urn": DATASET, "status": {"value": {"removed": true}}}],
        "DOMAIN": [{"urn": domain, "domainProperties": {"value": {"name": "D"}}}],
        "tag": [],
    });
    assert_eq!(found, expected);
    let wrong = json!({"domain": [{"urn": DATASET}]});
    let (status, reply) = send(&app, Method::POST, "generic/batchGet", wrong).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    let message = reply["message"].as_str().unwrap();
    assert!(message.starts_with("domain: item 0"), "{message}");
}

#[tokio::test]
async fn entities_of_several_types_are_written_in_one_request() {
    let app = App::empty().await;
    let domain = "urn:li:domain:d";
    let body = json!({
        "dataset": [{"urn": DATASET, "status": {"value": {"removed": false}}}],
        "domain": [{"urn": domain, "domainProperties": {"value": {"name": "D"}}}],
    });
    let (status, reply) = send(&app, Method::POST, "generic?async=false", body.clone()).await;
    assert_eq!((status, reply), (StatusCode::OK, body));
    let tag = json!({"patch": [{"op": "add", "path": "/tags/urn:li:tag:a", "value": {}}]});
    let patch = json!({"dataset": [{"urn": DATASET, "globalTags": {"value": tag}}]});
    let (status, reply) = send(&app, Method::PATCH, "generic?async=false", patch).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(
        reply["dataset"][0]["globalTags"]["value"],
        json!({"tags": [{"tag": "urn:li:tag:a"}]})
    );
    let (status, read) = get(&app, &format!("generic/{domain}/domainProperties")).await;
    assert_eq!(
        (status, read),
        (StatusCode::OK, json!({"value": {"name": "D"}}))
    );
    let bad = json!({
        "dataset": [{"urn": MISSING, "status": {"value": {"removed": false}}}],
        "domain": [{"urn": domain, "domainProperties": {"value": {"name": 7}}}],
    });
    let (status, reply) = send(&app, Method::POST, "generic?async=false", bad).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    assert!(message(&reply).contains(domain), "{reply}");
    assert_eq!(app.aspect(MISSING, "status").await, None);
}

#[tokio::test]
async fn create_leaves_existing_aspects_unchanged() {
    let app = App::empty().await;
    let body = |removed: bool| json!([{"urn": DATASET, "status": {"value": {"removed": removed}}}]);
    for name in [
        "createIfNotExists",
        "createEntityIfNotExists",
        "createIfEntityNotExists",
    ] {
        let path = format!("dataset?async=false&{name}=true");
        let (status, reply) = send(&app, Method::POST, &path, body(false)).await;
        let expected = if name == "createIfNotExists" {
            StatusCode::OK
        } else {
            StatusCode::CONFLICT
        };
        assert_eq!(status, expected, "{reply}");
        let (status, reply) = send(&app, Method::POST, &path, body(true)).await;
        assert_eq!(status, StatusCode::CONFLICT, "{reply}");
        assert!(message(&reply).contains("already exists"), "{reply}");
        assert_eq!(reply["error"], "Conflict");
    }
    assert_eq!(
        app.aspect(DATASET, "status").await,
        Some(json!({"removed": false}))
    );
}

#[tokio::test]
async fn an_invalid_item_rejects_the_whole_list_and_is_named() {
    let app = App::empty().await;
    let good = json!({"urn": DATASET, "status": {"value": {"removed": false}}});
    for (bad, parts) in [
        (
            json!({"urn": MISSING, "status": {"value": {"removed": "no"}}}),
            vec!["item 1", MISSING, "status", "/removed"],
        ),
        (
            json!({"urn": MISSING, "noSuchAspect": {"value": {}}}),
            vec!["item 1", MISSING, "noSuchAspect"],
        ),
        (
            json!({"urn": MISSING, "domainProperties": {"value": {"name": "x"}}}),
            vec![
                "item 1",
                MISSING,
                "Unknown aspect domainProperties for entity dataset",
            ],
        ),
        (
            json!({"urn": MISSING, "status": {"removed": true}}),
            vec!["item 1", MISSING, "status", "'value'"],
        ),
        (
            json!({"urn": MISSING, "status": 7}),
            vec!["item 1", MISSING, "status"],
        ),
        (
            json!({"urn": MISSING}),
            vec!["item 1", MISSING, "has no aspects"],
        ),
        (json!({"status": {"value": {}}}), vec!["item 1", "'urn'"]),
        (
            json!({"urn": "urn:li:dataset:x", "status": {"value": {}}}),
            vec!["item 1", "urn:li:dataset:x"],
        ),
        (
            json!({"urn": "urn:li:tag:x", "tagProperties": {"value": {"name": "x"}}}),
            vec!["item 1", "urn:li:tag:x", "dataset"],
        ),
        (
            json!({"urn": MISSING, "status": {"value": {"removed": true}, "headers": {"If-Version-Match": "x"}}}),
            vec!["item 1", MISSING, "status", "If-Version-Match"],
        ),
    ] {
        let (status, reply) = send(
            &app,
            Method::POST,
            "dataset?async=false",
            json!([good, bad]),
        )
        .await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{bad}: {reply}");
        for part in parts {
            assert!(message(&reply).contains(part), "{bad} {part}: {reply}");
        }
        assert!(reply["error"].is_string(), "{reply}");
        assert_eq!(app.aspect(DATASET, "status").await, None, "{bad}");
    }
    let bad = json!([{"urn": "urn:li:dataset:x", "status": {"value": {}}}]);
    let (_, reply) = send(&app, Method::POST, "dataset", bad).await;
    assert_eq!(reply["error"], "Invalid urn!: urn:li:dataset:x");
    let wrong = json!([{"urn": DATASET, "status": {"value": {"removed": 7}}}]);
    let (_, reply) = send(&app, Method::POST, "dataset", wrong).await;
    assert_eq!(reply["error"], "Validation Error");
}

#[tokio::test]
async fn tokens_and_secrets_are_neither_written_nor_returned() {
    let app = App::empty().await;
    let token = "urn:li:dataHubAccessToken:x";
    let body = json!([{"urn": token, "dataHubAccessTokenInfo": {"value": {"name": "x", "actorUrn": "urn:li:corpuser:datahub", "ownerUrn": "urn:li:corpuser:datahub", "createdAt": 1}}}]);
    let (status, reply) = send(&app, Method::POST, "dataHubAccessToken", body).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    let (status, reply) = send(
        &app,
        Method::DELETE,
        &format!("dataHubAccessToken/{token}"),
        Value::Null,
    )
    .await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    let secret = "urn:li:dataHubSecret:s";
    let value = json!({"value": {"name": "s", "value": "hidden", "created": {"time": 1, "actor": "urn:li:corpuser:a"}}});
    let body = json!([{"urn": secret, "dataHubSecretValue": value}]);
    let (status, reply) = send(&app, Method::POST, "dataHubSecret?async=false", body).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    assert!(reply.to_string().contains("createSecret"), "{reply}");
    app.add_secret("s", "hidden").await;
    for path in [
        format!("dataHubSecret/{secret}"),
        format!("dataHubSecret/{secret}/dataHubSecretValue"),
    ] {
        let (_, reply) = get(&app, &path).await;
        assert!(!reply.to_string().contains("hidden"), "{reply}");
    }
    let request = json!([{"urn": secret, "dataHubSecretValue": {}}]);
    let (_, reply) = send(&app, Method::POST, "dataHubSecret/batchGet", request).await;
    assert!(!reply.to_string().contains("hidden"), "{reply}");
}

#[tokio::test]
async fn bodies_up_to_sixteen_mebibytes_are_accepted() {
    let app = App::empty().await;
    let body = |bytes: usize| {
        let frame = json!([{"urn": DATASET, "datasetProperties": {"value": {"description": ""}}}]);
        let padding = "x".repeat(bytes - frame.to_string().len());
        json!([{"urn": DATASET, "datasetProperties": {"value": {"description": padding}}}])
    };
    let limit = 16 * 1024 * 1024;
    let (status, reply) = send(&app, Method::POST, "dataset", body(limit)).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{reply}");
    let (status, reply) = send(&app, Method::POST, "dataset", body(limit + 1)).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(message(&reply).contains("16 MiB"), "{reply}");
}

#[tokio::test]
async fn the_document_describes_every_route_of_the_router() {
    let app = App::empty().await;
    let (status, document) = app.get("/openapi/v3/api-docs").await;
    assert_eq!(status, StatusCode::OK);
    let paths = document["paths"].as_object().unwrap();
    let source = include_str!("../../src/lib.rs");
    let routes = source
        .split(".route(")
        .skip(1)
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    for route in routes {
        let shown = route.replace("{type}", "dataset").replace("{*", "{");
        let shown = shown
            .strip_suffix('/')
            .filter(|it| !it.is_empty())
            .unwrap_or(&shown);
        assert!(
            paths.contains_key(shown),
            "{route} is not in OPERATIONS of openapi/document/routes.rs"
        );
    }
    let mut methods = 0;
    for (path, operations) in paths {
        // One type is enough: all types have the same routes.
        let of_type = ["/openapi/v2/entity/", "/openapi/v3/entity/"];
        if of_type.iter().any(|prefix| path.starts_with(prefix))
            && !path.contains("/tag")
            && !path.contains("/generic")
        {
            continue;
        }
        for (method, operation) in operations.as_object().unwrap() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let path = path
                .replace("{urn}", "urn:li:tag:a")
                .replace("{aspect}", "status");
            let request = app.request(method.clone(), &path, "{}");
            let (status, body) = app.send(request).await;
            assert_ne!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            assert!(
                !message(&body).starts_with("No endpoint"),
                "{method} {path}"
            );
            assert!(!status.is_server_error(), "{method} {path}: {body}");
            let declared = &operation["responses"][status.as_str()];
            assert!(declared.is_object(), "{method} {path} may answer {status}");
            methods += 1;
        }
    }
    assert!(methods > 30, "{methods}");

    let declared = |method: &str, path: &str| {
        let responses = document["paths"][path][method]["responses"].as_object();
        let statuses: Vec<&str> = responses.unwrap().keys().map(String::as_str).collect();
        statuses.join(" ")
    };
    let one = "/openapi/v3/entity/tag/{urn}";
    for (method, path, expected) in [
        (
            "post",
            "/openapi/v3/entity/tag",
            "200 202 400 401 403 404 409 412 413 503",
        ),
        ("head", one, "204 400 401 403 404 503"),
        ("get", one, "200 400 401 403 404 503"),
        ("post", "/aspects", "200 400 401 403 409 412 413 422 503"),
        ("post", "/logIn", "200 400 401 403 413 415 429 503"),
        ("get", "/config", "200"),
    ] {
        assert_eq!(declared(method, path), expected, "{method} {path}");
    }
}

#[tokio::test]
async fn every_reference_in_the_document_resolves() {
    let app = App::empty().await;
    let (_, document) = app.get("/openapi/v3/api-docs").await;
    assert_eq!(document["openapi"], "3.0.1");
    let schemas = document["components"]["schemas"].as_object().unwrap();
    assert!(schemas.len() > 900, "{}", schemas.len());
    let mut names = 0;
    let text = document.to_string();
    for rest in text.split("#/components/schemas/").skip(1) {
        let name = rest.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name}");
        names += 1;
    }
    assert!(names > 2000, "{names}");
    let tags = &schemas["com.linkedin.common.GlobalTags"];
    assert_eq!(tags["required"], json!(["tags"]));
    let post = &document["paths"]["/openapi/v3/entity/dataset"]["post"];
    let body = &post["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(body["items"]["$ref"], "#/components/schemas/dataset.Entity");
    assert_eq!(
        schemas["dataset.Entity"]["properties"]["globalTags"]["$ref"],
        "#/components/schemas/globalTags.Aspect"
    );
}

#[tokio::test]
async fn a_missing_aspect_is_null_after_an_empty_patch_as_documented() {
    let app = App::empty().await;
    let path = "tag/urn:li:tag:a/tagProperties";
    let (status, reply) = send(&app, Method::PATCH, path, json!({"patch": []})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(reply, json!({"urn": "urn:li:tag:a", "tagProperties": null}));
    let (_, document) = app.get("/openapi/v3/api-docs").await;
    let operation = &document["paths"]["/openapi/v3/entity/tag/{urn}/{aspect}"]["patch"];
    let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
    assert_eq!(schema["$ref"], "#/components/schemas/WrittenEntity");
    let entity = &document["components"]["schemas"]["WrittenEntity"];
    assert_eq!(entity["additionalProperties"]["nullable"], true);
}

#[tokio::test]
async fn the_api_page_loads_no_external_resources() {
    let app = App::empty().await;
    let (status, page) = app.get("/openapi/swagger-ui/index.html").await;
    assert_eq!(status, StatusCode::OK);
    let page = page.as_str().unwrap();
    for asset in ["page.js", "page.css"] {
        assert!(page.contains(&format!("\"{asset}\"")), "{page}");
        let (status, text) = app.get(&format!("/openapi/swagger-ui/{asset}")).await;
        assert_eq!(status, StatusCode::OK);
        assert!(!text.as_str().unwrap().contains("//cdn"));
    }
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "{page}"
    );
}

#[tokio::test]
async fn ambiguous_paths_are_rejected() {
    let app = App::empty().await;
    for tag in ["urn:li:tag:a", "urn:li:tag:a/status", "urn:li:tag:b"] {
        app.ingest(tag, "status", &json!({"removed": false})).await;
    }
    for path in ["tag/urn:li:tag:a/status", "tag/urn%3Ali%3Atag%3Aa/status"] {
        for method in [Method::GET, Method::DELETE] {
            let (status, reply) = send(&app, method, path, Value::Null).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{path} {reply}");
            assert!(message(&reply).contains("%2F"), "{reply}");
        }
    }
    for (path, gone, left) in [
        ("tag/urn:li:tag:b/status", "urn:li:tag:b", "urn:li:tag:a"),
        (
            "tag/urn:li:tag:a%2Fstatus",
            "urn:li:tag:a/status",
            "urn:li:tag:a",
        ),
        ("tag/urn:li:tag:a/status", "urn:li:tag:a", "urn:li:tag:a"),
    ] {
        assert!(app.aspect(left, "status").await.is_some(), "{path}");
        let (status, reply) = send(&app, Method::DELETE, path, Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{path} {reply}");
        assert_eq!(app.aspect(gone, "status").await, None, "{path}");
    }
    assert!(app.aspect("urn:li:tag:a", "tagKey").await.is_some());
}
