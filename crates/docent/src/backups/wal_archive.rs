//! The archive of the write-ahead log, beside the backups.
//!
//! A backup and the segments behind it give the store at any archived time. Segments are numbered;
//! where a part of the log is missing, a number is left out, and a new backup is due.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use docent_model::{Clock as _, EpochMillis, SystemClock};
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::sync::{Mutex, Notify};

use super::name::{LogOfBackup, SegmentName};
use super::{BackupName, Destination, Progress, silent};
use crate::engine::{RollForward, WalPosition, WalSegment, WalTail};

/// Where segments are, beside the backups.
pub(super) const FOLDER: &str = "wal";

/// Archives the write-ahead log of a store in use.
#[derive(Debug)]
pub(crate) struct WalArchive {
    tail: Arc<WalTail>,
    destination: Destination,
    /// `None` before the archive was read.
    end: Mutex<Option<End>>,
    backup_is_due: Notify,
}

/// The end of the archive.
#[derive(Debug, Clone, Copy)]
struct End {
    next_number: u64,
    /// Since this segment, nothing is missing.
    complete_since: u64,
    until: Option<WalPosition>,
}

/// What was archived.
#[derive(Debug)]
pub(crate) struct Archived {
    /// Each commit up to this time is archived.
    pub(crate) until_ms: EpochMillis,
    pub(crate) bytes: u64,
}

impl WalArchive {
    pub(crate) fn new(tail: Arc<WalTail>, destination: Destination) -> Self {
        Self {
            tail,
            destination,
            end: Mutex::new(None),
            backup_is_due: Notify::new(),
        }
    }

    /// Returns when a part of the log is missing, which a new backup makes up for.
    pub(crate) async fn backup_is_due(&self) {
        self.backup_is_due.notified().await;
    }

    /// Archives what was committed.
    pub(crate) async fn archive(&self) -> Result<Archived> {
        Ok(self.archive_to_end().await?.0)
    }

    /// Whether the log is complete since a backup.
    pub(crate) async fn continues(&self, backup: BackupName) -> Result<bool> {
        let (_, end) = self.archive_to_end().await?;
        let log = backup.log();
        Ok(log.is_some_and(|log| log.first >= end.complete_since))
    }

    /// Begins a backup; returns the number of the segment with which its log begins.
    pub(super) async fn begin_backup(&self) -> Result<u64> {
        Ok(self.archive_to_end().await?.1.next_number)
    }

    /// The log of a backup that was copied.
    pub(super) async fn log_since(&self, first: u64) -> Result<LogOfBackup> {
        let (_, end) = self.archive_to_end().await?;
        if end.complete_since > first {
            bail!("the write-ahead log could not be archived while the backup was made");
        }
        Ok(LogOfBackup {
            first,
            during_backup: end.next_number - first,
        })
    }

    async fn archive_to_end(&self) -> Result<(Archived, End)> {
        let mut guard = self.end.lock().await;
        let mut end = match *guard {
            Some(end) => end,
            None => self.read_end().await?,
        };
        let mut archived = Archived {
            until_ms: SystemClock.now_ms(),
            bytes: 0,
        };
        loop {
            let tail = Arc::clone(&self.tail);
            tokio::task::spawn_blocking(move || tail.collect()).await??;
            let Some(mut segment) = self.tail.oldest() else {
                break;
            };
            loop {
                (archived.bytes, end) = self.add(&segment, end, archived.bytes).await?;
                *guard = Some(end);
                self.tail.archived(&segment);
                match self.tail.oldest() {
                    Some(next) => segment = next,
                    None => break,
                }
            }
        }
        Ok((archived, end))
    }

    /// Adds a segment; returns the bytes so far and the new end.
    async fn add(&self, segment: &WalSegment, mut end: End, bytes: u64) -> Result<(u64, End)> {
        if end.until.is_some_and(|until| !segment.follows(until)) {
            end = End::behind_gap(end.next_number);
            self.backup_is_due.notify_one();
        }
        let name = SegmentName::new(end.next_number, segment.until_ms());
        let encoded = segment.encode().context("cannot encode a segment")?;
        let workplace = self.destination.workplace()?;
        let file = workplace.path().join("segment");
        write_durably(&file, &encoded)?;
        let path = format!("{FOLDER}/{name}");
        self.destination.add(&file, &path, silent("")).await?;
        end.next_number += 1;
        end.until = Some(segment.until());
        Ok((bytes + encoded.len() as u64, end))
    }

    async fn read_end(&self) -> Result<End> {
        let segments = self.destination.segments().await?;
        let Some((newest, name)) = segments.last_key_value() else {
            return Ok(End {
                next_number: 1,
                complete_since: 1,
                until: None,
            });
        };
        let mut complete_since = *newest;
        while let Some(before) = complete_since.checked_sub(1)
            && segments.contains_key(&before)
        {
            complete_since = before;
        }
        let until = self.destination.read_segment(*name).await?.until();
        if !self.tail.resume(until) {
            self.backup_is_due.notify_one();
            return Ok(End::behind_gap(newest + 1));
        }
        Ok(End {
            next_number: newest + 1,
            complete_since,
            until: Some(until),
        })
    }
}

impl End {
    /// Leaves out a number.
    fn behind_gap(number: u64) -> Self {
        Self {
            next_number: number + 1,
            complete_since: number + 1,
            until: None,
        }
    }
}

