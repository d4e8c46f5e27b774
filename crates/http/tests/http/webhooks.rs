//! Webhooks: what is sent, in which order, and what happens to what is not accepted.

mod dead_letters;
mod receiver;

use std::sync::Arc;

use docent_catalog::sessions::SessionLimits;
use docent_catalog::webhooks::{DeliverySettings, WebhookDeliverer};
use docent_catalog::{Caller, Catalog};
use docent_model::Urn;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::hidden::world;
use crate::support::{App, DATASET, USER, error_of, token_of};
use receiver::{Message, Receiver};

const OWNER: &str = "urn:li:corpuser:owner";
const HOUR_MS: i64 = 60 * 60 * 1000;

/// The delivery of a server, which ends with the test.
struct Delivery(JoinHandle<()>);

impl Delivery {
    fn start(catalog: &Catalog) -> Self {
        Self::with(catalog, true)
    }

    fn with(catalog: &Catalog, is_only_server: bool) -> Self {
        let settings = DeliverySettings {
            is_only_server,
            ..DeliverySettings::default()
        };
        Self::with_settings(catalog, settings)
    }

    fn with_settings(catalog: &Catalog, settings: DeliverySettings) -> Self {
        let deliverer = WebhookDeliverer::new(catalog.clone(), settings);
        Self(tokio::spawn(deliverer.run(std::future::pending())))
    }

    /// Ends it like a crash.
    async fn kill(self) {
        self.0.abort();
        let _ = self.0.await;
    }
}

/// A catalog whose webhooks a receiver gets.
async fn app() -> (App, Arc<Receiver>) {
    let receiver = Arc::new(Receiver::default());
    (App::with_sender(receiver.clone()).await, receiver)
}

/// Creates a webhook; returns its URN and its secret.
async fn create(app: &App, members: &str) -> (String, String) {
    let query = format!(
        r#"mutation {{ createWebhook(input: {{ name: "w", url: "http://receiver.example/events", {members} }}) {{ urn secret }} }}"#
    );
    let reply = app.graphql(&query).await;
    assert_eq!(reply["errors"], Value::Null, "{reply}");
    let created = &reply["data"]["createWebhook"];
    let text = |name: &str| created[name].as_str().unwrap().to_owned();
    (text("urn"), text("secret"))
}

