//! The Rest.li endpoints that DataHub's ingestion clients call.
//!
//! Actions are verbs in the query string (`?action=…`). To add one, extend the `act` handler of its
//! resource. Helpers that the OpenAPI endpoints share are in [`crate::wire`].

pub(crate) mod analytics;
pub(crate) mod aspects;
pub(crate) mod entities;
pub(crate) mod operations;
pub(crate) mod proposals;
pub(crate) mod relationships;
pub(crate) mod runs;
mod search;
pub(crate) mod snapshots;
mod timeseries;
pub(crate) mod usage;

use serde::Deserialize;

use crate::error::ErrorResponse;

/// `?action=…`
#[derive(Debug, Deserialize)]
pub(crate) struct Action {
    pub(crate) action: Option<String>,
}

fn unknown_action(path: &str, action: Option<&str>, known: &str) -> ErrorResponse {
    ErrorResponse::bad_request(match action {
        Some(action) => format!("{path} has no action '{action}'; it has {known}"),
        None => format!("{path} needs an action: ?action= is one of {known}"),
    })
}

/// Splits `List(a,b)`, or names separated by commas.
fn parse_list(text: &str) -> Vec<&str> {
    let inner = text
        .strip_prefix("List(")
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or(text);
    inner.split(',').filter(|name| !name.is_empty()).collect()
}
