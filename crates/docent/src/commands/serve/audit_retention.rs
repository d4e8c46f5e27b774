//! Deletes old events of the audit log, while the clock can be trusted.
//!
//! What is deleted is gone, and a clock that is ahead for a moment would make everything old: one
//! that a person or a broken time server has set. So events are deleted only after the clock has
//! gone on evenly for an hour, compared with a clock that nobody can set.
//!
//! A restart begins the hour again, because the times of stored events prove nothing. A machine
//! whose clock is ahead after each start, until a time server corrects it, has stored such events
//! before, and the log is in the order of their times: it does not show when the clock was set.

use std::time::{Duration, Instant};

use docent_catalog::Catalog;
use docent_model::{Clock as _, EpochMillis, SystemClock};
use tokio::sync::watch;

/// How often events are deleted, and how long the clock must have been steady before.
const INTERVAL: Duration = Duration::from_hours(1);
const DAY_MS: EpochMillis = 24 * 60 * 60 * 1000;
/// Clocks that are adjusted gradually differ by far less in an hour.
const MAX_JUMP_MS: EpochMillis = 60_000;

/// The time of day, and that of a clock which nobody can set.
#[derive(Debug, Clone, Copy)]
struct Moment {
    time_ms: EpochMillis,
    instant: Instant,
}

impl Moment {
    fn now() -> Self {
        Self {
            time_ms: SystemClock.now_ms(),
            instant: Instant::now(),
        }
    }

    /// Whether the time of day has gone on as much as the other clock since an earlier moment.
    fn is_steady_since(self, earlier: Self) -> bool {
        let passed = self.instant.saturating_duration_since(earlier.instant);
        let passed_ms = EpochMillis::try_from(passed.as_millis()).unwrap_or(EpochMillis::MAX);
        let expected_ms = earlier.time_ms.saturating_add(passed_ms);
        self.time_ms.saturating_sub(expected_ms).saturating_abs() <= MAX_JUMP_MS
    }
}

/// Deletes events that are older than this number of days, every hour; `None` keeps them.
pub(super) async fn prune(catalog: Catalog, days: watch::Receiver<Option<u32>>) {
    let mut last = Moment::now();
    loop {
        tokio::time::sleep(INTERVAL).await;
        let now = Moment::now();
        let is_steady = now.is_steady_since(last);
        last = now;
        let Some(days) = *days.borrow() else {
            continue;
        };
        if is_steady {
            delete_before(&catalog, now.time_ms - EpochMillis::from(days) * DAY_MS).await;
        } else {
            tracing::warn!(
                "the clock was set within the last hour, so no old events of the audit log are deleted"
            );
        }
    }
}

async fn delete_before(catalog: &Catalog, before_ms: EpochMillis) {
    match catalog.prune_audit_log(before_ms).await {
        Ok(0) => {}
        Ok(deleted) => tracing::info!("deleted {deleted} old events of the audit log"),
        Err(error) => {
            tracing::warn!(%error, "cannot delete old events of the audit log ({error}); it is retried");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_steady_unless_it_was_set() {
        let start = Moment::now();
        let after = |passed: Duration, time_ms: EpochMillis| Moment {
            time_ms: start.time_ms + time_ms,
            instant: start.instant + passed,
        };
        let hour_ms = 60 * 60 * 1000;
        for (time_ms, expected) in [
            (hour_ms, true),
            (hour_ms + 1000, true),
            (hour_ms - 1000, true),
            (2 * hour_ms, false),
            (0, false),
            (-hour_ms, false),
            (75 * 365 * DAY_MS, false),
        ] {
            let now = after(INTERVAL, time_ms);
            assert_eq!(now.is_steady_since(start), expected, "{time_ms}");
        }
    }
}
