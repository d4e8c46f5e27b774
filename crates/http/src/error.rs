//! Error responses: JSON with `message` for DataHub's clients and `error` for other readers.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::fmt;

use docent_catalog::{Error, ErrorKind};
use serde_json::{Map, Value, json};

/// A request that failed, with its status.
#[derive(Debug)]
pub(crate) struct ErrorResponse {
    status: StatusCode,
    /// The kind of problem; by default the reason phrase of the status.
    title: Option<String>,
    message: String,
    /// When to try again, in seconds.
    retry_after_s: Option<i64>,
    /// The items of a list that were rejected.
    failures: Vec<Value>,
}

impl ErrorResponse {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            title: None,
            message: message.into(),
            retry_after_s: (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1),
            failures: Vec::new(),
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Whether both responses have the same status and title.
    pub(crate) fn has_status_of(&self, other: &Self) -> bool {
        self.status == other.status && self.title == other.title
    }

    /// The same status for a list of which some items were rejected.
    #[must_use]
    pub(crate) fn with_failures(mut self, message: String, failures: Vec<Value>) -> Self {
        self.message = message;
        self.failures = failures;
        self
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    #[must_use]
    pub(crate) fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Puts the part of the request that the message is about in front of it.
    #[must_use]
    pub(crate) fn about(mut self, subject: impl fmt::Display) -> Self {
        self.message = format!("{subject}: {}", self.message);
        self
    }

    /// Renders an error with its subject, also if that is not an item of a list. Messages that
    /// contain the URN stay as they are.
    pub(crate) fn with_subject(error: Error) -> Self {
        let subject = error.subject();
        if subject.position.is_some()
            || subject.urn.is_none()
            || error.names_urn()
            || !error.is_correctable()
        {
            return Self::from(error);
        }
        let message = format!("{subject}: {}", error.message_after_subject());
        let mut response = Self::from(error);
        response.message = message;
        response
    }

    /// Appends a sentence, such as what to do.
    #[must_use]
    pub(crate) fn followed_by(mut self, sentence: &str) -> Self {
        self.message = format!("{} {sentence}", self.message);
        self
    }

    /// A request that may be repeated after a while. The message gets the seconds until then.
    pub(crate) fn too_many_requests(wait_ms: i64, message: impl Fn(i64) -> String) -> Self {
        let seconds = wait_ms.max(1).saturating_add(999) / 1000;
        Self {
            retry_after_s: Some(seconds),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, message(seconds))
        }
    }

    pub(crate) fn unauthenticated() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "Unauthorized to perform this action. Send the header 'Authorization: Bearer <token>' with a \
             token that is valid; 'docent token create' makes one. Or sign in at /logIn.",
        )
    }
}

impl From<Error> for ErrorResponse {
    fn from(error: Error) -> Self {
        if let Some(source) = std::error::Error::source(&error) {
            tracing::error!(error = ?source, "request failed: {source}");
        }
        Self::new(status(error.kind()), error.to_string())
    }
}

fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Invalid | ErrorKind::NoEntity | ErrorKind::NoColumn => StatusCode::BAD_REQUEST,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Conflict(_) => StatusCode::CONFLICT,
        ErrorKind::Precondition => StatusCode::PRECONDITION_FAILED,
        ErrorKind::Gone => StatusCode::GONE,
        ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        // Ingestion clients expect this status for an invalid payload.
        ErrorKind::InvalidAspect => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// The members that errors have in all APIs. A response that is an error has them as an extension.
#[derive(Debug, Clone)]
struct CommonMembers(Map<String, Value>);

/// Turns an error into one of DataHub's OpenAPI, which has fewer members than those of Rest.li.
/// Other responses stay as they are.
pub(crate) fn openapi_form(mut response: Response) -> Response {
    let Some(CommonMembers(members)) = response.extensions_mut().remove() else {
        return response;
    };
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    let (_, body) = Json(members).into_response().into_parts();
    Response::from_parts(parts, body)
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let mut members = Map::new();
        let title = self.title.as_deref().or(self.status.canonical_reason());
        members.insert("error".to_owned(), json!(title));
        members.insert("message".to_owned(), self.message.into());
        if !self.failures.is_empty() {
            members.insert("failures".to_owned(), self.failures.into());
        }
        let mut body = members.clone();
        let class = "com.linkedin.restli.server.RestLiServiceException";
        body.insert("exceptionClass".to_owned(), class.into());
        body.insert("status".to_owned(), self.status.as_u16().into());
        let mut response = (self.status, Json(body)).into_response();
        response.extensions_mut().insert(CommonMembers(members));
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let bearer = header::HeaderValue::from_static("Bearer");
            headers.insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}
