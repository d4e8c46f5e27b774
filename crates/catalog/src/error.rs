//! The catalog's error type: what went wrong, as data.
//!
//! An [`Error`] carries a kind, its subject and a message. Each API renders it once, and chooses
//! its own status codes by the kind. Callers that react to a case match the kind and never read the
//! message.
//!
//! To add a case that callers must tell apart, add a variant to [`ErrorKind`] or
//! [`ConflictReason`]. The compiler then asks every API for its status code.

use std::fmt;

use docent_model::patch::PatchError;
use docent_model::{AspectName, Urn, UrnError, ValidationError};
use docent_store::StoreError;

/// Boxed, so that a `Result` stays small.
#[derive(Debug)]
pub struct Error(Box<Details>);

#[derive(Debug)]
struct Details {
    kind: ErrorKind,
    subject: ErrorSubject,
    /// Whether the message contains the URN of the subject, so that a prefix would repeat it.
    names_urn: bool,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    NotFound,
    /// The request is malformed.
    Invalid,
    /// The payload of an aspect is malformed.
    InvalidAspect,
    /// An entity that the request refers to does not exist.
    NoEntity,
    /// The dataset has no such column.
    NoColumn,
    Forbidden,
    /// The request is valid but contradicts the stored state.
    Conflict(ConflictReason),
    /// A precondition that the client set does not hold.
    Precondition,
    /// The request exceeds the limits of one transaction.
    TooLarge,
    /// The change log does not have the position that a reader continues from.
    Gone,
    /// A retry may succeed.
    Unavailable,
    /// A defect of the server. Its source is logged and never sent.
    Internal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictReason {
    /// An entity, aspect or name that must be new exists.
    AlreadyExists,
    /// Another caller changed the value since this one read it.
    ChangedMeanwhile,
    /// Other entities still refer to the entity.
    InUse,
    /// A stored value does not have the shape that the operation needs.
    UnexpectedValue,
    /// The account is suspended or removed.
    AccountInactive,
    /// The user already has a password.
    PasswordExists,
    /// The password was changed after it was checked.
    PasswordChanged,
    /// The user has as many access tokens as allowed.
    TooManyTokens,
    /// As many proposals wait for a decision as allowed.
    TooManyProposals,
}

/// The part of a request that an error is about. URN and aspect are texts as the client sent them,
/// because a malformed one can be the problem.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorSubject {
    /// The index in the client's list, if it sent one.
    pub position: Option<usize>,
    pub urn: Option<String>,
    pub aspect: Option<String>,
    pub column: Option<String>,
}

impl ErrorSubject {
    /// One item of a client's list.
    pub fn item(position: usize) -> Self {
        Self {
            position: Some(position),
            ..Self::default()
        }
    }

    pub fn entity(urn: &Urn) -> Self {
        Self::default().with_urn(urn.as_str())
    }

    #[must_use]
    pub fn at(mut self, position: Option<usize>) -> Self {
        self.position = position;
        self
    }

    #[must_use]
    pub fn with_urn(mut self, urn: impl Into<String>) -> Self {
        self.urn = Some(urn.into());
        self
    }

    #[must_use]
    pub fn with_aspect(mut self, aspect: Option<AspectName>) -> Self {
        self.aspect = aspect.map(|aspect| aspect.to_string());
        self
    }
}

/// What a client should know about a change that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub subject: ErrorSubject,
    message: String,
}

impl Warning {
    pub(crate) fn about(subject: ErrorSubject, message: impl Into<String>) -> Self {
        Self {
            subject,
            message: message.into(),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.subject, self.message)
    }
}

