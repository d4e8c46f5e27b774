//! What happens to events that a receiver never accepts.

use std::sync::Arc;
use std::time::Duration;

use docent_catalog::webhooks::DeliverySettings;
use serde_json::{Value, json};

use super::receiver::Receiver;
use super::{Delivery, HOUR_MS, accepted, app, create, dataset, set_removed, until};
use crate::hidden::world;
use crate::support::{App, DATASET, USER, token_of};

/// Lets events fail for hours until the state of delivery is as expected. A failure has the time at
/// which it is processed, which may be after the clock was advanced, so time goes on without an
/// attempt, too.
async fn fail_until(
    app: &App,
    receiver: &Receiver,
    webhook: &str,
    is_expected: impl Fn(&Value) -> bool,
) -> Value {
    loop {
        let attempts = receiver.attempts();
        app.clock.advance(2 * HOUR_MS);
        tokio::select! {
            () = receiver.attempted(attempts + 1) => {}
            status = until(app, webhook, &is_expected) => return status,
            () = tokio::time::sleep(Duration::from_secs(5)) => {}
        }
    }
}

#[tokio::test]
async fn what_fails_for_a_day_becomes_a_dead_letter_that_can_be_replayed() {
    let (mut app, receiver) = app().await;
    // One that is valid for longer than the test's days.
    app.token = token_of(&app.catalog, USER, None).await;
    let members = r#"filter: { aspects: ["status"] }"#;
    let (webhook, secret) = create(&app, members).await;
    let poison = dataset("poison");
    receiver.reject(poison.clone());
    let _delivery = Delivery::start(&app.catalog);
    for removed in [true, false] {
        set_removed(&app, &poison, removed).await;
    }
    // The second change begins its own day when the first one is a dead letter.
    for letters in 1..=2 {
        fail_until(&app, &receiver, &webhook, |it| it["deadLetters"] == letters).await;
    }
    let status = until(&app, &webhook, |it| it["pending"] == 0).await;
    assert_eq!(status["deadLetters"], 2, "{status}");
    assert_eq!(receiver.count(), 0);
    let list = format!(
        r#"{{ webhookDeadLetters(input: {{ urn: "{webhook}" }}) {{ total deadLetters {{ id eventId entityUrn body attempts firstFailedAt diedAt reason }} }} }}"#
    );
    let reply = app.graphql(&list).await;
    let page = &reply["data"]["webhookDeadLetters"];
    assert_eq!(page["total"], 2, "{reply}");
    let newest = &page["deadLetters"][0];
    assert_eq!(newest["entityUrn"], poison, "{newest}");
    assert_eq!(newest["reason"], "rejected", "{newest}");
    assert!(newest["attempts"].as_i64().unwrap() > 1, "{newest}");
    let body: Value = serde_json::from_str(newest["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["data"]["value"], json!({"removed": false}));

    let mutation = |ids: String| {
        format!(
            r#"mutation {{ replayWebhookDeadLetters(urn: "{webhook}"{ids}) {{ delivered remaining failure }} }}"#
        )
    };
    let outcome = async |query: String| {
        let reply = app.graphql(&query).await;
        assert_eq!(reply["errors"], Value::Null, "{reply}");
        reply["data"]["replayWebhookDeadLetters"].clone()
    };
    let refused = json!({"delivered": 0, "remaining": 2, "failure": "rejected"});
    assert_eq!(outcome(mutation(String::new())).await, refused);
    receiver.accept_all();
    let id = newest["id"].as_str().unwrap();
    let one = json!({"delivered": 1, "remaining": 0, "failure": null});
    assert_eq!(outcome(mutation(format!(r#", ids: ["{id}"]"#))).await, one);
    let messages = receiver.accepted(1).await;
    assert_eq!(messages[0].id, newest["eventId"].as_str().unwrap());
    assert!(messages[0].is_signed_with(&secret));
    let (code, message) = app
        .graphql_error(&mutation(format!(r#", ids: ["{id}"]"#)))
        .await;
    assert_eq!(code, 400);
    assert!(message.contains("no dead letter"), "{message}");

    let discard = format!(r#"mutation {{ discardWebhookDeadLetters(urn: "{webhook}") }}"#);
    let reply = app.graphql(&discard).await;
    assert_eq!(reply["data"]["discardWebhookDeadLetters"], 1, "{reply}");
    until(&app, &webhook, |it| it["deadLetters"] == 0).await;
}

#[tokio::test]
async fn a_webhook_with_too_many_dead_letters_stops_until_they_are_discarded() {
    let (mut app, receiver) = app().await;
    app.token = token_of(&app.catalog, USER, None).await;
    let (webhook, _) = create(&app, r#"filter: { aspects: ["status"] }"#).await;
    receiver.reject_all();
    let settings = DeliverySettings {
        is_only_server: true,
        give_up_ms: HOUR_MS,
        max_dead_letters: 2,
        ..DeliverySettings::default()
    };
    let _delivery = Delivery::with_settings(&app.catalog, settings);
    for name in ["a", "b", "c"] {
        set_removed(&app, &dataset(name), true).await;
    }
    let stopped = fail_until(&app, &receiver, &webhook, |it| it["stopped"].is_string()).await;
    assert_eq!(stopped["deadLetters"], 2, "{stopped}");
    let reason = stopped["stopped"].as_str().unwrap();
    assert!(reason.contains("replay or discard"), "{reason}");
    // It neither sends nor loses what comes meanwhile.
    let attempts = receiver.attempts();
    set_removed(&app, &dataset("d"), true).await;
    receiver.accept_all();
    app.clock.advance(2 * HOUR_MS);
    until(&app, &webhook, |it| it["stopped"].is_string()).await;
    assert_eq!(receiver.attempts(), attempts);

    let discard = format!(r#"mutation {{ discardWebhookDeadLetters(urn: "{webhook}") }}"#);
    let reply = app.graphql(&discard).await;
    assert_eq!(reply["data"]["discardWebhookDeadLetters"], 2, "{reply}");
    app.clock.advance(2 * HOUR_MS);
    // The third one had failed for too long as well, and waited for room.
    let messages = receiver.accepted(1).await;
    assert_eq!(accepted(&messages), [(dataset("d"), true)]);
    let status = until(&app, &webhook, |it| it["pending"] == 0).await;
    assert_eq!(status["stopped"], Value::Null, "{status}");
    assert_eq!(status["deadLetters"], 1, "{status}");
}

#[tokio::test]
async fn a_replay_keeps_the_form_in_which_the_event_was_sent() {
    let (mut app, receiver) = app().await;
    app.token = token_of(&app.catalog, USER, None).await;
    let (webhook, _) = create(&app, r#"filter: { aspects: ["status"] }"#).await;
    receiver.reject_all();
    let settings = DeliverySettings {
        is_only_server: true,
        give_up_ms: HOUR_MS,
        ..DeliverySettings::default()
    };
    let _delivery = Delivery::with_settings(&app.catalog, settings);
    set_removed(&app, DATASET, true).await;
    fail_until(&app, &receiver, &webhook, |it| it["deadLetters"] == 1).await;
    let update = format!(
        r#"mutation {{ updateWebhook(urn: "{webhook}", input: {{ name: "w", url: "http://receiver.example", format: DATAHUB }}) }}"#
    );
    assert_eq!(app.graphql(&update).await["data"]["updateWebhook"], true);
    receiver.accept_all();
    let again =
        format!(r#"mutation {{ replayWebhookDeadLetters(urn: "{webhook}") {{ delivered }} }}"#);
    let reply = app.graphql(&again).await;
    assert_eq!(
        reply["data"]["replayWebhookDeadLetters"]["delivered"], 1,
        "{reply}"
    );
    let messages = receiver.messages();
    assert_eq!(messages[0].content_type, "application/cloudevents+json");
    assert_eq!(messages[0].body["specversion"], "1.0");
}

#[tokio::test]
async fn a_new_owner_gets_no_dead_letter_of_what_is_hidden() {
    let receiver = Arc::new(Receiver::default());
    let (mut app, _) = world::app(true).await;
    app.token = token_of(&app.catalog, USER, None).await;
    app.send_events_to(receiver.clone());
    let vera_may = async |privileges: &[&str]| {
        let policy = json!({
            "displayName": "p", "description": "", "type": "PLATFORM", "state": "ACTIVE",
            "privileges": privileges, "actors": {"users": ["urn:li:corpuser:vera"]},
        });
        app.write_policy("urn:li:dataHubPolicy:webhooks", &policy)
            .await;
    };
    vera_may(&["MANAGE_WEBHOOKS", "GET_TOPIC_EVENTS"]).await;
    let (webhook, _) = create(&app, r#"filter: { aspects: ["status"] }"#).await;
    let (entity_changes, _) = create(
        &app,
        r#"topic: PLATFORM_EVENTS, filter: { aspects: ["status"] }"#,
    )
    .await;
    receiver.reject_all();
    let settings = DeliverySettings {
        is_only_server: true,
        give_up_ms: HOUR_MS,
        ..DeliverySettings::default()
    };
    let delivery = Delivery::with_settings(&app.catalog, settings);
    for urn in [world::TABLE, DATASET] {
        set_removed(&app, urn, true).await;
    }
    fail_until(&app, &receiver, &webhook, |it| it["deadLetters"] == 2).await;
    fail_until(&app, &receiver, &entity_changes, |it| {
        it["deadLetters"] == 2
    })
    .await;
    delivery.kill().await;
    receiver.accept_all();
    let vera = token_of(&app.catalog, "urn:li:corpuser:vera", None).await;

    let bodies = async |webhook: &str| {
        let list = format!(
            r#"{{ webhookDeadLetters(input: {{ urn: "{webhook}" }}) {{ deadLetters {{ entityUrn body }} }} }}"#
        );
        let reply = app.graphql_as(&vera, &list).await;
        let page = &reply["data"]["webhookDeadLetters"];
        assert_eq!(reply["errors"], Value::Null, "{reply}");
        page["deadLetters"].clone()
    };
    let send_again = async |token: &str, webhook: &str| {
        let query = format!(
            r#"mutation {{ replayWebhookDeadLetters(urn: "{webhook}") {{ delivered remaining failure }} }}"#
        );
        let reply = app.graphql_as(token, &query).await;
        assert_eq!(reply["errors"], Value::Null, "{reply}");
        reply["data"]["replayWebhookDeadLetters"].clone()
    };
    let take_over = async |webhook: &str| {
        let update = format!(
            r#"mutation {{ updateWebhook(urn: "{webhook}", input: {{ name: "w", url: "http://vera.example", filter: {{ aspects: ["status"] }} }}) }}"#
        );
        let reply = app.graphql_as(&vera, &update).await;
        assert_eq!(reply["data"]["updateWebhook"], true, "{reply}");
    };
    let hidden = json!({"entityUrn": null, "body": null});
    for is_owner in [false, true] {
        if is_owner {
            take_over(&webhook).await;
            take_over(&entity_changes).await;
        }
        let letters = bodies(&webhook).await;
        let letters = letters.as_array().unwrap();
        assert_eq!(letters.iter().filter(|it| **it == hidden).count(), 1);
        assert!(
            letters.iter().any(|it| it["entityUrn"] == DATASET),
            "{letters:?}"
        );
        assert_eq!(bodies(&entity_changes).await, json!([hidden, hidden]));
    }
    // The address is hers, so also a user who sees everything does not send it there.
    for token in [&vera, &app.token] {
        let outcome = send_again(token, &entity_changes).await;
        assert_eq!(outcome["delivered"], 0, "{outcome}");
        assert_eq!(outcome["remaining"], 2, "{outcome}");
    }
    let outcome = send_again(&vera, &webhook).await;
    assert_eq!(outcome["delivered"], 1, "{outcome}");
    let reason = outcome["failure"].as_str().unwrap();
    assert!(reason.contains("may not read 1 of"), "{reason}");
    assert_eq!(send_again(&app.token, &webhook).await["delivered"], 0);
    let messages = receiver.messages();
    assert_eq!(accepted(&messages), [(DATASET.to_owned(), true)]);
    // Who loses the privilege reads nothing more.
    vera_may(&["MANAGE_WEBHOOKS"]).await;
    assert_eq!(bodies(&webhook).await, json!([hidden]));
}
