//! A directory of backups.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use super::BackupName;

/// The beginning of the names of unfinished backups.
const UNFINISHED: &str = ".docent-unfinished-";

#[derive(Debug, Clone)]
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn list(&self) -> Result<Vec<BackupName>> {
        let failed = || format!("cannot list the backups in {}", self.0.display());
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0).with_context(failed)? {
            let name = entry.with_context(failed)?.file_name();
            names.extend(name.to_str().and_then(BackupName::parse));
        }
        Ok(names)
    }

    /// A directory for an unfinished backup, on the same file system. Deleted when it is dropped;
    /// one that a killed process has left is deleted here.
    pub(super) fn workplace(&self) -> Result<TempDir> {
        let failed = || format!("cannot write to {}", self.0.display());
        for entry in fs::read_dir(&self.0).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let name = entry.file_name();
            let process = name.to_str().and_then(|name| name.strip_prefix(UNFINISHED));
            let Some(process) = process.and_then(|rest| rest.split('-').next()) else {
                continue;
            };
            if !Path::new("/proc").join(process).exists() {
                fs::remove_dir_all(entry.path()).with_context(failed)?;
            }
        }
        tempfile::Builder::new()
            .prefix(&format!("{UNFINISHED}{}-", std::process::id()))
            .tempdir_in(&self.0)
            .with_context(failed)
    }

    /// Moves a finished backup here.
    pub(super) fn add(&self, file: &Path, name: BackupName) -> Result<()> {
        let target = self.0.join(name.to_string());
        let failed = || format!("cannot create {}", target.display());
        ensure!(
            !target.try_exists().with_context(failed)?,
            "{} exists already: another process backs up to this directory",
            target.display()
        );
        fs::rename(file, &target).with_context(failed)?;
        // The rename is durable once the directory is synced.
        File::open(&self.0)
            .and_then(|directory| directory.sync_all())
            .with_context(failed)
    }

    pub(super) fn delete(&self, name: BackupName) -> Result<()> {
        let path = self.0.join(name.to_string());
        fs::remove_file(&path).with_context(|| format!("cannot delete {}", path.display()))
    }
}
