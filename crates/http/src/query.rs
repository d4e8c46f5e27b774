//! The query string of a request, with our own words for a wrong one.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::Refusal;

#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|rejection| {
                Refusal::bad_request(format!(
                    "The query string '{}' is not understood: {}",
                    parts.uri.query().unwrap_or_default(),
                    rejection.body_text()
                ))
            })
    }
}
