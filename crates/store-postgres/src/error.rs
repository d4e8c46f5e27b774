//! From what PostgreSQL says to what the callers of a store can do about it.

use deadpool_postgres::{PoolError, TimeoutType};
use docent_store::StoreError;
use tokio_postgres::error::{DbError, SqlState};

use crate::values::ASPECTS;

/// Inside the engine: what the engine itself can do something about, or an error that has its final words.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    /// Another transaction was faster. Running the work again helps.
    #[error("another transaction changed the same rows")]
    Conflict,
    /// The connection is gone. A read can be asked again on another one; what became of a commit is not known.
    #[error("the connection to the database is lost: {0}")]
    Lost(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<EngineError> for StoreError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Conflict => Self::Busy,
            EngineError::Lost(_) => unavailable(error.to_string()),
            EngineError::Store(error) => error,
        }
    }
}

/// The one place where what the driver says becomes cases.
impl From<tokio_postgres::Error> for EngineError {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(said) = error.as_db_error() {
            return of_server(said);
        }
        if error.is_closed() || has_io_cause(&error) {
            return Self::Lost(chain(&error));
        }
        Self::Store(StoreError::other(error))
    }
}

impl From<PoolError> for EngineError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Timeout(TimeoutType::Wait) => Self::Store(StoreError::Busy),
            PoolError::Timeout(_) => {
                Self::Store(unavailable("the database does not answer".to_owned()))
            }
            PoolError::Backend(error) => match Self::from(error) {
                Self::Lost(reason) => Self::Store(unavailable(reason)),
                other => other,
            },
            PoolError::Closed => Self::Store(unavailable("the server is stopping".to_owned())),
            other => Self::Store(StoreError::other(other)),
        }
    }
}

fn of_server(said: &DbError) -> EngineError {
    let code = said.code();
    // The detail may quote rows, which belong to nobody's log; the message does not.
    let reason = || format!("{} ({})", said.message(), code.code());
    if [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        // Two made the same row at once: the second finds it when it looks again.
        SqlState::UNIQUE_VIOLATION,
    ]
    .contains(code)
    {
        return EngineError::Conflict;
    }
    if *code == SqlState::LOCK_NOT_AVAILABLE {
        // Either it was waited for until the time was over, or it was not to be waited for.
        return match said.routine() {
            Some("ProcessInterrupts") => StoreError::Busy.into(),
            _ => EngineError::Conflict,
        };
    }
    if [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ]
    .contains(code)
    {
        return EngineError::Lost(reason());
    }
    if [
        SqlState::QUERY_CANCELED,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::INVALID_CATALOG_NAME,
        SqlState::INSUFFICIENT_PRIVILEGE,
    ]
    .contains(code)
        || ["08", "28", "53", "58"].contains(&&code.code()[..2])
    {
        return unavailable(reason()).into();
    }
    if *code == SqlState::DATA_CORRUPTED && said.table() == Some(ASPECTS) {
        // Our own words, with the URN where rows are quoted otherwise.
        return EngineError::Store(StoreError::Corrupt {
            table: ASPECTS,
            column: "version",
            key: said.detail().unwrap_or("unknown").to_owned(),
            reason: said.message().to_owned(),
        });
    }
    if [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(code) {
        return EngineError::Store(StoreError::Corrupt {
            table: "the database",
            column: "any",
            key: "unknown".to_owned(),
            reason: reason(),
        });
    }
    EngineError::Store(StoreError::other(reason()))
}

pub(crate) fn unavailable(reason: String) -> StoreError {
    StoreError::Unavailable { reason }
}

fn has_io_cause(error: &tokio_postgres::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if inner.is::<std::io::Error>() {
            return true;
        }
        cause = inner.source();
    }
    false
}

/// The driver keeps what happened in the causes of its errors.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
