//! `GET /openapi/v1/events/poll`: the change log as events, for programs that follow it.

use std::time::{Duration, Instant};

use axum::response::Response;
use docent_catalog::events::{EventPosition, Topic};
use serde_json::{Value, json};

use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::query::Parameters;
use crate::wire::reply;

/// As in DataHub.
const MAX_WAIT: Duration = Duration::from_secs(10);
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 5_000;
/// How often a waiting request looks for new entries.
const INTERVAL: Duration = Duration::from_millis(250);

pub(crate) async fn poll(
    Authenticated { caller, state }: Authenticated,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let topic = parameters.get("topic").ok_or_else(|| {
        ErrorResponse::bad_request(
            "the parameter topic is missing: use for example PlatformEvent_v1",
        )
    })?;
    let topic = Topic::parse(topic)?;
    let catalog = state.catalog();
    catalog.authorize_events(&caller, topic).await?;
    let limit = limit(parameters.number("limit")?)?;
    let days = parameters.number("lookbackWindowDays")?;
    let mut position = match parameters.get("offsetId").filter(|text| !text.is_empty()) {
        Some(text) => offset(text)?,
        None => catalog.first_event(days).await?,
    };
    // The request must not time out while it waits.
    let half = state.in_effect().settings.request_timeout.0 / 2;
    let wait = wait(parameters.number("pollTimeoutSeconds")?)?.min(half);
    let end = Instant::now() + wait;
    loop {
        let page = catalog
            .events_after(&caller, topic, position, limit)
            .await?;
        let is_end = page.next == position;
        position = page.next;
        let left = end.saturating_duration_since(Instant::now());
        if !page.events.is_empty() || left.is_zero() {
            return Ok(reply(&render(&page.events, position)));
        }
        if is_end {
            tokio::time::sleep(INTERVAL.min(left)).await;
        }
    }
}

fn render(events: &[Value], next: EventPosition) -> Value {
    let event =
        |event: &Value| json!({"contentType": "application/json", "value": event.to_string()});
    let events: Vec<Value> = events.iter().map(event).collect();
    json!({"offsetId": next.to_string(), "count": events.len(), "events": events})
}

fn offset(text: &str) -> Result<EventPosition, ErrorResponse> {
    EventPosition::parse(text).ok_or_else(|| {
        ErrorResponse::bad_request(format!(
            "offsetId is '{text}': use the offsetId of the previous response"
        ))
    })
}

fn limit(number: Option<i64>) -> Result<usize, ErrorResponse> {
    let Some(number) = number else {
        return Ok(DEFAULT_LIMIT);
    };
    let limit = usize::try_from(number).ok().filter(|limit| *limit > 0);
    limit.map(|limit| limit.min(MAX_LIMIT)).ok_or_else(|| {
        ErrorResponse::bad_request(format!("limit is {number}: it must be at least 1"))
    })
}

fn wait(seconds: Option<i64>) -> Result<Duration, ErrorResponse> {
    let Some(seconds) = seconds else {
        return Ok(MAX_WAIT);
    };
    let wait = u64::try_from(seconds).map(Duration::from_secs);
    wait.map(|wait| wait.min(MAX_WAIT)).map_err(|_| {
        ErrorResponse::bad_request(format!(
            "pollTimeoutSeconds is {seconds}: it must not be negative"
        ))
    })
}
