//! The REST calls that DataHub's ingestion clients make.

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

use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use docent_catalog::Catalog;
use docent_model::{AspectName, Registry, Urn};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::body;
use crate::error::ErrorResponse;

/// What error messages call a route.
const ACTION: &str = "action";

/// `?action=…` of a call that is a verb.
#[derive(Debug, Deserialize)]
pub(crate) struct Action {
    pub(crate) action: Option<String>,
}

pub(crate) fn no_action(place: &str, action: Option<&str>, known: &str) -> ErrorResponse {
    ErrorResponse::bad_request(match action {
        Some(action) => format!("{place} has no action '{action}'; it has {known}"),
        None => format!("say what to do at {place}: ?action= is one of {known}"),
    })
}

/// The body of an action.
pub(crate) fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ErrorResponse> {
    body::parse(bytes, ACTION)
}

/// The same, for a body like this example.
pub(crate) fn parse_like<'a, T: Deserialize<'a>>(
    bytes: &'a [u8],
    example: &str,
) -> Result<T, ErrorResponse> {
    body::parse_like(bytes, ACTION, example)
}

/// `List(a,b)`; names with commas between them are taken as well.
pub(crate) fn parse_list(text: &str) -> Vec<&str> {
    let inner = text
        .strip_prefix("List(")
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or(text);
    inner.split(',').filter(|name| !name.is_empty()).collect()
}

/// The URN behind a path prefix. Clients encode it completely or not at all, so the raw path is what counts:
/// an encoded slash belongs to the URN.
pub(crate) fn urn_in_path(uri: &Uri, prefix: &str) -> Result<Urn, ErrorResponse> {
    let raw = uri.path().strip_prefix(prefix).unwrap_or_default();
    let text = percent_decode_str(raw)
        .decode_utf8()
        .map_err(|_| ErrorResponse::bad_request("the URN in the path is not UTF-8"))?;
    parse_urn(&text)
}

pub(crate) fn parse_urn(text: &str) -> Result<Urn, ErrorResponse> {
    Registry::get()
        .parse_urn(text)
        .map_err(|error| ErrorResponse::bad_request(error.to_string()))
}

pub(crate) fn parse_aspect(name: &str) -> Result<AspectName, ErrorResponse> {
    Registry::get().aspect(name).ok_or_else(|| {
        ErrorResponse::bad_request(format!(
            "there is no aspect called '{name}' in the registry"
        ))
    })
}

/// Fails unless the entity may have the aspect.
pub(crate) fn check_aspect(urn: &Urn, aspect: AspectName) -> Result<(), ErrorResponse> {
    let spec = Registry::get().check_urn(urn);
    let spec = spec.map_err(|error| ErrorResponse::bad_request(error.to_string()))?;
    spec.check_aspect(aspect)
        .map_err(|error| ErrorResponse::bad_request(error.to_string()))
}

/// Fails for an aspect that is shown to nobody.
pub(crate) fn check_shown(aspect: AspectName) -> Result<(), ErrorResponse> {
    if Catalog::is_secret(aspect) {
        return Err(ErrorResponse::new(
            StatusCode::FORBIDDEN,
            format!("{aspect} holds what secrets are checked with; it is not shown"),
        ));
    }
    Ok(())
}

/// Stored JSON text, embedded as it is.
pub(crate) fn raw(text: &str) -> Result<Box<RawValue>, ErrorResponse> {
    RawValue::from_string(text.to_owned()).map_err(|error| {
        tracing::error!(%error, "a stored aspect is not JSON: {error}");
        ErrorResponse::new(
            axum::http::StatusCode::INTERNAL_SERVER_ERROR,
            "a stored aspect is damaged; 'docent check' says which",
        )
    })
}

pub(crate) fn json(value: &impl Serialize) -> Response {
    axum::Json(value).into_response()
}
