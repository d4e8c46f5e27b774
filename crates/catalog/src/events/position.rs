//! Where a reader of events continues.
//!
//! A restored store, and one that `docent move` has filled, assigns positions again that readers of
//! the lost log know. So a position outside of the store has a checksum of the change at it, and so
//! have the ids of events: two changes with the same position are told apart, and a reader of the
//! lost log learns that it is lost. A log that has the change has all changes before it, too.
//!
//! `docent move` copies the latest changes with their times, and the same one can be at the same
//! position by chance. So the checksum has the first change of the log in it, which is always new:
//! the marker of an unfinished move.

use std::fmt;

use docent_model::{EpochMillis, LogicalVersion};
use docent_store::{LogEntry, LogEntryKind, LogPosition};
use sha2::{Digest as _, Sha256};

use crate::{Catalog, Error};

/// The digits of a checksum.
const DIGITS: usize = 16;

/// A position in the change log, and which change is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPosition {
    position: LogPosition,
    checksum: u64,
}

/// A change log, by the checksum of its first change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventLog(u64);

impl EventLog {
    const UNKNOWN: Self = Self(0);

    /// The position of a change of this log.
    pub(crate) fn position(self, entry: &LogEntry) -> EventPosition {
        EventPosition::new(entry.position, self.checksum(entry))
    }

    fn checksum(self, entry: &LogEntry) -> u64 {
        let kind = match entry.kind {
            LogEntryKind::Put => "put",
            LogEntryKind::Delete => "delete",
        };
        let version = entry.logical_version.map(LogicalVersion::get);
        // No part but the last can have a line break.
        let text = format!(
            "{:x}\n{}\n{kind}\n{}\n{}\n{}",
            self.0,
            entry.time_ms,
            version.unwrap_or_default(),
            entry.key.aspect.as_str(),
            entry.key.urn
        );
        let digest = Sha256::digest(text.as_bytes());
        let (start, _) = digest.split_at(8);
        let bytes = start.iter();
        bytes.fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
    }
}

impl EventPosition {
    /// Before the first change, in every log.
    pub const START: Self = Self {
        position: LogPosition::START,
        checksum: 0,
    };

    pub(crate) const fn new(position: LogPosition, checksum: u64) -> Self {
        Self { position, checksum }
    }

    pub fn log_position(self) -> LogPosition {
        self.position
    }

    pub(crate) fn checksum(self) -> u64 {
        self.checksum
    }

    /// Reads the form of [`Display`](fmt::Display).
    pub fn parse(text: &str) -> Option<Self> {
        if text == "0" {
            return Some(Self::START);
        }
        let (position, checksum) = text.split_once('-')?;
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if checksum.len() != DIGITS || !checksum.bytes().all(is_hex) {
            return None;
        }
        let position: i64 = position.parse().ok().filter(|number| *number > 0)?;
        let checksum = u64::from_str_radix(checksum, 16).ok()?;
        Some(Self::new(LogPosition::new(position), checksum))
    }
}

impl fmt::Display for EventPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::START {
            return formatter.write_str("0");
        }
        write!(formatter, "{}-{:0DIGITS$x}", self.position, self.checksum)
    }
}

impl Catalog {
    /// The log, once it has a change, so it is asked for after changes were read.
    pub(crate) async fn event_log(&self) -> Result<EventLog, Error> {
        if let Some(log) = self.inner.event_log.get() {
            return Ok(*log);
        }
        let entries = self.store().log_read(LogPosition::START, 1).await?;
        let Some(first) = entries.first() else {
            return Ok(EventLog::UNKNOWN);
        };
        let log = EventLog(EventLog::UNKNOWN.checksum(first));
        Ok(*self.inner.event_log.get_or_init(|| log))
    }

    /// The position of the newest change.
    pub(crate) async fn newest_event(&self) -> Result<EventPosition, Error> {
        let newest = self.store().log_newest().await?;
        let log = self.event_log().await?;
        Ok(newest.map_or(EventPosition::START, |entry| log.position(&entry)))
    }

