//! Preconditions in request headers. They apply to every aspect that the request writes. Endpoints
//! that cannot apply them reject the request, because an ignored precondition protects nothing.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use docent_catalog::{Conditions, Error};
use docent_graphql::{CONDITION_HEADERS, set_condition};
use serde_json::{Map, Value};

use crate::error::ErrorResponse;

/// Extractor for the preconditions of a request.
#[derive(Debug)]
pub(crate) struct Conditional(pub(crate) Conditions);

impl<S: Sync> FromRequestParts<S> for Conditional {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ErrorResponse> {
        let mut conditions = Conditions::default();
        for name in CONDITION_HEADERS {
            if let Some(value) = parts.headers.get(name) {
                set_condition(&mut conditions, name, value.to_str().unwrap_or("?"))?;
            }
        }
        Ok(Self(conditions))
    }
}

/// The preconditions of one item, in its `headers`. They take precedence over those of the request.
pub(crate) fn with_item_headers(
    request: &Conditions,
    headers: Option<&Map<String, Value>>,
) -> Result<Conditions, Error> {
    let mut conditions = request.clone();
    for (name, value) in headers.into_iter().flatten() {
        match value {
            Value::Null => {}
            Value::String(text) => set_condition(&mut conditions, name, text)?,
            other => set_condition(&mut conditions, name, &other.to_string())?,
        }
    }
    Ok(conditions)
}

/// Extractor for the name of the first precondition header, for endpoints that support none.
#[derive(Debug)]
pub(crate) struct UnsupportedCondition(Option<&'static str>);

impl UnsupportedCondition {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        // Nearly no request has any, and looking up each by its name takes twenty times longer.
        let names = headers.keys().map(HeaderName::as_str);
        let mut names = names.filter(|name| name.starts_with("if-"));
        let known = |name: &str| {
            let mut known = CONDITION_HEADERS.into_iter();
            known.find(|known| known.eq_ignore_ascii_case(name))
        };
        Self(names.find_map(known))
    }

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
        Ok(Self::of(&parts.headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;
    use serde_json::json;

    #[test]
    fn every_precondition_header_is_found() {
        for name in CONDITION_HEADERS {
            let request = Request::get("/").header("if-other", "1").header(name, "1");
            let request = request.body(()).unwrap();
            let UnsupportedCondition(found) = UnsupportedCondition::of(request.headers());
            assert_eq!(found, Some(name));
        }
    }

    #[test]
    fn preconditions_of_an_item_take_precedence_over_those_of_the_request() {
        let request = Conditions {
            version: Some(7),
            ..Conditions::default()
        };
        assert_eq!(with_item_headers(&request, None).unwrap(), request);
        let item = json!({"if-version-match": 8, "If-None-Match": null});
        let conditions = with_item_headers(&request, item.as_object()).unwrap();
        assert_eq!(conditions.version, Some(8));
        assert!(!conditions.none_match);
    }
}
