//! One server per database file, under whatever name.
//!
//! A server holds an advisory lock (`flock`) on the database and on the index of its write-ahead
//! log (`-shm`), which SQLite finds by name. The first lock belongs to the file, so hard links and
//! renames do not circumvent it. The second tells commands that the server uses the same name as
//! they do. The operating system releases both with the process.
//!
//! SQLite's own locks are of another kind (`fcntl`), which ignores these. But closing *any*
//! descriptor of a file releases the process's `fcntl` locks on it. So this module closes its
//! descriptors before SQLite opens the file, or after SQLite has closed it.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use docent_store::StoreError;

use crate::error::file_error;
use crate::path::sibling;

/// A command that checks for a server holds the lock briefly.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);

/// A starting server takes the first lock briefly before the second.
const START_TIMEOUT: Duration = Duration::from_secs(2);

const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Held while a server or a restore uses a database; released after SQLite has closed it.
#[derive(Debug)]
pub(crate) struct ServerLock {
    _lock: File,
    file: DatabaseFile,
}

impl ServerLock {
    /// Locks an existing database.
    pub(crate) fn take(database: &Path) -> Result<Self, StoreError> {
        let lock = within(LOCK_TIMEOUT, || {
            let file = File::open(database).map_err(|error| file_error(database, &error))?;
            let identity = DatabaseFile::of(database, &file)?;
            // Another file may have been renamed to this path between opening and locking.
            let is_ours = try_lock(&file, database)? && identity.is_in_place();
            Ok(is_ours.then(|| Self {
                _lock: file,
                file: identity,
            }))
        })?;
        let lock = lock.ok_or_else(|| in_use(database))?;
        expect_unused_log(database)?;
        Ok(lock)
    }

    pub(crate) fn file(&self) -> &DatabaseFile {
        &self.file
    }
}

/// Rejects a path whose log a server uses, although its database was moved.
pub(crate) fn expect_unused_log(database: &Path) -> Result<(), StoreError> {
    let log_index = sibling(database, "-shm");
    if !is_locked(&log_index)? {
        return Ok(());
    }
    Err(StoreError::Rejected {
        reason: format!(
            "a docent server is using {}, but its database was moved or removed: stop that server first",
            log_index.display()
        ),
    })
}

/// Takes the second lock, on the open log index.
pub(crate) fn lock_log_index(file: &File, database: &Path) -> Result<(), StoreError> {
    let locked = within(LOCK_TIMEOUT, || Ok(try_lock(file, database)?.then_some(())))?;
    locked.ok_or_else(|| in_use(database))
}

/// Rejects a database that a server uses under another name: SQLite would start a second log, which
/// corrupts the database.
pub(crate) fn expect_server_uses_same_name(database: &Path) -> Result<(), StoreError> {
    let log_index = sibling(database, "-shm");
    let is_same = within(START_TIMEOUT, || {
        let is_same = !is_locked(database)? || is_locked(&log_index)?;
        Ok(is_same.then_some(()))
    })?;
    is_same.ok_or_else(|| StoreError::Rejected {
        reason: format!(
            "a docent server uses {} under another name: it was moved, or it is a hard link; \
             use the same name as the server, or stop the server",
            database.display()
        ),
    })
}

/// Retries until the attempt returns something, or the timeout passes.
fn within<T>(
    timeout: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>, StoreError>,
) -> Result<Option<T>, StoreError> {
    let deadline = Instant::now() + timeout;
    loop {
        let found = attempt()?;
        if found.is_some() || Instant::now() > deadline {
            return Ok(found);
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
}

/// The identity of the database file, to detect that it was moved or replaced.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl DatabaseFile {
    fn of(database: &Path, file: &File) -> Result<Self, StoreError> {
        let metadata = file
            .metadata()
            .map_err(|error| file_error(database, &error))?;
        Ok(Self {
            path: database.to_owned(),
            identity: (metadata.dev(), metadata.ino()),
        })
    }

    /// Whether the file is still at its path.
    pub(crate) fn is_in_place(&self) -> bool {
        std::fs::metadata(&self.path)
            .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.identity)
    }

    /// Whether another file is at its path.
    pub(crate) fn is_replaced(&self) -> bool {
        self.path.exists() && !self.is_in_place()
    }

    pub(crate) fn moved_error(&self) -> StoreError {
        StoreError::Unavailable {
            reason: format!(
                "the database file {} was moved, removed or replaced while the server ran; writes are rejected until it \
                 is back or the server is restarted",
                self.path.display()
            ),
        }
    }
}

fn try_lock(file: &File, path: &Path) -> Result<bool, StoreError> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(file_error(path, &error)),
    }
}

/// Whether a server has locked this file; a missing file is not locked.
fn is_locked(path: &Path) -> Result<bool, StoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(file_error(path, &error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(file_error(path, &error)),
    }
}

fn in_use(database: &Path) -> StoreError {
    StoreError::Rejected {
        reason: format!(
            "a docent server is using {}: stop it first, or use another store",
            database.display()
        ),
    }
}
