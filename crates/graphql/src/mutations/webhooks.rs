//! Webhooks.

use docent_catalog::Error;
use docent_catalog::events::feed::EventFormat;
use docent_catalog::events::{EventFilter, Topic};
use docent_catalog::webhooks::NewWebhook;
use docent_model::{EpochMillis, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("createWebhook", create_webhook)
        .mutation("updateWebhook", update_webhook)
        .mutation("deleteWebhook", delete_webhook)
        .mutation("testWebhook", test_webhook)
        .mutation("replayWebhookDeadLetters", replay)
        .mutation("discardWebhookDeadLetters", discard)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    name: String,
    url: String,
    topic: Option<TopicName>,
    format: Option<FormatName>,
    filter: Option<FilterInput>,
    is_active: Option<bool>,
    secret: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum TopicName {
    MetadataChangeLog,
    PlatformEvents,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum FormatName {
    CloudEvents,
    DataHub,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FilterInput {
    entity_types: Option<Vec<String>>,
    aspects: Option<Vec<String>>,
    domains: Option<Vec<String>>,
    tags: Option<Vec<String>>,
    actors: Option<Vec<String>>,
}

impl Input {
    fn webhook(self) -> Result<NewWebhook, Error> {
        let filter = self.filter.unwrap_or_default();
        let urns = |texts: Option<Vec<String>>| -> Result<Vec<Urn>, Error> {
            let texts = texts.unwrap_or_default();
            texts.iter().map(|text| super::urn(text)).collect()
        };
        Ok(NewWebhook {
            name: self.name,
            url: self.url,
            topic: match self.topic {
                None | Some(TopicName::MetadataChangeLog) => Topic::ChangeLog,
                Some(TopicName::PlatformEvents) => Topic::PlatformEvents,
            },
            format: match self.format {
                None | Some(FormatName::CloudEvents) => EventFormat::CloudEvents,
                Some(FormatName::DataHub) => EventFormat::DataHub,
            },
            filter: EventFilter {
                entity_types: filter.entity_types.unwrap_or_default(),
                aspects: filter.aspects.unwrap_or_default(),
                domains: urns(filter.domains)?,
                tags: urns(filter.tags)?,
                actors: urns(filter.actors)?,
            },
            is_active: self.is_active.unwrap_or(true),
            secret: self.secret,
        })
    }
}

/// Webhooks are internal entities, which other arguments do not accept.
fn webhook_urn(arguments: &Args<'_>) -> Result<Urn, Error> {
    Ok(Urn::parse(arguments.text("urn")?)?)
}

async fn create_webhook(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: Input = arguments.input()?;
    let created = context
        .catalog
        .create_webhook(&context.caller, input.webhook()?)
        .await?;
    Ok(json!({"urn": created.urn, "secret": created.secret}))
}

async fn update_webhook(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let urn = webhook_urn(&arguments)?;
    let input: Input = arguments.input()?;
    context
        .catalog
        .update_webhook(&context.caller, &urn, input.webhook()?)
        .await?;
    Ok(json!(true))
}

async fn delete_webhook(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let urn = webhook_urn(&arguments)?;
    context
        .catalog
        .delete_webhook(&context.caller, &urn)
        .await?;
    Ok(json!(true))
}

async fn test_webhook(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let urn = webhook_urn(&arguments)?;
    let test = context.catalog.test_webhook(&context.caller, &urn).await?;
    Ok(json!({
        "accepted": test.failure.is_none(),
        "failure": test.failure,
        "milliseconds": test.took_ms,
    }))
}

async fn replay(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let urn = webhook_urn(&arguments)?;
    let ids = ids(&arguments)?;
    let replay = context
        .catalog
        .replay_dead_letters(&context.caller, &urn, ids.as_deref())
        .await?;
    Ok(json!({
        "delivered": replay.delivered,
        "remaining": replay.remaining,
        "failure": replay.failure,
    }))
}

async fn discard(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let urn = webhook_urn(&arguments)?;
    let ids = ids(&arguments)?;
    let discarded = context
        .catalog
        .discard_dead_letters(&context.caller, &urn, ids.as_deref())
        .await?;
    Ok(json!(discarded))
}

/// The ids of dead letters; `None` for all.
fn ids(arguments: &Args<'_>) -> Result<Option<Vec<EpochMillis>>, Error> {
    let texts: Option<Vec<String>> = arguments.member("ids")?;
    let id = |text: &String| {
        text.parse().map_err(|_| {
            Error::invalid(format!(
                "'{text}' is not the id of a dead letter: use the 'id' of webhookDeadLetters"
            ))
        })
    };
    texts
        .map(|texts| texts.iter().map(id).collect())
        .transpose()
}
