//! The logical version of an aspect.

use std::fmt::{self, Display, Formatter};

/// The number of a value of an aspect: 1 for the first write, one more for each change of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalVersion(i64);

impl LogicalVersion {
    pub const FIRST: Self = Self(1);

    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    pub const fn get(self) -> i64 {
        self.0
    }

    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Display for LogicalVersion {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
