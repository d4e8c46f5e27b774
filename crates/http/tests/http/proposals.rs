//! Aspects written by change proposals.

use crate::support::{App, DATASET, USER, encoded, proposal};
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

const DOMAIN: &str = "urn:li:domain:marketing";

fn message(body: &Value) -> &str {
    body["message"].as_str().unwrap_or_default()
}

async fn entity(app: &App, urn: &str) -> Value {
    app.get(&format!("/entitiesV2/{}", encoded(urn))).await.1
}

#[tokio::test]
async fn the_first_write_creates_the_key_and_default_aspects() {
    let app = App::empty().await;
    let urn = "urn:li:dataset:(urn:li:dataPlatform:hive,Shop.Orders,PROD)";
    app.ingest(urn, "status", &json!({"removed": false})).await;
    let stored = entity(&app, urn).await;
    let aspects = stored["aspects"].as_object().unwrap();
    let mut names: Vec<&str> = aspects.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "aliases",
            "browsePathsV2",
            "dataPlatformInstance",
            "datasetKey",
            "status"
        ]
    );
    assert_eq!(
        aspects["datasetKey"]["value"],
        json!({"platform": "urn:li:dataPlatform:hive", "name": "Shop.Orders", "origin": "PROD"})
    );
    assert_eq!(
        aspects["browsePathsV2"]["value"],
        json!({"path": [{"id": "Shop"}]})
    );
    assert_eq!(
        aspects["aliases"]["value"]["lowercasedUrn"],
        "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
    );
    assert_eq!(stored["entityName"], "dataset");
    assert_eq!(aspects["status"]["systemMetadata"]["version"], "1");

    app.ingest(DOMAIN, "domainProperties", &json!({"name": "M"}))
        .await;
    let names: Vec<String> = entity(&app, DOMAIN).await["aspects"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(names, ["domainKey", "domainProperties"]);
}

