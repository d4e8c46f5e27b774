//! Maps errors of PostgreSQL and the driver to cases that callers of a store treat differently.

use deadpool_postgres::{PoolError, TimeoutType};
use docent_store::StoreError;
use rustls::CertificateError;
use tokio_postgres::error::{DbError, SqlState};

/// The aspect table, for messages about it.
pub(crate) const ASPECTS: &str = "metadata_aspect_v2";

/// The message for a database that hangs or cannot be reached.
pub(crate) const NO_RESPONSE: &str = "the database does not respond";

/// Errors inside the engine: two that it handles itself, and those for the caller.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    /// A concurrent transaction won. The work can be retried.
    #[error("another transaction changed the same rows")]
    Conflict,
    /// The connection failed. A read can be retried on another one; the outcome of a commit is
    /// unknown.
    #[error("lost the connection to the database: {0}")]
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

/// The only mapping of driver errors.
impl From<tokio_postgres::Error> for EngineError {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(error) = error.as_db_error() {
            return from_server(error);
        }
        let message = chain(&error);
        if let Some(hint) = certificate_hint(&error).or_else(|| driver_hint(&message)) {
            return Self::Store(unavailable(format!("{message}: {hint}")));
        }
        if error.is_closed() || has_io_cause(&error) {
            return Self::Lost(message);
        }
        Self::Store(StoreError::other(error))
    }
}

impl From<PoolError> for EngineError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Timeout(TimeoutType::Wait) => Self::Store(StoreError::Busy),
            PoolError::Timeout(_) => Self::Store(unavailable(NO_RESPONSE.to_owned())),
            PoolError::Backend(error) => match Self::from(error) {
                Self::Lost(reason) => Self::Store(unavailable(reason)),
                other => other,
            },
            PoolError::Closed => Self::Store(unavailable("the server is stopping".to_owned())),
            other => Self::Store(StoreError::other(other)),
        }
    }
}

fn from_server(error: &DbError) -> EngineError {
    let code = error.code();
    // Without the detail: it may quote rows, which must not be logged.
    let reason = || {
        let hint = server_hint(code).map(|hint| format!(": {hint}"));
        format!(
            "{} ({}){}",
            error.message(),
            code.code(),
            hint.unwrap_or_default()
        )
    };
    if [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        // A concurrent insert of the same row: the retry finds it.
        SqlState::UNIQUE_VIOLATION,
    ]
    .contains(code)
    {
        return EngineError::Conflict;
    }
    if *code == SqlState::LOCK_NOT_AVAILABLE {
        // `ProcessInterrupts` reports `lock_timeout`; otherwise it was a `NOWAIT` lock.
        return match error.routine() {
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
    if *code == SqlState::DATA_CORRUPTED && error.table() == Some(ASPECTS) {
        // Raised by `docent_clash`, with the URN in the detail.
        return EngineError::Store(StoreError::Corrupt {
            table: ASPECTS,
            column: "version",
            key: error.detail().unwrap_or("unknown").to_owned(),
            reason: error.message().to_owned(),
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

/// What the operator can do about a permanent error.
fn server_hint(code: &SqlState) -> Option<&'static str> {
    const HINTS: [(SqlState, &str); 7] = [
        (
            SqlState::INVALID_PASSWORD,
            "check the user and the password in the store URL, or PGPASSWORD",
        ),
        (
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            "check the user in the store URL, and pg_hba.conf of the database server",
        ),
        (
            SqlState::INVALID_CATALOG_NAME,
            "create it with CREATE DATABASE, or change the database in the store URL",
        ),
        (
            SqlState::INVALID_SCHEMA_NAME,
            "create the schema with CREATE SCHEMA, or change search_path in the store URL",
        ),
        (
            SqlState::INSUFFICIENT_PRIVILEGE,
            "the user in the store URL needs GRANT USAGE, CREATE ON SCHEMA, and must own existing tables",
        ),
        (
            SqlState::TOO_MANY_CONNECTIONS,
            "lower pool_size in the store URL of the servers, or raise max_connections of the database server",
        ),
        (
            SqlState::READ_ONLY_SQL_TRANSACTION,
            "the database is read-only; to find the primary, list all hosts in the store URL with \
             target_session_attrs=read-write",
        ),
    ];
    let hint = HINTS.into_iter().find(|(of, _)| of == code);
    hint.map(|(_, hint)| hint)
}

/// The same for certificates that are not accepted.
fn certificate_hint(error: &tokio_postgres::Error) -> Option<&'static str> {
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        // The source of an I/O error is that of the error inside it.
        let tls = match inner.downcast_ref::<std::io::Error>() {
            Some(io) => io.get_ref().and_then(|inner| inner.downcast_ref()),
            None => inner.downcast_ref::<rustls::Error>(),
        };
        if let Some(rustls::Error::InvalidCertificate(problem)) = tls {
            return match problem {
                CertificateError::UnknownIssuer => Some(
                    "set sslrootcert in the store URL to a file with the certificate of the authority",
                ),
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => Some(
                    "the certificate is for another host name: sslmode=verify-ca does not check it",
                ),
                _ => None,
            };
        }
        cause = inner.source();
    }
    None
}

/// The same for other errors of the driver, which have neither codes nor public types.
fn driver_hint(message: &str) -> Option<&'static str> {
    const HINTS: [(&str, &str); 2] = [
        (
            "server does not support TLS",
            "enable it in the database server, or set sslmode=disable in the store URL",
        ),
        (
            "password missing",
            "set it in the store URL or in PGPASSWORD",
        ),
    ];
    let hint = HINTS.into_iter().find(|(part, _)| message.contains(part));
    hint.map(|(_, hint)| hint)
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

/// The message with those of all causes, where the driver puts the details.
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
