//! Numbers that must not be mixed up; [`docent_model::LogicalVersion`] is the fourth.

use std::fmt::{self, Display, Formatter};

use docent_model::LogicalVersion;
use serde::{Deserialize, Serialize};

/// The version column of a row: 0 is the latest version, and history rows have their logical
/// version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowVersion(i64);

impl RowVersion {
    pub const LATEST: Self = Self(0);

    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    pub const fn get(self) -> i64 {
        self.0
    }

    pub const fn is_latest(self) -> bool {
        self.0 == Self::LATEST.0
    }

    /// Whether a row of the history can have this version.
    pub const fn is_history(self) -> bool {
        self.0 > Self::LATEST.0
    }
}

impl From<LogicalVersion> for RowVersion {
    fn from(version: LogicalVersion) -> Self {
        Self(version.get())
    }
}

impl Display for RowVersion {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A position in the change log. Positions grow in commit order; an engine may leave some out.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct LogPosition(i64);

impl LogPosition {
    /// Before the first entry.
    pub const START: Self = Self(0);

    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    pub const fn get(self) -> i64 {
        self.0
    }

    /// The position so many entries earlier, at least [`LogPosition::START`].
    #[must_use]
    pub fn minus(self, entries: i64) -> Self {
        Self(self.0.saturating_sub(entries)).max(Self::START)
    }

    /// The position halfway to a later one, rounded down.
    #[must_use]
    pub const fn midpoint(self, later: Self) -> Self {
        Self(self.0.midpoint(later.0))
    }

    /// The number of positions since an earlier one; 0 if that is not earlier.
    pub fn since(self, earlier: Self) -> u64 {
        let distance = self.0.saturating_sub(earlier.0);
        u64::try_from(distance).unwrap_or_default()
    }
}

impl Display for LogPosition {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Changes with every commit. Two stamps are the same or different; neither is the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CommitStamp(u64);

impl CommitStamp {
    pub const fn new(number: u64) -> Self {
        Self(number)
    }
}
