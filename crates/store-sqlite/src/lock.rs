//! One server per database file.
//!
//! The lock is the operating system's, on a file beside the database: it goes with the process, however that ends.
//! It cannot be on the database itself, because closing a file gives up all of SQLite's own locks on it. The
//! lock file stays behind; removing it would let two servers lock two different files of that name.

use std::fs::{File, TryLockError};
use std::path::Path;

use docent_store::StoreError;

use crate::error::file_error;
use crate::path::{beside, folder_of};

/// Held as long as a server (or a restore) uses a database.
#[derive(Debug)]
pub(crate) struct ServerLock {
    _file: File,
}

impl ServerLock {
    pub(crate) fn take(database: &Path) -> Result<Self, StoreError> {
        let folder = folder_of(database);
        if !folder.is_dir() {
            return Err(StoreError::Refused {
                reason: format!(
                    "{} cannot be opened: the folder {} does not exist, make it first",
                    database.display(),
                    folder.display()
                ),
            });
        }
        let path = beside(database, ".lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| file_error(&path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Refused {
                reason: format!("another docent server already uses {}", database.display()),
            }),
            Err(TryLockError::Error(error)) => Err(file_error(&path, &error)),
        }
    }
}
