//! The feed of changes, as pages and as streams.

use axum::body::BodyDataStream;
use axum::http::{HeaderValue, Method, StatusCode, header};
use docent_catalog::Caller;
use docent_model::Urn;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::hidden::world;
use crate::support::{App, DATASET, USER, encoded, token_of};

const CHANGES: &str = "MetadataChangeLog_Versioned_v1";
const READER: &str = "urn:li:corpuser:reader";

/// A page of the feed: its events, and the position of the next one.
async fn page(app: &App, query: &str) -> (Vec<Value>, String) {
    let (status, reply) = app.get(&format!("/events?{query}")).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let events = reply["events"].as_array().unwrap().clone();
    (events, reply["next"].as_str().unwrap().to_owned())
}

async fn add_tag(app: &App, name: &str) {
    let urn = format!("urn:li:tag:{name}");
    app.ingest(&urn, "tagProperties", &json!({"name": name}))
        .await;
}

fn subjects<'e>(events: &'e [Value], aspect: &str) -> Vec<&'e str> {
    let of_aspect = events.iter().filter(|event| event["aspect"] == aspect);
    of_aspect
        .map(|event| event["subject"].as_str().unwrap())
        .collect()
}

/// A user who may read the events of changes.
async fn reader(app: &App) -> String {
    let policy = json!({
        "displayName": "p", "description": "", "type": "PLATFORM", "state": "ACTIVE",
        "privileges": ["GET_METADATA_CHANGE_LOG_EVENTS"], "actors": {"users": [READER]},
    });
    app.write_policy("urn:li:dataHubPolicy:events", &policy)
        .await;
    token_of(&app.catalog, READER, None).await
}

/// A stream of events that is being read.
struct Stream {
    body: BodyDataStream,
    text: String,
}

impl Stream {
    async fn open(app: &App, token: &str, query: &str, last_id: Option<&str>) -> Self {
        let mut request = app.request(Method::GET, &format!("/events?{query}"), "");
        let headers = request.headers_mut();
        headers.insert(
            header::AUTHORIZATION,
            format!("Bearer {token}").parse().unwrap(),
        );
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("text/event-stream"),
        );
        if let Some(id) = last_id {
            headers.insert("last-event-id", id.parse().unwrap());
        }
        let response = app.respond(request).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(
            response.headers()[header::CONTENT_TYPE],
            "text/event-stream"
        );
        Self {
            body: response.into_body().into_data_stream(),
            text: String::new(),
        }
    }

    /// The next message: its lines.
    async fn message(&mut self) -> Option<Vec<String>> {
        loop {
            if let Some((message, rest)) = self.text.split_once("\n\n") {
                let lines = message.lines().map(str::to_owned).collect();
                self.text = rest.into();
                return Some(lines);
            }
            let bytes = self.body.next().await?.unwrap();
            self.text.push_str(str::from_utf8(&bytes).unwrap());
        }
    }

    /// The next event: its id and its value.
    async fn event(&mut self) -> (String, Value) {
        loop {
            let message = self.message().await.unwrap();
            let member = |name: &str| {
                let values = message.iter().filter_map(|line| line.strip_prefix(name));
                values.collect::<String>()
            };
            let data = member("data: ");
            if !data.is_empty() {
                return (member("id: "), serde_json::from_str(&data).unwrap());
            }
        }
    }
}

