//! Extractors for the query string and the path, with error messages in our format.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::ErrorResponse;

#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ErrorResponse> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|rejection| {
                ErrorResponse::bad_request(format!(
                    "The query string '{}' is invalid: {}",
                    parts.uri.query().unwrap_or_default(),
                    rejection.body_text()
                ))
            })
    }
}

/// The parameters of a route's path: one, or a tuple.
#[derive(Debug)]
pub(crate) struct Path<T = String>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorResponse> {
        let parameter = axum::extract::Path::from_request_parts(parts, state).await;
        parameter
            .map(|axum::extract::Path(value)| Self(value))
            .map_err(|rejection| {
                ErrorResponse::bad_request(format!(
                    "The path '{}' is invalid: {}",
                    parts.uri.path(),
                    rejection.body_text()
                ))
            })
    }
}

/// A query string with repeated names: `types=a&types=b`, or `types=a,b`.
#[derive(Debug)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    /// All values of a name, for lists whose items may have commas.
    pub(crate) fn repeated(&self, name: &str) -> impl Iterator<Item = &str> {
        self.values(name).filter(|value| !value.is_empty())
    }

    /// All values of a name, repeated or separated by commas.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.values(name)
            .flat_map(|value| value.split(','))
            .filter(|value| !value.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Rejects unknown names. For destructive endpoints, where a misspelled restriction must not be
    /// ignored.
    pub(crate) fn expect_only(&self, names: &[&str]) -> Result<(), ErrorResponse> {
        let unknown = |(name, _): &&(String, String)| !names.contains(&base(name));
        match self.0.iter().find(unknown) {
            None => Ok(()),
            Some((name, _)) => Err(ErrorResponse::bad_request(format!(
                "unknown query parameter '{name}'; this request takes {}",
                names.join(", ")
            ))),
        }
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let pairs = self.0.iter();
        let named = pairs.filter(move |(known, _)| base(known) == name);
        named.map(|(_, value)| value.as_str())
    }

    /// The value of a flag, or `None` without it. Other values than `true` and `false` are errors,
    /// because a guess might disable a safeguard.
    pub(crate) fn optional_flag(&self, name: &str) -> Result<Option<bool>, ErrorResponse> {
        let parse = |text: &str| {
            text.to_ascii_lowercase().parse().map_err(|_| {
                ErrorResponse::bad_request(format!("{name} is '{text}': it must be true or false"))
            })
        };
        self.get(name).map(parse).transpose()
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, ErrorResponse> {
        Ok(self.optional_flag(name)?.unwrap_or_default())
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, ErrorResponse> {
        let parse = |text: &str| {
            text.parse().map_err(|_| {
                ErrorResponse::bad_request(format!("{name} is '{text}', which is not a number"))
            })
        };
        self.get(name).map(parse).transpose()
    }
}

/// Some clients append brackets to the name of a list: `types[]`.
fn base(name: &str) -> &str {
    name.strip_suffix("[]").unwrap_or(name)
}

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorResponse> {
        let Query(pairs) = Query::from_request_parts(parts, state).await?;
        Ok(Self(pairs))
    }
}
