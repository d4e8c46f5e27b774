//! The paths of a database and its log files.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use docent_store::StoreError;

use crate::error::file_error;

/// The number of nested links that the operating system follows.
const MAX_LINKS: usize = 40;

/// Resolves symbolic links, also of a file that does not exist yet.
///
/// SQLite keeps its log next to the target of a link, not next to the link. So must everything else
/// that belongs to the database.
pub fn real_path(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        // The file does not exist yet, but a link to it or its directory may.
        if let Ok(target) = path.read_link() {
            path = directory_of(&path).join(target);
            continue;
        }
        if let (Ok(directory), Some(name)) = (directory_of(&path).canonicalize(), path.file_name())
        {
            return directory.join(name);
        }
        break;
    }
    path
}

/// The suffixes of the files that belong to a database which was not closed.
pub(crate) const LOG_SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Rejects paths that cannot have a database; SQLite would only report that it cannot open the
/// file.
pub(crate) fn expect_valid_path(database: &Path) -> Result<(), StoreError> {
    if database.is_dir() {
        return Err(rejected(format!(
            "{} is a directory: name a file in it, for example {}",
            database.display(),
            database.join("docent.db").display()
        )));
    }
    let directory = directory_of(database);
    if directory.is_dir() {
        return Ok(());
    }
    let hint = if directory.starts_with("~") {
        "a shell expands ~ only at the beginning of a word: write the whole path"
    } else {
        "create it first"
    };
    Err(rejected(format!(
        "the directory {} for {} does not exist: {hint}",
        directory.display(),
        database.display()
    )))
}

/// Rejects a missing database.
pub(crate) fn expect_file(database: &Path) -> Result<(), StoreError> {
    expect_valid_path(database)?;
    if database.try_exists().unwrap_or(true) {
        return Ok(());
    }
    Err(rejected(format!(
        "there is no database at {}: check --store, or create it with 'docent serve'",
        database.display()
    )))
}

/// Creates the file of a new database if it does not exist; an empty file is an empty database.
///
/// Rejects a path with the log of another database: either that database is in use and was moved,
/// or the log has its last commits.
pub(crate) fn create_file(database: &Path) -> Result<(), StoreError> {
    expect_valid_path(database)?;
    if database
        .try_exists()
        .map_err(|error| file_error(database, &error))?
    {
        return Ok(());
    }
    for suffix in LOG_SUFFIXES {
        let leftover = sibling(database, suffix);
        if leftover.exists() {
            return Err(rejected(format!(
                "there is no database at {}, but its log file {} exists: if the database was moved, move it back; \
                 if it was deleted and no server runs, remove that file",
                database.display(),
                leftover.display()
            )));
        }
    }
    // SQLite creates its log with the permissions of the file.
    match create_private(database) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(rejected(format!(
            "cannot create {}: {error}",
            database.display()
        ))),
        _ => Ok(()),
    }
}

/// Creates a file that only its owner can read: a database has password and token hashes.
pub(crate) fn create_private(path: &Path) -> std::io::Result<File> {
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

fn rejected(reason: String) -> StoreError {
    StoreError::Rejected { reason }
}

/// The directory of a file, which is the current one for a bare name.
pub(crate) fn directory_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// `docent.db` and `-wal` give `docent.db-wal`.
pub(crate) fn sibling(database: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(suffix);
    PathBuf::from(name)
}
