//! `GET /openapi/v2/timeseries/{entity}/{aspect}`: a scroll through the points of a time series
//! aspect of all entities of a type, newest first.

use axum::response::Response;
use docent_catalog::PointRange;
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use docent_catalog::search::whole;
use docent_catalog::timeseries::{PointKey, PointScroll, TimeseriesRow};
use docent_model::Urn;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::address;
use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::query::{Parameters, Path};
use crate::reply_budget::{MAX_BYTES, ReplyBudget};
use crate::wire::{parse_aspect, parse_urn, raw_ref};

const DEFAULT_COUNT: usize = 10;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'p> {
    #[serde(skip_serializing_if = "Option::is_none")]
    scroll_id: Option<String>,
    results: Vec<PointReply<'p>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PointReply<'p> {
    timestamp_millis: i64,
    urn: &'p Urn,
    event: &'p RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_metadata: Option<&'p RawValue>,
}

/// The part of a point that the reply repeats.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    message_id: Option<String>,
}

pub(crate) async fn scroll(
    Authenticated { state, .. }: Authenticated,
    Path((entity_type, aspect)): Path<(String, String)>,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let spec = address::entity_type(&entity_type)?;
    let aspect = parse_aspect(&aspect)?;
    spec.check_aspect(aspect)
        .map_err(|error| ErrorResponse::bad_request(error.to_string()))?;
    let cursor = parameters.get("scrollId").filter(|text| !text.is_empty());
    let scroll = PointScroll {
        entity_type: spec.name,
        aspect,
        range: PointRange {
            from_ms: parameters.number("startTimeMillis")?,
            through_ms: parameters.number("endTimeMillis")?,
            run: None,
        },
        after: cursor.map(parse_cursor).transpose()?,
        count: whole("count", parameters.number("count")?, DEFAULT_COUNT)?,
    };
    let with_system_metadata = parameters.flag("systemMetadata")?;
    // The reply needs room for more than the values.
    let max_bytes = MAX_BYTES as u64 / 2;
    let page = state.catalog().scroll_points(&scroll, max_bytes).await?;
    let build = || {
        let mut budget = ReplyBudget::new(state.reply_memory());
        let mut results = Vec::with_capacity(page.points.len());
        for (urn, point) in &page.points {
            budget.add(
                point.metadata.len() + point.system_metadata.as_ref().map_or(0, String::len),
            )?;
            results.push(PointReply::new(urn, point, with_system_metadata)?);
        }
        let scroll_id = page.next.as_ref().map(cursor_text);
        budget.reply(&Page { scroll_id, results })
    };
    let bytes: usize = page.points.iter().map(|(_, it)| it.metadata.len()).sum();
    long_work::run(bytes > LONG_TEXT_BYTES, build).await
}

impl<'p> PointReply<'p> {
    fn new(
        urn: &'p Urn,
        point: &'p TimeseriesRow,
        with_system_metadata: bool,
    ) -> Result<Self, ErrorResponse> {
        let message: Option<Message> = serde_json::from_str(&point.metadata).ok();
        let system_metadata = point.system_metadata.as_deref();
        Ok(Self {
            timestamp_millis: point.time_ms,
            urn,
            event: raw_ref(&point.metadata)?,
            message_id: message.and_then(|message| message.message_id),
            system_metadata: system_metadata
                .filter(|_| with_system_metadata)
                .map(raw_ref)
                .transpose()?,
        })
    }
}

/// The time, the URN and the id of the last point, which has any characters.
fn cursor_text(last: &PointKey) -> String {
    serde_json::json!([last.time_ms, last.urn, last.id]).to_string()
}

fn parse_cursor(text: &str) -> Result<PointKey, ErrorResponse> {
    let parsed = serde_json::from_str::<(i64, String, String)>(text).ok();
    parsed
        // PostgreSQL has no texts with NUL.
        .filter(|(_, _, id)| !id.contains('\0'))
        .and_then(|(time_ms, urn, id)| {
            let urn = parse_urn(&urn).ok()?;
            Some(PointKey { urn, time_ms, id })
        })
        .ok_or_else(|| {
            ErrorResponse::bad_request(format!(
                "scrollId '{text}' is invalid: send the one of the previous page"
            ))
        })
}
