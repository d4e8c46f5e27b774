//! One server per database file, whatever the file is called.
//!
//! A server holds the operating system's lock (`flock`) on the database itself and on the index of its log, which SQLite
//! keeps beside it by name. The first belongs to the file, so a hard link, a move or a removed file beside it does not get
//! around it; the second tells commands that the name by which they know the database is the one that the server uses. Both
//! go with the process, however that ends, and leave nothing behind.
//!
//! SQLite's own locks are of another kind (`fcntl`) and do not see these. But closing *any* descriptor of a file gives up
//! this process's locks of that kind on it. So what is opened here is closed before SQLite opens the file, or after it has
//! closed it.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use docent_store::StoreError;

use crate::error::file_error;
use crate::path::beside;

/// A command that looks whether a server is there has the lock for a moment.
const LOCK_PATIENCE: Duration = Duration::from_millis(200);

/// A server that starts has the first lock a moment before the second.
const START_PATIENCE: Duration = Duration::from_secs(2);

const PAUSE: Duration = Duration::from_millis(5);

/// Held as long as a server (or a restore) uses a database; given up after SQLite has closed it.
#[derive(Debug)]
pub(crate) struct ServerLock {
    _file: File,
    place: Place,
}

impl ServerLock {
    /// Locks a database that is there.
    pub(crate) fn take(database: &Path) -> Result<Self, StoreError> {
        let lock = within(LOCK_PATIENCE, || {
            let file = File::open(database).map_err(|error| file_error(database, &error))?;
            let place = Place::of(database, &file)?;
            // Between opening and locking somebody may have put another file there.
            let is_ours = try_lock(&file, database)? && place.is_kept();
            Ok(is_ours.then(|| Self { _file: file, place }))
        })?;
        let lock = lock.ok_or_else(|| in_use(database))?;
        expect_unused_log(database)?;
        Ok(lock)
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }
}

/// Refuses a place whose log a server uses, although its database is elsewhere.
pub(crate) fn expect_unused_log(database: &Path) -> Result<(), StoreError> {
    let log_index = beside(database, "-shm");
    if !is_locked(&log_index)? {
        return Ok(());
    }
    Err(StoreError::Refused {
        reason: format!(
            "another docent server already uses {}; its database was moved or removed while it ran: stop it first",
            log_index.display()
        ),
    })
}

/// Takes the second lock, on the open index of the log.
pub(crate) fn lock_log_index(file: &File, database: &Path) -> Result<(), StoreError> {
    let locked = within(
        LOCK_PATIENCE,
        || Ok(try_lock(file, database)?.then_some(())),
    )?;
    locked.ok_or_else(|| in_use(database))
}

/// Refuses a database that a server uses by another name: SQLite would begin a second log, and the two would destroy it.
pub(crate) fn expect_one_name(database: &Path) -> Result<(), StoreError> {
    let log_index = beside(database, "-shm");
    let fits = within(START_PATIENCE, || {
        let fits = !is_locked(database)? || is_locked(&log_index)?;
        Ok(fits.then_some(()))
    })?;
    fits.ok_or_else(|| StoreError::Refused {
        reason: format!(
            "a docent server uses {} by another name: it was moved while the server ran, or it is a hard link; \
             use the server's name for it, or stop the server",
            database.display()
        ),
    })
}

/// Tries until there is something, or the time is over.
fn within<T>(
    patience: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>, StoreError>,
) -> Result<Option<T>, StoreError> {
    let deadline = Instant::now() + patience;
    loop {
        let found = attempt()?;
        if found.is_some() || Instant::now() > deadline {
            return Ok(found);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Which file a database is, to notice when its name leads to another one or to none.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    path: PathBuf,
    identity: (u64, u64),
}

impl Place {
    fn of(database: &Path, file: &File) -> Result<Self, StoreError> {
        let metadata = file
            .metadata()
            .map_err(|error| file_error(database, &error))?;
        Ok(Self {
            path: database.to_owned(),
            identity: (metadata.dev(), metadata.ino()),
        })
    }

    /// Whether the name still leads to the file.
    pub(crate) fn is_kept(&self) -> bool {
        std::fs::metadata(&self.path)
            .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.identity)
    }

    /// Whether the name leads to some other file.
    pub(crate) fn is_taken(&self) -> bool {
        self.path.exists() && !self.is_kept()
    }

    pub(crate) fn lost(&self) -> StoreError {
        StoreError::Unavailable {
            reason: format!(
                "the database file {} was moved, removed or replaced while the server ran; nothing can be written until it \
                 is back in its place or the server is started anew",
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

/// Whether a server has this file; nobody has one that is not there.
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
    StoreError::Refused {
        reason: format!("another docent server already uses {}", database.display()),
    }
}
