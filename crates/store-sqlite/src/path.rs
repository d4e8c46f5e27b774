//! Where a database and the files beside it are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use docent_store::StoreError;

/// As many links, one after the other, as the system itself follows.
const MAX_LINKS: usize = 40;

/// Follows symbolic links, of a file that is still to be made as well.
///
/// SQLite keeps its log beside the file that a link leads to, not beside the link. So must everything else that
/// belongs to a database: two names of one file are one database with one lock.
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

/// Refuses a database that is not there; SQLite would only say that it cannot open it.
pub(crate) fn expect_file(database: &Path) -> Result<(), StoreError> {
    if database.try_exists().unwrap_or(true) {
        return Ok(());
    }
    Err(StoreError::Refused {
        reason: format!("there is no database at {}", database.display()),
    })
}

/// The folder of a file, also of one that is named without any.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// `docent.db` and `.lock` give `docent.db.lock`.
pub(crate) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(suffix);
    PathBuf::from(name)
}
