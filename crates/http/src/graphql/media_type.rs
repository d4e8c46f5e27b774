//! The media types of GraphQL replies.
//!
//! Clients that request `application/graphql-response+json` get what the specification of GraphQL
//! over HTTP says: a rejected request has status 400 and no `data`. All others get what DataHub
//! sends: `application/json` with status 200 and `"data": null`.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use docent_graphql::Rejection;

use crate::accept::weight;

const GRAPHQL: &str = "application/graphql-response+json";
/// What matches `application/json`, the most specific first.
const JSON: [&str; 3] = ["application/json", "application/*", "*/*"];

/// The media type of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MediaType {
    Json,
    GraphqlResponse,
}

impl MediaType {
    /// JSON, unless the client names the other one and does not prefer JSON.
    pub(super) fn accepted(headers: &HeaderMap) -> Self {
        let Some(named) = weight(headers, header::ACCEPT, GRAPHQL) else {
            return Self::Json;
        };
        let mut json = JSON.iter();
        let json = json.find_map(|kind| weight(headers, header::ACCEPT, kind));
        if named > 0.0 && named >= json.unwrap_or(0.0) {
            Self::GraphqlResponse
        } else {
            Self::Json
        }
    }

    pub(super) fn respond(self, reply: Result<Vec<u8>, Rejection>) -> Response {
        let (status, reply) = match (reply, self) {
            (Ok(reply), _) => (StatusCode::OK, reply),
            (Err(rejection), Self::Json) => (StatusCode::OK, rejection.with_null_data()),
            (Err(rejection), Self::GraphqlResponse) => {
                (StatusCode::BAD_REQUEST, rejection.without_data())
            }
        };
        let content_type = match self {
            Self::Json => "application/json;charset=utf-8",
            Self::GraphqlResponse => "application/graphql-response+json;charset=utf-8",
        };
        (status, [(header::CONTENT_TYPE, content_type)], reply).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_json_unless_the_client_names_and_prefers_the_other_media_type() {
        for (accepted, expected) in [
            ("", MediaType::Json),
            ("*/*", MediaType::Json),
            ("application/*", MediaType::Json),
            ("application/json", MediaType::Json),
            ("text/html", MediaType::Json),
            (
                "application/graphql-response+json",
                MediaType::GraphqlResponse,
            ),
            (
                "Application/GraphQL-Response+JSON; charset=utf-8",
                MediaType::GraphqlResponse,
            ),
            (
                "application/graphql-response+json, application/json;q=0.9",
                MediaType::GraphqlResponse,
            ),
            (
                "application/json, application/graphql-response+json",
                MediaType::GraphqlResponse,
            ),
            (
                "application/json, application/graphql-response+json;q=0.9",
                MediaType::Json,
            ),
            (
                "application/graphql-response+json;q=0.5, */*;q=0.8",
                MediaType::Json,
            ),
            (
                "application/graphql-response+json;q=0.5, application/json;q=0.1, */*",
                MediaType::GraphqlResponse,
            ),
            ("application/graphql-response+json;q=0", MediaType::Json),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accepted.parse().unwrap());
            assert_eq!(MediaType::accepted(&headers), expected, "{accepted}");
        }
        assert_eq!(MediaType::accepted(&HeaderMap::new()), MediaType::Json);
    }
}
