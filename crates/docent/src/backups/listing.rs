//! What can be restored from a directory or a bucket.

use anyhow::Result;
use jiff::Timestamp;

use super::recovery::{Recovery, States};
use super::{BackupName, Destination};

/// A backup in a list.
#[derive(Debug)]
pub(crate) struct ListedBackup {
    pub(crate) name: BackupName,
    pub(crate) bytes: u64,
    /// `None` if it cannot be restored, because a part of the log is missing.
    pub(crate) states: Option<States>,
}

impl Destination {
    /// The backups with what they give, the oldest first.
    pub(crate) async fn listed(&self) -> Result<Vec<ListedBackup>> {
        let backups: Vec<(BackupName, u64)> = match self {
            Self::Directory(directory) => {
                let names = self.list().await?.into_iter();
                let sized = names.map(|name| Ok((name, directory.size(&name.to_string())?)));
                sized.collect::<Result<_>>()?
            }
            Self::Bucket(bucket) => {
                let objects = bucket.objects("").await?.into_iter();
                let parsed =
                    objects.filter_map(|(name, bytes)| Some((BackupName::parse(&name)?, bytes)));
                let mut backups: Vec<_> = parsed.collect();
                backups.sort_unstable();
                backups
            }
        };
        let segments = self.segments().await?;
        let listed = backups.into_iter().map(|(name, bytes)| ListedBackup {
            name,
            bytes,
            states: States::of(name, &segments),
        });
        Ok(listed.collect())
    }

    /// The oldest state that can be restored.
    pub(super) async fn oldest_state(&self) -> Result<Option<Timestamp>> {
        let listed = self.listed().await?;
        let first = listed.into_iter().filter_map(|it| Some(it.states?.first));
        Ok(first.min())
    }

    /// The number of the backups before the newest, and what is missing in the log behind each:
    /// states that could be restored once.
    pub(crate) async fn older_gaps(&self) -> Result<(usize, Vec<String>)> {
        let backups = self.list().await?;
        let segments = self.segments().await?;
        let followed = backups.iter().skip(1);
        let gaps = followed.filter_map(|next| Recovery::before(&backups, &segments, *next)?.gap());
        Ok((backups.len().saturating_sub(1), gaps.collect()))
    }
}
