//! `POST /openapi/v1/events/audit/search`: the audit log in the form of DataHub's usage events.
//!
//! DataHub has one event per changed aspect, so one of our events becomes several. It has no events
//! for denied requests, except for failed sign-ins.

use axum::response::Response;
use docent_catalog::audit::{AuditQuery, MAX_COUNT};
use docent_catalog::{AuditEvent, AuditKey, AuditOutcome, AuditRecord, Caller, LogicalVersion};
use docent_model::{Registry, Urn, shorten};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::error::ErrorResponse;
use crate::query::Query;
use crate::sign_in::{LOG_IN, LOG_OUT};
use crate::sso::CALLBACK;
use crate::wire::{parse_optional, reply};

/// DataHub's names of events; `EntityEvent` does not occur here.
const EVENT_TYPES: [&str; 15] = [
    "CreateAccessTokenEvent",
    "CreateIngestionSourceEvent",
    "CreatePolicyEvent",
    "CreateUserEvent",
    "DeleteEntityEvent",
    "DeletePolicyEvent",
    "EntityEvent",
    "FailedLogInEvent",
    "LogInEvent",
    "LogOutEvent",
    "RevokeAccessTokenEvent",
    "UpdateAspectEvent",
    "UpdateIngestionSourceEvent",
    "UpdatePolicyEvent",
    "UpdateUserEvent",
];
const DEFAULT_SIZE: usize = 10;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// As in DataHub.
const MAX_TOTAL: usize = 10_000;
/// After so many of our events a page ends and the total is no longer counted, even if few match.
const MAX_EXAMINED: usize = 10_000;
/// How many of our events one call of the catalog reads.
const READ_AT_ONCE: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Parameters {
    start_time: Option<i64>,
    end_time: Option<i64>,
    size: Option<usize>,
    scroll_id: Option<String>,
    include_raw: Option<bool>,
}

/// Empty lists do not filter. Unknown members are ignored, as in DataHub.
#[derive(Debug, Default, Deserialize)]
#[serde(
    rename_all = "camelCase",
    default,
    expecting = "an object with eventTypes, entityTypes, aspectTypes and actorUrns"
)]
struct Filter {
    event_types: Option<Vec<String>>,
    entity_types: Option<Vec<String>>,
    aspect_types: Option<Vec<String>>,
    actor_urns: Option<Vec<String>>,
}

/// A usage event, by its index in one of our events.
struct UsageEvent {
    event_type: &'static str,
    urn: Option<String>,
    aspect: Option<String>,
    before: Option<LogicalVersion>,
    after: Option<LogicalVersion>,
}

/// Where a page ends: behind so many usage events of this event.
#[derive(Clone, Copy)]
struct Position {
    key: AuditKey,
    skip: usize,
}

pub(crate) async fn search(
    Authenticated { caller, state }: Authenticated,
    Query(parameters): Query<Parameters>,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let filter: Filter = parse_optional(&bytes).await?;
    filter.check()?;
    let size = parameters.size.unwrap_or(DEFAULT_SIZE);
    if !(1..=MAX_COUNT).contains(&size) {
        return Err(ErrorResponse::bad_request(format!(
            "size is {size}: it must be from 1 to {MAX_COUNT}"
        )));
    }
    let start = match parameters.scroll_id.as_deref() {
        None | Some("") => None,
        Some(text) => Some(Position::parse(text).ok_or_else(|| {
            ErrorResponse::bad_request(format!(
                "scrollId is '{text}': use the nextScrollId of the previous page"
            ))
        })?),
    };
    let now_ms = state.catalog().now_ms();
    // As in DataHub, negative times are missing ones, and so is an end of 0. A period that begins
    // later is a mistake.
    let start_time = parameters.start_time.filter(|time| *time >= 0);
    let has_end = |time: &i64| *time > 0 || *time == 0 && start_time.is_some_and(|it| it > 0);
    let query = AuditQuery {
        since_ms: Some(start_time.unwrap_or(now_ms - DAY_MS)),
        until_ms: Some(parameters.end_time.filter(has_end).unwrap_or(now_ms + 1)),
        actors: filter.actor_urns.clone().unwrap_or_default(),
        ..AuditQuery::default()
    };
    let mut page = Vec::new();
    let include_raw = parameters.include_raw.unwrap_or(true);
    let next = walk(&state, &caller, &query, start, |event, usage| {
        if filter.matches(usage) {
            page.push(render(event, usage, include_raw));
        }
        page.len() < size
    })
    .await?;
    let mut total = 0;
    walk(&state, &caller, &query, None, |_, usage| {
        total += usize::from(filter.matches(usage));
        total < MAX_TOTAL
    })
    .await?;
    Ok(reply(&json!({
        "nextScrollId": next.map(|position| position.to_string()),
        "count": page.len(),
        "total": total,
        "usageEvents": page,
    })))
}

