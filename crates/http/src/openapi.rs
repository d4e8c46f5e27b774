//! The endpoints of DataHub's OpenAPI, version 3.
//!
//! - [`entities`], [`relationships`], [`lineage`]: scroll through everything that matches
//! - [`read`], [`mod@write`]: entities and aspects by URN; [`address`] parses their paths
//! - [`associations`]: links between two entities
//! - [`models`]: the entity types and aspects
//! - [`counts`]: how many entities there are
//! - [`events`]: the change log, for programs that follow it
//! - [`openlineage`]: runs of jobs as OpenLineage reports them
//! - [`system_info`]: the server and its settings
//! - [`timeseries`]: points of time series
//! - [`v1`], [`v2`]: the formats before version 3
//! - [`document`]: the OpenAPI document and the page that shows it
//!
//! To add an endpoint, write a handler in the module of its resource, register it in
//! [`crate::routes`], and describe it in [`document`].

mod address;
pub(crate) mod associations;
pub(crate) mod audit;
pub(crate) mod batch;
pub(crate) mod counts;
pub(crate) mod document;
mod edges;
pub(crate) mod entities;
pub(crate) mod events;
pub(crate) mod lineage;
pub(crate) mod models;
pub(crate) mod openlineage;
pub(crate) mod read;
pub(crate) mod relationships;
mod slice;
pub(crate) mod system_info;
pub(crate) mod timeline;
pub(crate) mod timeseries;
pub(crate) mod trace;
pub(crate) mod tracking;
pub(crate) mod v1;
pub(crate) mod v2;
pub(crate) mod write;

pub(crate) use address::entity_type;
use docent_catalog::{Error, ErrorKind};

use crate::error::ErrorResponse;
use crate::query::Parameters;

/// Rejects slices where a scroll has none: each reader would get every result.
fn reject_slices(parameters: &Parameters) -> Result<(), ErrorResponse> {
    if parameters.number("sliceMax")?.unwrap_or(0) > 1 {
        return Err(ErrorResponse::bad_request(
            "slices are not supported: omit sliceId and sliceMax, and scroll with scrollId",
        ));
    }
    Ok(())
}

/// The most URNs in one request.
const MAX_URNS: usize = 1000;

fn too_many(name: &str, count: usize) -> ErrorResponse {
    ErrorResponse::bad_request(format!(
        "{name} has {count} URNs: at most {MAX_URNS} are allowed"
    ))
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
