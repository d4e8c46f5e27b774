//! Calls of DataHub's OpenAPI, version 3.
//!
//! - [`entities`], [`relationships`], [`lineage`]: everything that matches, page after page
//! - [`read`], [`mod@write`]: entities and aspects by their URNs; [`address`] is how a path names them
//! - [`models`]: what can be stored
//! - [`document`]: what all of this looks like, for programs and for people
//!
//! To add one: a handler in the module of its noun, a line in [`crate::router`], and an entry in [`document`].

mod address;
pub(crate) mod batch;
pub(crate) mod document;
mod edges;
pub(crate) mod entities;
pub(crate) mod lineage;
pub(crate) mod models;
pub(crate) mod read;
pub(crate) mod relationships;
pub(crate) mod timeline;
pub(crate) mod write;

use docent_catalog::{Error, ErrorKind};
use serde::Deserialize;

use crate::body;
use crate::error::ErrorResponse;
use crate::query::Parameters;

/// Reading in parallel slices is for indexes that are spread over machines. Each reader would be given everything, so
/// it is refused.
fn refuse_slices(parameters: &Parameters) -> Result<(), ErrorResponse> {
    if parameters.number("sliceMax")?.unwrap_or(0) > 1 {
        return Err(ErrorResponse::bad_request(
            "slices are not supported: leave sliceId and sliceMax out and read page after page",
        ));
    }
    Ok(())
}

/// How many URNs a call may name.
const MAX_URNS: usize = 1000;

fn too_many(name: &str, count: usize) -> ErrorResponse {
    ErrorResponse::bad_request(format!(
        "{name} has {count} URNs: at most {MAX_URNS} can be asked for at once"
    ))
}

/// What error messages call a route.
const CALL: &str = "call";

/// A body like this example.
fn parse_like<'a, T: Deserialize<'a>>(bytes: &'a [u8], example: &str) -> Result<T, ErrorResponse> {
    body::parse_like(bytes, CALL, example)
}

/// A body that may be left out.
fn parse_body<'a, T: Deserialize<'a> + Default>(bytes: &'a [u8]) -> Result<T, ErrorResponse> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(T::default());
    }
    body::parse(bytes, CALL)
}

/// In this API an invalid payload is an ordinary bad request, and each kind of problem has a title.
fn error_response(error: Error) -> ErrorResponse {
    match error.kind() {
        ErrorKind::InvalidAspect => {
            ErrorResponse::bad_request(error.to_string()).titled("Validation Error")
        }
        ErrorKind::Precondition => ErrorResponse::from(error).titled("Precondition Error"),
        _ => ErrorResponse::from(error),
    }
}
