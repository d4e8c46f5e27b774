//! From what SQLite says to what the callers of a store can do about it.

use std::path::Path;

use docent_store::StoreError;
use rusqlite::ErrorCode;

/// Inside the engine: an error of the driver, or one that has its final words already.
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

/// The one place where SQLite's result codes become cases.
pub(crate) fn store_error(error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy,
        Some(
            ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::ReadOnly
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

/// What to do about a damaged database.
pub(crate) const RESTORE_MENDS: &str = "; 'docent restore' puts a backup in its place";

/// Names the file where SQLite only says that it could not open one.
pub(crate) fn opening(path: &Path) -> impl Fn(rusqlite::Error) -> EngineError {
    move |error| match store_error(&error) {
        StoreError::Unavailable { reason } => EngineError::Store(StoreError::Unavailable {
            reason: match error.sqlite_error_code() {
                // A database with a log cannot even be read where nothing can be written.
                Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                    format!(
                        "{}: {reason}; docent, also if it only reads, must be able to write to this file and to its folder",
                        path.display()
                    )
                }
                _ => format!("{}: {reason}", path.display()),
            },
        }),
        StoreError::Corrupt { .. } => EngineError::Store(StoreError::Unavailable {
            reason: if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
                format!("{} is no SQLite database: {error}", path.display())
            } else {
                format!("{} is damaged: {error}{RESTORE_MENDS}", path.display())
            },
        }),
        _ => EngineError::Sqlite(error),
    }
}

/// An error of the file system around the database.
pub(crate) fn file_error(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Refused {
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
    fn callers_can_tell_busy_from_unavailable_from_damaged() {
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
        let said = opening(Path::new("some.db"))(read_only).to_string();
        assert!(said.contains("some.db: "), "{said}");
        assert!(said.contains("able to write to this file"), "{said}");
        assert!(matches!(
            mapped(ffi::SQLITE_CONSTRAINT),
            StoreError::Other(_)
        ));
    }
}
