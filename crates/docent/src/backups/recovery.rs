//! Finds the backup and the segments of the log that give a state of the store.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use jiff::{SignedDuration, Timestamp};

use super::name::SegmentName;
use super::wal_archive::FOLDER;
use super::{BackupName, Destination, Progress};
use crate::engine::RollForward;

/// A backup, and the segments that bring it forward.
#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) backup: BackupName,
    segments: Vec<SegmentName>,
    /// A later segment that is of no use: one before it is missing, or no backup belongs to it.
    lost: Option<SegmentName>,
    /// The newest state from before this backup.
    pub(super) earlier: Option<Timestamp>,
}

/// The states that a backup and its log give.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct States {
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    /// How many segments of the log follow the backup.
    pub(crate) segments: usize,
}

impl States {
    /// `None` if parts of the log are missing that the backup needs.
    pub(super) fn of(backup: BackupName, segments: &BTreeSet<SegmentName>) -> Option<Self> {
        let recovery = Recovery::of(backup, segments, None)?;
        let needed = backup.log().map_or(0, |log| log.during_backup);
        let needed = usize::try_from(needed).ok()?.checked_sub(1);
        let first = needed.and_then(|at| recovery.segments.get(at));
        Some(Self {
            first: first.map_or(backup.time(), |name| name.until()),
            last: recovery.state(),
            segments: recovery.segments.len(),
        })
    }
}

/// The latest time of a state that is not from a clock that was ahead.
pub(super) fn latest() -> Timestamp {
    Timestamp::now() + CLOCK_TOLERANCE
}

/// How far the clock of this machine may be behind that of the server. Later states are from a
/// clock that was ahead: they are taken only if there is nothing else.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_hours(1);

impl Recovery {
    /// The state when the backup was made.
    pub(super) fn without_log(backup: BackupName) -> Self {
        Self {
            backup,
            segments: Vec::new(),
            lost: None,
            earlier: None,
        }
    }

    /// Finds what gives the newest state, or the newest one up to a time.
    pub(super) async fn find(
        destination: &Destination,
        at: Option<Timestamp>,
    ) -> Result<Option<Self>> {
        let backups = destination.list().await?;
        let segments = destination.segments().await?;
        let latest = latest();
        if let Some(ahead) = backups.iter().find(|name| name.time() > latest) {
            tracing::warn!(
                "{destination}/{ahead} is from a clock that was ahead: it counts as the oldest backup"
            );
        }
        let mut found = Self::newest(&backups, &segments, at, latest);
        if let Some(found) = &mut found {
            found.earlier = Self::before(&backups, &segments, found.backup).map(|it| it.state());
        }
        Ok(found)
    }

    /// Finds what gives the newest state from before a backup.
    pub(super) fn before(
        backups: &[BackupName],
        segments: &BTreeSet<SegmentName>,
        backup: BackupName,
    ) -> Option<Self> {
        let at = backup.time() - SignedDuration::from_millis(1);
        Self::newest(backups, segments, Some(at), at)
    }

    fn newest(
        backups: &[BackupName],
        segments: &BTreeSet<SegmentName>,
        at: Option<Timestamp>,
        latest: Timestamp,
    ) -> Option<Self> {
        let possible = backups.iter();
        let possible = possible.filter_map(|backup| Self::of(*backup, segments, at));
        // Of several, the last one: the newest backup.
        let mut newest = possible.max_by_key(|it| (it.state() <= latest, it.state()))?;
        let until = at.unwrap_or(latest).min(latest);
        let lost = segments.iter().filter(|name| {
            let is_later = name.until() > newest.state() && name.until() <= until;
            is_later && !newest.segments.contains(name)
        });
        let lost = lost.max_by_key(|name| name.until());
        newest.lost = lost.or_else(|| newest.behind_gap(segments, until)).copied();
        Some(newest)
    }