    /// The position of the last change before a time.
    pub(crate) async fn last_event_before(
        &self,
        time_ms: EpochMillis,
    ) -> Result<EventPosition, Error> {
        let newest = self.newest_event().await?.position;
        let before = self.position_before(time_ms, newest).await?;
        let found = self.event_position(before).await?;
        Ok(found.unwrap_or(EventPosition::START))
    }

    /// Which change is at a position; `None` if there is none.
    pub(crate) async fn event_position(
        &self,
        position: LogPosition,
    ) -> Result<Option<EventPosition>, Error> {
        if position == LogPosition::START {
            return Ok(Some(EventPosition::START));
        }
        let entries = self.store().log_read(position.minus(1), 1).await?;
        let entry = entries.first().filter(|entry| entry.position == position);
        let log = self.event_log().await?;
        Ok(entry.map(|entry| log.position(entry)))
    }

    /// Reads the changes behind a position. Fails if the position is not of this log.
    pub(crate) async fn changes_behind(
        &self,
        after: EventPosition,
        limit: usize,
    ) -> Result<(EventLog, Vec<LogEntry>), Error> {
        if after == EventPosition::START {
            let entries = self.store().log_read(LogPosition::START, limit).await?;
            return Ok((self.event_log().await?, entries));
        }
        // With the change at the position, to compare it.
        let from = after.position.minus(1);
        let mut entries = self.store().log_read(from, limit.saturating_add(1)).await?;
        let log = self.event_log().await?;
        if entries.first().map(|entry| log.position(entry)) != Some(after) {
            let newest = self.newest_event().await?;
            return Err(Error::gone(format!(
                "the position {after} is not of this change log: it is of another store, or this one was restored \
                 from an older backup. Read what you mirror again, then continue with {newest}"
            )));
        }
        entries.remove(0);
        Ok((log, entries))
    }
}

#[cfg(test)]
mod tests {
    use docent_model::{AspectName, Urn};
    use docent_store::AspectKey;

    use super::*;

    fn entry(urn: &str) -> LogEntry {
        LogEntry {
            position: LogPosition::new(7),
            key: AspectKey::new(&Urn::parse(urn).unwrap(), AspectName::STATUS),
            kind: LogEntryKind::Put,
            logical_version: Some(LogicalVersion::FIRST),
            time_ms: 1_767_225_600_000,
            actor: "urn:li:corpuser:ada".to_owned(),
        }
    }

    #[test]
    fn the_positions_of_different_changes_differ() {
        let first = entry("urn:li:tag:a");
        let log = EventLog(5);
        let same = log.position(&entry("urn:li:tag:a"));
        assert_eq!(log.position(&first), same);
        assert_ne!(EventLog(6).position(&first), same);
        for other in [
            entry("urn:li:tag:b"),
            LogEntry {
                position: LogPosition::new(8),
                ..first.clone()
            },
            LogEntry {
                kind: LogEntryKind::Delete,
                ..first.clone()
            },
            LogEntry {
                logical_version: None,
                ..first.clone()
            },
            LogEntry {
                time_ms: first.time_ms + 1,
                ..first.clone()
            },
        ] {
            assert_ne!(log.position(&other), same, "{other:?}");
        }
    }

    #[test]
    fn positions_are_read_as_they_are_written() {
        let found = EventLog(5).position(&entry("urn:li:tag:a"));
        assert_eq!(EventPosition::parse(&found.to_string()), Some(found));
        // Stored by readers, so it never changes.
        assert_eq!(found.to_string(), "7-b0e004ad669012da");
        let small = EventPosition::new(LogPosition::new(1), 1);
        assert_eq!(small.to_string(), "1-0000000000000001");
        assert_eq!(EventPosition::START.to_string(), "0");
        for wrong in [
            "",
            "7",
            "-1",
            "7-1",
            "0-0000000000000001",
            "7-000000000000000A",
            "7-00000000000000001",
            "7-0000000000000001-1",
        ] {
            assert_eq!(EventPosition::parse(wrong), None, "{wrong}");
        }
    }
}
