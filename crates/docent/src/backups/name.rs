//! The names of backups and of segments of the write-ahead log.
//!
//! A backup is `docent-20261119T134500123Z.backup`. With an archived log it is
//! `docent-20261119T134500123Z.wal-00c0ffee00c0ffee-124-1.backup`: its log continues with segment
//! 124 of that chain, and 1 segment was archived while the backup was made. A segment is
//! `docent-00c0ffee00c0ffee-0000000124-20261119T134512345Z.wal`.

use std::fmt;

use anyhow::Result;
use docent_model::{Clock as _, EpochMillis, SystemClock};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

const START: &str = "docent-";
const END: &str = ".backup";
const LOG: &str = ".wal-";
const SEGMENT_END: &str = ".wal";
const FORMAT: &str = "%Y%m%dT%H%M%S%3fZ";
/// Backups of earlier versions have no milliseconds.
const FORMAT_OF_SECONDS: &str = "%Y%m%dT%H%M%SZ";
/// A name without milliseconds stands for the end of its second: the state is not newer.
const REST_OF_SECOND: SignedDuration = SignedDuration::from_millis(999);

/// The name of a backup: when it was begun. Sorted by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BackupName {
    time: Timestamp,
    has_milliseconds: bool,
    log: Option<LogOfBackup>,
}

/// A part of the write-ahead log without a gap; its segments are numbered. The random id keeps
/// apart what two servers archive at one place by mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Chain(u64);

impl Chain {
    pub(super) fn new() -> Result<Self> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes)?;
        Ok(Self(u64::from_be_bytes(bytes)))
    }

    /// Whether the log of one of these backups is in the chain.
    pub(super) fn has_backup(self, backups: &[BackupName]) -> bool {
        let mut logs = backups.iter().filter_map(|name| name.log());
        logs.any(|log| log.chain == self)
    }

    fn parse(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().map(Self)
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

/// The segments of the write-ahead log that bring a backup forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogOfBackup {
    pub(super) chain: Chain,
    pub(super) first: u64,
    /// So many may be older than the backup's state. It is consistent with all of them or with
    /// none.
    pub(super) during_backup: u64,
}

impl BackupName {
    pub(crate) fn now() -> Self {
        let now_ms = SystemClock.now_ms();
        Self {
            time: Timestamp::from_millisecond(now_ms).unwrap_or_default(),
            has_milliseconds: true,
            log: None,
        }
    }

    pub(super) fn with_log(self, log: LogOfBackup) -> Self {
        Self {
            log: Some(log),
            ..self
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let name = text.strip_prefix(START)?.strip_suffix(END)?;
        let (time, log) = match name.split_once(LOG) {
            Some((time, log)) => {
                let (chain, log) = log.split_once('-')?;
                let (first, during_backup) = log.split_once('-')?;
                let log = LogOfBackup {
                    chain: Chain::parse(chain)?,
                    first: first.parse().ok()?,
                    during_backup: during_backup.parse().ok()?,
                };
                (time, Some(log))
            }
            None => (name, None),
        };
        let (time, has_milliseconds) = match parse_time(FORMAT, time) {
            Some(time) => (time, true),
            None => (parse_time(FORMAT_OF_SECONDS, time)? + REST_OF_SECOND, false),
        };
        let name = Self {
            time,
            has_milliseconds,
            log,
        };
        // Not a number without its leading zeros.
        (name.to_string() == text).then_some(name)
    }

    pub(crate) fn time(self) -> Timestamp {
        self.time
    }

    pub(super) fn log(self) -> Option<LogOfBackup> {
        self.log
    }
}

impl fmt::Display for BackupName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = if self.has_milliseconds {
            FORMAT
        } else {
            FORMAT_OF_SECONDS
        };
        write!(formatter, "{START}{}", self.time.strftime(format))?;
        if let Some(log) = self.log {
            let LogOfBackup {
                chain,
                first,
                during_backup,
            } = log;
            write!(formatter, "{LOG}{chain}-{first}-{during_backup}")?;
        }
        formatter.write_str(END)
    }
}