#[tokio::test]
async fn a_page_has_cloud_events_with_the_values_before_and_after() {
    let app = App::with_dataset().await;
    let (none, start) = page(&app, "").await;
    assert_eq!(none, Vec::<Value>::new());
    // The values are as they were sent, also over several lines.
    for text in ["{\n\"removed\":true}", "{\"removed\":\r\nfalse}"] {
        let path = format!(
            "/openapi/v3/entity/dataset/{}/status?createIfNotExists=false",
            encoded(DATASET)
        );
        let body = format!("{{\"value\": {text}}}");
        let (status, reply) = app.send(app.request(Method::POST, &path, body)).await;
        assert!(status.is_success(), "{reply}");
    }
    let (events, next) = page(&app, &format!("since={start}")).await;
    let events: Vec<&Value> = events
        .iter()
        .filter(|event| event["aspect"] == "status")
        .collect();
    let event = events[1];
    assert_eq!(event["specversion"], "1.0");
    assert_eq!(event["id"].as_str(), Some(&*next), "{event}");
    assert_eq!(event["source"], "urn:docent:catalog");
    assert_eq!(event["type"], "docent.aspect.changed");
    assert_eq!(event["subject"], DATASET);
    assert_eq!(event["entitytype"], "dataset");
    assert_eq!(event["actor"], USER);
    assert_eq!(event["datacontenttype"], "application/json");
    assert!(
        event["time"].as_str().unwrap().starts_with("2026-"),
        "{event}"
    );
    let data = &event["data"];
    assert_eq!(data["value"], json!({"removed": false}), "{data}");
    assert_eq!(data["previousValue"], json!({"removed": true}), "{data}");
    assert_eq!(data["change"], "UPSERT");
    assert_eq!(data["version"], 2);
}

#[tokio::test]
async fn a_deletion_is_an_event() {
    let app = App::with_dataset().await;
    let (_, start) = page(&app, "").await;
    let (status, reply) = app
        .post("/entities?action=delete", &json!({"urn": DATASET}))
        .await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let (events, _) = page(&app, &format!("since={start}&aspect=datasetKey")).await;
    assert_eq!(events.len(), 1, "{events:#?}");
    assert_eq!(events[0]["type"], "docent.aspect.deleted");
    assert_eq!(events[0]["data"]["change"], "DELETE");
    let query = format!("since={start}&topic=PlatformEvent_v1");
    let (events, _) = page(&app, &query).await;
    let data: Vec<&Value> = events.iter().map(|event| &event["data"]).collect();
    assert!(
        data.iter().any(|data| data["operation"] == "HARD_DELETE"),
        "{events:#?}"
    );
    assert_eq!(events[0]["type"], "docent.entity.changed");
}

#[tokio::test]
async fn the_messages_of_datahub_are_those_of_the_poll() {
    let app = App::empty().await;
    let (_, start) = page(&app, "").await;
    add_tag(&app, "pii").await;
    for topic in [CHANGES, "PlatformEvent_v1"] {
        let query = format!("since={start}&format=datahub&topic={topic}");
        let (events, next) = page(&app, &query).await;
        let path =
            format!("/openapi/v1/events/poll?topic={topic}&offsetId={start}&pollTimeoutSeconds=0");
        let (_, polled) = app.get(&path).await;
        assert_eq!(polled["offsetId"], next);
        let value = |event: &Value| serde_json::from_str::<Value>(event["value"].as_str().unwrap());
        let polled = polled["events"].as_array().unwrap();
        let polled: Vec<Value> = polled.iter().map(|it| value(it).unwrap()).collect();
        assert!(!polled.is_empty());
        assert_eq!(events, polled);
    }
}

#[tokio::test]
async fn pages_continue_without_gaps_or_repetitions() {
    let app = App::empty().await;
    let (_, start) = page(&app, "").await;
    let mut expected = Vec::new();
    for number in 0..7 {
        let name = format!("t{number}");
        add_tag(&app, &name).await;
        expected.push(format!("urn:li:tag:{name}"));
    }
    let (mut position, mut seen) = (start.clone(), Vec::new());
    loop {
        let query = format!("since={position}&limit=2");
        let (events, next) = page(&app, &query).await;
        assert!(events.len() <= 2, "{events:#?}");
        let of_page = subjects(&events, "tagProperties");
        seen.extend(of_page.into_iter().map(str::to_owned));
        if next == position {
            break;
        }
        position = next;
    }
    assert_eq!(seen, expected);
    let (since_time, _) = page(&app, "since=2026-01-01T00:00:00Z&limit=1000").await;
    assert_eq!(subjects(&since_time, "tagProperties").len(), expected.len());
}

#[tokio::test]
async fn a_page_waits_for_a_change() {
    let app = App::empty().await;
    let (_, start) = page(&app, "").await;
    let query = format!("since={start}&wait=14");
    let (found, ()) = tokio::join!(page(&app, &query), add_tag(&app, "late"));
    assert_eq!(found.0[0]["subject"], "urn:li:tag:late", "{found:?}");
}

