//! Preconditions in request headers. They apply to every aspect that the request writes. Endpoints that cannot
//! apply them reject the request, because an ignored precondition protects nothing.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use docent_catalog::Conditions;

use crate::error::ErrorResponse;

/// Extractor for the preconditions of a request.
#[derive(Debug)]
pub(crate) struct Conditional(pub(crate) Conditions);

impl<S: Sync> FromRequestParts<S> for Conditional {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ErrorResponse> {
        let mut conditions = Conditions::default();
        for name in Conditions::HEADERS {
            if let Some(value) = parts.headers.get(name) {
                conditions.set(name, value.to_str().unwrap_or("?"))?;
            }
        }
        Ok(Self(conditions))
    }
}

/// Extractor for the name of the first precondition header, for endpoints that support none.
#[derive(Debug)]
pub(crate) struct UnsupportedCondition(Option<&'static str>);

impl UnsupportedCondition {
    /// Fails if there is one; `advice` is a sentence about what to do.
    pub(crate) fn reject(&self, advice: &str) -> Result<(), ErrorResponse> {
        match self.0 {
            None => Ok(()),
            Some(name) => Err(ErrorResponse::bad_request(format!(
                "{name} is not supported here, because the request is not about one aspect. {advice}"
            ))),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for UnsupportedCondition {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let given = |name: &&str| parts.headers.contains_key(*name);
        Ok(Self(Conditions::HEADERS.into_iter().find(given)))
    }
}
