//! Webhooks and their dead letters.

use docent_catalog::Error;
use docent_catalog::events::feed::EventFormat;
use docent_catalog::events::{EventFilter, Topic};
use docent_catalog::webhooks::{DeadLetter, DeliveryStatus, MAX_LISTED, WebhookStatus};
use docent_model::Urn;
use serde::Deserialize;
use serde_json::{Value, json};

use super::queries::Window;
use crate::{Args, Context};

pub(super) async fn list_webhooks(context: &Context, _: Args<'_>) -> Result<Value, Error> {
    let webhooks = context.catalog.list_webhooks(&context.caller).await?;
    Ok(webhooks.iter().map(webhook_value).collect())
}

pub(super) async fn webhook(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let urn = Urn::parse(arguments.text("urn")?)?;
    let webhook = context.catalog.webhook(&context.caller, &urn).await?;
    Ok(webhook_value(&webhook))
}

pub(super) async fn dead_letters(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        urn: String,
        #[serde(flatten)]
        window: Window,
    }
    let input: Input = arguments.input()?;
    let urn = Urn::parse(&input.urn)?;
    let (start, count) = input.window.checked_up_to(MAX_LISTED)?;
    let page = context
        .catalog
        .dead_letters(&context.caller, &urn, start, count)
        .await?;
    Ok(json!({
        "start": start,
        "count": count,
        "total": page.total,
        "deadLetters": page.letters.iter().map(dead_letter).collect::<Vec<_>>(),
    }))
}

fn webhook_value(webhook: &WebhookStatus) -> Value {
    let info = &webhook.info;
    json!({
        "urn": webhook.urn,
        "name": info.name,
        "url": info.url,
        "topic": match info.topic {
            Topic::ChangeLog => "METADATA_CHANGE_LOG",
            Topic::PlatformEvents => "PLATFORM_EVENTS",
        },
        "format": match info.format {
            EventFormat::CloudEvents => "CLOUDEVENTS",
            EventFormat::DataHub => "DATAHUB",
        },
        "filter": filter(&info.filter),
        "isActive": info.is_active,
        "owner": info.owner,
        "createdAt": info.created_at,
        "delivery": delivery(&webhook.delivery),
    })
}

fn filter(filter: &EventFilter) -> Value {
    json!({
        "entityTypes": filter.entity_types,
        "aspects": filter.aspects,
        "domains": filter.domains,
        "tags": filter.tags,
        "actors": filter.actors,
    })
}

fn delivery(delivery: &DeliveryStatus) -> Value {
    json!({
        "position": delivery.position.to_string(),
        "behind": delivery.behind,
        "pending": delivery.pending,
        "retryAt": delivery.retry_at,
        "failures": delivery.failures,
        "acceptedAt": delivery.accepted_at,
        "failedAt": delivery.failed_at,
        "failure": delivery.failure,
        "stopped": delivery.stopped,
        "deadLetters": delivery.dead_letters,
    })
}

fn dead_letter(letter: &DeadLetter) -> Value {
    let is_shown = !letter.body.is_empty();
    json!({
        "id": letter.timestamp_millis.to_string(),
        "eventId": letter.event_id,
        "entityUrn": is_shown.then_some(&letter.entity_urn),
        "body": is_shown.then_some(&letter.body),
        "attempts": letter.attempts,
        "firstFailedAt": letter.first_failed_at,
        "diedAt": letter.timestamp_millis,
        "reason": letter.reason,
    })
}
