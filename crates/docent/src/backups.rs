//! Backups with dated names, in a directory or in a bucket of an object store.
//!
//! A backup gets its name only after it was restored and checked. So whatever has the name of a
//! backup is a good one, and old ones are deleted only when a newer one is.
//!
//! With the archive of the write-ahead log beside them, they give the store at any time since
//! ([`wal_archive`], [`recovery`]).

mod bucket;
mod credentials;
mod directory;
mod listing;
mod name;
mod recovery;
mod wal_archive;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use docent_store::Store;
use tokio::task::spawn_blocking;

use crate::engine;
use crate::settings::StoreUrl;
use bucket::Bucket;
use directory::{Directory, Workplace};
use jiff::Timestamp;
pub(crate) use name::BackupName;
use recovery::Recovery;
pub(crate) use recovery::States;
pub(crate) use wal_archive::WalArchive;

const BUCKET: &str = "s3://";

/// Shows how far a part of the work is.
pub(crate) type Progress = Box<dyn FnMut(u64, u64) + Send>;

/// Shows nothing.
pub(crate) fn silent(_part: &'static str) -> Progress {
    Box::new(|_, _| {})
}

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
        let names = self.names("").await?;
        let names = names.iter().filter_map(|name| BackupName::parse(name));
        let mut names: Vec<BackupName> = names.collect();
        names.sort_unstable();
        Ok(names)
    }

    async fn names(&self, folder: &str) -> Result<Vec<String>> {
        match self {
            Self::Directory(directory) => directory.names(folder),
            Self::Bucket(bucket) => {
                let objects = bucket.objects(folder).await?;
                Ok(objects.into_iter().map(|(name, _)| name).collect())
            }
        }
    }

    /// A temporary directory for a file that will be added.
    fn workplace(&self) -> Result<Workplace> {
        match self {
            Self::Directory(directory) => directory.workplace(),
            Self::Bucket(_) => Workplace::temporary(),
        }
    }

    /// Fails if backups cannot be made here: in a directory, or in the one for temporary files.
    pub(crate) fn expect_writable(&self) -> Result<()> {
        self.workplace().map(drop)
    }

    /// Adds a file from the workplace. In a directory, none may have its name.
    async fn add(&self, file: &Path, path: &str, progress: Progress) -> Result<()> {
        match self {
            Self::Directory(directory) => {
                directory.expect_new(path)?;
                let (directory, file, path) = (directory.clone(), file.to_owned(), path.to_owned());
                spawn_blocking(move || directory.add(&file, &path)).await?
            }
            Self::Bucket(bucket) => {
                let file = File::open(file)?;
                let total = file.metadata()?.len();
                bucket.upload(file, total, path, progress).await
            }
        }
    }

    /// Adds a file that has these bytes, again if it was added before.
    async fn write(&self, bytes: Vec<u8>, path: &str) -> Result<()> {
        match self {
            Self::Directory(directory) => {
                let (directory, path) = (directory.clone(), path.to_owned());
                spawn_blocking(move || directory.write(&bytes, &path)).await?
            }
            Self::Bucket(bucket) => {
                let total = bytes.len() as u64;
                bucket.upload(&*bytes, total, path, silent("")).await
            }
        }
    }

    /// Reads a whole file, which is small.
    async fn read(&self, path: &str) -> Result<Vec<u8>> {
        match self {
            Self::Directory(directory) => {
                let path = directory.path().join(path);
                let read = spawn_blocking(move || {
                    fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
                });
                read.await?
            }
            Self::Bucket(bucket) => {
                let mut bytes = Vec::new();
                bucket.download(path, &mut bytes, silent("")).await?;
                Ok(bytes)
            }
        }
    }

    /// Copies a file from here.
    async fn copy(&self, path: &str, to: &Path, progress: Progress) -> Result<()> {
        match self {
            Self::Directory(directory) => {
                let from = directory.path().join(path);
                fs::copy(&from, to).with_context(|| format!("cannot copy {}", from.display()))?;
                Ok(())
            }
            Self::Bucket(bucket) => {
                let mut file = File::create_new(to)?;
                bucket.download(path, &mut file, progress).await?;
                Ok(file.sync_all()?)
            }
        }
    }

    async fn has(&self, path: &str) -> Result<bool> {
        match self {
            Self::Directory(directory) => directory.has(path),
            Self::Bucket(bucket) => bucket.has(path).await,
        }
    }

    async fn delete(&self, path: &str) -> Result<()> {
        match self {
            Self::Directory(directory) => directory.delete(path),
            Self::Bucket(bucket) => bucket.delete(path).await,
        }
    }

    /// Backs up the store, checks the backup, and deletes all but the newest ones.
    pub(crate) async fn back_up(
        &self,
        store: &dyn Store,
        url: &StoreUrl,
        keep: Option<usize>,
        archive: Option<&WalArchive>,
        progress: impl Fn(&'static str) -> Progress,
    ) -> Result<Made> {
        if let Self::Directory(directory) = self {
            directory.delete_unfinished()?;
        }
        let workplace = self.workplace()?;
        let file = workplace.path().join("backup");
        let log = match archive {
            Some(archive) => Some((archive, archive.begin_backup().await?)),
            None => None,
        };
        let mut name = BackupName::now();
        store.backup(&file, progress("copying")).await?;
        if let Some((archive, start)) = log {
            name = name.with_log(archive.log_since(start).await?);
        }
        check(url, &file, workplace.path(), progress("checking")).await?;
        let bytes = fs::metadata(&file)?.len();
        self.add(&file, &name.to_string(), progress("uploading"))
            .await?;
        if let Some(archive) = archive {
            archive.has_backup(&[name]).await?;
        }
        Ok(Made {
            name,
            bytes,
            deleted: match keep {
                Some(keep) => self.delete_older(name, keep, archive).await?,
                None => 0,
            },
        })
    }

    /// Keeps the backup that was just made, the newest of the others, and the log since then;
    /// returns how many others it deleted.
    async fn delete_older(
        &self,
        made: BackupName,
        keep: usize,
        archive: Option<&WalArchive>,
    ) -> Result<usize> {
        let names = self.list().await?;
        let (older, kept) = older_and_kept(names, made, keep, Timestamp::now());
        for name in &older {
            self.delete(&name.to_string()).await?;
        }
        if let Some(archive) = archive {
            archive.delete_unneeded(&kept).await?;
        }
        Ok(older.len())
    }
}

