//! The change log as events, which programs poll.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{App, DATASET, USER, token_of};

const PLATFORM: &str = "PlatformEvent_v1";
const CHANGES: &str = "MetadataChangeLog_Versioned_v1";

async fn poll(app: &App, topic: &str, rest: &str) -> (StatusCode, Value) {
    let path = format!("/openapi/v1/events/poll?topic={topic}&pollTimeoutSeconds=0{rest}");
    app.get(&path).await
}

/// The end of the log.
async fn offset(app: &App) -> String {
    let (status, reply) = poll(app, PLATFORM, "").await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(reply["count"], 0, "{reply}");
    reply["offsetId"].as_str().unwrap().to_owned()
}

/// The values of the events behind an offset.
async fn events(app: &App, topic: &str, offset: &str) -> Vec<Value> {
    let (status, reply) = poll(app, topic, &format!("&offsetId={offset}")).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let events = reply["events"].as_array().unwrap();
    assert_eq!(reply["count"], events.len());
    let value = |event: &Value| {
        assert_eq!(event["contentType"], "application/json");
        serde_json::from_str(event["value"].as_str().unwrap()).unwrap()
    };
    events.iter().map(value).collect()
}

/// The entity change events behind an offset, without their time and actor.
async fn changes(app: &App, offset: &str) -> Vec<Value> {
    let payload = |event: Value| {
        assert_eq!(event["name"], "entityChangeEvent");
        let text = event["payload"]["value"].as_str().unwrap();
        let mut change: Value = serde_json::from_str(text).unwrap();
        let stamp = change["auditStamp"].take();
        assert_eq!(stamp["actor"], USER, "{change}");
        assert!(stamp["time"].is_i64(), "{change}");
        let members = change.as_object_mut().unwrap();
        members.remove("auditStamp");
        members.remove("version");
        change
    };
    events(app, PLATFORM, offset)
        .await
        .into_iter()
        .map(payload)
        .collect()
}

#[tokio::test]
async fn changes_of_an_entity_are_events() {
    let app = App::with_dataset().await;
    app.ingest("urn:li:tag:pii", "tagProperties", &json!({"name": "pii"}))
        .await;
    let start = offset(&app).await;
    let mutations = format!(
        r#"mutation {{ addTag(input: {{ tagUrn: "urn:li:tag:pii", resourceUrn: "{DATASET}" }})
            removeTag(input: {{ tagUrn: "urn:li:tag:pii", resourceUrn: "{DATASET}" }})
            updateDeprecation(input: {{ urn: "{DATASET}", deprecated: true }})
            batchUpdateSoftDeleted(input: {{ urns: ["{DATASET}"], deleted: true }}) }}"#
    );
    let reply = app.graphql(&mutations).await;
    assert_eq!(reply["errors"], Value::Null, "{reply}");
    let new = "urn:li:domain:new";
    app.ingest(new, "domainProperties", &json!({"name": "New"}))
        .await;
    let (status, reply) = app
        .post("/entities?action=delete", &json!({"urn": new}))
        .await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let about = |urn: &str, kind: &str, category: &str, operation: &str| json!({"entityUrn": urn, "entityType": kind, "category": category, "operation": operation});
    let with = |mut event: Value, modifier: &str, parameters: Value| {
        event["modifier"] = json!(modifier);
        event["parameters"] = parameters;
        event
    };
    let of_dataset =
        |category: &str, operation: &str| about(DATASET, "dataset", category, operation);
    let tag = json!({"tagUrn": "urn:li:tag:pii"});
    let found = changes(&app, &start).await;
    for expected in [
        with(of_dataset("TAG", "ADD"), "urn:li:tag:pii", tag.clone()),
        with(of_dataset("TAG", "REMOVE"), "urn:li:tag:pii", tag),
        with(
            of_dataset("DEPRECATION", "MODIFY"),
            "DEPRECATED",
            json!({"status": "DEPRECATED"}),
        ),
        of_dataset("LIFECYCLE", "SOFT_DELETE"),
        about(new, "domain", "LIFECYCLE", "CREATE"),
        about(new, "domain", "LIFECYCLE", "HARD_DELETE"),
    ] {
        let count = found.iter().filter(|event| **event == expected).count();
        assert_eq!(count, 1, "{expected} in {found:#?}");
    }
}

