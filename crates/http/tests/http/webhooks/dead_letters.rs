//! What happens to events that a receiver never accepts.

use docent_catalog::webhooks::DeliverySettings;
use serde_json::{Value, json};

use super::{Delivery, HOUR_MS, accepted, app, create, dataset, set_removed, until};
use crate::support::{USER, token_of};

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
        loop {
            let attempts = receiver.attempts();
            app.clock.advance(2 * HOUR_MS);
            tokio::select! {
                () = receiver.attempted(attempts + 1) => {}
                _ = until(&app, &webhook, |it| it["deadLetters"] == letters) => break,
            }
        }
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
    let stopped = loop {
        let attempts = receiver.attempts();
        app.clock.advance(2 * HOUR_MS);
        tokio::select! {
            () = receiver.attempted(attempts + 1) => {}
            status = until(&app, &webhook, |it| it["stopped"].is_string()) => break status,
        }
    };
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
