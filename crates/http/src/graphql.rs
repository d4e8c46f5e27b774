//! `POST /api/graphql`.

mod variables;

use std::borrow::Cow;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use docent_graphql::{Context, Request};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::OwnedSemaphorePermit;

use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::conditions;
use crate::error::ErrorResponse;
use variables::DeclaredVariables;

/// Parsing this much takes about a millisecond.
const LONG_BODY_BYTES: usize = 256 * 1024;

const CONTENT_TYPE: &str = "application/json;charset=utf-8";

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

/// Executes one operation. Errors of the operation are in the reply, with status 200; a body that
/// is not a GraphQL request gets 400.
pub(crate) async fn execute(
    Authenticated { state, caller }: Authenticated,
    condition: conditions::UnsupportedCondition,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    let is_long = bytes.len() > LONG_BODY_BYTES;
    let long_work = state.engine().long_work();
    let body = long_work.run(is_long, || parse(&bytes)).await?;
    let query = body.query.ok_or_else(|| {
        ErrorResponse::bad_request(
            "The body has no 'query'. Send {\"query\": \"…\", \"variables\": {…}}.",
        )
    })?;
    let mut request = Request {
        query: &query,
        operation_name: body.operation_name.as_deref(),
        variables: Map::new(),
    };
    let _reserved = match body.variables {
        Some(all) => {
            let (variables, reserved) = read_variables(&state, &request, all, bytes.len()).await?;
            request.variables = variables;
            Some(reserved)
        }
        None => None,
    };
    let rejected = condition
        .reject("patchEntity takes preconditions in the headers of its input, REST endpoints as HTTP headers.");
    if let Err(error) = rejected
        && state.engine().is_mutation(&request).await
    {
        return Err(error);
    }
    let context = Context::new(state.catalog().clone(), caller);
    let reply = state.engine().execute(&context, request).await;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], reply).into_response())
}

/// Parses the variables that the operation declares, and reserves memory for them.
async fn read_variables(
    state: &AppState,
    request: &Request<'_>,
    all: &RawValue,
    body_bytes: usize,
) -> Result<(Map<String, Value>, OwnedSemaphorePermit), ErrorResponse> {
    let names = state.engine().variable_names(request).await;
    let names = names.iter().map(String::as_str).collect();
    let find = || DeclaredVariables::find(all, &names);
    let long_work = state.engine().long_work();
    let is_long = all.get().len() > LONG_BODY_BYTES;
    let declared = long_work.run(is_long, find).await;
    let declared = declared.map_err(|error| unfit(&error))?;
    let parsed_bytes = declared.parsed_bytes();
    variables::check(parsed_bytes, body_bytes)?;
    let reserved = state.body_budget().reserve(parsed_bytes).await?;
    let parsed = long_work.run(is_long, || declared.parse()).await;
    Ok((parsed.map_err(|error| unfit(&error))?, reserved))
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