#[tokio::test]
async fn the_change_log_has_the_values_before_and_after() {
    let app = App::with_dataset().await;
    let start = offset(&app).await;
    for removed in [true, false] {
        app.ingest(DATASET, "status", &json!({"removed": removed}))
            .await;
    }
    let found = events(&app, CHANGES, &start).await;
    let of_status: Vec<&Value> = found
        .iter()
        .filter(|event| event["aspectName"] == "status")
        .collect();
    assert_eq!(of_status.len(), 2, "{found:#?}");
    let event = of_status[1];
    assert_eq!(event["entityUrn"], DATASET);
    assert_eq!(event["entityType"], "dataset");
    assert_eq!(event["changeType"], "UPSERT");
    assert_eq!(event["created"]["actor"], USER);
    let value = |member: &str| -> Value {
        serde_json::from_str(event[member]["value"].as_str().unwrap()).unwrap()
    };
    assert_eq!(value("aspect"), json!({"removed": false}));
    assert_eq!(value("previousAspectValue"), json!({"removed": true}));
    assert!(event["systemMetadata"].is_object(), "{event}");
}

#[tokio::test]
async fn a_reader_continues_where_it_stopped() {
    let app = App::empty().await;
    let start = offset(&app).await;
    for name in ["a", "b", "c"] {
        let urn = format!("urn:li:tag:{name}");
        app.ingest(&urn, "tagProperties", &json!({"name": name}))
            .await;
    }
    let mut offset = start.clone();
    let mut seen = Vec::new();
    loop {
        let rest = format!("&limit=1&offsetId={offset}");
        let (status, reply) = poll(&app, CHANGES, &rest).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        let Some(event) = reply["events"].as_array().and_then(|it| it.first()) else {
            break;
        };
        let event: Value = serde_json::from_str(event["value"].as_str().unwrap()).unwrap();
        if event["aspectName"] == "tagProperties" {
            seen.push(event["entityUrn"].as_str().unwrap().to_owned());
        }
        reply["offsetId"].as_str().unwrap().clone_into(&mut offset);
    }
    assert_eq!(seen, ["urn:li:tag:a", "urn:li:tag:b", "urn:li:tag:c"]);
    let (_, all) = poll(&app, CHANGES, "&lookbackWindowDays=1").await;
    assert!(all.to_string().contains("urn:li:tag:a"), "{all}");
}

#[tokio::test]
async fn a_poll_waits_for_a_change() {
    let app = App::empty().await;
    let start = offset(&app).await;
    let path =
        format!("/openapi/v1/events/poll?topic={CHANGES}&pollTimeoutSeconds=10&offsetId={start}");
    let value = json!({"name": "a"});
    let write = app.ingest("urn:li:tag:a", "tagProperties", &value);
    let ((status, reply), ()) = tokio::join!(app.get(&path), write);
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert!(reply.to_string().contains("urn:li:tag:a"), "{reply}");
}

#[tokio::test]
async fn secrets_and_recipes_are_no_events() {
    let app = App::empty().await;
    let start = offset(&app).await;
    app.add_secret("WAREHOUSE", "hunter2").await;
    let source =
        json!({"name": "s", "type": "hive", "config": {"recipe": "{\"password\": \"hunter2\"}"}});
    let urn = "urn:li:dataHubIngestionSource:s";
    app.ingest(urn, "dataHubIngestionSourceInfo", &source).await;
    let found = events(&app, CHANGES, &start).await;
    assert!(
        found.iter().any(|event| event["entityUrn"] == urn),
        "{found:#?}"
    );
    let text = json!(found).to_string();
    assert!(!text.contains("hunter2"), "{text}");
    assert!(!text.contains("dataHubSecretValue"), "{text}");
    assert!(!text.contains("docentSession"), "{text}");
}

