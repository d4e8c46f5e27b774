//! `POST /api/graphql`.

use std::borrow::Cow;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use docent_graphql::{Context, Request};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::conditions;
use crate::error::ErrorResponse;

const CONTENT_TYPE: &str = "application/json;charset=utf-8";

/// Unknown members are ignored, as clients expect.
#[derive(Deserialize)]
#[serde(expecting = "an object with query, variables and operationName")]
struct Body<'a> {
    #[serde(borrow)]
    query: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "operationName")]
    operation_name: Option<Cow<'a, str>>,
    variables: Option<Map<String, Value>>,
}

/// Executes one operation. Errors of the operation are in the reply, with status 200; a body that
/// is not a GraphQL request gets 400.
pub(crate) async fn execute(
    Authenticated { state, caller }: Authenticated,
    condition: conditions::UnsupportedCondition,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    let body = parse(&bytes)?;
    let query = body.query.ok_or_else(|| {
        ErrorResponse::bad_request(
            "The body has no 'query'. Send {\"query\": \"…\", \"variables\": {…}}.",
        )
    })?;
    let request = Request {
        query: &query,
        operation_name: body.operation_name.as_deref(),
        variables: body.variables.unwrap_or_default(),
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

fn parse(bytes: &[u8]) -> Result<Body<'_>, ErrorResponse> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None => Err(ErrorResponse::bad_request(
            "The body is empty. Send {\"query\": \"…\", \"variables\": {…}}.",
        )),
        Some(b'[') => Err(ErrorResponse::bad_request(
            "Several operations in one array are not supported. Send one JSON object per request.",
        )),
        Some(_) => serde_json::from_slice(bytes).map_err(|error| {
            ErrorResponse::bad_request(format!(
                "The body is not a GraphQL request in JSON: {error}. \
                 Send {{\"query\": \"…\", \"variables\": {{…}}}}."
            ))
        }),
    }
}
