//! All files of a directory, to look for what must not be in them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns every file below a directory with what is in it.
pub fn files_below(directory: &Path) -> anyhow::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    let mut paths = vec![directory.to_owned()];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            for entry in unless_gone(fs::read_dir(&path))?.into_iter().flatten() {
                paths.push(entry?.path());
            }
        } else if let Some(bytes) = unless_gone(fs::read(&path))? {
            files.push((path, bytes));
        }
    }
    Ok(files)
}

/// What was read, unless it went away since it was listed: a running server
/// replaces the files of its search index.
fn unless_gone<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}
