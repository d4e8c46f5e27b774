//! The names of backups: `docent-20261119T134500Z.backup`.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const START: &str = "docent-";
const END: &str = ".backup";
const FORMAT: &str = "%Y%m%dT%H%M%SZ";

/// The name of a backup: when it was begun, to the second. Sorted by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BackupName(Timestamp);

impl BackupName {
    pub(crate) fn now() -> Self {
        let second = Timestamp::now().as_second();
        Self(Timestamp::from_second(second).unwrap_or_default())
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let time = text.strip_prefix(START)?.strip_suffix(END)?;
        let time = DateTime::strptime(FORMAT, time).ok()?;
        let time = time.to_zoned(TimeZone::UTC).ok()?;
        let name = Self(time.timestamp());
        // Not a number without its leading zeros.
        (name.to_string() == text).then_some(name)
    }

    pub(crate) fn time(self) -> Timestamp {
        self.0
    }
}

impl fmt::Display for BackupName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{START}{}{END}", self.0.strftime(FORMAT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_strictly_and_sorted_by_time() {
        let text = "docent-20261119T134500Z.backup";
        let name = BackupName::parse(text).unwrap();
        assert_eq!(name.to_string(), text);
        assert_eq!(name.time().to_string(), "2026-11-19T13:45:00Z");
        assert!(name > BackupName::parse("docent-20261118T234500Z.backup").unwrap());
        for other in [
            "docent-20261119T134500Z.backup.old",
            "docent-2026119T134500Z.backup",
            "docent-20261319T134500Z.backup",
            "my-20261119T134500Z.backup",
            "docent.db",
        ] {
            assert_eq!(BackupName::parse(other), None, "{other}");
        }
    }
}