    /// The first segment behind one that is missing and may have had states until a time.
    fn behind_gap<'s>(
        &self,
        segments: &'s BTreeSet<SegmentName>,
        until: Timestamp,
    ) -> Option<&'s SegmentName> {
        let log = self.backup.log().filter(|_| self.state() < until)?;
        let next = log.first + self.segments.len() as u64;
        let of_chain = segments.iter().filter(|name| name.chain == log.chain);
        let following = of_chain.filter(|name| name.number >= next);
        let first = following.min_by_key(|name| name.number)?;
        (first.number > next).then_some(first)
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
        is_consistent.then_some(Self {
            backup,
            segments: following,
            lost: None,
            earlier: None,
        })
    }

    /// Which later states are archived, but lost.
    pub(super) fn gap(&self) -> Option<String> {
        let lost = self.lost?;
        let reason = match self.backup.log() {
            Some(log) if log.chain == lost.chain => {
                let next = log.first + self.segments.len() as u64;
                format!("segment {next} of the log is missing")
            }
            _ => "no backup belongs to the later part of the log".to_owned(),
        };
        Some(format!(
            "{reason}: states after {}, up to {}, cannot be restored",
            self.state(),
            lost.until()
        ))
    }

    /// The time of the state.
    pub(super) fn state(&self) -> Timestamp {
        self.until().unwrap_or(self.backup.time())
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
        let damaged = || format!("{destination}/{} is damaged", self.backup);
        let mut roll_forward = RollForward::open(copy).with_context(damaged)?;
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
        let time = time.strftime("%Y%m%dT%H%M%S000Z");
        BackupName::parse(&format!("docent-{time}{log}.backup")).unwrap()
    }

    fn segment(chain: &str, number: u64, second: i64) -> SegmentName {
        let time = Timestamp::from_second(second).unwrap();
        let time = time.strftime("%Y%m%dT%H%M%S000Z");
        SegmentName::parse(&format!("docent-{chain}-{number:010}-{time}.wal")).unwrap()
    }

    /// Segment 5 is missing.
    fn segments() -> BTreeSet<SegmentName> {
        let mut segments: BTreeSet<_> = [2, 3, 4, 6, 7, 8, 9]
            .into_iter()
            .map(|number| segment(CHAIN, number, i64::try_from(number).unwrap() * 10))
            .collect();
        segments.insert(segment(OTHER_CHAIN, 5, 50));
        segments
    }

    fn newest(backups: &[BackupName], at: Option<i64>, latest: i64) -> Option<Recovery> {
        let at = at.map(|second| Timestamp::from_second(second).unwrap());
        let latest = Timestamp::from_second(latest).unwrap();
        Recovery::newest(backups, &segments(), at, latest)
    }

    /// The backup's time and the numbers of the segments.
    fn recovery(backups: &[BackupName], at: Option<i64>) -> Option<(i64, Vec<u64>)> {
        let found = newest(backups, at, 1000)?;
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

    #[test]
    fn later_segments_that_lead_nowhere_are_a_gap() {
        let gap = |backups: &[BackupName], at| newest(backups, at, 1000).unwrap().gap();
        let first = backup(15, &format!(".wal-{CHAIN}-2-0"));
        let missing = gap(&[first], None).unwrap();
        assert!(
            missing.contains("segment 5 of the log is missing"),
            "{missing}"
        );
        assert!(missing.contains("after 1970-01-01T00:00:40Z, up to 1970-01-01T00:01:30Z"));
        // Nobody knows whether the missing segment ended before or after this.
        let missing = gap(&[first], Some(45)).unwrap();
        assert!(
            missing.contains("segment 5 of the log is missing"),
            "{missing}"
        );
        assert!(missing.contains("after 1970-01-01T00:00:40Z, up to 1970-01-01T00:01:00Z"));
        for until in [35, 40] {
            assert_eq!(gap(&[first], Some(until)), None, "{until}");
        }
        // No backup belongs to the log.
        let other = gap(&[backup(85, "")], None).unwrap();
        assert!(
            other.contains("no backup belongs to the later part"),
            "{other}"
        );
        assert_eq!(gap(&[backup(90, "")], None), None);
        assert_eq!(
            gap(&[first, backup(61, &format!(".wal-{CHAIN}-7-0"))], None),
            None
        );
    }

    #[test]
    fn states_of_a_clock_that_was_ahead_are_the_last_choice() {
        let (old, ahead) = (backup(61, ""), backup(5000, ""));
        let chosen = |backups: &[BackupName]| newest(backups, None, 1000).unwrap().backup;
        assert_eq!(chosen(&[old, ahead]), old);
        assert_eq!(chosen(&[ahead]), ahead);
        // Segments with a time in the future lead nowhere, which is no gap now.
        assert_eq!(newest(&[old], None, 69).unwrap().gap(), None);
    }
}
