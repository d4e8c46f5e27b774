//! `POST /api/graphql`.

mod media_type;
mod variables;

use std::borrow::Cow;
use std::fmt::Display;

use axum::extract::{FromRequestParts as _, Request};
use axum::http::Method;
use axum::response::{IntoResponse as _, Response};
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use docent_graphql::{Context, Engine, PreparedRequest};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::auth::Authenticated;
use crate::body::{self, MAX_BODY_BYTES, UNCOUNTED_JSON_BYTES};
use crate::client::Client;
use crate::conditions::UnsupportedCondition;
use crate::error::ErrorResponse;
use crate::memory::ReservedMemory;
use crate::parsed_size::MAX_PARSED_BYTES_PER_BYTE;
use crate::{AppState, GRAPHQL_PATH};
use media_type::MediaType;
use variables::DeclaredVariables;

/// Of a body of this size, everything is parsed at once. The variables take a few kilobytes, once
/// for each connection at most, and are not counted.
const SHORT_BODY_BYTES: usize = 512;
/// Variables of this size take at most some tens of kilobytes when parsed. They are not estimated,
/// but count as if they took the most.
const SMALL_VARIABLES_BYTES: usize = 1024;

/// Unknown members are ignored, as clients expect.
#[derive(Deserialize)]
#[serde(expecting = "an object with query, variables and operationName")]
struct Body<'a, V> {
    #[serde(borrow)]
    query: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "operationName")]
    operation_name: Option<Cow<'a, str>>,
    variables: Option<V>,
}

enum Variables<'a> {
    Parsed(Map<String, Value>),
    Text(&'a RawValue),
}

/// Whether [`answer`] answers a request, whatever it contains.
pub(crate) fn is_request(request: &Request) -> bool {
    request.method() == Method::POST && request.uri().path() == GRAPHQL_PATH
}

/// Answers a request. An axum handler would do the same in more steps, a fiftieth of the work of a
/// small read.
pub(crate) async fn answer(state: &AppState, request: Request) -> Response {
    let answered = execute(state, request).await;
    answered.unwrap_or_else(ErrorResponse::into_response)
}

/// Executes one operation. Errors of the operation are in the reply, with a status that depends on
/// its media type; a body that is not a GraphQL request gets 400.
async fn execute(state: &AppState, request: Request) -> Result<Response, ErrorResponse> {
    let (mut parts, body) = request.into_parts();
    let authenticated = Authenticated::from_request_parts(&mut parts, state).await?;
    let Authenticated { mut state, caller } = authenticated;
    let condition = UnsupportedCondition::of(&parts.headers);
    let media_type = MediaType::accepted(&parts.headers);
    let bytes = body::read_whole(&state, &parts, body, MAX_BODY_BYTES).await?;
    let is_long = bytes.len() > LONG_TEXT_BYTES;
    let body = long_work::run(is_long, || parse(&bytes)).await?;
    let query = body.query.ok_or_else(|| {
        ErrorResponse::bad_request(
            "The body has no 'query'. Send {\"query\": \"…\", \"variables\": {…}}.",
        )
    })?;
    let operation_name = body.operation_name.as_deref();
    let (request, _document) = prepare(&state, &query, operation_name).await?;
    if let Some(client) = parts.extensions.get::<Client>() {
        let record = client.record();
        record.set_graphql_operation(request.name(), request.root_field());
    }
    let (variables, _variables) = match body.variables {
        None => (Map::new(), None),
        Some(Variables::Parsed(all)) => (all, None),
        Some(Variables::Text(all)) => read_variables(&state, &request, all, bytes.len()).await?,
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

/// Parses the document, with memory for it, unless it is cached. The cache has its own limit.
async fn prepare<'a>(
    state: &AppState,
    query: &'a str,
    operation_name: Option<&'a str>,
) -> Result<(PreparedRequest<'a>, Option<ReservedMemory>), ErrorResponse> {
    let engine = state.engine();
    if let Some(request) = engine.prepared(query, operation_name) {
        return Ok((request, None));
    }
    let reserved = state
        .body_budget()
        .reserve_parsed(Engine::parsed_bytes(query));
    let reserved = reserved.await?;
    Ok((engine.prepare(query, operation_name).await, Some(reserved)))
}

/// Parses the variables, with memory for them. Of long ones, only those that the operation declares
/// are parsed.
async fn read_variables(
    state: &AppState,
    request: &PreparedRequest<'_>,
    all: &RawValue,
    body_bytes: usize,
) -> Result<(Map<String, Value>, Option<ReservedMemory>), ErrorResponse> {
    let length = all.get().len();
    if length <= UNCOUNTED_JSON_BYTES {
        return Ok((parse_all(all)?, None));
    }
    if length <= SMALL_VARIABLES_BYTES {
        let most = length * MAX_PARSED_BYTES_PER_BYTE;
        let reserved = state.body_budget().reserve_parsed(most).await?;
        return Ok((parse_all(all)?, Some(reserved)));
    }
    let names = request.variable_names().collect();
    let find = || DeclaredVariables::find(all, &names);
    let is_long = length > LONG_TEXT_BYTES;
    let declared = long_work::run(is_long, find).await;
    let declared = declared.map_err(|error| unfit(&error))?;
    let parsed_bytes = declared.parsed_bytes();
    variables::check(parsed_bytes, body_bytes)?;
    let reserved = state.body_budget().reserve_parsed(parsed_bytes).await?;
    let parsed = long_work::run(is_long, || declared.parse()).await;
    Ok((parsed.map_err(|error| unfit(&error))?, Some(reserved)))
}

fn parse_all(all: &RawValue) -> Result<Map<String, Value>, ErrorResponse> {
    serde_json::from_str(all.get()).map_err(|error| unfit(&error))
}

fn parse(bytes: &[u8]) -> Result<Body<'_, Variables<'_>>, ErrorResponse> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None => Err(ErrorResponse::bad_request(
            "The body is empty. Send {\"query\": \"…\", \"variables\": {…}}.",
        )),
        Some(b'[') => Err(ErrorResponse::bad_request(
            "Several operations in one array are not supported. Send one JSON object per request.",
        )),
        Some(_) => match str::from_utf8(bytes) {
            Ok(text) if bytes.len() <= SHORT_BODY_BYTES => parse_with(text, Variables::Parsed),
            Ok(text) => parse_with(text, Variables::Text),
            Err(error) => Err(unfit(&error)),
        },
    }
}

