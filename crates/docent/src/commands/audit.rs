//! `docent audit`: prints the audit log.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use comfy_table::{Table, presets};
use docent_catalog::audit::{AuditQuery, MAX_COUNT};
use docent_catalog::{AuditOutcome, AuditRecord, LogicalVersion};
use serde_json::json;

use super::times::time_of_flag;
use super::{catalog, note, operator, printable, runtime, say, user_urn};
use crate::engine::OpenMode;
use crate::settings::StoreFlags;

#[derive(Debug, Args)]
pub(crate) struct AuditFlags {
    /// Start of the period: 7d, 12h, a date or an RFC 3339 time, in UTC [default: the first event]
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// End of the period, in the same form [default: now]
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only what this user did
    #[arg(long)]
    user: Option<String>,
    /// Only what concerns this entity
    #[arg(long, value_name = "URN")]
    entity: Option<String>,
    /// Only this operation: a GraphQL field, a REST route or a command
    #[arg(long)]
    operation: Option<String>,
    /// Only allowed or only denied requests
    #[arg(long)]
    outcome: Option<Outcome>,
    /// The most events to print, the newest first
    #[arg(long, default_value_t = 100)]
    count: usize,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Outcome {
    Allowed,
    Denied,
}

pub(super) fn run(store: &StoreFlags, flags: AuditFlags) -> Result<()> {
    if flags.count == 0 {
        bail!("--count is 0: it must be at least 1");
    }
    if let Some(operation) = &flags.operation {
        docent_graphql::check_operation(operation)?;
    }
    let user = flags.user.as_deref().map(user_urn).transpose()?;
    let mut query = AuditQuery {
        since_ms: time_of_flag("--since", flags.since.as_deref())?,
        until_ms: time_of_flag("--until", flags.until.as_deref())?,
        actors: user.iter().map(ToString::to_string).collect(),
        entity: flags.entity,
        operation: flags.operation,
        outcome: flags.outcome.map(|outcome| match outcome {
            Outcome::Allowed => AuditOutcome::Allowed,
            Outcome::Denied => AuditOutcome::Denied,
        }),
        // The table has the first entity only.
        max_items: (!flags.json).then_some(1),
        after: None,
    };
    let runtime = runtime()?;
    let catalog = runtime.block_on(catalog(store, OpenMode::Shared))?;
    let caller = operator("docent audit");
    let (mut left, mut table) = (flags.count, new_table());
    let mut is_empty = true;
    while left > 0 {
        let page = catalog.audit_log(&caller, &query, left.min(MAX_COUNT));
        let page = runtime.block_on(page)?;
        left = left.saturating_sub(page.records.len());
        for record in &page.records {
            is_empty = false;
            if flags.json {
                say(as_json(record));
            } else {
                table.add_row(row(record));
            }
        }
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    if is_empty {
        note("no events");
    } else if !flags.json {
        for line in table.lines() {
            say(line.trim_end());
        }
    }
    if left == 0 && query.after.is_some() {
        note("there may be more events; --count prints more");
    }
    Ok(())
}

fn new_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["TIME", "USER", "FROM", "OPERATION", "OUTCOME", "ON"]);
    table
}

fn row(AuditRecord { event, items }: &AuditRecord) -> [String; 6] {
    let actor = event.actor.as_deref().unwrap_or("unknown");
    let actor = actor.strip_prefix("urn:li:corpuser:").unwrap_or(actor);
    let from = [event.address.as_deref(), event.credential.as_deref()];
    let from: Vec<&str> = from.into_iter().flatten().collect();
    let first = items.first().map_or("", |item| item.urn.as_str());
    let target = match (event.entities, event.dropped) {
        (2.., _) => format!("{first} and {} more", event.entities - 1),
        (_, 1..) => format!("{} more requests", event.dropped),
        _ => first.to_owned(),
    };
    let time = jiff::Timestamp::from_millisecond(event.key.time_ms);
    let time = time.map(|time| time.strftime("%Y-%m-%d %H:%M:%S").to_string());
    [
        time.unwrap_or_default(),
        printable(actor),
        printable(&from.join(" ")),
        printable(&event.operation),
        event.outcome.name().to_lowercase(),
        printable(&target),
    ]
}

fn as_json(AuditRecord { event, items }: &AuditRecord) -> String {
    let entities = items.iter().map(|item| {
        let changes = item.changes.iter().map(|change| {
            json!({
                "aspectName": change.aspect,
                "before": change.before.map(LogicalVersion::get),
                "after": change.after.map(LogicalVersion::get),
            })
        });
        json!({"urn": item.urn, "changes": changes.collect::<Vec<_>>()})
    });
    json!({
        "id": event.key.to_string(),
        "time": event.key.time_ms,
        "actor": event.actor,
        "address": event.address,
        "credential": event.credential,
        "operation": event.operation,
        "outcome": event.outcome.name(),
        "policies": event.policies,
        "reason": event.reason,
        "dropped": event.dropped,
        "entityCount": event.entities,
        "entities": entities.collect::<Vec<_>>(),
    })
    .to_string()
}