/// The name of a segment. Sorted by chain and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SegmentName {
    pub(super) chain: Chain,
    pub(super) number: u64,
    until: Timestamp,
}

impl SegmentName {
    pub(super) fn new(chain: Chain, number: u64, until_ms: EpochMillis) -> Self {
        Self {
            chain,
            number,
            until: Timestamp::from_millisecond(until_ms).unwrap_or_default(),
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let name = text.strip_prefix(START)?.strip_suffix(SEGMENT_END)?;
        let (chain, name) = name.split_once('-')?;
        let (number, until) = name.split_once('-')?;
        let name = Self {
            chain: Chain::parse(chain)?,
            number: number.parse().ok()?,
            until: parse_time(FORMAT, until)?,
        };
        (name.to_string() == text).then_some(name)
    }

    /// No commit after this time is in the segment.
    pub(super) fn until(self) -> Timestamp {
        self.until
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chain, number, .. } = self;
        let until = self.until.strftime(FORMAT);
        write!(
            formatter,
            "{START}{chain}-{number:010}-{until}{SEGMENT_END}"
        )
    }
}

fn parse_time(format: &str, text: &str) -> Option<Timestamp> {
    let time = DateTime::strptime(format, text).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_strictly_and_sorted_by_time() {
        let text = "docent-20261119T134500123Z.backup";
        let name = BackupName::parse(text).unwrap();
        assert_eq!(name.to_string(), text);
        assert_eq!(name.time().to_string(), "2026-11-19T13:45:00.123Z");
        assert_eq!(name.log(), None);
        assert!(
            name > BackupName::parse("docent-20261118T234500Z.wal-00000000000000ff-9-0.backup")
                .unwrap()
        );
        for other in [
            "docent-20261119T134500Z.backup.old",
            "docent-2026119T134500Z.backup",
            "docent-20261319T134500Z.backup",
            "docent-20261119T134500Z.wal-00000000000000ff-09-0.backup",
            "docent-20261119T13450012Z.backup",
            "docent-20261119T134500Z.wal-ff-9-0.backup",
            "docent-20261119T134500Z.wal-9-0.backup",
            "my-20261119T134500Z.backup",
            "docent.db",
        ] {
            assert_eq!(BackupName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_name_without_milliseconds_stands_for_the_end_of_its_second() {
        let text = "docent-20261119T134500Z.backup";
        let name = BackupName::parse(text).unwrap();
        assert_eq!(name.to_string(), text);
        assert_eq!(name.time().to_string(), "2026-11-19T13:45:00.999Z");
        assert!(name > BackupName::parse("docent-20261119T134500998Z.backup").unwrap());
    }

    #[test]
    fn a_name_says_which_segments_follow() {
        let text = "docent-20261119T134500123Z.wal-00c0ffee00c0ffee-124-1.backup";
        let name = BackupName::parse(text).unwrap();
        let log = LogOfBackup {
            chain: Chain(0x00c0_ffee_00c0_ffee),
            first: 124,
            during_backup: 1,
        };
        assert_eq!(name.log(), Some(log));
        assert_eq!(name.to_string(), text);
    }

    #[test]
    fn segments_have_a_number_and_a_time() {
        let text = "docent-00c0ffee00c0ffee-0000000124-20261119T134512345Z.wal";
        let name = SegmentName::parse(text).unwrap();
        assert_eq!(name.number, 124);
        assert_eq!(name.until().to_string(), "2026-11-19T13:45:12.345Z");
        let same = SegmentName::new(name.chain, 124, name.until().as_millisecond());
        assert_eq!(same, name);
        assert_eq!(name.to_string(), text);
        for other in [
            "docent-00c0ffee00c0ffee-124-20261119T134512345Z.wal",
            "docent-00c0ffee00c0ffee-0000000124-20261119T134512Z.wal",
            "docent-00c0ffee00c0ffee-0000000124-20261119T134512345Z.wal.gz",
            "docent-0000000124-20261119T134512345Z.wal",
        ] {
            assert_eq!(SegmentName::parse(other), None, "{other}");
        }
    }
}
