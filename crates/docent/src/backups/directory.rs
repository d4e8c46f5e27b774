//! A directory of backups.

use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

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

    /// The names of the files in a folder of the directory.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>> {
        let path = self.0.join(folder);
        if !folder.is_empty() && !path.exists() {
            return Ok(Vec::new());
        }
        let failed = || format!("cannot list the backups in {}", path.display());
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).with_context(failed)? {
            names.extend(entry.with_context(failed)?.file_name().into_string());
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

    pub(super) fn has(&self, path: &str) -> Result<bool> {
        let path = self.0.join(path);
        let failed = || format!("cannot read {}", path.display());
        path.try_exists().with_context(failed)
    }

    pub(super) fn delete(&self, path: &str) -> Result<()> {
        let path = self.0.join(path);
        fs::remove_file(&path).with_context(|| format!("cannot delete {}", path.display()))
    }
}
