//! The parameters of `GET /events`.

use std::time::Duration;

use axum::http::HeaderMap;
use docent_catalog::Error;
use docent_catalog::events::feed::{EventFormat, FeedQuery};
use docent_catalog::events::{EventFilter, Topic};
use docent_model::Urn;

use crate::error::ErrorResponse;
use crate::query::Parameters;
use crate::wire::parse_urn;

const NAMES: [&str; 10] = [
    "since",
    "wait",
    "limit",
    "topic",
    "format",
    "entityType",
    "aspect",
    "domain",
    "tag",
    "actor",
];
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;
const MAX_WAIT: Duration = Duration::from_mins(1);
/// Where a browser or another client of server-sent events has stopped.
const LAST_EVENT_ID: &str = "last-event-id";

/// What a client asks for.
pub(super) struct FeedRequest {
    pub(super) query: FeedQuery,
    /// `None` for the end.
    pub(super) since: Option<String>,
    pub(super) limit: usize,
    pub(super) wait: Duration,
}

impl FeedRequest {
    /// A misspelled filter must not follow everything, so other parameters are errors.
    pub(super) fn read(
        parameters: &Parameters,
        headers: &HeaderMap,
        is_stream: bool,
    ) -> Result<Self, ErrorResponse> {
        parameters.expect_only(&NAMES)?;
        let topic = parameters.get("topic").map(Topic::parse).transpose()?;
        let format = parameters
            .get("format")
            .map(EventFormat::parse)
            .transpose()?;
        let urns = |name| -> Result<Vec<Urn>, Error> {
            parameters.repeated(name).map(parse_urn).collect()
        };
        let filter = EventFilter {
            entity_types: parameters.all("entityType"),
            aspects: parameters.all("aspect"),
            domains: urns("domain")?,
            tags: urns("tag")?,
            actors: urns("actor")?,
        };
        filter.check()?;
        let query = FeedQuery {
            topic: topic.unwrap_or(Topic::ChangeLog),
            format: format.unwrap_or_default(),
            filter,
        };
        // The header is from the reconnection of a stream that had the parameter, too.
        let resumed = headers.get(LAST_EVENT_ID).filter(|_| is_stream);
        let resumed = resumed.and_then(|value| value.to_str().ok());
        let resumed = resumed.filter(|text| !text.is_empty());
        let since = resumed.or_else(|| parameters.get("since"));
        // A script whose file with the position is empty would skip events.
        if since == Some("") {
            return Err(ErrorResponse::bad_request(
                "since is empty: use the position where you stopped, a time, 0 for the beginning, or leave it out to \
                 start at the end",
            ));
        }
        Ok(Self {
            query,
            since: since.map(str::to_owned),
            limit: limit(parameters.number("limit")?)?,
            wait: wait(parameters.number("wait")?)?,
        })
    }
}

fn limit(number: Option<i64>) -> Result<usize, ErrorResponse> {
    let Some(number) = number else {
        return Ok(DEFAULT_LIMIT);
    };
    let limit = usize::try_from(number).ok();
    let limit = limit.filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| {
        ErrorResponse::bad_request(format!(
            "limit is {number}: it must be from 1 to {MAX_LIMIT}"
        ))
    })
}

fn wait(seconds: Option<i64>) -> Result<Duration, ErrorResponse> {
    let seconds = seconds.unwrap_or_default();
    let wait = u64::try_from(seconds).ok().map(Duration::from_secs);
    wait.filter(|wait| *wait <= MAX_WAIT).ok_or_else(|| {
        ErrorResponse::bad_request(format!(
            "wait is {seconds}: it must be from 0 to {}",
            MAX_WAIT.as_secs()
        ))
    })
}