/// Visits usage events, newest first, until `visit` returns false or the limit is reached. Returns
/// where to continue; `None` at the end.
async fn walk(
    state: &AppState,
    caller: &Caller,
    query: &AuditQuery,
    start: Option<Position>,
    mut visit: impl FnMut(&AuditEvent, &UsageEvent) -> bool,
) -> Result<Option<Position>, ErrorResponse> {
    let mut query = AuditQuery {
        // The event of the position may have more.
        after: start.map(|start| AuditKey {
            id: start.key.id.saturating_add(1),
            ..start.key
        }),
        ..query.clone()
    };
    let mut examined = 0;
    loop {
        let page = state
            .catalog()
            .audit_log(caller, &query, READ_AT_ONCE)
            .await?;
        let mut position = None;
        for record in &page.records {
            let key = record.event.key;
            let skip = start.filter(|start| start.key == key);
            let skip = skip.map_or(0, |start| start.skip);
            for (index, usage) in usage_events(record).iter().enumerate().skip(skip) {
                let skip = index + 1;
                position = Some(Position { key, skip });
                if !visit(&record.event, usage) {
                    return Ok(position);
                }
            }
        }
        examined += page.examined;
        query.after = page.next;
        let Some(key) = page.next else {
            return Ok(None);
        };
        if examined >= MAX_EXAMINED {
            let of_last = position.filter(|position| position.key == key);
            return Ok(of_last.or(Some(Position { key, skip: 0 })));
        }
    }
}

fn usage_events(record: &AuditRecord) -> Vec<UsageEvent> {
    let AuditRecord { event, items } = record;
    let is_allowed = event.outcome == AuditOutcome::Allowed;
    let of_session = match event.operation.as_str() {
        LOG_IN | CALLBACK if is_allowed => Some("LogInEvent"),
        LOG_IN | CALLBACK => Some("FailedLogInEvent"),
        LOG_OUT if is_allowed => Some("LogOutEvent"),
        _ => None,
    };
    if let Some(event_type) = of_session {
        return vec![UsageEvent {
            event_type,
            urn: None,
            aspect: None,
            before: None,
            after: None,
        }];
    }
    if !is_allowed {
        return Vec::new();
    }
    let changes = items
        .iter()
        .flat_map(|item| item.changes.iter().map(move |change| (item, change)));
    changes
        .map(|(item, change)| {
            let urn = Urn::parse(&item.urn).ok();
            let entity_type = urn.as_ref().map_or("", Urn::entity_type);
            let entity = Registry::get().entity(entity_type);
            let is_key = entity.is_some_and(|it| it.key_aspect.as_str() == change.aspect);
            UsageEvent {
                event_type: event_type(
                    entity_type,
                    is_key,
                    change.before.is_some(),
                    change.after.is_some(),
                ),
                urn: Some(item.urn.clone()),
                aspect: Some(change.aspect.clone()),
                before: change.before,
                after: change.after,
            }
        })
        .collect()
}

/// DataHub's name for the change of an aspect.
fn event_type(entity_type: &str, is_key: bool, existed: bool, exists: bool) -> &'static str {
    match (entity_type, existed, exists) {
        ("dataHubAccessToken", _, true) => "CreateAccessTokenEvent",
        ("dataHubAccessToken", _, false) => "RevokeAccessTokenEvent",
        ("dataHubPolicy", false, true) => "CreatePolicyEvent",
        ("dataHubPolicy", true, true) => "UpdatePolicyEvent",
        ("dataHubPolicy", _, false) => "DeletePolicyEvent",
        ("dataHubIngestionSource", false, true) => "CreateIngestionSourceEvent",
        ("dataHubIngestionSource", true, true) => "UpdateIngestionSourceEvent",
        ("corpuser", _, true) if is_key => "CreateUserEvent",
        (_, true, false) if is_key => "DeleteEntityEvent",
        ("corpuser", ..) => "UpdateUserEvent",
        _ => "UpdateAspectEvent",
    }
}