fn write_durably(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = fs::write(path, bytes).and_then(|()| fs::File::open(path)?.sync_all());
    written.with_context(|| format!("cannot write {}", path.display()))
}

impl Destination {
    async fn segments(&self) -> Result<BTreeMap<u64, SegmentName>> {
        let names = self.names(FOLDER).await?;
        let names = names.iter().filter_map(|name| SegmentName::parse(name));
        Ok(names.map(|name| (name.number, name)).collect())
    }

    async fn read_segment(&self, name: SegmentName) -> Result<WalSegment> {
        let workplace = TempDir::new().context("cannot create a temporary directory")?;
        let file = workplace.path().join("segment");
        let path = format!("{FOLDER}/{name}");
        self.copy(&path, &file, silent("")).await?;
        let bytes = fs::read(&file)?;
        WalSegment::decode(&bytes).with_context(|| {
            format!("{self}/{path} is damaged: without it, the log ends there; delete it")
        })
    }

    /// Deletes the segments that no backup needs.
    pub(super) async fn delete_segments_before(&self, first: u64) -> Result<()> {
        let segments = self.segments().await?;
        for name in segments.range(..first).map(|(_, name)| name) {
            self.delete(&format!("{FOLDER}/{name}")).await?;
        }
        Ok(())
    }
}

/// A backup, and the segments that bring it forward.
#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) backup: BackupName,
    segments: Vec<SegmentName>,
}

impl Recovery {
    /// The state when the backup was made.
    pub(super) fn without_log(backup: BackupName) -> Self {
        Self {
            backup,
            segments: Vec::new(),
        }
    }

    /// Finds what gives the newest state, or the newest one up to a time.
    pub(super) async fn find(
        destination: &Destination,
        at: Option<Timestamp>,
    ) -> Result<Option<Self>> {
        let backups = destination.list().await?;
        let segments = match backups.iter().any(|name| name.log().is_some()) {
            true => destination.segments().await?,
            false => BTreeMap::new(),
        };
        let newest_first = backups.into_iter().rev();
        Ok(newest_first
            .filter_map(|backup| Self::of(backup, &segments, at))
            .next())
    }

    fn of(
        backup: BackupName,
        segments: &BTreeMap<u64, SegmentName>,
        at: Option<Timestamp>,
    ) -> Option<Self> {
        let is_included = |time| at.is_none_or(|at| time <= at);
        let Some(log) = backup.log() else {
            return is_included(backup.time()).then(|| Self::without_log(backup));
        };
        let following: Vec<SegmentName> = (log.first..)
            .map_while(|number| segments.get(&number).copied())
            .take_while(|name| is_included(name.until()))
            .collect();
        let is_consistent = following.len() as u64 >= log.during_backup;
        (is_consistent && is_included(backup.time())).then_some(Self {
            backup,
            segments: following,
        })
    }

    /// The time of the state, if the log brings the backup forward.
    pub(super) fn until(&self) -> Option<Timestamp> {
        self.segments.last().map(|name| name.until())
    }

    /// Applies the segments to a copy of the backup.
    pub(super) async fn roll_forward(
        &self,
        destination: &Destination,
        copy: &Path,
        mut progress: Progress,
    ) -> Result<()> {
        let mut roll_forward = RollForward::open(copy)?;
        let total = self.segments.len() as u64;
        for (name, done) in self.segments.iter().zip(1..) {
            let segment = destination.read_segment(*name).await?;
            roll_forward
                .apply(&segment)
                .with_context(|| format!("cannot apply {destination}/{FOLDER}/{name}"))?;
            progress(done, total);
        }
        Ok(roll_forward.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recovery(at: Option<i64>) -> Option<(i64, Vec<u64>)> {
        let backup = |second, first, during_backup| {
            let time = Timestamp::from_second(second).unwrap();
            let name = format!(
                "docent-{}.wal-{first}-{during_backup}.backup",
                time.strftime("%Y%m%dT%H%M%SZ")
            );
            BackupName::parse(&name).unwrap()
        };
        // Segment 5 is missing; number 20 was archived while the second backup was made.
        let segments = [2, 3, 4, 6, 7, 8, 9].map(|number| {
            let until_ms = i64::try_from(number).unwrap() * 10_000;
            (number, SegmentName::new(number, until_ms))
        });
        let segments = BTreeMap::from(segments);
        let at = at.map(|second| Timestamp::from_second(second).unwrap());
        let found = [backup(61, 7, 2), backup(15, 2, 0)]
            .into_iter()
            .find_map(|name| Recovery::of(name, &segments, at))?;
        let numbers = found.segments.iter().map(|name| name.number);
        Some((found.backup.time().as_second(), numbers.collect()))
    }

    #[test]
    fn the_newest_backup_that_reaches_the_time_is_brought_forward() {
        assert_eq!(recovery(None), Some((61, vec![7, 8, 9])));
        assert_eq!(recovery(Some(85)), Some((61, vec![7, 8])));
        // The backup is consistent only with what was archived while it was made.
        assert_eq!(recovery(Some(75)), Some((15, vec![2, 3, 4])));
        assert_eq!(recovery(Some(35)), Some((15, vec![2, 3])));
        assert_eq!(recovery(Some(16)), Some((15, Vec::new())));
        assert_eq!(recovery(Some(14)), None);
    }
}