/// `item 3 (urn aspect)`, with the parts that are known. Messages name the column themselves.
impl fmt::Display for ErrorSubject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [self.urn.as_deref(), self.aspect.as_deref()];
        let names: Vec<&str> = names.into_iter().flatten().collect();
        let names = names.join(" ");
        match self.position {
            None => formatter.write_str(&names),
            Some(position) if names.is_empty() => write!(formatter, "item {position}"),
            Some(position) => write!(formatter, "item {position} ({names})"),
        }
    }
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind,
            subject: ErrorSubject::default(),
            names_urn: false,
            message: message.into(),
            source: None,
        }))
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    pub fn invalid_aspect(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidAspect, message)
    }

    pub fn no_entity(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NoEntity, message)
    }

    pub fn no_column(dataset: &Urn, column: &str, message: impl Into<String>) -> Self {
        let mut error = Self::new(ErrorKind::NoColumn, message).naming(dataset);
        error.0.subject.column = Some(column.to_owned());
        error
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, message)
    }

    pub fn conflict(reason: ConflictReason, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict(reason), message)
    }

    pub fn precondition(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Precondition, message)
    }

    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::TooLarge, message)
    }

    pub fn gone(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Gone, message)
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    pub fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let message = "an internal error occurred; the server's log has the details";
        let mut error = Self::new(ErrorKind::Internal, message);
        error.0.source = Some(source.into());
        error
    }

    /// What is stored cannot be read. The log has the location, which only operators may know.
    fn damaged(source: StoreError) -> Self {
        let mut error = Self::internal(source);
        "stored data is damaged: run 'docent check', which says what to do"
            .clone_into(&mut error.0.message);
        error
    }

    /// States that the message contains this URN, which becomes the subject.
    #[must_use]
    pub fn naming(mut self, urn: &Urn) -> Self {
        debug_assert!(self.0.message.contains(urn.as_str()), "{}", self.0.message);
        self.0.subject.urn = Some(urn.as_str().to_owned());
        self.0.names_urn = true;
        self
    }

    /// Adds a sentence to the message.
    #[must_use]
    pub(crate) fn adding(mut self, sentence: &str) -> Self {
        self.0.message.push(' ');
        self.0.message.push_str(sentence);
        self
    }

    /// Sets the subject. A column that is known already stays known.
    #[must_use]
    pub fn about(mut self, subject: ErrorSubject) -> Self {
        let details = &mut *self.0;
        details.names_urn &= details.subject.urn == subject.urn;
        let column = details.subject.column.take();
        details.subject = subject;
        details.subject.column = details.subject.column.take().or(column);
        self
    }

    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    pub fn subject(&self) -> &ErrorSubject {
        &self.0.subject
    }

    /// Whether the message contains the URN of the subject.
    pub fn names_urn(&self) -> bool {
        self.0.names_urn
    }

    /// The message alone, without the subject.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether the client can correct the request.
    pub fn is_correctable(&self) -> bool {
        !matches!(self.0.kind, ErrorKind::Unavailable | ErrorKind::Internal)
    }
}

/// The message, after the subject if it is an item of a list.
impl Error {
    /// The message to show after the subject, which already names the aspect.
    pub fn message_after_subject(&self) -> &str {
        let Details {
            subject, message, ..
        } = &*self.0;
        let aspect = subject.aspect.as_deref();
        let rest = aspect.and_then(|aspect| message.strip_prefix(aspect)?.strip_prefix(": "));
        rest.unwrap_or(message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details {
            subject, message, ..
        } = &*self.0;
        if subject.position.is_some() && self.is_correctable() {
            return write!(formatter, "{subject}: {}", self.message_after_subject());
        }
        formatter.write_str(message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy => Self::unavailable(
                "the store is busy: too many writes are waiting; try again in a moment",
            ),
            StoreError::Unavailable { .. } | StoreError::Rejected { .. } => {
                Self::unavailable(error.to_string())
            }
            StoreError::Corrupt { .. } => Self::damaged(error),
            StoreError::Other(_) => Self::internal(error),
        }
    }
}

impl From<UrnError> for Error {
    fn from(error: UrnError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<ValidationError> for Error {
    fn from(error: ValidationError) -> Self {
        Self::invalid_aspect(error.to_string())
    }
}

impl From<PatchError> for Error {
    fn from(error: PatchError) -> Self {
        Self::invalid_aspect(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_is_rendered_with_the_parts_that_are_known() {
        let item = ErrorSubject::item(3);
        assert_eq!(item.to_string(), "item 3");
        let entity = item.with_urn("urn:li:tag:a");
        assert_eq!(entity.to_string(), "item 3 (urn:li:tag:a)");
        let aspect = entity.with_aspect(Some(AspectName::STATUS));
        assert_eq!(aspect.to_string(), "item 3 (urn:li:tag:a status)");
        assert_eq!(aspect.at(None).to_string(), "urn:li:tag:a status");
    }

    #[test]
    fn only_correctable_errors_are_rendered_with_their_item() {
        let item = ErrorSubject::item(1);
        let invalid = Error::invalid("no value").about(item.clone());
        assert_eq!(invalid.to_string(), "item 1: no value");
        assert_eq!(invalid.message(), "no value");
        let busy = Error::unavailable("busy").about(item.clone());
        assert_eq!(busy.to_string(), "busy");
        assert_eq!(busy.subject(), &item);
    }

    #[test]
    fn a_subject_and_its_message_name_the_aspect_once() {
        let subject = ErrorSubject::item(3).with_aspect(Some(AspectName::STATUS));
        let error = Error::invalid_aspect("status: /removed must be a boolean").about(subject);
        assert_eq!(
            error.to_string(),
            "item 3 (status): /removed must be a boolean"
        );
        let error = Error::invalid_aspect("status: /removed must be a boolean");
        assert_eq!(error.to_string(), "status: /removed must be a boolean");
    }

    #[test]
    fn a_named_urn_counts_only_while_it_is_the_subject() {
        let [tag, other] = ["a", "b"].map(|key| Urn::new("tag", key).unwrap());
        let error = Error::forbidden("urn:li:tag:a is reserved").naming(&tag);
        assert!(error.names_urn());
        let error = error.about(ErrorSubject::entity(&tag));
        assert!(error.names_urn());
        assert!(!error.about(ErrorSubject::entity(&other)).names_urn());
    }
}