impl Filter {
    /// Rejects names that no event can have. The catalog checks the actors.
    fn check(&self) -> Result<(), ErrorResponse> {
        let registry = Registry::get();
        let is_entity_type = |name: &str| registry.entity(name).is_some_and(|it| it.name == name);
        let is_aspect = |name: &str| registry.aspect(name).is_some();
        let is_event_type = |name: &str| EVENT_TYPES.contains(&name);
        let event_types = EVENT_TYPES.join(", ");
        check_names(
            "eventTypes",
            self.event_types.as_ref(),
            is_event_type,
            &event_types,
        )?;
        let example = "names such as dataset";
        check_names(
            "entityTypes",
            self.entity_types.as_ref(),
            is_entity_type,
            example,
        )?;
        let example = "names such as ownership";
        check_names(
            "aspectTypes",
            self.aspect_types.as_ref(),
            is_aspect,
            example,
        )
    }

    fn matches(&self, usage: &UsageEvent) -> bool {
        let has = |list: &Option<Vec<String>>, value: Option<&str>| match list.as_deref() {
            None | Some([]) => true,
            Some(list) => value.is_some_and(|value| list.iter().any(|it| it == value)),
        };
        let urn = usage.urn.as_deref().and_then(|urn| Urn::parse(urn).ok());
        has(&self.event_types, Some(usage.event_type))
            && has(&self.entity_types, urn.as_ref().map(Urn::entity_type))
            && has(&self.aspect_types, usage.aspect.as_deref())
    }
}

fn check_names(
    member: &str,
    names: Option<&Vec<String>>,
    is_known: impl Fn(&str) -> bool,
    known: &str,
) -> Result<(), ErrorResponse> {
    match names.into_iter().flatten().find(|name| !is_known(name)) {
        Some(name) => Err(ErrorResponse::bad_request(format!(
            "{member} has '{}', which no event has: use {known}",
            shorten(name)
        ))),
        None => Ok(()),
    }
}

fn render(event: &AuditEvent, usage: &UsageEvent, include_raw: bool) -> Value {
    let urn = usage.urn.as_deref().and_then(|urn| Urn::parse(urn).ok());
    let mut value = json!({
        "eventType": usage.event_type,
        "timestamp": event.key.time_ms,
        "actorUrn": event.actor,
        "sourceIP": event.address,
        "eventSource": source(&event.operation),
        "userAgent": null,
        "telemetryTraceId": null,
    });
    match event.operation.as_str() {
        LOG_IN => value["loginSource"] = json!("PASSWORD_LOGIN"),
        CALLBACK => value["loginSource"] = json!("SSO_LOGIN"),
        _ => {}
    }
    if let Some(urn) = &urn {
        value["entityUrn"] = json!(urn);
        value["entityType"] = json!(urn.entity_type());
        value["aspectName"] = json!(usage.aspect);
    }
    if include_raw {
        value["rawUsageEvent"] = json!({
            "id": event.key.to_string(),
            "type": usage.event_type,
            "timestamp": event.key.time_ms,
            "actorUrn": event.actor,
            "sourceIP": event.address,
            "credential": event.credential,
            "operation": event.operation,
            "outcome": event.outcome.name(),
            "policies": event.policies,
            "reason": event.reason,
            "entityUrn": urn,
            "aspectName": usage.aspect,
            "versionBefore": usage.before.map(LogicalVersion::get),
            "versionAfter": usage.after.map(LogicalVersion::get),
        });
    }
    value
}

/// The API of an operation, by DataHub's name; `None` for commands and the server itself.
fn source(operation: &str) -> Option<&'static str> {
    match operation.split_once(' ') {
        Some(("docent", _)) => None,
        Some((_, path)) if path.starts_with("/openapi/") => Some("OPENAPI"),
        Some((_, path)) if path.starts_with('/') => Some("RESTLI"),
        _ => (operation != "server").then_some("GRAPHQL"),
    }
}

impl Position {
    fn parse(text: &str) -> Option<Self> {
        let (key, skip) = text.rsplit_once('.')?;
        Some(Self {
            key: AuditKey::parse(key)?,
            skip: skip.parse().ok()?,
        })
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}", self.key, self.skip)
    }
}