#[tokio::test]
async fn an_executor_gets_the_recipe_of_a_request() {
    let app = App::empty().await;
    let start = offset(&app).await;
    let recipe = r#"{"source": {"type": "file"}}"#;
    let input = json!({
        "task": "RUN_INGEST", "args": {"recipe": recipe}, "executorId": "default",
        "source": {"type": "MANUAL_INGESTION_SOURCE"}, "requestedAt": 1,
    });
    let urn = "urn:li:dataHubExecutionRequest:run";
    app.ingest(urn, "dataHubExecutionRequestInput", &input)
        .await;
    let recipe_for = async |token: &str| {
        let path = format!("/openapi/v1/events/poll?topic={CHANGES}&offsetId={start}");
        let (status, reply) = app.send_as(token, "GET", &path, &Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        let events = reply["events"].as_array().cloned().unwrap_or_default();
        let text = |event: &Value| event["value"].as_str().unwrap_or_default().to_owned();
        let events = events
            .iter()
            .map(|event| serde_json::from_str::<Value>(&text(event)).unwrap());
        let event = events
            .into_iter()
            .find(|event| event["aspectName"] == "dataHubExecutionRequestInput")
            .unwrap();
        let value = event["aspect"]["value"].as_str().unwrap();
        let value: Value = serde_json::from_str(value).unwrap();
        value["args"]["recipe"].as_str().unwrap().to_owned()
    };
    let user = "urn:li:corpuser:executor";
    let token = token_of(&app.catalog, user, None).await;
    let mut privileges = vec!["GET_METADATA_CHANGE_LOG_EVENTS", "MANAGE_INGESTION"];
    for expected in ["********", recipe] {
        let policy = json!({
            "displayName": "p", "description": "", "type": "PLATFORM", "state": "ACTIVE",
            "privileges": privileges, "actors": {"users": [user]},
        });
        app.write_policy("urn:li:dataHubPolicy:executor", &policy)
            .await;
        assert_eq!(recipe_for(&token).await, expected);
        privileges.push("MANAGE_SECRETS");
    }
}

#[tokio::test]
async fn events_need_a_privilege_of_their_topic() {
    let app = App::empty().await;
    let user = "urn:li:corpuser:reader";
    let token = token_of(&app.catalog, user, None).await;
    let policy = json!({
        "displayName": "p", "description": "", "type": "PLATFORM", "state": "ACTIVE",
        "privileges": ["GET_PLATFORM_EVENTS"], "actors": {"users": [user]},
    });
    app.write_policy("urn:li:dataHubPolicy:events", &policy)
        .await;
    for (topic, expected) in [(PLATFORM, StatusCode::OK), (CHANGES, StatusCode::FORBIDDEN)] {
        let path = format!("/openapi/v1/events/poll?topic={topic}&pollTimeoutSeconds=0");
        let (status, reply) = app.send_as(&token, "GET", &path, &Value::Null).await;
        assert_eq!(status, expected, "{reply}");
    }
}

#[tokio::test]
async fn invalid_parameters_are_rejected() {
    let app = App::empty().await;
    for (topic, rest, part) in [
        ("Other_v1", "", "there is no topic 'Other_v1'"),
        ("MetadataChangeLog_Timeseries_v1", "", "time series"),
        (PLATFORM, "&limit=0", "limit is 0"),
        (PLATFORM, "&offsetId=x", "offsetId is 'x'"),
        (PLATFORM, "&offsetId=-1", "offsetId is '-1'"),
        (PLATFORM, "&offsetId=1", "offsetId is '1'"),
        (PLATFORM, "&lookbackWindowDays=x", "lookbackWindowDays"),
    ] {
        let (status, reply) = poll(&app, topic, rest).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{topic}{rest}: {reply}");
        assert!(reply["message"].to_string().contains(part), "{reply}");
    }
    let (status, _) = app.get("/openapi/v1/events/poll").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let (status, reply) = poll(&app, PLATFORM, "&offsetId=1-0123456789abcdef").await;
    assert_eq!(status, StatusCode::GONE, "{reply}");
    assert!(
        reply["message"].to_string().contains("another store"),
        "{reply}"
    );
}
