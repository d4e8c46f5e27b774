//! Replies that say no. Each is JSON with `message` for DataHub's clients and `error` for everybody else.

use axum::Json;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use docent_catalog::Error;
use docent_model::{AspectName, Urn};
use serde_json::json;

use crate::auth::Authenticated;

/// A request that was not carried out.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    /// What kind of problem it is; the status in words where nothing else is said.
    title: Option<String>,
    message: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            title: None,
            message: message.into(),
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    #[must_use]
    pub(crate) fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Says which item of a list the problem is about.
    #[must_use]
    pub(crate) fn about(mut self, item: &str) -> Self {
        self.message = format!("{item}: {}", self.message);
        self
    }

    /// Says which aspect the problem is about, unless it says so itself or is our own.
    #[must_use]
    pub(crate) fn about_aspect(self, urn: &Urn, aspect: Option<AspectName>) -> Self {
        if !self.status.is_client_error() || self.message.contains(urn.as_str()) {
            return self;
        }
        match aspect {
            Some(aspect) => self.about(&format!("{urn} {aspect}")),
            None => self.about(urn.as_str()),
        }
    }

    /// Says more: what to do about it.
    #[must_use]
    pub(crate) fn followed_by(mut self, sentence: &str) -> Self {
        self.message = format!("{} {sentence}", self.message);
        self
    }

    pub(crate) fn into_message(self) -> String {
        self.message
    }

    pub(crate) fn unauthenticated() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "Unauthorized to perform this action. Send the header 'Authorization: Bearer <token>' with a \
             token that is valid; 'docent token create' makes one. Or sign in at /logIn.",
        )
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = match &error {
            // The status that ingestion clients know for a payload that does not fit its aspect.
            Error::InvalidAspect(_) => StatusCode::UNPROCESSABLE_ENTITY,
            other => StatusCode::from_u16(other.code().number)
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        };
        if let Error::Internal(source) = &error {
            tracing::error!(error = ?source, "a request failed: {source}");
        }
        Self::new(status, error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = Json(json!({
            "exceptionClass": "com.linkedin.restli.server.RestLiServiceException",
            "error": self.title.as_deref().or(self.status.canonical_reason()),
            "message": self.message,
            "status": self.status.as_u16(),
        }));
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let bearer = header::HeaderValue::from_static("Bearer");
            headers.insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}

/// Said only to those who are known: which routes there are is nobody else's business.
pub(crate) fn no_such_route(_: &Authenticated, uri: &Uri) -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        format!(
            "No endpoint {}. GraphQL is served at /api/graphql.",
            uri.path()
        ),
    )
}

/// Which methods there are is in the description of the API, which everybody may read: no token is asked for.
pub(crate) async fn method_not_allowed(method: Method, uri: Uri) -> Refusal {
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("{} does not take {method} requests.", uri.path()),
    )
}