/// Splits the names of backups into those to delete and those to keep. A clock that was ahead has
/// made the ones with a time in the future: they count as the oldest.
fn older_and_kept(
    mut names: Vec<BackupName>,
    made: BackupName,
    keep: usize,
    now: Timestamp,
) -> (Vec<BackupName>, Vec<BackupName>) {
    names.retain(|name| *name != made);
    names.sort_unstable_by_key(|name| (name.time() <= now, *name));
    let mut kept = names.split_off((names.len() + 1).saturating_sub(keep));
    kept.push(made);
    (names, kept)
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
    /// The time of its state, where known.
    pub(crate) state: Option<Timestamp>,
    /// What is missing in its log, if later states are lost.
    pub(crate) gap: Option<String>,
    /// What else can be restored.
    advice: Option<String>,
    /// Where a downloaded one is, until this is dropped.
    workplace: Option<Workplace>,
}

impl LocalBackup {
    /// Finds a backup: a file; in a directory or a bucket, what gives the newest state, or the
    /// newest one up to a time; or, in a bucket, the backup with this name.
    pub(crate) async fn find(
        source: &str,
        at: Option<Timestamp>,
        progress: impl Fn(&'static str) -> Progress,
    ) -> Result<Self> {
        let (place, requested) = match source.rsplit_once('/') {
            Some((place, name)) if source.starts_with(BUCKET) => match BackupName::parse(name) {
                Some(name) => (place, Some(name)),
                None => (source, None),
            },
            _ => (source, None),
        };
        let is_one_backup = requested.is_some() || !Destination::is_meant(place);
        ensure!(
            at.is_none() || !is_one_backup,
            "--at needs the directory or bucket of scheduled backups, not one of them"
        );
        if !Destination::is_meant(place) {
            return Ok(Self {
                path: source.into(),
                name: source.to_owned(),
                state: None,
                gap: None,
                advice: None,
                workplace: None,
            });
        }
        let destination = Destination::parse(place)?;
        let found = match requested {
            Some(requested) => {
                let names = destination.list().await?;
                let found = names.into_iter().find(|name| *name == requested);
                found.map(Recovery::without_log)
            }
            None => Recovery::find(&destination, at).await?,
        };
        let Some(found) = found else {
            let oldest = destination.oldest_state().await?;
            bail!("{}", none_at(source, at, oldest));
        };
        Self::fetch(&destination, &found, progress).await
    }

    async fn fetch(
        destination: &Destination,
        found: &Recovery,
        progress: impl Fn(&'static str) -> Progress,
    ) -> Result<Self> {
        let name = format!("{destination}/{}", found.backup);
        let state = Some(found.state());
        let gap = found.gap();
        let advice = match found.earlier {
            Some(earlier) => format!("'--at {earlier}' restores the newest state before it"),
            None => "there is no backup before it".to_owned(),
        };
        let advice = Some(advice);
        // It can be read where it is.
        if let (None, Destination::Directory(directory)) = (found.until(), destination) {
            return Ok(Self {
                path: directory.path().join(found.backup.to_string()),
                name,
                state,
                gap,
                advice,
                workplace: None,
            });
        }
        let workplace = Workplace::temporary()?;
        let path = workplace.path().join("backup");
        let object = found.backup.to_string();
        destination
            .copy(&object, &path, progress("downloading"))
            .await?;
        if found.until().is_some() {
            let applying = found.roll_forward(destination, &path, progress("applying the log"));
            applying.await?;
        }
        Ok(Self {
            path,
            name,
            state,
            gap,
            advice,
            workplace: Some(workplace),
        })
    }

    /// Names the backup in an error about it, and says what else can be restored.
    pub(crate) fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let text = format!("{error:#}");
        // Errors about the backup begin with its path; others are about the store.
        let about_backup = text.strip_prefix(&*self.path.to_string_lossy());
        match (about_backup, &self.advice) {
            (Some(problem), Some(advice)) => anyhow!("{}{problem}: {advice}", self.name),
            _ => error,
        }
    }

    /// Restores the backup to a temporary place, and checks the store there.
    pub(crate) async fn verify(&self, url: &StoreUrl, progress: Progress) -> Result<()> {
        let temporary;
        let workplace = if let Some(workplace) = &self.workplace {
            workplace
        } else {
            temporary = Workplace::temporary()?;
            &temporary
        };
        check(url, &self.path, workplace.path(), progress).await
    }
}

fn none_at(source: &str, at: Option<Timestamp>, oldest: Option<Timestamp>) -> String {
    match (at, oldest) {
        (Some(at), Some(oldest)) => {
            format!(
                "there is no backup at {source} from before {at}: the oldest state is of {oldest}"
            )
        }
        _ => format!("there is no backup at {source}: 'docent backup' makes one"),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names<const N: usize>(times: [&str; N]) -> Vec<BackupName> {
        let names = times.map(|time| BackupName::parse(&format!("docent-{time}.backup")).unwrap());
        names.to_vec()
    }

    #[test]
    fn the_backup_just_made_is_kept_and_those_of_a_clock_that_was_ahead_go_first() {
        let now: Timestamp = "2026-11-19T12:00:00Z".parse().unwrap();
        let all = names([
            "20261117T120000Z",
            "20261118T120000000Z",
            "20261119T120000000Z",
            "20270101T120000000Z",
        ]);
        let made = all[2];
        let split = |keep| older_and_kept(all.clone(), made, keep, now);
        assert_eq!(split(1), (vec![all[3], all[0], all[1]], vec![made]));
        assert_eq!(split(2), (vec![all[3], all[0]], vec![all[1], made]));
        assert_eq!(split(3).0, [all[3]]);
        assert!(split(4).0.is_empty() && split(9).0.is_empty());
        // A clock that was set back while the backup was made.
        let (older, kept) = older_and_kept(all.clone(), all[3], 1, now);
        assert_eq!((older.len(), kept), (3, vec![all[3]]));
    }
}
