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
        let said = chain(&error);
        if let Some(advice) = advice_for(&said) {
            return Self::Store(unavailable(format!("{said}: {advice}")));
        }
        if error.is_closed() || has_io_cause(&error) {
            return Self::Lost(said);
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
    let reason = || {
        let advice = advice(code).map(|advice| format!(": {advice}"));
        format!(
            "{} ({}){}",
            said.message(),
            code.code(),
            advice.unwrap_or_default()
        )
    };
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
        SqlState::INVALID_SCHEMA_NAME,
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

/// What the operator can do about what does not pass by itself.
fn advice(code: &SqlState) -> Option<&'static str> {
    const ADVICE: [(SqlState, &str); 7] = [
        (
            SqlState::INVALID_PASSWORD,
            "look at the user and the password in the store URL, or at PGPASSWORD",
        ),
        (
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            "look at the user in the store URL, and at pg_hba.conf of the database",
        ),
        (
            SqlState::INVALID_CATALOG_NAME,
            "make it with CREATE DATABASE, or name another one in the store URL",
        ),
        (
            SqlState::INVALID_SCHEMA_NAME,
            "make the schema with CREATE SCHEMA, or name another one with search_path in the store URL",
        ),
        (
            SqlState::INSUFFICIENT_PRIVILEGE,
            "the user in the store URL needs GRANT USAGE, CREATE ON SCHEMA, and must own the tables if others made them",
        ),
        (
            SqlState::TOO_MANY_CONNECTIONS,
            "lower pool_size in the store URL of the servers, or raise max_connections of the database",
        ),
        (
            SqlState::READ_ONLY_SQL_TRANSACTION,
            "the database can only be read; with all its hosts and target_session_attrs=read-write in the store URL the one \
             that can be written to is found",
        ),
    ];
    let found = ADVICE.into_iter().find(|(of, _)| of == code);
    found.map(|(_, advice)| advice)
}

/// The same for what the driver says itself: its errors have no codes.
fn advice_for(said: &str) -> Option<&'static str> {
    const ADVICE: [(&str, &str); 4] = [
        (
            "UnknownIssuer",
            "sslrootcert in the store URL names a file with the certificate of the authority",
        ),
        (
            "NotValidForName",
            "the certificate is of another name: sslmode=verify-ca does not look at it",
        ),
        (
            "server does not support TLS",
            "switch it on in the database, or write sslmode=disable in the store URL",
        ),
        (
            "password missing",
            "write it into the store URL, or into PGPASSWORD",
        ),
    ];
    let found = ADVICE.into_iter().find(|(words, _)| said.contains(words));
    found.map(|(_, advice)| advice)
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
