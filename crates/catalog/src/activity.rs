//! Recent changes and change counts, from the change log.
//!
//! The log grows with every write, so these functions read only its end, or single entries between
//! which they count positions.

use std::collections::HashSet;

use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{LogEntryKind, LogPosition};

use crate::{Catalog, Error};

/// How many entries at the end of the log are read for recent changes.
const ENTRIES_READ: u16 = 5_000;
const MAX_COUNT: i64 = 100;
const MAX_WEEKS: i64 = 104;
const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// Weeks begin on Mondays, and the epoch was a Thursday.
const FIRST_MONDAY_MS: i64 = 4 * 24 * 60 * 60 * 1000;

/// The last change of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentChange {
    pub urn: Urn,
    pub aspect: AspectName,
    pub time_ms: EpochMillis,
    pub actor: String,
}

/// The changes of a week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Week {
    pub begins_ms: EpochMillis,
    pub changes: u64,
}

impl Catalog {
    /// The most recently changed entities of some types, newest first, each once. Leaves out
    /// deleted entities. After a long import only its end is visible.
    pub async fn recent_changes(
        &self,
        types: &[String],
        count: i64,
    ) -> Result<Vec<RecentChange>, Error> {
        let count = bounded("count", count, MAX_COUNT)?;
        let Some(newest) = self.store().log_newest().await? else {
            return Ok(Vec::new());
        };
        let after = newest.position.minus(ENTRIES_READ.into());
        let log = self.reader().log_read(after, ENTRIES_READ.into()).await?;
        let mut seen = HashSet::new();
        let mut changes = Vec::new();
        for change in log.into_iter().rev() {
            let urn = change.key.urn;
            let is_requested = types.iter().any(|name| name == urn.entity_type())
                && change.kind == LogEntryKind::Put
                && Registry::get().entity(urn.entity_type()).is_some()
                && !Self::is_secret(change.key.aspect);
            if is_requested && seen.insert(urn.clone()) {
                changes.push(RecentChange {
                    urn,
                    aspect: change.key.aspect,
                    time_ms: change.time_ms,
                    actor: change.actor,
                });
            }
        }
        // More than requested, because some may be deleted meanwhile.
        changes.truncate(count * 4);
        let urns: Vec<Urn> = changes.iter().map(|change| change.urn.clone()).collect();
        let mut exist = self.exists(&urns).await?.into_iter();
        changes.retain(|_| exist.next() == Some(true));
        changes.truncate(count);
        Ok(changes)
    }

    /// The number of changes in each of the last weeks, this one included, oldest first, without
    /// those of the server's own state. Empty for callers who do not see everything: the log cannot
    /// tell which changes they see.
    pub async fn changes_by_week(&self, weeks: i64) -> Result<Vec<Week>, Error> {
        bounded("weeks", weeks, MAX_WEEKS)?;
        if self.view.is_some() {
            return Ok(Vec::new());
        }
        let since_monday = (self.now_ms() - FIRST_MONDAY_MS).rem_euclid(WEEK_MS);
        let this_week = self.now_ms() - since_monday;
        let newest = self.store().log_newest().await?;
        let newest = newest.map_or(LogPosition::START, |change| change.position);
        let mut counted = Vec::new();
        let mut end = newest;
        for back in 0..weeks {
            let begins_ms = this_week - back * WEEK_MS;
            let before = self.position_before(begins_ms, end).await?;
            let ends_ms = begins_ms.saturating_add(WEEK_MS);
            let internal = self.store().log_count_internal(begins_ms, ends_ms).await?;
            counted.push(Week {
                begins_ms,
                changes: end.since(before).saturating_sub(internal),
            });
            end = before;
        }
        counted.reverse();
        Ok(counted)
    }

    /// The last log position before a time, at most `newest`; 0 if there is none. The log is
    /// ordered by time, so this is a binary search.
    pub(crate) async fn position_before(
        &self,
        time_ms: EpochMillis,
        newest: LogPosition,
    ) -> Result<LogPosition, Error> {
        let (mut before, mut end) = (LogPosition::START, newest);
        while before < end {
            let middle = before.midpoint(end);
            // The first entry after `middle`: an engine may skip positions.
            let next = self.store().log_read(middle, 1).await?;
            match next.first() {
                Some(change) if change.time_ms < time_ms && change.position <= newest => {
                    before = change.position;
                }
                _ => end = middle,
            }
        }
        Ok(before)
    }
}

fn bounded(name: &str, value: i64, most: i64) -> Result<usize, Error> {
    let in_range = usize::try_from(value).ok();
    in_range
        .filter(|_| (1..=most).contains(&value))
        .ok_or_else(|| Error::invalid(format!("{name} is {value}: it must be from 1 to {most}")))
}
