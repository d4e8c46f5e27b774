//! Scheduled backups.
//!
//! When the next one is due follows from the newest one at the destination, not from the start of
//! the server: a restart neither skips nor repeats one, and of several servers that back up to the
//! same place, the first one makes it. With an archived write-ahead log, one is due as well while
//! none belongs to the log.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use docent_http::BackupMeasurements;
use docent_store::Store;
use jiff::Timestamp;
use tokio::task::JoinSet;

use super::wal_archiver::WalArchiver;
use crate::backups::{Destination, WalArchive, silent};
use crate::engine::WalTail;
use crate::settings::{BackupSettings, Settings, StoreUrl};

/// How often the time is compared, which may be set meanwhile.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// Until a failed backup is tried again. Doubled after each further failure: a place that is back
/// gets its backup soon, and a disk that is full is not filled all the time.
const FIRST_RETRY: Duration = Duration::from_secs(10);
const LONGEST_RETRY: Duration = Duration::from_mins(15);

pub(super) struct BackupSchedule {
    store: Arc<dyn Store>,
    url: StoreUrl,
    destination: Destination,
    archive: Option<Arc<WalArchive>>,
    settings: BackupSettings,
    pub(super) measured: Arc<BackupMeasurements>,
}

impl BackupSchedule {
    /// `None` if the settings schedule no backups.
    pub(super) fn new(
        settings: &Settings,
        destination: Destination,
        store: Arc<dyn Store>,
        wal_tail: Option<Arc<WalTail>>,
    ) -> Option<Self> {
        let backup = settings.backup.clone()?;
        let archive = wal_tail.map(|tail| Arc::new(WalArchive::new(tail, destination.clone())));
        let measured = BackupMeasurements::new(backup.interval, backup.wal_interval);
        Some(Self {
            store,
            url: settings.store.clone(),
            destination,
            archive,
            settings: backup,
            measured: Arc::new(measured),
        })
    }

    /// Archives the write-ahead log between the backups, if the settings say so.
    pub(super) fn wal_archiver(&self) -> Option<WalArchiver> {
        Some(WalArchiver {
            archive: self.archive.clone()?,
            interval: self.settings.wal_interval?,
            measured: Arc::clone(&self.measured),
        })
    }

    pub(super) fn start(self, background: &mut JoinSet<()>) {
        if let Some(archiver) = self.wal_archiver() {
            background.spawn(archiver.run());
        }
        background.spawn(self.run());
    }

    async fn run(self) {
        let mut failures = 0;
        loop {
            let wait = match self.back_up_if_due().await {
                Ok(wait) => {
                    failures = 0;
                    wait.min(LONGEST_WAIT)
                }
                Err(error) => {
                    self.measured.failed();
                    let retry = retry_after(failures).min(self.settings.interval);
                    failures += 1;
                    tracing::error!(
                        "the scheduled backup failed: {error:#}; trying again in {} s",
                        retry.as_secs()
                    );
                    retry
                }
            };
            let may_be_due = async {
                match &self.archive {
                    Some(archive) => archive.backup_is_due().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = may_be_due => failures = 0,
            }
        }
    }

    /// Returns how long it is until the next backup.
    async fn back_up_if_due(&self) -> Result<Duration> {
        let destination = &self.destination;
        let BackupSettings { interval, keep, .. } = &self.settings;
        let names = destination.list().await?;
        let now = Timestamp::now();
        let is_log_complete = match &self.archive {
            Some(archive) => archive.has_backup(&names).await?,
            None => true,
        };
        // Not one in the future, made by a clock that was ahead.
        if let Some(newest) = names.iter().rfind(|name| name.time() <= now) {
            self.measured.succeeded(newest.time().as_millisecond());
            let left = time_left(newest.time(), *interval, now);
            if is_log_complete && !left.is_zero() {
                return Ok(left);
            }
        }
        let archive = self.archive.as_deref();
        let making = destination.back_up(&*self.store, &self.url, Some(*keep), archive, silent);
        let made = making.await?;
        self.measured.succeeded(made.name.time().as_millisecond());
        self.measured.measured(made.bytes);
        tracing::info!(
            "backed up to {destination}/{} ({} bytes), checked it, and deleted {} older backups",
            made.name,
            made.bytes,
            made.deleted
        );
        Ok(*interval)
    }
}

/// The time until the next try, after so many failures before the last one.
fn retry_after(failures: u32) -> Duration {
    let factor = 2_u32.saturating_pow(failures);
    FIRST_RETRY.saturating_mul(factor).min(LONGEST_RETRY)
}

/// The time until the next backup. A newest one in the future, made by a clock that was ahead, does
/// not count.
fn time_left(newest: Timestamp, interval: Duration, now: Timestamp) -> Duration {
    match Duration::try_from(now.duration_since(newest)) {
        Ok(age) => interval.saturating_sub(age),
        Err(_) => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_backup_is_due_an_interval_after_the_newest_one() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let hour = Duration::from_hours(1);
        let left = |age: i64| {
            let newest = Timestamp::from_second(1_000_000 - age).unwrap();
            time_left(newest, hour, now)
        };
        assert_eq!(left(0), hour);
        assert_eq!(left(600), Duration::from_mins(50));
        assert_eq!(left(3600), Duration::ZERO);
        assert_eq!(left(999_999), Duration::ZERO);
        assert_eq!(left(-60), Duration::ZERO);
    }

    #[test]
    fn a_failed_backup_is_tried_again_soon_and_then_less_often() {
        let seconds = [0, 1, 2, 6, 7, u32::MAX].map(|failures| retry_after(failures).as_secs());
        assert_eq!(seconds, [10, 20, 40, 640, 900, 900]);
    }
}
