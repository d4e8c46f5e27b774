//! `POST /api/graphql`.

mod media_type;
mod variables;

use std::borrow::Cow;

use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use docent_graphql::{Context, PreparedRequest};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::OwnedSemaphorePermit;

use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::conditions;
use crate::error::ErrorResponse;
use crate::{AppState, GRAPHQL_PATH};
use media_type::MediaType;
use variables::DeclaredVariables;

/// Variables of this size take at most some tens of kilobytes when parsed: too little to count.
const SMALL_VARIABLES_BYTES: usize = 1024;

/// Unknown members are ignored, as clients expect.
#[derive(Deserialize)]
#[serde(expecting = "an object with query, variables and operationName")]
struct Body<'a> {
    #[serde(borrow)]
    query: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "operationName")]
    operation_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
}

/// Whether [`execute`] answers a request, whatever it contains.
pub(crate) fn is_request(request: &Request) -> bool {
    request.method() == Method::POST && request.uri().path() == GRAPHQL_PATH
}

/// Executes one operation. Errors of the operation are in the reply, with a status that depends on
/// its media type; a body that is not a GraphQL request gets 400.
pub(crate) async fn execute(
    Authenticated { mut state, caller }: Authenticated,
    condition: conditions::UnsupportedCondition,
    media_type: MediaType,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    let is_long = bytes.len() > LONG_TEXT_BYTES;
    let body = long_work::run(is_long, || parse(&bytes)).await?;
    let query = body.query.ok_or_else(|| {
        ErrorResponse::bad_request(
            "The body has no 'query'. Send {\"query\": \"…\", \"variables\": {…}}.",
        )
    })?;
    let operation_name = body.operation_name.as_deref();
    let request = state.engine().prepare(&query, operation_name).await;
    let (variables, _reserved) = match body.variables {
        None => (Map::new(), None),
        Some(all) if all.get().len() <= SMALL_VARIABLES_BYTES => (parse_all(all)?, None),
        Some(all) => {
            let (variables, reserved) = read_variables(&state, &request, all, bytes.len()).await?;
            (variables, Some(reserved))
        }
    };
    let rejected = condition
        .reject("patchEntity takes preconditions in the headers of its input, REST endpoints as HTTP headers.");
    if let Err(error) = rejected
        && request.is_mutation()
    {
        return Err(error);
    }
    let context = Context::new(state.take_catalog(), caller);
    let engine = state.engine();
    let reply = engine.execute_prepared(&context, request, variables).await;
    Ok(media_type.respond(reply))
}

/// Parses the variables that the operation declares, and reserves memory for them.
async fn read_variables(
    state: &AppState,
    request: &PreparedRequest<'_>,
    all: &RawValue,
    body_bytes: usize,
) -> Result<(Map<String, Value>, OwnedSemaphorePermit), ErrorResponse> {
    let names = request.variable_names().collect();
    let find = || DeclaredVariables::find(all, &names);
    let is_long = all.get().len() > LONG_TEXT_BYTES;
    let declared = long_work::run(is_long, find).await;
    let declared = declared.map_err(|error| unfit(&error))?;
    let parsed_bytes = declared.parsed_bytes();
    variables::check(parsed_bytes, body_bytes)?;
    let reserved = state.body_budget().reserve_parsed(parsed_bytes).await?;
    let parsed = long_work::run(is_long, || declared.parse()).await;
    Ok((parsed.map_err(|error| unfit(&error))?, reserved))
}

fn parse_all(all: &RawValue) -> Result<Map<String, Value>, ErrorResponse> {
    serde_json::from_str(all.get()).map_err(|error| unfit(&error))
}

fn parse(bytes: &[u8]) -> Result<Body<'_>, ErrorResponse> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None => Err(ErrorResponse::bad_request(
            "The body is empty. Send {\"query\": \"…\", \"variables\": {…}}.",
        )),
        Some(b'[') => Err(ErrorResponse::bad_request(
            "Several operations in one array are not supported. Send one JSON object per request.",
        )),
        Some(_) => serde_json::from_slice(bytes).map_err(|error| unfit(&error)),
    }
}

fn unfit(error: &serde_json::Error) -> ErrorResponse {
    ErrorResponse::bad_request(format!(
        "The body is not a GraphQL request in JSON: {error}. \
         Send {{\"query\": \"…\", \"variables\": {{…}}}}."
    ))
}
