//! Backups with dated names, in a directory or in a bucket of an object store.
//!
//! A backup gets its name only after it was restored and checked. So whatever has the name of a
//! backup is a good one, and old ones are deleted only when a newer one is.

mod bucket;
mod directory;
mod name;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use docent_store::Store;
use tempfile::TempDir;

use crate::engine;
use crate::settings::StoreUrl;
use bucket::Bucket;
use directory::Directory;
pub(crate) use name::BackupName;

const BUCKET: &str = "s3://";

/// Shows how far a part of the work is.
pub(crate) type Progress = Box<dyn FnMut(u64, u64) + Send>;

/// Where backups are kept.
#[derive(Debug, Clone)]
pub(crate) enum Destination {
    Directory(Directory),
    Bucket(Box<Bucket>),
}

/// A backup that was made.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) name: BackupName,
    pub(crate) bytes: u64,
    /// How many older ones were deleted.
    pub(crate) deleted: usize,
}

impl Destination {
    /// Whether a text names a place for many backups, rather than a file.
    pub(crate) fn is_meant(text: &str) -> bool {
        text.starts_with(BUCKET) || Path::new(text).is_dir()
    }

    /// Parses the path of a directory, or `s3://BUCKET/PREFIX`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        match text.strip_prefix(BUCKET) {
            Some(rest) => Ok(Self::Bucket(Box::new(Bucket::parse(rest)?))),
            None => Ok(Self::Directory(Directory::new(text.into()))),
        }
    }

    /// The names of all backups, the oldest first. Other files do not count.
    pub(crate) async fn list(&self) -> Result<Vec<BackupName>> {
        let mut names = match self {
            Self::Directory(directory) => directory.list()?,
            Self::Bucket(bucket) => bucket.list().await?,
        };
        names.sort_unstable();
        Ok(names)
    }

    /// Backs up the store, checks the backup, and deletes all but the newest ones.
    pub(crate) async fn back_up(
        &self,
        store: &dyn Store,
        url: &StoreUrl,
        keep: Option<usize>,
        progress: impl Fn(&'static str) -> Progress,
    ) -> Result<Made> {
        let workplace = match self {
            Self::Directory(directory) => directory.workplace()?,
            Self::Bucket(_) => TempDir::new().context("cannot create a temporary directory")?,
        };
        let file = workplace.path().join("backup");
        let name = BackupName::now();
        store.backup(&file, progress("copying")).await?;
        check(url, &file, workplace.path(), progress("checking")).await?;
        let bytes = fs::metadata(&file)?.len();
        match self {
            Self::Directory(directory) => directory.add(&file, name)?,
            Self::Bucket(bucket) => bucket.upload(&file, name, progress("uploading")).await?,
        }
        Ok(Made {
            name,
            bytes,
            deleted: match keep {
                Some(keep) => self.delete_older(keep).await?,
                None => 0,
            },
        })
    }

    /// Keeps the newest backups; returns how many others it deleted.
    async fn delete_older(&self, keep: usize) -> Result<usize> {
        let names = self.list().await?;
        let older = &names[..names.len().saturating_sub(keep)];
        for name in older {
            match self {
                Self::Directory(directory) => directory.delete(*name)?,
                Self::Bucket(bucket) => bucket.delete(*name).await?,
            }
        }
        Ok(older.len())
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Directory(directory) => write!(formatter, "{}", directory.path().display()),
            Self::Bucket(bucket) => write!(formatter, "{BUCKET}{bucket}"),
        }
    }
}

/// A backup on this machine.
#[derive(Debug)]
pub(crate) struct LocalBackup {
    pub(crate) path: PathBuf,
    /// How messages name it.
    pub(crate) name: String,
    /// Where a downloaded one is, until this is dropped.
    workplace: Option<TempDir>,
}

impl LocalBackup {
    /// Finds a backup: a file; the newest one in a directory or a bucket; or, in a bucket, the one
    /// with this name.
    pub(crate) async fn find(
        source: &str,
        progress: impl Fn(&'static str) -> Progress,
    ) -> Result<Self> {
        let (place, requested) = match source.rsplit_once('/') {
            Some((place, name)) if source.starts_with(BUCKET) => match BackupName::parse(name) {
                Some(name) => (place, Some(name)),
                None => (source, None),
            },
            _ => (source, None),
        };
        if !Destination::is_meant(place) {
            return Ok(Self {
                path: source.into(),
                name: source.to_owned(),
                workplace: None,
            });
        }
        let destination = Destination::parse(place)?;
        let names = destination.list().await?;
        let found = match requested {
            Some(requested) => names.into_iter().find(|name| *name == requested),
            None => names.last().copied(),
        };
        let Some(found) = found else {
            bail!("there is no backup at {source}: 'docent backup' makes one");
        };
        let name = format!("{destination}/{found}");
        match destination {
            Destination::Directory(directory) => Ok(Self {
                path: directory.path().join(found.to_string()),
                name,
                workplace: None,
            }),
            Destination::Bucket(bucket) => {
                let workplace = TempDir::new().context("cannot create a temporary directory")?;
                let path = workplace.path().join("backup");
                bucket
                    .download(found, &path, progress("downloading"))
                    .await?;
                Ok(Self {
                    path,
                    name,
                    workplace: Some(workplace),
                })
            }
        }
    }

    /// Restores the backup to a temporary place, and checks the store there.
    pub(crate) async fn verify(&self, url: &StoreUrl, progress: Progress) -> Result<()> {
        let workplace = match &self.workplace {
            Some(workplace) => TempDir::new_in(workplace.path()),
            None => TempDir::new(),
        };
        let workplace = workplace.context("cannot create a temporary directory")?;
        check(url, &self.path, workplace.path(), progress).await
    }
}

/// Restores a backup to a temporary place, and checks the store there.
async fn check(url: &StoreUrl, backup: &Path, workplace: &Path, progress: Progress) -> Result<()> {
    let restored = workplace.join("restored");
    let findings = engine::check_backup(url, backup, &restored, progress).await?;
    ensure!(
        findings.is_empty(),
        "the backup is damaged: {}",
        findings.join("; ")
    );
    Ok(())
}
