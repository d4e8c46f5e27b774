//! A directory of backups.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, ensure};
use tempfile::TempDir;

/// The beginning of the names of workplaces.
const UNFINISHED: &str = ".docent-unfinished-";
/// A file in a workplace, locked by the process that uses it. The lock ends with the process, also
/// where processes of several containers have the same id.
const LOCK: &str = "lock";
const WORKPLACE_TRIES: usize = 3;

#[derive(Debug, Clone)]
pub(crate) struct Directory(PathBuf);

/// A temporary directory for unfinished files, which others do not delete.
#[derive(Debug)]
pub(super) struct Workplace {
    directory: TempDir,
    /// `None` where no other process looks for it.
    _lock: Option<File>,
}

impl Workplace {
    /// One in the directory for temporary files of the system.
    pub(super) fn temporary() -> Result<Self> {
        let directory = TempDir::new().with_context(|| {
            format!(
                "cannot create a temporary directory in {}: set the variable TMPDIR to a directory with space for the \
                 store",
                std::env::temp_dir().display()
            )
        })?;
        Ok(Self {
            directory,
            _lock: None,
        })
    }

    fn lock(directory: TempDir) -> io::Result<Self> {
        let path = directory.path().join(LOCK);
        let lock = File::create_new(&path)?;
        // A file system without locks has none that could be deleted, either.
        if let Err(error) = lock.lock() {
            tracing::debug!("cannot lock {}: {error}", path.display());
        }
        fs::metadata(&path)?;
        Ok(Self {
            directory,
            _lock: Some(lock),
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Deletes a workplace that no process uses.
fn delete_if_left(workplace: &Path) -> io::Result<()> {
    match File::options().write(true).open(workplace.join(LOCK)) {
        Ok(lock) => match lock.try_lock() {
            Ok(()) => fs::remove_dir_all(workplace),
            Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Error(error)) => Err(error),
        },
        // Its process is about to create it, or has left nothing else.
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::remove_dir(workplace),
        Err(error) => Err(error),
    }
}

impl Directory {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The names of the files in a folder of the directory.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>> {
        if !folder.is_empty() && !self.has(folder)? {
            return Ok(Vec::new());
        }
        let path = self.0.join(folder);
        let failed = || format!("cannot list the backups in {}", path.display());
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).with_context(failed)? {
            names.extend(entry.with_context(failed)?.file_name().into_string());
        }
        Ok(names)
    }

    pub(super) fn size(&self, path: &str) -> Result<u64> {
        let path = self.0.join(path);
        let failed = || format!("cannot read {}", path.display());
        Ok(fs::metadata(&path).with_context(failed)?.len())
    }

    /// A directory for an unfinished backup, on the same file system. Deleted when it is dropped.
    pub(super) fn workplace(&self) -> Result<Workplace> {
        let failed = || format!("cannot write to {}", self.0.display());
        // Another process may delete it between its creation and its lock.
        let mut last_error = None;
        for _ in 0..WORKPLACE_TRIES {
            let mut builder = tempfile::Builder::new();
            let directory = builder.prefix(UNFINISHED).tempdir_in(&self.0);
            let directory = directory.with_context(failed)?;
            match Workplace::lock(directory) {
                Ok(workplace) => return Ok(workplace),
                Err(error) => last_error = Some(error),
            }
        }
        let error = last_error.map_or_else(|| anyhow!("no lock"), Into::into);
        Err(error.context(failed()))
    }

    /// Deletes the workplaces that killed processes have left, as far as that is allowed.
    pub(super) fn delete_unfinished(&self) -> Result<()> {
        let names = self.names("")?;
        for name in names.iter().filter(|name| name.starts_with(UNFINISHED)) {
            let path = self.0.join(name);
            if let Err(error) = delete_if_left(&path) {
                tracing::warn!(
                    "cannot delete the unfinished backup {}: {error}",
                    path.display()
                );
            }
        }
        Ok(())
    }

    pub(super) fn expect_new(&self, path: &str) -> Result<()> {
        let target = self.0.join(path);
        let failed = || format!("cannot create {}", target.display());
        ensure!(
            !target.try_exists().with_context(failed)?,
            "{} exists already: another process backs up to this directory",
            target.display()
        );
        Ok(())
    }

    /// Moves a finished file here.
    pub(super) fn add(&self, file: &Path, path: &str) -> Result<()> {
        let target = self.0.join(path);
        let failed = || format!("cannot create {}", target.display());
        let folder = target.parent().unwrap_or(&self.0);
        if folder != self.0 && !folder.exists() {
            // Not the directory itself, which may be a disk that is not mounted.
            let mut builder = fs::DirBuilder::new();
            builder.mode(0o700).create(folder).with_context(failed)?;
        }
        fs::rename(file, &target).with_context(failed)?;
        // The rename is durable once the directory is synced.
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .with_context(failed)
    }

    /// Writes a file, in place of one that has the name.
    pub(super) fn write(&self, bytes: &[u8], path: &str) -> Result<()> {
        let workplace = self.workplace()?;
        let file = workplace.path().join("file");
        write_durably(&file, bytes)?;
        self.add(&file, path)
    }

    /// Whether there is a file. Fails if the directory itself is not there: a disk that is away for
    /// a while has lost nothing.
    pub(super) fn has(&self, path: &str) -> Result<bool> {
        let target = self.0.join(path);
        let exists = || {
            let failed = || format!("cannot read {}", target.display());
            target.try_exists().with_context(failed)
        };
        if exists()? {
            return Ok(true);
        }
        let failed = || format!("cannot read {}", self.0.display());
        fs::read_dir(&self.0).with_context(failed)?;
        // Again: the disk may have come back in between.
        exists()
    }

    pub(super) fn delete(&self, path: &str) -> Result<()> {
        let path = self.0.join(path);
        fs::remove_file(&path).with_context(|| format!("cannot delete {}", path.display()))
    }
}

/// Only its owner may read it: it has parts of the store.
fn write_durably(path: &Path, bytes: &[u8]) -> Result<()> {
    let file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let written = file.and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_workplaces_that_no_process_uses_are_deleted() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::new(place.path().into());
        let used = directory.workplace().unwrap();
        fs::write(used.path().join("backup"), "unfinished").unwrap();
        let left = place.path().join(format!("{UNFINISHED}left"));
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        fs::write(left.join("backup"), "unfinished").unwrap();
        let other = place.path().join("other");
        fs::create_dir(&other).unwrap();

        directory.delete_unfinished().unwrap();
        assert!(used.path().join("backup").exists());
        assert!(!left.exists() && other.exists());
        drop(used);
        assert_eq!(directory.names("").unwrap(), ["other"]);
    }

    #[test]
    fn a_workplace_that_cannot_be_deleted_stops_no_backup() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::new(place.path().into());
        // Without a lock, and not empty.
        let odd = place.path().join(format!("{UNFINISHED}odd"));
        fs::create_dir(&odd).unwrap();
        fs::write(odd.join("file"), "").unwrap();
        directory.delete_unfinished().unwrap();
        assert!(odd.exists());
        directory.workplace().unwrap();
    }

    #[test]
    fn nothing_is_said_to_be_gone_while_the_directory_is_away() {
        let parent = tempfile::tempdir().unwrap();
        let (place, away) = (parent.path().join("place"), parent.path().join("away"));
        fs::create_dir(&place).unwrap();
        fs::write(place.join("file"), "").unwrap();
        let directory = Directory::new(place.clone());
        assert!(directory.has("file").unwrap());
        assert!(!directory.has("other").unwrap());
        assert!(directory.names("wal").unwrap().is_empty());
        fs::rename(&place, &away).unwrap();
        directory.has("file").unwrap_err();
        directory.names("wal").unwrap_err();
        fs::create_dir(&place).unwrap();
        assert!(!directory.has("file").unwrap());
    }
}