#[tokio::test]
async fn filters_choose_changes() {
    let app = App::with_dataset().await;
    for (urn, name) in [("urn:li:domain:all", "All"), ("urn:li:domain:part", "Part")] {
        app.ingest(urn, "domainProperties", &json!({"name": name}))
            .await;
    }
    let moved = app
        .graphql(
            r#"mutation { moveDomain(input: {parentDomain: "urn:li:domain:all", resourceUrn: "urn:li:domain:part"}) }"#,
        )
        .await;
    assert_eq!(moved["errors"], Value::Null, "{moved}");
    add_tag(&app, "pii").await;
    let (_, start) = page(&app, "").await;
    let other = "urn:li:dataset:(urn:li:dataPlatform:hive,other,PROD)";
    app.ingest(other, "status", &json!({"removed": false}))
        .await;
    app.ingest(
        DATASET,
        "domains",
        &json!({"domains": ["urn:li:domain:part"]}),
    )
    .await;
    app.ingest(
        DATASET,
        "globalTags",
        &json!({"tags": [{"tag": "urn:li:tag:pii"}]}),
    )
    .await;
    app.ingest(DATASET, "status", &json!({"removed": true}))
        .await;
    let found = async |query: &str| {
        let (events, _) = page(&app, &format!("since={start}&{query}")).await;
        let pair = |event: &Value| {
            let text = |name: &str| event[name].as_str().unwrap().to_owned();
            (text("subject"), text("aspect"))
        };
        events.iter().map(pair).collect::<Vec<_>>()
    };
    let of = |aspect: &str| (DATASET.to_owned(), aspect.to_owned());
    let all = [of("domains"), of("globalTags"), of("status")];
    // Those of a parent domain, too.
    assert_eq!(found("domain=urn:li:domain:all").await, all);
    assert_eq!(found("domain=urn:li:domain:part").await, all);
    assert_eq!(found("tag=urn:li:tag:pii").await, all);
    assert_eq!(found("aspect=status&tag=urn:li:tag:pii").await, all[2..]);
    assert_eq!(found("tag=urn:li:tag:other").await, []);
    assert_eq!(found("entityType=tag").await, []);
    assert_eq!(
        found("entityType=tag,dataset&aspect=globalTags").await,
        all[1..2]
    );
    assert_eq!(found("actor=urn:li:corpuser:somebody").await, []);
    assert_eq!(
        found(&format!("aspect=domains&actor={USER}")).await,
        all[..1]
    );

    // Leaving the domain is the last event of the entity for its readers.
    let (_, start) = page(&app, "").await;
    app.ingest(DATASET, "domains", &json!({"domains": []}))
        .await;
    app.ingest(DATASET, "status", &json!({"removed": false}))
        .await;
    let query = format!("since={start}&domain=urn:li:domain:all");
    let (events, _) = page(&app, &query).await;
    assert_eq!(subjects(&events, "domains"), [DATASET]);
    assert_eq!(events.len(), 1, "{events:#?}");
    // A reader of the domain must learn of a deletion, and what was deleted has no domain.
    let (status, _) = app
        .post("/entities?action=delete", &json!({"urn": DATASET}))
        .await;
    assert_eq!(status, StatusCode::OK);
    let (events, _) = page(&app, &query).await;
    assert_eq!(subjects(&events, "datasetKey"), [DATASET], "{events:#?}");
}