fn parse_with<'a, V: Deserialize<'a>>(
    text: &'a str,
    variables: impl FnOnce(V) -> Variables<'a>,
) -> Result<Body<'a, Variables<'a>>, ErrorResponse> {
    let body: Body<'a, V> = serde_json::from_str(text).map_err(|error| unfit(&error))?;
    Ok(Body {
        query: body.query,
        operation_name: body.operation_name,
        variables: body.variables.map(variables),
    })
}

fn unfit(error: &impl Display) -> ErrorResponse {
    ErrorResponse::bad_request(format!(
        "The body is not a GraphQL request in JSON: {error}. \
         Send {{\"query\": \"…\", \"variables\": {{…}}}}."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HttpSettings;
    use crate::body::JsonBody;
    use axum::body::Body as HttpBody;
    use axum::extract::FromRequest as _;
    use docent_catalog::Catalog;
    use docent_model::FixedClock;
    use docent_test_store::TestStore;
    use std::sync::Arc;

    #[tokio::test]
    async fn what_is_parsed_counts_also_if_its_text_is_short() {
        let store = TestStore::open().await.unwrap();
        let catalog = Catalog::new(store.store(), Arc::new(FixedClock::at(0)));
        let engine = Engine::docent().unwrap();
        let state = AppState::new(catalog, engine, HttpSettings::default());
        let free = || state.body_budget().free_parsed();
        let all_free = free();
        let reserved = || all_free - free();

        let lists = format!("[{}0]", "[],".repeat(20_000));
        let request = Request::new(HttpBody::from(lists.clone()));
        let body = JsonBody::from_request(request, &state).await.unwrap();
        assert!(reserved() > 40 * lists.len(), "{}", reserved());
        drop(body);
        assert_eq!(reserved(), 0);

        let query = format!("{{ __typename #{}\n }}", "x".repeat(100_000));
        let (request, document) = prepare(&state, &query, None).await.unwrap();
        assert!(reserved() > 30 * query.len(), "{}", reserved());
        drop(document);
        assert_eq!(reserved(), 0);
        // From the cache, which has its own limit.
        let again = prepare(&state, &query, None).await.unwrap();
        assert_eq!(reserved(), 0);
        drop(again);

        for (count, counts) in [(30, false), (200, true), (20_000, true)] {
            let text = format!("{{\"a\":[{}0]}}", "[],".repeat(count));
            let all: &RawValue = serde_json::from_str(&text).unwrap();
            let read = read_variables(&state, &request, all, text.len()).await;
            let (_, variables) = read.unwrap();
            assert_eq!(variables.is_some(), counts, "{count}");
        }
    }
}
