//! Conditions on a write that come as headers of the request. They go for all that it writes; where that would make no
//! sense, the request is refused, because a condition that is ignored protects nothing.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use docent_catalog::Conditions;

use crate::error::Refusal;

/// The conditions of a request, taken from it as an argument of its handler.
#[derive(Debug)]
pub(crate) struct Conditional(pub(crate) Conditions);

impl<S: Sync> FromRequestParts<S> for Conditional {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        let mut conditions = Conditions::default();
        for name in Conditions::HEADERS {
            if let Some(value) = parts.headers.get(name) {
                conditions.set(name, value.to_str().unwrap_or("?"))?;
            }
        }
        Ok(Self(conditions))
    }
}

/// Refuses conditions on a write that they cannot be about; `instead` is what to do, as a sentence.
pub(crate) fn refuse(headers: &HeaderMap, instead: &str) -> Result<(), Refusal> {
    let given = |name: &&str| headers.contains_key(*name);
    match Conditions::HEADERS.into_iter().find(given) {
        None => Ok(()),
        Some(name) => Err(Refusal::bad_request(format!(
            "{name} is given, and this request has no one aspect that it could be about. {instead}"
        ))),
    }
}
