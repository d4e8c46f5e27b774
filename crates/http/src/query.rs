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

/// A query string in which names may be repeated: `types=a&types=b`, or `types=a,b`.
#[derive(Debug)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        let found = pairs.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// All values of a name; clients write `name`, `name[]` or one list with commas.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.0
            .iter()
            .filter(|(known, _)| known.strip_suffix("[]").unwrap_or(known) == name)
            .flat_map(|(_, value)| value.split(','))
            .filter(|value| !value.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Whether a flag is set; `None` if it is not there. Anything but `true` and `false` is a mistake: taken as either
    /// of them it might switch off what protects a value.
    pub(crate) fn given_flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        let parse = |text: &str| {
            text.to_ascii_lowercase().parse().map_err(|_| {
                Refusal::bad_request(format!("{name} is '{text}': it must be true or false"))
            })
        };
        self.get(name).map(parse).transpose()
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        Ok(self.given_flag(name)?.unwrap_or_default())
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Refusal> {
        let parse = |text: &str| {
            text.parse().map_err(|_| {
                Refusal::bad_request(format!("{name} is '{text}', which is no number"))
            })
        };
        self.get(name).map(parse).transpose()
    }
}

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Query(pairs) = Query::from_request_parts(parts, state).await?;
        Ok(Self(pairs))
    }
}
