//! Converts the errors of SQLite to those of a store.

use std::path::Path;

use docent_store::StoreError;
use rusqlite::ErrorCode;

/// An error inside the engine: of the driver, or already one of the store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<EngineError> for StoreError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Sqlite(error) => store_error(&error),
            EngineError::Store(error) => error,
        }
    }
}

/// The only function that interprets SQLite's result codes.
pub(crate) fn store_error(error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy,
        Some(ErrorCode::DiskFull) => StoreError::Unavailable {
            reason: "the disk is full: free some space, and writes work again".to_owned(),
        },
        Some(ErrorCode::SystemIoFailure) => StoreError::Unavailable {
            reason: format!("{error}: the disk is failing or read-only, see the log of the system"),
        },
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OutOfMemory
            | ErrorCode::NoLargeFileSupport,
        ) => StoreError::Unavailable {
            reason: error.to_string(),
        },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt {
            table: "the database file",
            column: "any",
            key: "unknown".to_owned(),
            reason: error.to_string(),
        },
        _ => StoreError::other(error.to_string()),
    }
}

/// Advice for a damaged database.
pub(crate) const RESTORE_HINT: &str = "; replace it by a backup with 'docent restore'";

/// Adds the path to an error of opening a file.
pub(crate) fn opening(path: &Path) -> impl Fn(rusqlite::Error) -> EngineError {
    move |error| match store_error(&error) {
        StoreError::Unavailable { reason } => EngineError::Store(StoreError::Unavailable {
            reason: match error.sqlite_error_code() {
                // Reading a database in WAL mode needs write permission.
                Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                    format!(
                        "{}: {reason}; docent needs permission to write to this file and its directory, even to read",
                        path.display()
                    )
                }
                _ => format!("{}: {reason}", path.display()),
            },
        }),
        StoreError::Corrupt { .. } => EngineError::Store(StoreError::Unavailable {
            reason: if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
                format!("{} is not a SQLite database: {error}", path.display())
            } else {
                format!("{} is damaged: {error}{RESTORE_HINT}", path.display())
            },
        }),
        _ => EngineError::Sqlite(error),
    }
}

/// An error of the file system.
pub(crate) fn file_error(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Rejected {
        reason: format!("{}: {error}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    fn mapped(code: i32) -> StoreError {
        store_error(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }

    #[test]
    fn result_codes_map_to_busy_unavailable_and_corrupt() {
        assert!(matches!(mapped(ffi::SQLITE_BUSY), StoreError::Busy));
        assert!(matches!(
            mapped(ffi::SQLITE_BUSY_SNAPSHOT),
            StoreError::Busy
        ));
        for code in [
            ffi::SQLITE_FULL,
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_READONLY,
            ffi::SQLITE_CANTOPEN,
        ] {
            assert!(
                matches!(mapped(code), StoreError::Unavailable { .. }),
                "{code}"
            );
        }
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB] {
            assert!(matches!(mapped(code), StoreError::Corrupt { .. }), "{code}");
        }
        let read_only = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_READONLY), None);
        let message = opening(Path::new("some.db"))(read_only).to_string();
        assert!(message.contains("some.db: "), "{message}");
        assert!(
            message.contains("permission to write to this file"),
            "{message}"
        );
        assert!(matches!(
            mapped(ffi::SQLITE_CONSTRAINT),
            StoreError::Other(_)
        ));
    }
}
