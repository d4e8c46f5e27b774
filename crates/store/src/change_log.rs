//! The change log as users browse it: newest first, with the ingestion run of each entry, and
//! without what the server itself writes.
//!
//! The index and the rights cache follow the log in commit order instead
//! ([`crate::StoreReader::log_read`]).

use std::fmt::{self, Display, Formatter};

use docent_model::{AspectName, EpochMillis, Urn};

use crate::{AspectKey, LogEntryKind};

/// The key of an entry, and the order in which entries are browsed. Transactions that commit at the
/// same time may be in another order than in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogKey {
    pub transaction: i64,
    pub item: i64,
}

impl LogKey {
    /// After every entry.
    pub const END: Self = Self::before(i64::MAX);

    /// Before every entry of this transaction.
    pub const fn before(transaction: i64) -> Self {
        Self {
            transaction,
            item: 0,
        }
    }

    /// Reads the form of [`Display`].
    pub fn parse(text: &str) -> Option<Self> {
        let (transaction, item) = text.split_once('-')?;
        Some(Self {
            transaction: transaction.parse().ok()?,
            item: item.parse().ok()?,
        })
    }
}

impl Display for LogKey {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.transaction, self.item)
    }
}

/// An entry of the change log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowsedEntry {
    pub position: LogKey,
    pub key: AspectKey,
    pub kind: LogEntryKind,
    pub time_ms: EpochMillis,
    pub actor: String,
    /// The ingestion run that wrote it.
    pub run: Option<String>,
}

/// Types that are not part of the catalog, in addition to those that begin with `dataHub` or
/// `docent`: sessions, tokens, step states, secrets, policies and the like.
const INTERNAL_TYPES: [&str; 4] = ["globalSettings", "inviteToken", "post", "telemetry"];
/// Aspects of users that are not part of the catalog.
const INTERNAL_ASPECTS: [&str; 3] = ["corpUserCredentials", "corpUserSettings", "corpUserStatus"];

/// Whether a change is about the server's own state. Engines have an index of such entries, with
/// the same condition in SQL; the suite compares them.
pub fn is_internal(urn: &Urn, aspect: AspectName) -> bool {
    let entity_type = urn.entity_type();
    entity_type.starts_with("dataHub")
        || entity_type.starts_with("docent")
        || INTERNAL_TYPES.contains(&entity_type)
        || INTERNAL_ASPECTS.contains(&aspect.as_str())
}
