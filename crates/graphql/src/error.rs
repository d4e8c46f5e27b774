//! The errors of a reply, in the format of DataHub's API.

use docent_catalog::{Error, ErrorKind};
use serde::Serialize;

/// `extensions.classification` of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Classification {
    InvalidSyntax,
    ValidationError,
    ExecutionAborted,
    DataFetchingException,
    NullValueInNonNullableField,
}

/// A position in the document; lines and columns count from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// Limit on the errors in a reply.
pub(crate) const MAX_ERRORS: usize = 100;

/// An error of the whole request: nothing is executed.
#[derive(Debug)]
pub(crate) struct RequestError {
    pub(crate) message: String,
    pub(crate) positions: Vec<Position>,
    pub(crate) classification: Classification,
}

impl RequestError {
    pub(crate) fn new(classification: Classification, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            positions: Vec::new(),
            classification,
        }
    }
}

/// An error of one field.
#[derive(Debug)]
pub(crate) struct FieldError {
    pub(crate) failure: Failure,
    /// Offset of the field in the document.
    pub(crate) offset: usize,
    /// The path of the field in the reply, as a JSON list.
    pub(crate) path: String,
}

/// Why a field has no value.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) classification: Classification,
    pub(crate) code: Option<Code>,
}

impl Failure {
    /// An error of the catalog. Internal errors are logged, because the reply does not contain
    /// their cause.
    pub(crate) fn of(error: &Error) -> Self {
        if error.kind() == ErrorKind::Internal {
            tracing::error!(error = %chain(error), "a field could not be resolved");
        }
        Self {
            message: error.to_string(),
            classification: Classification::DataFetchingException,
            code: Some(Code::of(error.kind())),
        }
    }

    pub(crate) fn server(message: String) -> Self {
        Self {
            message,
            classification: Classification::DataFetchingException,
            code: Some(Code::of(ErrorKind::Internal)),
        }
    }
}

/// `extensions.code` and `extensions.type` of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code {
    number: u16,
    name: &'static str,
}

impl Code {
    fn of(kind: ErrorKind) -> Self {
        let (number, name) = match kind {
            ErrorKind::Invalid
            | ErrorKind::InvalidAspect
            | ErrorKind::NoEntity
            | ErrorKind::NoColumn => (400, "BAD_REQUEST"),
            ErrorKind::Forbidden => (403, "UNAUTHORIZED"),
            ErrorKind::NotFound => (404, "NOT_FOUND"),
            ErrorKind::Conflict(_) => (409, "CONFLICT"),
            ErrorKind::Gone => (410, "GONE"),
            ErrorKind::Precondition => (412, "PRECONDITION_FAILED"),
            ErrorKind::TooLarge => (413, "PAYLOAD_TOO_LARGE"),
            ErrorKind::Internal => (500, "SERVER_ERROR"),
            ErrorKind::Unavailable => (503, "SERVICE_UNAVAILABLE"),
        };
        Self { number, name }
    }
}

/// The messages of an error and its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[derive(Serialize)]
struct Extensions {
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    classification: Classification,
}

#[derive(Serialize)]
struct Body<'a> {
    message: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    locations: &'a [Position],
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a serde_json::value::RawValue>,
    extensions: Extensions,
}

/// A request of which nothing is executed, because its document, its variables or its size is
/// invalid.
#[derive(Debug)]
pub struct Rejection(pub(crate) Vec<RequestError>);

impl Rejection {
    /// The reply with `"data": null`, as DataHub has it.
    pub fn with_null_data(&self) -> Vec<u8> {
        reply(Some(b"null"), self.bodies(), 0)
    }

    /// The reply without `data`, as the GraphQL specification has it.
    pub fn without_data(&self) -> Vec<u8> {
        reply(None, self.bodies(), 0)
    }

    fn bodies(&self) -> impl Iterator<Item = Body<'_>> {
        self.0.iter().map(|error| Body {
            message: &error.message,
            locations: &error.positions,
            path: None,
            extensions: Extensions {
                code: None,
                name: None,
                classification: error.classification,
            },
        })
    }
}