#[tokio::test]
async fn text_is_stored_exactly_as_it_was_sent() {
    let app = App::with_dataset().await;
    let description = "# Überschrift\n\n| a | b |\n|---|---|\r\n\t\"quoted\" \\ <script>alert(1)</script> 🚲 \u{0} \u{2028}";
    let value = json!({"description": description, "customProperties": {"k": "v"}, "tags": ["x"]});
    app.ingest(DATASET, "datasetProperties", &value).await;
    assert_eq!(app.aspect(DATASET, "datasetProperties").await, Some(value));
    let read = format!(r#"{{ dataset(urn: "{DATASET}") {{ properties {{ description }} }} }}"#);
    assert_eq!(
        app.graphql(&read).await["data"]["dataset"]["properties"]["description"],
        description
    );
}

#[tokio::test]
async fn versions_count_content_changes_and_the_latest_twenty_are_retained() {
    let app = App::empty().await;
    for number in 1..=3 {
        app.ingest(
            DOMAIN,
            "domainProperties",
            &json!({"name": format!("name {number}")}),
        )
        .await;
    }
    app.ingest(DOMAIN, "domainProperties", &json!({"name": "name 3"}))
        .await;
    let name = |value: Option<Value>| value.map(|value| value["name"].as_str().unwrap().to_owned());
    for (version, expected) in [(0, "name 3"), (1, "name 1"), (2, "name 2"), (3, "name 3")] {
        let read = app
            .aspect_version(DOMAIN, "domainProperties", version)
            .await;
        assert_eq!(name(read).as_deref(), Some(expected), "version {version}");
    }
    assert_eq!(
        app.aspect_version(DOMAIN, "domainProperties", 4).await,
        None
    );
    for number in 4..=25 {
        app.ingest(
            DOMAIN,
            "domainProperties",
            &json!({"name": format!("name {number}")}),
        )
        .await;
    }
    assert_eq!(
        app.aspect_version(DOMAIN, "domainProperties", 5).await,
        None,
        "pruned"
    );
    for version in 6..=25 {
        let read = app
            .aspect_version(DOMAIN, "domainProperties", version)
            .await;
        assert_eq!(name(read), Some(format!("name {version}")));
    }
}

#[tokio::test]
async fn unchanged_content_updates_system_metadata_without_a_new_version() {
    let app = App::empty().await;
    let value = json!({"name": "M"});
    app.ingest(DOMAIN, "domainProperties", &value).await;
    app.clock.advance(1000);
    let mut again = proposal("UPSERT", DOMAIN, "domainProperties", &value);
    again["systemMetadata"] = json!({"lastObserved": 77, "runId": "run-2"});
    let (status, _) = app
        .post(
            "/aspects?action=ingestProposal",
            &json!({"proposal": again}),
        )
        .await;
    assert_eq!(status, StatusCode::OK);
    let stored = entity(&app, DOMAIN).await["aspects"]["domainProperties"].clone();
    assert_eq!(stored["systemMetadata"]["version"], "1");
    assert_eq!(stored["systemMetadata"]["runId"], "run-2");
    assert_eq!(stored["systemMetadata"]["lastObserved"], 77);
    assert_eq!(stored["systemMetadata"]["properties"]["isNoOp"], "true");
    assert_eq!(stored["created"]["time"], crate::support::NOW_MS);
}

#[tokio::test]
async fn create_needs_a_new_aspect_and_create_entity_a_new_entity() {
    let app = App::empty().await;
    let value = json!({"name": "M"});
    let (status, _) = app
        .propose("CREATE_ENTITY", DOMAIN, "domainProperties", &value)
        .await;
    assert_eq!(status, StatusCode::OK);
    let (status, body) = app
        .propose("CREATE_ENTITY", DOMAIN, "domainProperties", &value)
        .await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(
        message(&body).starts_with(
            "Cannot perform CREATE_ENTITY if not exists since the entity key already exists."
        ),
        "{body}"
    );
    let (status, body) = app
        .propose("CREATE", DOMAIN, "domainProperties", &value)
        .await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(
        message(&body).starts_with("Cannot perform CREATE since the aspect already exists."),
        "{body}"
    );
    // As the Python client creates an entity: the key first, then other aspects, in one list.
    let urn = "urn:li:domain:two";
    let list = || {
        vec![
            proposal("CREATE_ENTITY", urn, "domainKey", &json!({"id": "two"})),
            proposal("CREATE", urn, "domainProperties", &value),
        ]
    };
    assert_eq!(app.propose_all(list()).await.0, StatusCode::OK);
    assert_eq!(app.propose_all(list()).await.0, StatusCode::CONFLICT);
}

#[tokio::test]
async fn an_aspect_and_an_entity_are_deleted_with_their_history() {
    let app = App::with_dataset().await;
    app.ingest(DATASET, "datasetProperties", &json!({"description": "two"}))
        .await;
    let (status, _) = app
        .propose("DELETE", DATASET, "datasetProperties", &json!({}))
        .await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(app.aspect(DATASET, "datasetProperties").await, None);
    assert_eq!(
        app.aspect_version(DATASET, "datasetProperties", 1).await,
        None
    );
    assert!(app.aspect(DATASET, "schemaMetadata").await.is_some());
    let (status, body) = app
        .post("/entities?action=delete", &json!({"urn": DATASET}))
        .await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        body,
        json!({"value": {"urn": DATASET, "rows": 5, "timeseriesRows": 0}})
    );
    assert_eq!(app.aspect(DATASET, "datasetKey").await, None);
    let (_, body) = app
        .post("/entities?action=delete", &json!({"urn": DATASET}))
        .await;
    assert_eq!(
        body["value"]["rows"], 0,
        "what is not there needs no removal"
    );
    let exists =
        format!(r#"{{ dataset(urn: "{DATASET}") {{ urn exists name properties {{ name }} }} }}"#);
    assert_eq!(
        app.graphql(&exists).await["data"]["dataset"],
        json!({"urn": DATASET, "exists": false, "name": "fct_users_deleted", "properties": null}),
        "who asks whether it exists gets an answer"
    );
}

#[tokio::test]
async fn soft_deleted_entities_exist() {
    let app = App::with_dataset().await;
    app.ingest(DATASET, "status", &json!({"removed": true}))
        .await;
    let read = format!(
        r#"{{ entityExists(urn: "{DATASET}") dataset(urn: "{DATASET}") {{ exists status {{ removed }} }} }}"#
    );
    assert_eq!(
        app.graphql(&read).await["data"],
        json!({"entityExists": true, "dataset": {"exists": true, "status": {"removed": true}}})
    );
}

#[tokio::test]
async fn duplicate_link_urls_are_removed_from_direct_writes() {
    let app = App::with_dataset().await;
    let link = |url: &str, text: &str| json!({"url": url, "description": text, "createStamp": {"time": 1, "actor": USER}});
    let value = json!({"elements": [link("https://a.example", "first"), link("https://a.example", "second"), link("https://b.example", "b")]});
    app.ingest(DATASET, "institutionalMemory", &value).await;
    assert_eq!(
        app.aspect(DATASET, "institutionalMemory").await,
        Some(
            json!({"elements": [link("https://a.example", "first"), link("https://b.example", "b")]})
        )
    );
}

#[tokio::test]
async fn domains_and_associations_are_synchronized() {
    let app = App::with_dataset().await;
    app.ingest(DATASET, "domains", &json!({"domains": [DOMAIN]}))
        .await;
    assert_eq!(
        app.aspect(DATASET, "domains").await,
        Some(json!({"domains": [DOMAIN], "domainAssociations": [{"domain": DOMAIN}]}))
    );
    let other = "urn:li:domain:finance";
    let two = json!({"domains": [], "domainAssociations": [{"domain": DOMAIN, "context": "c"}, {"domain": other}]});
    app.ingest(DATASET, "domains", &two).await;
    let mut stored = two;
    stored["domains"] = json!([DOMAIN, other]);
    assert_eq!(app.aspect(DATASET, "domains").await, Some(stored));
    app.ingest(DATASET, "domains", &json!({"domains": [other]}))
        .await;
    assert_eq!(
        app.aspect(DATASET, "domains").await,
        Some(json!({"domains": [other], "domainAssociations": [{"domain": other}]}))
    );
}

#[tokio::test]
async fn invalid_proposals_are_rejected_with_a_message_and_nothing_is_written() {
    let app = App::empty().await;
    let other = "urn:li:domain:other";
    for (urn, aspect, value, says) in [
        (DATASET, "noSuchAspect", json!({}), "noSuchAspect"),
        (
            DOMAIN,
            "schemaMetadata",
            json!({}),
            "Unknown aspect schemaMetadata for entity domain",
        ),
        (
            DOMAIN,
            "domainProperties",
            json!({"description": "x"}),
            "name",
        ),
        (DOMAIN, "domainProperties", json!({"name": 5}), "name"),
        (
            DOMAIN,
            "domainProperties",
            json!({"name": "x", "parentDomain": "finance"}),
            "parentDomain",
        ),
        (
            DOMAIN,
            "domainProperties",
            json!({"name": "x", "parentDomain": USER}),
            "domain",
        ),
        (DOMAIN, "domainProperties", json!([]), "domainProperties"),
        (
            DATASET,
            "domains",
            json!({"domains": ["urn:li:corpuser:a"]}),
            "domain",
        ),
        (
            DATASET,
            "ownership",
            json!({"owners": [{"owner": USER, "type": "NO_SUCH_TYPE"}]}),
            "NO_SUCH_TYPE",
        ),
        (
            "urn:li:dataset:(urn:li:dataPlatform:hive,t,NOWHERE)",
            "status",
            json!({}),
            "PROD",
        ),
        ("urn:li:dataset:x", "status", json!({}), "1 key part where"),
        ("urn:li:nothing:x", "status", json!({}), "nothing"),
        ("not a urn", "status", json!({}), "urn:li"),
        (
            &format!("urn:li:domain:{}", "x".repeat(600)),
            "domainProperties",
            json!({"name": "x"}),
            "too long",
        ),
    ] {
        let (status, body) = app.propose("UPSERT", urn, aspect, &value).await;
        assert!(
            matches!(status.as_u16(), 400 | 422),
            "{urn} {aspect} {value}: {status} {body}"
        );
        assert!(
            message(&body).contains(says),
            "{urn} {aspect} {value}: {body}"
        );
        // The same item rejects a whole list, and the error names it.
        let good = proposal(
            "UPSERT",
            other,
            "domainProperties",
            &json!({"name": "fine"}),
        );
        let (status, body) = app
            .propose_all(vec![good, proposal("UPSERT", urn, aspect, &value)])
            .await;
        assert!(status.is_client_error(), "{status}");
        assert!(message(&body).contains("item 1"), "{body}");
        assert_eq!(
            app.aspect(other, "domainKey").await,
            None,
            "nothing of the list is written"
        );
    }
    for (body, expected, says) in [
        (json!({"proposal": {}}), 400, "entityUrn"),
        (json!({}), 400, "proposal"),
        (
            json!({"proposal": proposal("MERGE", DOMAIN, "domainProperties", &json!([]))}),
            400,
            "MERGE",
        ),
        (
            json!({"proposal": {"entityUrn": DOMAIN, "aspectName": "domainProperties", "changeType": "UPSERT"}}),
            400,
            "aspect.value",
        ),
        (
            json!({"proposal": {"entityType": "dataset", "entityUrn": DOMAIN, "aspectName": "domainProperties", "changeType": "UPSERT", "aspect": {"value": "{\"name\":\"x\"}"}}}),
            400,
            "entityType",
        ),
        (
            json!({"proposal": {"entityUrn": DOMAIN, "aspectName": "domainProperties", "changeType": "UPSERT", "aspect": {"value": "{"}}}),
            422,
            "JSON",
        ),
    ] {
        let (status, reply) = app.post("/aspects?action=ingestProposal", &body).await;
        assert_eq!(status.as_u16(), expected, "{body}");
        assert!(message(&reply).contains(says), "{body}: {reply}");
    }
    let (status, _) = app.post("/aspects?action=ponder", &json!({})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    for path in [
        "/aspects/urn:li:domain:a?aspect=domainKey&version=abc",
        "/aspects/urn:li:domain:a?aspect=domainKey&aspect=domainProperties",
    ] {
        let (status, body) = app.get(path).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
        assert!(message(&body).contains("query string"), "{path}: {body}");
    }
}

#[tokio::test]
async fn urns_with_other_namespaces_or_control_characters_are_rejected() {
    let app = App::empty().await;
    let value = json!({"name": "x"});
    for (urn, says) in [
        ("urn:foo:domain:a", "urn:li:"),
        ("urn:li:domain:a\0", "U+0000"),
        ("urn:li:domain:a\u{1b}[2J", "U+001B"),
    ] {
        let (status, reply) = app.propose("UPSERT", urn, "domainProperties", &value).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{urn:?}: {reply}");
        assert!(message(&reply).contains(says), "{urn:?}: {reply}");
        let parent = json!({"name": "x", "parentDomain": urn});
        let (status, reply) = app
            .propose("UPSERT", "urn:li:domain:b", "domainProperties", &parent)
            .await;
        assert!(status.is_client_error(), "{urn:?}: {reply}");
        let query = "query ($urn: String!) { domain(urn: $urn) { urn } }";
        let reply = app.graphql_with(query, json!({"urn": urn})).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
    }
    let create = r#"mutation { createDomain(input: { id: "a\u0000", name: "A" }) }"#;
    assert_eq!(app.graphql_error(create).await.0, 400);
}

#[tokio::test]
async fn quirks_of_the_python_client_are_supported() {
    let app = App::empty().await;
    // System metadata as a string, a trailing slash, a character escaped twice, async as a string.
    let mut quirky = proposal(
        "UPSERT",
        "urn:li:domain:caf\\u00e9",
        "domainProperties",
        &json!({"name": "M"}),
    );
    quirky["systemMetadata"] = json!(r#"{"lastObserved": 5, "runId": "put"}"#);
    let (status, body) = app
        .post(
            "/aspects/?action=ingestProposal",
            &json!({"proposal": quirky, "async": "true"}),
        )
        .await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(body, json!({"value": "success"}));
    let stored = entity(&app, "urn:li:domain:café").await;
    assert_eq!(
        stored["aspects"]["domainProperties"]["systemMetadata"]["runId"],
        "put"
    );
    // Unknown members are dropped, the others are stored.
    app.ingest(
        DOMAIN,
        "domainProperties",
        &json!({"name": "M", "invented": 1}),
    )
    .await;
    assert_eq!(
        app.aspect(DOMAIN, "domainProperties").await,
        Some(json!({"name": "M"}))
    );
}

#[tokio::test]
async fn reads_validate_their_parameters() {
    let app = App::with_dataset().await;
    let (status, body) = app
        .get(&format!(
            "/aspects/{}?aspect=datasetKey&version=0",
            encoded(DATASET)
        ))
        .await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(body["version"], 0);
    assert!(
        body["aspect"]["com.linkedin.metadata.key.DatasetKey"].is_object(),
        "{body}"
    );
    // The URN may be unencoded in the path, with slashes.
    let slashed = "urn:li:dataset:(urn:li:dataPlatform:s3,bucket/folder/file,PROD)";
    app.ingest(slashed, "status", &json!({"removed": false}))
        .await;
    for path in [
        format!("/aspects/{slashed}?aspect=status"),
        format!("/aspects/{}?aspect=status", encoded(slashed)),
    ] {
        assert_eq!(app.get(&path).await.0, StatusCode::OK, "{path}");
    }
    let (_, some) = app
        .get(&format!(
            "/entitiesV2/{}?aspects=List(datasetProperties,status,noSuchAspect)",
            encoded(DATASET)
        ))
        .await;
    let names: Vec<&String> = some["aspects"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["datasetKey", "datasetProperties"]);
    assert_eq!(some["aspects"]["datasetProperties"]["type"], "VERSIONED");
    let nobody = entity(&app, crate::support::MISSING).await;
    let names: Vec<&String> = nobody["aspects"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["datasetKey"]);
    for path in [
        "/aspects/urn%3Ali%3Adomain%3Anone?aspect=domainKey".to_owned(),
        format!(
            "/aspects/{}?aspect=datasetProperties&version=9",
            encoded(DATASET)
        ),
    ] {
        assert_eq!(app.get(&path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    for path in [
        "/aspects/nonsense?aspect=domainKey",
        "/aspects/urn:foo:domain:a?aspect=domainKey",
        "/aspects/urn%3Ali%3Adomain%3Aa%00?aspect=domainKey",
        "/aspects/urn:li:domain:a",
        "/aspects/urn:li:domain:a?aspect=x",
    ] {
        let (status, body) = app.get(path).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
        assert!(!message(&body).is_empty());
    }
}

#[tokio::test]
async fn time_series_are_accepted() {
    let app = App::with_dataset().await;
    let profile = json!({"timestampMillis": 1000, "rowCount": 5});
    app.ingest(DATASET, "datasetProfile", &profile).await;
    app.ingest(
        DATASET,
        "datasetProfile",
        &json!({"timestampMillis": 2000, "rowCount": 6}),
    )
    .await;
    let (_, body) = app
        .post(
            "/entities?action=delete",
            &json!({"urn": DATASET, "aspectName": "datasetProfile"}),
        )
        .await;
    assert_eq!(body["value"]["timeseriesRows"], 2, "{body}");
    assert!(app.aspect(DATASET, "datasetProperties").await.is_some());
}

#[tokio::test]
async fn bodies_over_the_limit_are_rejected() {
    let app = App::empty().await;
    let large = "x".repeat(16 * 1024 * 1024 + 1);
    for path in ["/aspects?action=ingestProposal", "/api/graphql"] {
        let (status, body) = app
            .send(app.request(Method::POST, path, large.clone()))
            .await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
        assert!(message(&body).contains("16 MiB"), "{body}");
    }
}

#[tokio::test]
async fn of_duplicate_members_the_last_one_counts() {
    let app = App::empty().await;
    let text = r#"{"description":"d","customProperties":{"a":{"x":1},"a":"ok"}}"#;
    let whole = format!(r#"[{{"urn":"{DATASET}","datasetProperties":{{"value":{text}}}}}]"#);
    let one = json!({"proposal": {
        "entityType": "dataset", "entityUrn": DATASET, "changeType": "UPSERT", "aspectName": "datasetProperties",
        "aspect": {"value": text, "contentType": "application/json"},
    }});
    for (path, body) in [
        ("/aspects?action=ingestProposal", one.to_string()),
        ("/openapi/v3/entity/dataset?async=false", whole),
    ] {
        let (status, reply) = app.send(app.request(Method::POST, path, body)).await;
        assert_eq!(status, StatusCode::OK, "{path}: {reply}");
        let read = format!(
            r#"{{ dataset(urn: "{DATASET}") {{ properties {{ customProperties {{ key value }} }} }} }}"#
        );
        let reply = app.graphql(&read).await;
        assert_eq!(reply.get("errors"), None, "{path}: {reply}");
        assert_eq!(
            reply["data"]["dataset"]["properties"]["customProperties"],
            json!([{"key": "a", "value": "ok"}])
        );
        let deletion = format!("/openapi/v3/entity/dataset/{}", encoded(DATASET));
        let (status, reply) = app
            .send(app.request(Method::DELETE, &deletion, String::new()))
            .await;
        assert_eq!(status, StatusCode::OK, "{reply}");
    }
}
