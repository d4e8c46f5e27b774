//! Finds the backup and the segments of the log that give a state of the store.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use jiff::Timestamp;

use super::name::SegmentName;
use super::wal_archive::FOLDER;
use super::{BackupName, Destination, Progress};
use crate::engine::RollForward;

/// A backup, and the segments that bring it forward.
#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) backup: BackupName,
    segments: Vec<SegmentName>,
    /// The first segment that is not there, although a later one is.
    missing: Option<u64>,
}

impl Recovery {
    /// The state when the backup was made.
    pub(super) fn without_log(backup: BackupName) -> Self {
        Self {
            backup,
            segments: Vec::new(),
            missing: None,
        }
    }

    /// Finds what gives the newest state, or the newest one up to a time.
    pub(super) async fn find(
        destination: &Destination,
        at: Option<Timestamp>,
    ) -> Result<Option<Self>> {
        let backups = destination.list().await?;
        let segments = if backups.iter().any(|name| name.log().is_some()) {
            destination.segments().await?
        } else {
            BTreeSet::new()
        };
        Ok(Self::newest(backups, &segments, at))
    }

    fn newest(
        backups: Vec<BackupName>,
        segments: &BTreeSet<SegmentName>,
        at: Option<Timestamp>,
    ) -> Option<Self> {
        let possible = backups.into_iter();
        let possible = possible.filter_map(|backup| Self::of(backup, segments, at));
        // Of several, the last one: the newest backup.
        possible.max_by_key(|it| it.until().unwrap_or(it.backup.time()))
    }

    fn of(
        backup: BackupName,
        segments: &BTreeSet<SegmentName>,
        at: Option<Timestamp>,
    ) -> Option<Self> {
        let is_included = |time| at.is_none_or(|at| time <= at);
        if !is_included(backup.time()) {
            return None;
        }
        let Some(log) = backup.log() else {
            return Some(Self::without_log(backup));
        };
        let of_chain = segments.iter().filter(|name| name.chain == log.chain);
        let following: Vec<SegmentName> = of_chain
            .filter(|name| name.number >= log.first)
            .zip(log.first..)
            .take_while(|(name, number)| name.number == *number && is_included(name.until()))
            .map(|(name, _)| *name)
            .collect();
        let is_consistent = following.len() as u64 >= log.during_backup;
        let next = log.first + following.len() as u64;
        let later = segments
            .iter()
            .find(|name| name.chain == log.chain && name.number >= next);
        let is_gap = later.is_some_and(|name| name.number > next && is_included(name.until()));
        is_consistent.then_some(Self {
            backup,
            segments: following,
            missing: is_gap.then_some(next),
        })
    }

    /// What is missing in the log, if later states are lost.
    pub(super) fn gap(&self) -> Option<String> {
        let number = self.missing?;
        Some(format!(
            "segment {number} of the log is missing: later states cannot be restored from this backup"
        ))
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
            let read = destination.read_segment(*name).await?;
            let segment = read.map_err(|error| {
                let before = name.until();
                anyhow!("{error:#}; restore a state from before it, with --at and a time before {before}")
            })?;
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

    const CHAIN: &str = "00000000000000aa";
    const OTHER_CHAIN: &str = "00000000000000bb";

    fn backup(second: i64, log: &str) -> BackupName {
        let time = Timestamp::from_second(second).unwrap();
        let time = time.strftime("%Y%m%dT%H%M%SZ");
        BackupName::parse(&format!("docent-{time}{log}.backup")).unwrap()
    }

    fn segment(chain: &str, number: u64, second: i64) -> SegmentName {
        let time = Timestamp::from_second(second).unwrap();
        let time = time.strftime("%Y%m%dT%H%M%S000Z");
        SegmentName::parse(&format!("docent-{chain}-{number:010}-{time}.wal")).unwrap()
    }

    /// The backup's time and the numbers of the segments.
    fn recovery(backups: &[BackupName], at: Option<i64>) -> Option<(i64, Vec<u64>)> {
        // Segment 5 is missing.
        let mut segments: BTreeSet<_> = [2, 3, 4, 6, 7, 8, 9]
            .into_iter()
            .map(|number| segment(CHAIN, number, i64::try_from(number).unwrap() * 10))
            .collect();
        segments.insert(segment(OTHER_CHAIN, 5, 50));
        let at = at.map(|second| Timestamp::from_second(second).unwrap());
        let found = Recovery::newest(backups.to_vec(), &segments, at)?;
        let numbers = found.segments.iter().map(|name| name.number);
        Some((found.backup.time().as_second(), numbers.collect()))
    }

    #[test]
    fn the_newest_state_until_a_time_is_found() {
        let backups = [
            backup(15, &format!(".wal-{CHAIN}-2-0")),
            backup(61, &format!(".wal-{CHAIN}-7-2")),
        ];
        let recovery = |at| recovery(&backups, at);
        assert_eq!(recovery(None), Some((61, vec![7, 8, 9])));
        assert_eq!(recovery(Some(85)), Some((61, vec![7, 8])));
        // The backup is consistent only with what was archived while it was made.
        assert_eq!(recovery(Some(75)), Some((15, vec![2, 3, 4])));
        assert_eq!(recovery(Some(35)), Some((15, vec![2, 3])));
        assert_eq!(recovery(Some(16)), Some((15, Vec::new())));
        assert_eq!(recovery(Some(14)), None);
    }

    #[test]
    fn a_newer_backup_without_a_log_does_not_hide_a_newer_state() {
        let backups = [backup(61, &format!(".wal-{CHAIN}-7-0")), backup(75, "")];
        assert_eq!(recovery(&backups, None), Some((61, vec![7, 8, 9])));
        assert_eq!(recovery(&backups, Some(79)), Some((75, Vec::new())));
    }
}
