//! Lists whose items are independent: what a response says about items that were rejected, and
//! about items that were accepted with a warning.
//!
//! DataHub's clients read only the status of a response, and count every item of a successful
//! request as written. So a list with rejected items gets an error, although the others are
//! written.

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use docent_catalog::{Error, ErrorSubject, Warning};
use serde_json::json;

use crate::error::ErrorResponse;
use crate::query::Parameters;

/// Says what the client should know about a change that was accepted.
const WARNING_HEADER: HeaderName = HeaderName::from_static("x-docent-warning");
/// Proxies limit the size of all headers.
const MAX_WARNING_HEADERS: usize = 10;
const MAX_WARNING_BYTES: usize = 500;
/// The message names so many items; `failures` has them all.
const MAX_IN_MESSAGE: usize = 100;

/// Whether the items of a list are written all or none. Without the parameter `atomic`, those of
/// asynchronous requests are independent: DataHub applies them one by one after its response.
pub(crate) fn is_atomic(parameters: &Parameters, is_async: bool) -> Result<bool, ErrorResponse> {
    Ok(parameters.optional_flag("atomic")?.unwrap_or(!is_async))
}

/// An item that was rejected.
#[derive(Debug)]
pub(crate) struct RejectedItem {
    subject: ErrorSubject,
    response: ErrorResponse,
}

impl RejectedItem {
    pub(crate) fn new(subject: ErrorSubject, response: ErrorResponse) -> Self {
        Self { subject, response }
    }

    pub(crate) fn of(error: Error, render: fn(Error) -> ErrorResponse) -> Self {
        Self::new(error.subject().clone(), render(error))
    }

    /// The same item of a named list.
    pub(crate) fn in_group(self, name: &str) -> Self {
        Self {
            response: self.response.about(name),
            ..self
        }
    }

    pub(crate) fn into_response(self) -> ErrorResponse {
        self.response
    }
}

/// The response for a list of which some items were rejected.
pub(crate) fn rejection(total: usize, mut rejected: Vec<RejectedItem>) -> ErrorResponse {
    if total == 1 && rejected.len() == 1 {
        return rejected.remove(0).response;
    }
    rejected.sort_by_key(|item| item.subject.position);
    let messages = rejected.iter().map(|item| item.response.message());
    let mut messages: Vec<&str> = messages.take(MAX_IN_MESSAGE).collect();
    if rejected.len() > MAX_IN_MESSAGE {
        messages.push("the others are in 'failures'");
    }
    let message = format!(
        "{} of {total} items were rejected; all others are written. {}",
        rejected.len(),
        messages.join("; ")
    );
    let failures = rejected.iter().map(|item| {
        let ErrorSubject {
            position,
            urn,
            aspect,
            ..
        } = &item.subject;
        json!({
            "position": position,
            "urn": urn,
            "aspect": aspect,
            "status": item.response.status().as_u16(),
            "message": item.response.message(),
        })
    });
    let failures = failures.collect();
    let last = rejected.pop().map(|item| item.response);
    let is_common = |last: &ErrorResponse| {
        let mut others = rejected.iter();
        others.all(|item| item.response.has_status_of(last))
    };
    let combined = last
        .filter(is_common)
        .unwrap_or_else(|| ErrorResponse::bad_request(""));
    combined.with_failures(message, failures)
}

/// Adds the warnings to a response.
pub(crate) fn with_warnings(mut response: Response, warnings: &[Warning]) -> Response {
    for warning in warnings.iter().take(MAX_WARNING_HEADERS) {
        let text = warning.to_string();
        let text: String = text.chars().take(MAX_WARNING_BYTES).collect();
        if let Ok(value) = HeaderValue::from_bytes(text.as_bytes()) {
            response.headers_mut().append(WARNING_HEADER, value);
        }
    }
    response
}