/// The reply of an execution that was aborted.
pub(crate) fn abort(error: RequestError) -> Vec<u8> {
    Rejection(vec![error]).with_null_data()
}

/// The errors of an execution: the first [`MAX_ERRORS`], and how many others there are. One query
/// can make as many errors as it has values.
#[derive(Debug, Default)]
pub(crate) struct FieldErrors {
    reported: Vec<FieldError>,
    omitted: u64,
}

impl FieldErrors {
    pub(crate) fn is_empty(&self) -> bool {
        self.reported.is_empty()
    }

    /// Whether a further error is part of the reply. Counts it if it is not.
    pub(crate) fn has_room(&mut self) -> bool {
        if self.reported.len() < MAX_ERRORS {
            return true;
        }
        self.omitted += 1;
        false
    }

    pub(crate) fn push(&mut self, error: FieldError) {
        self.reported.push(error);
    }

    /// The state to return to with [`FieldErrors::reset`].
    pub(crate) fn mark(&self) -> (usize, u64) {
        (self.reported.len(), self.omitted)
    }

    pub(crate) fn reset(&mut self, (reported, omitted): (usize, u64)) {
        self.reported.truncate(reported);
        self.omitted = omitted;
    }
}

/// The reply of an execution in which fields failed. `position` locates offsets in the document.
pub(crate) fn reply_with(
    errors: &FieldErrors,
    data: &[u8],
    position: impl Fn(usize) -> Position,
) -> Vec<u8> {
    let FieldErrors { reported, omitted } = errors;
    let parts: Vec<_> = reported
        .iter()
        .map(|error| {
            let path = serde_json::value::RawValue::from_string(error.path.clone()).ok();
            ([position(error.offset)], path)
        })
        .collect();
    let bodies = reported
        .iter()
        .zip(&parts)
        .map(|(error, (locations, path))| Body {
            message: &error.failure.message,
            locations,
            path: path.as_deref(),
            extensions: Extensions {
                code: error.failure.code.map(|code| code.number),
                name: error.failure.code.map(|code| code.name),
                classification: error.failure.classification,
            },
        });
    reply(Some(data), bodies, *omitted)
}

/// How replies with errors begin.
const ERRORS: &[u8] = b"{\"errors\":[";

/// Whether a reply of an execution has errors.
pub(crate) fn has_errors(reply: &[u8]) -> bool {
    reply.starts_with(ERRORS)
}

/// Writes a reply. Its `extensions` say how many errors are left out.
fn reply<'a>(data: Option<&[u8]>, errors: impl Iterator<Item = Body<'a>>, omitted: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.map_or(0, <[u8]>::len) + 256);
    out.extend_from_slice(ERRORS);
    for (index, error) in errors.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        if let Ok(text) = serde_json::to_vec(&error) {
            out.extend_from_slice(&text);
        }
    }
    out.push(b']');
    if let Some(data) = data {
        out.extend_from_slice(b",\"data\":");
        out.extend_from_slice(data);
    }
    if omitted == 0 {
        out.extend_from_slice(b",\"extensions\":{}}");
    } else {
        let extensions = format!(",\"extensions\":{{\"omittedErrors\":{omitted}}}}}");
        out.extend_from_slice(extensions.as_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_has_errors_then_null_data_then_empty_extensions() {
        let mut error = RequestError::new(Classification::InvalidSyntax, "Invalid syntax \"x\"");
        error.positions.push(Position { line: 1, column: 2 });
        let rejection = Rejection(vec![error]);
        let errors = r#""errors":[{"message":"Invalid syntax \"x\"","locations":[{"line":1,"column":2}],"extensions":{"classification":"InvalidSyntax"}}]"#;
        assert_eq!(
            String::from_utf8(rejection.with_null_data()).unwrap(),
            format!(r#"{{{errors},"data":null,"extensions":{{}}}}"#)
        );
        assert_eq!(
            String::from_utf8(rejection.without_data()).unwrap(),
            format!(r#"{{{errors},"extensions":{{}}}}"#)
        );
    }
}
