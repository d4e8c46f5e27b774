//! Conditions on a write that come as headers of the request. They go for all that it writes; where that would make no
//! sense, the request is refused, because a condition that is ignored protects nothing.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use docent_catalog::Conditions;

use crate::error::ErrorResponse;

/// The conditions of a request, taken from it as an argument of its handler.
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

/// The first condition that a request names, for writes that it cannot be about.
#[derive(Debug)]
pub(crate) struct Named(Option<&'static str>);

impl Named {
    /// Refuses it; `instead` is what to do, as a sentence.
    pub(crate) fn refuse(&self, instead: &str) -> Result<(), ErrorResponse> {
        match self.0 {
            None => Ok(()),
            Some(name) => Err(ErrorResponse::bad_request(format!(
                "{name} is given, and this request has no one aspect that it could be about. {instead}"
            ))),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Named {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let given = |name: &&str| parts.headers.contains_key(*name);
        Ok(Self(Conditions::HEADERS.into_iter().find(given)))
    }
}