#[tokio::test]
async fn positions_and_ids_of_another_log_are_told_apart() {
    let (app, restored) = (App::empty().await, App::empty().await);
    let (_, start) = page(&app, "").await;
    add_tag(&app, "lost").await;
    let (lost, next) = page(&app, &format!("since={start}")).await;
    // The other log has other changes at the same positions, and grows past them.
    restored.clock.advance(1);
    for number in 0..20 {
        add_tag(&restored, &format!("t{number}")).await;
    }
    let (all, _) = page(&restored, "since=0&limit=1000").await;
    let number = |text: &str| text.split('-').next().unwrap().parse::<u64>().unwrap();
    let id = |event: &Value| event["id"].as_str().unwrap().to_owned();
    assert!(number(&id(all.last().unwrap())) > number(&next));
    for event in &lost {
        assert!(all.iter().all(|other| other["id"] != event["id"]));
    }
    for path in [
        format!("/events?since={next}"),
        format!("/openapi/v1/events/poll?topic={CHANGES}&offsetId={next}"),
    ] {
        let (status, reply) = restored.get(&path).await;
        assert_eq!(status, StatusCode::GONE, "{path}: {reply}");
        let (status, reply) = app.get(&path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {reply}");
    }
    let mut request = restored.request(Method::GET, "/events", "");
    let headers = request.headers_mut();
    headers.insert(
        header::ACCEPT,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert("last-event-id", id(&lost[0]).parse().unwrap());
    let (status, reply) = restored.send(request).await;
    assert_eq!(status, StatusCode::GONE, "{reply}");
}

#[tokio::test]
async fn invalid_parameters_are_rejected() {
    let app = App::empty().await;
    for (query, status, part) in [
        ("since=", 400, "since is empty"),
        ("since=x", 400, "'x' is not a position"),
        ("since=-1", 400, "'-1' is not a position"),
        ("since=1", 400, "'1' is not a position"),
        ("since=999999999-0123456789abcdef", 410, "another store"),
        ("since=1-0123456789abcdef", 410, "another store"),
        ("limit=0", 400, "limit is 0"),
        ("limit=1001", 400, "limit is 1001"),
        ("wait=-1", 400, "wait is -1"),
        ("wait=61", 400, "wait is 61: it must be from 0 to 60"),
        ("topic=Other", 400, "there is no topic 'Other'"),
        ("format=xml", 400, "there is no format 'xml'"),
        ("entityType=datasets", 400, "no entity type 'datasets'"),
        ("entityType=docentSession", 400, "no entity type"),
        ("aspect=tags", 400, "no aspect 'tags'"),
        ("aspect=datasetProfile", 400, "time series"),
        ("domain=finance", 400, "finance"),
        ("tag=urn:li:domain:d", 400, "urn:li:domain:d"),
        (
            "actors=urn:li:corpuser:ada",
            400,
            "unknown query parameter 'actors'",
        ),
    ] {
        let (found, reply) = app.get(&format!("/events?{query}")).await;
        assert_eq!(found.as_u16(), status, "{query}: {reply}");
        let message = reply["message"].as_str().unwrap();
        assert!(message.contains(part), "{query}: {message}");
    }
    let many = "tag=urn:li:tag:a&".repeat(101);
    let (status, reply) = app.get(&format!("/events?{many}")).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{reply}");
}

#[tokio::test]
async fn events_of_hidden_entities_are_left_out() {
    let (app, token) = world::app(true).await;
    let read = async |topic: &str| {
        let path = format!("/events?since=0&limit=1000&topic={topic}");
        app.send_as(&token, "GET", &path, &Value::Null).await
    };
    let (status, reply) = read(CHANGES).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    let policy = json!({
        "displayName": "p", "description": "", "type": "PLATFORM", "state": "ACTIVE",
        "privileges": ["GET_TOPIC_EVENTS"], "actors": {"users": ["urn:li:corpuser:vera"]},
    });
    app.write_policy("urn:li:dataHubPolicy:events", &policy)
        .await;
    let (status, reply) = read(CHANGES).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let events = reply["events"].as_array().unwrap();
    let is_about = |urn: &str| events.iter().any(|event| event["subject"] == urn);
    assert!(is_about(DATASET));
    for hidden in [world::TABLE, world::DOMAIN, world::CONTAINER, world::TERM] {
        assert!(!is_about(hidden), "{hidden}");
    }
    // Values of what is seen are as they are stored; nothing else has the word.
    for event in events {
        let subject = event["subject"].as_str().unwrap();
        assert!(!subject.contains(world::WORD), "{subject}");
    }
    // They name other entities.
    let (status, reply) = read("PlatformEvent_v1").await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
}

#[tokio::test]
async fn secrets_are_no_events() {
    let app = App::empty().await;
    app.add_secret("WAREHOUSE", "hunter2").await;
    let (events, _) = page(&app, "since=0&limit=1000").await;
    let text = json!(events).to_string();
    for secret in [
        "hunter2",
        "dataHubSecretValue",
        "docentSession",
        "Credentials",
    ] {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn a_stream_continues_where_the_last_one_stopped() {
    let app = App::empty().await;
    add_tag(&app, "before").await;
    let mut stream = Stream::open(&app, &app.token, "entityType=tag", None).await;
    let start = stream.message().await.unwrap();
    assert_eq!(start[0], "retry: 2000");
    add_tag(&app, "a").await;
    let (mut id, event) = stream.event().await;
    assert_eq!(event["subject"], "urn:li:tag:a");
    add_tag(&app, "b").await;
    drop(stream);
    let mut seen = Vec::new();
    while seen.last() != Some(&"urn:li:tag:b tagProperties".to_owned()) {
        let query = "entityType=tag&limit=1&since=0";
        let mut stream = Stream::open(&app, &app.token, query, Some(&id)).await;
        let (next, event) = stream.event().await;
        id = next;
        let text = |name: &str| event[name].as_str().unwrap();
        seen.push(format!("{} {}", text("subject"), text("aspect")));
    }
    // The key and the default aspects of the first tag, and the second one.
    assert!(seen.iter().all(|it| !it.contains("before")), "{seen:?}");
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count, "{seen:?}");
}

#[tokio::test]
async fn the_events_of_one_change_have_its_position_at_the_last() {
    let app = App::with_dataset().await;
    for name in ["a", "b"] {
        add_tag(&app, name).await;
    }
    let (_, start) = page(&app, "").await;
    let tags = json!({"tags": [{"tag": "urn:li:tag:a"}, {"tag": "urn:li:tag:b"}]});
    app.ingest(DATASET, "globalTags", &tags).await;
    let query = format!("since={start}&topic=PlatformEvent_v1&aspect=globalTags");
    let mut stream = Stream::open(&app, &app.token, &query, None).await;
    let (first, event) = stream.event().await;
    assert_eq!(first, "");
    let (second, other) = stream.event().await;
    assert_eq!(event["id"].as_str(), Some(&*second), "{event}");
    assert_eq!(other["id"], format!("{second}-1"), "{other}");
}

#[tokio::test]
async fn a_stream_ends_with_the_token_and_with_the_right() {
    let app = App::empty().await;
    for (name, ends_with_token) in [("first", false), ("second", true)] {
        let token = reader(&app).await;
        let mut stream = Stream::open(&app, &token, "entityType=tag", None).await;
        stream.message().await.unwrap();
        add_tag(&app, name).await;
        let (_, event) = stream.event().await;
        assert_eq!(event["subject"], format!("urn:li:tag:{name}"));
        if ends_with_token {
            let user = Urn::parse(READER).unwrap();
            let suspended = app.catalog.suspend_user(&Caller::system(), &user).await;
            suspended.unwrap();
        } else {
            let policy = json!({
                "displayName": "p", "description": "", "type": "PLATFORM", "state": "INACTIVE",
                "privileges": ["GET_METADATA_CHANGE_LOG_EVENTS"], "actors": {"users": [READER]},
            });
            app.write_policy("urn:li:dataHubPolicy:events", &policy)
                .await;
        }
        add_tag(&app, &format!("{name}-secret")).await;
        let mut rest = String::new();
        while let Some(message) = stream.message().await {
            rest.push_str(&message.join("\n"));
        }
        assert!(rest.contains("event: end\ndata: {\"message\":"), "{rest}");
        assert!(!rest.contains("-secret"), "{rest}");
    }
}

#[tokio::test]
async fn the_streams_of_a_user_are_limited() {
    let app = App::empty().await;
    let mut streams = Vec::new();
    for _ in 0..16 {
        streams.push(Stream::open(&app, &app.token, "", None).await);
    }
    let mut request = app.request(Method::GET, "/events", "");
    let accept = HeaderValue::from_static("text/event-stream");
    request.headers_mut().insert(header::ACCEPT, accept);
    let (status, reply) = app.send(request).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{reply}");
    // Pages are not streams.
    page(&app, "").await;
    let other = reader(&app).await;
    Stream::open(&app, &other, "", None).await;
    streams.pop();
    Stream::open(&app, &app.token, "", None).await;
}
