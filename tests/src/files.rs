//! Reads all files of a directory, to search them for secrets.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns every file below a directory with its content.
pub fn files_below(directory: &Path) -> anyhow::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    let mut paths = vec![directory.to_owned()];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            for entry in unless_missing(fs::read_dir(&path))?.into_iter().flatten() {
                paths.push(entry?.path());
            }
        } else if let Some(bytes) = unless_missing(fs::read(&path))? {
            files.push((path, bytes));
        }
    }
    Ok(files)
}

/// Returns `None` for a file deleted since it was listed: a running server replaces the files of
/// its search index.
fn unless_missing<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}
