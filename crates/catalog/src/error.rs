//! The one error type of the catalog's border.

use docent_model::patch::PatchError;
use docent_model::{UrnError, ValidationError};
use docent_store::StoreError;

/// Each case is something that a caller treats differently; the text is for the person who sent the request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    NotFound(String),
    /// The request itself is wrong.
    #[error("{0}")]
    Invalid(String),
    /// An aspect's payload is wrong. A case of its own because REST clients expect 422 for it.
    #[error("{0}")]
    InvalidAspect(String),
    /// The dataset has no such column. A case of its own because a sibling may have it.
    #[error("{0}")]
    NoColumn(String),
    #[error("{0}")]
    Forbidden(String),
    /// The request is right but contradicts what is stored.
    #[error("{0}")]
    Conflict(String),
    /// What the request demanded of the stored state does not hold.
    #[error("{0}")]
    Precondition(String),
    /// The request is right, but asks for more at once than one transaction may do.
    #[error("{0}")]
    TooLarge(String),
    /// Trying again later helps.
    #[error("{0}")]
    Unavailable(String),
    /// A defect of ours; the source is logged and never shown.
    #[error("an internal error occurred; the server's log has the details")]
    Internal(#[source] StoreError),
}

/// What a case is called on the wire. The one table of codes: GraphQL and REST both read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// `extensions.code` in GraphQL, the status over REST.
    pub number: u16,
    /// `extensions.type` in GraphQL.
    pub name: &'static str,
}

impl Error {
    pub fn code(&self) -> Code {
        let (number, name) = match self {
            Self::Invalid(_) | Self::InvalidAspect(_) | Self::NoColumn(_) => (400, "BAD_REQUEST"),
            Self::Forbidden(_) => (403, "UNAUTHORIZED"),
            Self::NotFound(_) => (404, "NOT_FOUND"),
            Self::Conflict(_) => (409, "CONFLICT"),
            Self::Precondition(_) => (412, "PRECONDITION_FAILED"),
            Self::TooLarge(_) => (413, "PAYLOAD_TOO_LARGE"),
            Self::Internal(_) => (500, "SERVER_ERROR"),
            Self::Unavailable(_) => (503, "SERVICE_UNAVAILABLE"),
        };
        Code { number, name }
    }

    /// Says what the problem is about: which item of a list, which field. What is not the sender's fault stays as it is.
    #[must_use]
    pub fn about(self, what: &str) -> Self {
        let named = |message: String| format!("{what}: {message}");
        match self {
            Self::NotFound(message) => Self::NotFound(named(message)),
            Self::Invalid(message) => Self::Invalid(named(message)),
            Self::InvalidAspect(message) => Self::InvalidAspect(named(message)),
            Self::NoColumn(message) => Self::NoColumn(named(message)),
            Self::Forbidden(message) => Self::Forbidden(named(message)),
            Self::Conflict(message) => Self::Conflict(named(message)),
            Self::Precondition(message) => Self::Precondition(named(message)),
            Self::TooLarge(message) => Self::TooLarge(named(message)),
            Self::Unavailable(_) | Self::Internal(_) => self,
        }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy => Self::Unavailable(
                "the store is busy: too many writes are waiting; try again in a moment".to_owned(),
            ),
            StoreError::Unavailable { .. } | StoreError::Refused { .. } => {
                Self::Unavailable(error.to_string())
            }
            StoreError::Corrupt { .. } | StoreError::Other(_) => Self::Internal(error),
        }
    }
}

impl From<UrnError> for Error {
    fn from(error: UrnError) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl From<ValidationError> for Error {
    fn from(error: ValidationError) -> Self {
        Self::InvalidAspect(error.to_string())
    }
}

impl From<PatchError> for Error {
    fn from(error: PatchError) -> Self {
        Self::InvalidAspect(error.to_string())
    }
}
