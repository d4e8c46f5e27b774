//! The audit log.

use docent_catalog::audit::{AuditQuery, MAX_COUNT, MAX_ITEMS};
use docent_catalog::{AuditItem, AuditKey, AuditOutcome, AuditRecord, Error, LogicalVersion};
use serde::Deserialize;
use serde_json::{Value, json};

use super::history::actor;
use crate::operations::check_operation;
use crate::{Args, Context};

const DEFAULT_COUNT: i64 = 50;

pub(super) async fn audit_log(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        since: Option<i64>,
        until: Option<i64>,
        actor: Option<String>,
        entity: Option<String>,
        operation: Option<String>,
        outcome: Option<String>,
        count: Option<i64>,
        max_entities: Option<i64>,
        scroll: Option<String>,
    }
    let input: Input = arguments.input()?;
    let after = input.scroll.map(|scroll| {
        let after = AuditKey::parse(&scroll);
        after.ok_or_else(|| {
            Error::invalid(format!(
                "scroll is '{scroll}': use the nextScroll of the previous page"
            ))
        })
    });
    if let Some(operation) = &input.operation {
        check_operation(operation)?;
    }
    let number = |name: &str, number: i64, max: usize| {
        usize::try_from(number).map_err(|_| {
            let limits = format!("{name} is {number}: it must be from 1 to {max}");
            Error::invalid(limits)
        })
    };
    let max_items = input.max_entities;
    let max_items = max_items.map(|it| number("maxEntities", it, MAX_ITEMS));
    let query = AuditQuery {
        since_ms: input.since,
        until_ms: input.until,
        actors: input.actor.into_iter().collect(),
        entity: input.entity,
        operation: input.operation,
        outcome: input.outcome.as_deref().and_then(AuditOutcome::parse),
        max_items: max_items.transpose()?,
        after: after.transpose()?,
    };
    let count = number("count", input.count.unwrap_or(DEFAULT_COUNT), MAX_COUNT)?;
    let catalog = &context.catalog;
    let page = catalog.audit_log(&context.caller, &query, count).await?;
    Ok(json!({
        "events": page.records.iter().map(event).collect::<Vec<_>>(),
        "nextScroll": page.next.map(|next| next.to_string()),
    }))
}

fn event(AuditRecord { event, items }: &AuditRecord) -> Value {
    json!({
        "id": event.key.to_string(),
        "time": event.key.time_ms,
        "actorUrn": event.actor,
        "actor": event.actor.as_deref().and_then(actor),
        "address": event.address,
        "credential": event.credential,
        "operation": event.operation,
        "outcome": event.outcome.name(),
        "policies": event.policies,
        "reason": event.reason,
        "dropped": event.dropped,
        "entityCount": event.entities,
        "entities": items.iter().map(entity).collect::<Vec<_>>(),
    })
}

fn entity(item: &AuditItem) -> Value {
    let changes = item.changes.iter().map(|change| {
        json!({
            "aspectName": change.aspect,
            "before": change.before.map(LogicalVersion::get),
            "after": change.after.map(LogicalVersion::get),
        })
    });
    json!({"urn": item.urn, "changes": changes.collect::<Vec<_>>()})
}
