//! Calls of DataHub's OpenAPI, version 3: reading everything that matches, page after page.
//!
//! To add one: a handler in the module of its noun, and a line in [`crate::router`].

pub(crate) mod batch;
pub(crate) mod entities;
pub(crate) mod relationships;
pub(crate) mod timeline;

use serde::Deserialize;

use crate::error::Refusal;
use crate::query::Parameters;

/// Reading in parallel slices is for indexes that are spread over machines. Each reader would be given everything, so
/// it is refused.
fn refuse_slices(parameters: &Parameters) -> Result<(), Refusal> {
    if parameters.number("sliceMax")?.unwrap_or(0) > 1 {
        return Err(Refusal::bad_request(
            "slices are not supported: leave sliceId and sliceMax out and read page after page",
        ));
    }
    Ok(())
}

/// A body that may be left out.
fn parse_body<'a, T: Deserialize<'a> + Default>(bytes: &'a [u8]) -> Result<T, Refusal> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(T::default());
    }
    serde_json::from_slice(bytes).map_err(|error| {
        Refusal::bad_request(format!("The body is not what this call takes: {error}"))
    })
}