async fn status(app: &App, webhook: &str) -> Value {
    let query = format!(
        r#"{{ webhook(urn: "{webhook}") {{ name url topic format isActive owner {{ urn }} createdAt
            filter {{ entityTypes aspects domains tags actors }}
            delivery {{ position behind pending retryAt failures acceptedAt failedAt failure stopped deadLetters }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    assert_eq!(reply["errors"], Value::Null, "{reply}");
    reply["data"]["webhook"].clone()
}

/// Waits until the state of delivery is as expected.
async fn until(app: &App, webhook: &str, is_expected: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..600 {
        let status = status(app, webhook).await;
        if is_expected(&status["delivery"]) {
            return status["delivery"].clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{:#}", status(app, webhook).await);
}

async fn set_removed(app: &App, urn: &str, removed: bool) {
    app.ingest(urn, "status", &json!({"removed": removed}))
        .await;
}

fn dataset(name: &str) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")
}

/// The subjects and values of `status`, in the order in which they were accepted first.
fn accepted(messages: &[Message]) -> Vec<(String, bool)> {
    let mut seen = std::collections::HashSet::new();
    let first = messages.iter().filter(|it| seen.insert(it.id.clone()));
    let status = first.filter(|it| it.body["aspect"] == "status");
    status
        .map(|it| {
            let removed = it.body["data"]["value"]["removed"].as_bool().unwrap();
            (it.body["subject"].as_str().unwrap().to_owned(), removed)
        })
        .collect()
}

#[tokio::test]
async fn a_webhook_sends_signed_events() {
    let (app, receiver) = app().await;
    set_removed(&app, &dataset("before"), true).await;
    let members = r#"filter: { entityTypes: ["dataset"], aspects: ["status"] }"#;
    let (webhook, secret) = create(&app, members).await;
    let _delivery = Delivery::start(&app.catalog);
    set_removed(&app, DATASET, true).await;
    set_removed(&app, DATASET, false).await;
    app.ingest("urn:li:tag:t", "status", &json!({"removed": false}))
        .await;
    let messages = receiver.accepted(2).await;
    let expected = [(DATASET.to_owned(), true), (DATASET.to_owned(), false)];
    assert_eq!(accepted(&messages), expected);
    let message = &messages[1];
    assert_eq!(message.url, "http://receiver.example/events");
    assert_eq!(message.content_type, "application/cloudevents+json");
    assert!(message.is_signed_with(&secret), "{message:?}");
    assert!(!message.is_signed_with(&format!("whsec_{}", "A".repeat(32))));
    assert_eq!(message.body["specversion"], "1.0");
    assert_eq!(message.body["type"], "docent.aspect.changed");
    assert_eq!(message.body["actor"], USER);
    let previous = &message.body["data"]["previousValue"];
    assert_eq!(*previous, json!({"removed": true}));

    let delivery = until(&app, &webhook, |it| it["pending"] == 0 && it["behind"] == 0).await;
    assert_eq!(delivery["failures"], 0, "{delivery}");
    assert_eq!(delivery["deadLetters"], 0, "{delivery}");
    assert!(delivery["acceptedAt"].is_i64(), "{delivery}");
    let status = status(&app, &webhook).await;
    assert_eq!(status["owner"]["urn"], USER);
    assert_eq!(status["filter"]["aspects"], json!(["status"]));
    assert!(!status.to_string().contains("whsec_"), "{status}");
}

#[tokio::test]
async fn the_log_does_not_grow_by_delivery() {
    let (app, receiver) = app().await;
    let (webhook, _) = create(&app, "").await;
    let _delivery = Delivery::start(&app.catalog);
    set_removed(&app, DATASET, true).await;
    receiver.accepted(1).await;
    until(&app, &webhook, |it| it["pending"] == 0 && it["behind"] == 0).await;
    let newest = app.catalog.first_event(None).await.unwrap();
    let count = receiver.count();
    app.clock.advance(HOUR_MS);
    // Nothing of what the webhook has stored is an event.
    set_removed(&app, DATASET, false).await;
    receiver.accepted(count + 1).await;
    until(&app, &webhook, |it| it["pending"] == 0 && it["behind"] == 0).await;
    let now = app.catalog.first_event(None).await.unwrap();
    assert_eq!(now.log_position().since(newest.log_position()), 1);
    assert_eq!(receiver.count(), count + 1);
}

#[tokio::test]
async fn an_entity_that_fails_waits_in_order_while_others_go_on() {
    let (app, receiver) = app().await;
    let members = r#"filter: { aspects: ["status"] }"#;
    let (webhook, _) = create(&app, members).await;
    let (poison, good) = (dataset("poison"), dataset("good"));
    receiver.reject(poison.clone());
    let delivery = Delivery::start(&app.catalog);
    for removed in [true, false, true] {
        set_removed(&app, &poison, removed).await;
        set_removed(&app, &good, removed).await;
    }
    let messages = receiver.accepted(3).await;
    let of_good: Vec<(String, bool)> = [true, false, true].map(|it| (good.clone(), it)).into();
    assert_eq!(accepted(&messages), of_good);
    let waiting = until(&app, &webhook, |it| it["pending"] == 3).await;
    assert!(
        waiting["failure"] == Value::Null || waiting["failure"].as_str() == Some("rejected"),
        "{waiting}"
    );
    assert!(waiting["retryAt"].is_i64(), "{waiting}");
    // A restart keeps what waits.
    delivery.kill().await;
    receiver.accept_all();
    app.clock.advance(HOUR_MS);
    let _delivery = Delivery::start(&app.catalog);
    let messages = receiver.accepted(6).await;
    let of_poison: Vec<(String, bool)> = [true, false, true].map(|it| (poison.clone(), it)).into();
    assert_eq!(accepted(&messages)[3..], of_poison);
    until(&app, &webhook, |it| it["pending"] == 0).await;
}

#[tokio::test]
async fn a_receiver_that_is_away_gets_everything_later() {
    let (app, receiver) = app().await;
    let members = r#"filter: { aspects: ["status"] }"#;
    let (webhook, _) = create(&app, members).await;
    receiver.reject_all();
    let _delivery = Delivery::start(&app.catalog);
    let mut expected = Vec::new();
    for number in 0..30 {
        let urn = dataset(&format!("d{number}"));
        set_removed(&app, &urn, true).await;
        expected.push((urn, true));
    }
    let away = until(&app, &webhook, |it| it["pending"] == 30).await;
    let attempts = receiver.attempts();
    // It is left alone: at most four at once until it counts as away.
    assert!((3..=7).contains(&attempts), "{attempts}: {away}");
    assert_eq!(away["failure"], "rejected", "{away}");
    for _ in 0..3 {
        app.clock.advance(HOUR_MS);
        let before = receiver.attempts();
        receiver.attempted(before + 1).await;
    }
    let attempts = receiver.attempts();
    assert!(attempts <= 12, "{attempts}");
    receiver.accept_all();
    app.clock.advance(HOUR_MS);
    let mut found = accepted(&receiver.accepted(30).await);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    until(&app, &webhook, |it| {
        it["pending"] == 0 && it["failures"] == 0
    })
    .await;
}

#[tokio::test]
async fn a_crash_repeats_events_and_loses_none() {
    let (app, receiver) = app().await;
    let members = r#"filter: { aspects: ["status"] }"#;
    let (webhook, _) = create(&app, members).await;
    let names: Vec<String> = (0..5).map(|it| dataset(&format!("d{it}"))).collect();
    let mut written = 0;
    for round in 0..6 {
        let delivery = Delivery::start(&app.catalog);
        for urn in &names {
            set_removed(&app, urn, round % 2 == 0).await;
            written += 1;
        }
        // Somewhere in the middle.
        receiver.accepted(written - 3).await;
        delivery.kill().await;
    }
    let _delivery = Delivery::start(&app.catalog);
    until(&app, &webhook, |it| it["pending"] == 0 && it["behind"] == 0).await;
    let found = accepted(&receiver.messages());
    assert_eq!(found.len(), written);
    for urn in &names {
        let of_entity = found.iter().filter(|(subject, _)| subject == urn);
        let values: Vec<bool> = of_entity.map(|(_, removed)| *removed).collect();
        assert_eq!(values, [true, false, true, false, true, false], "{urn}");
    }
}

#[tokio::test]
async fn one_server_delivers_a_webhook_at_a_time() {
    let (app, receiver) = app().await;
    let members = r#"filter: { aspects: ["status"] }"#;
    let (webhook, _) = create(&app, members).await;
    let other = app
        .other_server(SessionLimits::default())
        .with_event_sender(receiver.clone());
    let first = Delivery::with(&app.catalog, false);
    let urn = dataset("d");
    set_removed(&app, &urn, true).await;
    receiver.accepted(1).await;
    let _second = Delivery::with(&other, false);
    for number in 0..20 {
        set_removed(&app, &dataset(&format!("d{number}")), true).await;
    }
    receiver.accepted(21).await;
    until(&app, &webhook, |it| it["pending"] == 0 && it["behind"] == 0).await;
    assert_eq!(receiver.count(), 21, "each event was sent once");
    // The other one takes over when the claim is over.
    first.kill().await;
    set_removed(&app, &urn, false).await;
    app.clock.advance(HOUR_MS);
    let messages = receiver.accepted(22).await;
    assert_eq!(accepted(&messages).last(), Some(&(urn, false)));
}

/// A user who manages webhooks and reads events.
async fn owner(app: &App, state: &str) -> String {
    let policy = json!({
        "displayName": "p", "description": "", "type": "PLATFORM", "state": state,
        "privileges": ["MANAGE_WEBHOOKS", "GET_TOPIC_EVENTS"], "actors": {"users": [OWNER]},
    });
    app.write_policy("urn:li:dataHubPolicy:webhooks", &policy)
        .await;
    token_of(&app.catalog, OWNER, None).await
}

#[tokio::test]
async fn a_webhook_stops_while_its_owner_may_not_read_events() {
    let (app, receiver) = app().await;
    let token = owner(&app, "ACTIVE").await;
    let query = r#"mutation { createWebhook(input: { name: "w", url: "http://receiver.example", filter: { aspects: ["status"] } }) { urn } }"#;
    let reply = app.graphql_as(&token, query).await;
    let webhook = reply["data"]["createWebhook"]["urn"].as_str().unwrap();
    let _delivery = Delivery::start(&app.catalog);
    set_removed(&app, DATASET, true).await;
    receiver.accepted(1).await;
    owner(&app, "INACTIVE").await;
    let stopped = until(&app, webhook, |it| it["stopped"].is_string()).await;
    let reason = stopped["stopped"].as_str().unwrap();
    assert!(
        reason.contains("GET_METADATA_CHANGE_LOG_EVENTS"),
        "{reason}"
    );
    set_removed(&app, DATASET, false).await;
    owner(&app, "ACTIVE").await;
    let messages = receiver.accepted(2).await;
    let expected = [(DATASET.to_owned(), true), (DATASET.to_owned(), false)];
    assert_eq!(accepted(&messages), expected);
    let user = Urn::parse(OWNER).unwrap();
    let system = Caller::system();
    app.catalog.suspend_user(&system, &user).await.unwrap();
    let stopped = until(&app, webhook, |it| it["stopped"].is_string()).await;
    assert!(
        stopped["stopped"].as_str().unwrap().contains("suspended"),
        "{stopped}"
    );
}

#[tokio::test]
async fn a_webhook_sends_what_its_owner_sees() {
    let receiver = Arc::new(Receiver::default());
    let (app, token) = world::app(true).await;
    let catalog = app.catalog.clone().with_event_sender(receiver.clone());
    let policy = json!({
        "displayName": "p", "description": "", "type": "PLATFORM", "state": "ACTIVE",
        "privileges": ["MANAGE_WEBHOOKS", "GET_TOPIC_EVENTS"], "actors": {"users": ["urn:li:corpuser:vera"]},
    });
    app.write_policy("urn:li:dataHubPolicy:webhooks", &policy)
        .await;
    let create = |topic: &str| {
        format!(
            r#"mutation {{ createWebhook(input: {{ name: "w", url: "http://receiver.example", topic: {topic}, filter: {{ aspects: ["status"] }} }}) {{ urn }} }}"#
        )
    };
    let reply = app.graphql_as(&token, &create("METADATA_CHANGE_LOG")).await;
    let webhook = reply["data"]["createWebhook"]["urn"].as_str().unwrap();
    let _delivery = Delivery::start(&catalog);
    set_removed(&app, world::TABLE, false).await;
    set_removed(&app, DATASET, false).await;
    let messages = receiver.accepted(1).await;
    assert_eq!(accepted(&messages), [(DATASET.to_owned(), false)]);
    until(&app, webhook, |it| it["pending"] == 0 && it["behind"] == 0).await;
    assert_eq!(receiver.count(), 1);
    let reply = app.graphql_as(&token, &create("PLATFORM_EVENTS")).await;
    assert_eq!(error_of(&reply).0, 403, "{reply}");
}

#[tokio::test]
async fn entity_change_events_are_sent_one_by_one() {
    let (app, receiver) = app().await;
    for name in ["a", "b"] {
        let urn = format!("urn:li:tag:{name}");
        app.ingest(&urn, "tagProperties", &json!({"name": name}))
            .await;
    }
    let members = r#"topic: PLATFORM_EVENTS, format: DATAHUB, filter: { aspects: ["globalTags"] }"#;
    create(&app, members).await;
    let _delivery = Delivery::start(&app.catalog);
    let tags = json!({"tags": [{"tag": "urn:li:tag:a"}, {"tag": "urn:li:tag:b"}]});
    app.ingest(DATASET, "globalTags", &tags).await;
    let messages = receiver.accepted(2).await;
    let tag = |message: &Message| {
        assert_eq!(message.content_type, "application/json");
        assert_eq!(message.body["name"], "entityChangeEvent");
        let payload = message.body["payload"]["value"].as_str().unwrap();
        let payload: Value = serde_json::from_str(payload).unwrap();
        payload["modifier"].as_str().unwrap().to_owned()
    };
    let tags: Vec<String> = messages.iter().map(tag).collect();
    assert_eq!(tags, ["urn:li:tag:a", "urn:li:tag:b"]);
    assert_ne!(messages[0].id, messages[1].id);
}

#[tokio::test]
async fn settings_are_changed_while_events_wait() {
    let (app, receiver) = app().await;
    let members = r#"filter: { aspects: ["status"] }"#;
    let (webhook, secret) = create(&app, members).await;
    receiver.reject_all();
    let _delivery = Delivery::start(&app.catalog);
    set_removed(&app, DATASET, true).await;
    receiver.attempted(1).await;
    let update = async |members: &str| {
        let query = format!(
            r#"mutation {{ updateWebhook(urn: "{webhook}", input: {{ name: "moved", url: "http://other.example", {members} }}) }}"#
        );
        let reply = app.graphql(&query).await;
        assert_eq!(reply["data"]["updateWebhook"], true, "{reply}");
    };
    update(r#"isActive: false, filter: { aspects: ["status"] }"#).await;
    receiver.accept_all();
    app.clock.advance(HOUR_MS);
    set_removed(&app, DATASET, false).await;
    let other = format!("whsec_{}", "B".repeat(32));
    update(&format!(
        r#"filter: {{ aspects: ["status"] }}, secret: "{other}""#
    ))
    .await;
    let messages = receiver.accepted(2).await;
    let expected = [(DATASET.to_owned(), true), (DATASET.to_owned(), false)];
    assert_eq!(accepted(&messages), expected);
    for message in &messages {
        assert_eq!(message.url, "http://other.example/");
        assert!(message.is_signed_with(&other));
        assert!(!message.is_signed_with(&secret));
    }
    let reply = app
        .graphql(&format!(
            r#"mutation {{ deleteWebhook(urn: "{webhook}") }}"#
        ))
        .await;
    assert_eq!(reply["data"]["deleteWebhook"], true, "{reply}");
    let reply = app.graphql("{ listWebhooks { urn } }").await;
    assert_eq!(reply["data"]["listWebhooks"], json!([]), "{reply}");
    let query = format!(r#"{{ webhook(urn: "{webhook}") {{ urn }} }}"#);
    assert_eq!(app.graphql_error(&query).await.0, 404);
}

#[tokio::test]
async fn a_test_event_shows_whether_the_receiver_accepts() {
    let (app, receiver) = app().await;
    let (webhook, secret) = create(&app, "isActive: false").await;
    let query = format!(r#"mutation {{ testWebhook(urn: "{webhook}") {{ accepted failure }} }}"#);
    let reply = app.graphql(&query).await;
    let accepted = json!({"accepted": true, "failure": null});
    assert_eq!(reply["data"]["testWebhook"], accepted, "{reply}");
    let message = &receiver.messages()[0];
    assert_eq!(message.body["type"], "docent.webhook.test");
    assert!(message.is_signed_with(&secret));
    receiver.reject_all();
    let reply = app.graphql(&query).await;
    let rejected = json!({"accepted": false, "failure": "rejected"});
    assert_eq!(reply["data"]["testWebhook"], rejected, "{reply}");
}

#[tokio::test]
async fn invalid_webhooks_are_rejected() {
    let (app, _receiver) = app().await;
    for (members, part) in [
        (r#"name: "", url: "http://a.example""#, "name"),
        (
            r#"name: "w", url: "ftp://a.example""#,
            "not the address of a receiver",
        ),
        (
            r#"name: "w", url: "a.example""#,
            "not the address of a receiver",
        ),
        (
            r#"name: "w", url: "http://ada:pw@a.example""#,
            "username or a password",
        ),
        (
            r#"name: "w", url: "http://refused.example""#,
            "refused by the sender",
        ),
        (
            r#"name: "w", url: "http://a.example", secret: "short""#,
            "base64",
        ),
        (
            r#"name: "w", url: "http://a.example", filter: { entityTypes: ["table"] }"#,
            "no entity type 'table'",
        ),
        (
            r#"name: "w", url: "http://a.example", filter: { domains: ["urn:li:tag:t"] }"#,
            "urn:li:tag:t",
        ),
    ] {
        let query = format!("mutation {{ createWebhook(input: {{ {members} }}) {{ urn }} }}");
        let (code, message) = app.graphql_error(&query).await;
        assert_eq!(code, 400, "{members}: {message}");
        assert!(message.contains(part), "{members}: {message}");
        assert!(!message.contains("pw@"), "{message}");
    }
    let update = r#"mutation { updateWebhook(urn: "urn:li:docentSession:x", input: { name: "w", url: "http://a.example" }) }"#;
    let (code, message) = app.graphql_error(update).await;
    assert_eq!(code, 400);
    assert!(message.contains("is not a webhook"), "{message}");
    let app = App::without_secret_keys().await;
    let create =
        r#"mutation { createWebhook(input: { name: "w", url: "http://a.example" }) { urn } }"#;
    let (_, message) = app.graphql_error(create).await;
    assert!(message.contains("--secret-key-file"), "{message}");
}

#[tokio::test]
async fn webhooks_are_no_entities_to_other_apis() {
    let (app, _receiver) = app().await;
    let (webhook, _) = create(&app, "").await;
    let id = webhook.rsplit(':').next().unwrap();
    for path in [
        format!("/entitiesV2/{webhook}"),
        format!("/openapi/v3/entity/docentWebhook/{webhook}"),
        format!("/aspects/{webhook}?aspect=docentWebhookInfo&version=0"),
    ] {
        let (status, reply) = app.get(&path).await;
        assert!(status.is_client_error(), "{path}: {reply}");
        assert!(!reply.to_string().contains("docent1."), "{reply}");
    }
    let (status, reply) = app.get("/events?since=0&limit=1000").await;
    assert!(status.is_success());
    assert!(!reply.to_string().contains(id), "{reply}");
}

#[tokio::test]
async fn a_receiver_that_accepts_a_test_gets_at_once_what_waits() {
    let (app, receiver) = app().await;
    let (webhook, _) = create(&app, "").await;
    let _delivery = Delivery::start(&app.catalog);
    receiver.reject_all();
    set_removed(&app, DATASET, true).await;
    // The next attempt is due in seconds, and the clock stands still.
    until(&app, &webhook, |it| it["failures"] == 1).await;
    receiver.accept_all();
    app.clock.advance(1);
    let test = format!(r#"mutation {{ testWebhook(urn: "{webhook}") {{ accepted }} }}"#);
    let reply = app.graphql(&test).await;
    assert_eq!(reply["data"]["testWebhook"]["accepted"], true, "{reply}");
    let delivery = until(&app, &webhook, |it| it["pending"] == 0).await;
    assert_eq!(delivery["failure"], Value::Null, "{delivery}");
    receiver.accepted(2).await;
}
