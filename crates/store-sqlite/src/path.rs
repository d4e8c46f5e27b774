//! Where a database and the files beside it are.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use docent_store::StoreError;

use crate::error::file_error;

/// As many links, one after the other, as the system itself follows.
const MAX_LINKS: usize = 40;

/// Follows symbolic links, of a file that is still to be made as well.
///
/// SQLite keeps its log beside the file that a link leads to, not beside the link. So must everything else that
/// belongs to a database: two names of one file are one database with one log.
pub fn real_path(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        // There is no such file yet; the link to it is there, or the folder that it will be in.
        if let Ok(target) = path.read_link() {
            path = folder_of(&path).join(target);
            continue;
        }
        if let (Ok(folder), Some(name)) = (folder_of(&path).canonicalize(), path.file_name()) {
            return folder.join(name);
        }
        break;
    }
    path
}

/// What may stand beside a database that was not closed, and belongs to it.
pub(crate) const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Refuses a place where no database can be, in words of ours; SQLite would only say that it cannot open it.
pub(crate) fn expect_place(database: &Path) -> Result<(), StoreError> {
    if database.is_dir() {
        return Err(refused(format!(
            "{} is a directory: name a file in it, for example {}",
            database.display(),
            database.join("docent.db").display()
        )));
    }
    let folder = folder_of(database);
    if folder.is_dir() {
        return Ok(());
    }
    let hint = if folder.starts_with("~") {
        "only a shell knows what ~ means, and only at the beginning of a word: write the whole path"
    } else {
        "make it first"
    };
    Err(refused(format!(
        "there is no folder {} for {}: {hint}",
        folder.display(),
        database.display()
    )))
}

/// Refuses a database that is not there.
pub(crate) fn expect_file(database: &Path) -> Result<(), StoreError> {
    expect_place(database)?;
    if database.try_exists().unwrap_or(true) {
        return Ok(());
    }
    Err(refused(format!(
        "there is no database at {}",
        database.display()
    )))
}

/// Makes the file of a new database if there is none; an empty file is an empty database.
///
/// Refuses if the log of another one stands there: either somebody still uses that, and its file was moved away, or what
/// was committed last is only there.
pub(crate) fn make_file(database: &Path) -> Result<(), StoreError> {
    expect_place(database)?;
    if database
        .try_exists()
        .map_err(|error| file_error(database, &error))?
    {
        return Ok(());
    }
    for suffix in BESIDE {
        let left = beside(database, suffix);
        if left.exists() {
            return Err(refused(format!(
                "there is no database at {}, but {} is there, which belongs to one: if the database was moved, put it back; \
                 if it is gone for good and no server runs, remove that file",
                database.display(),
                left.display()
            )));
        }
    }
    // SQLite gives its log the rights that the file has.
    match create_private(database) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(refused(format!(
            "{} cannot be made: {error}",
            database.display()
        ))),
        _ => Ok(()),
    }
}

/// Makes a new file that nobody but its owner may read: it holds what passwords and tokens are checked with.
pub(crate) fn create_private(path: &Path) -> std::io::Result<File> {
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

fn refused(reason: String) -> StoreError {
    StoreError::Refused { reason }
}

/// The folder of a file, also of one that is named without any.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// `docent.db` and `-wal` give `docent.db-wal`.
pub(crate) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(suffix);
    PathBuf::from(name)
}
