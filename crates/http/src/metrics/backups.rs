//! Scheduled backups.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use docent_model::EpochMillis;
use docent_model::measure::Counter;

use super::text::MetricsText;

/// What the schedule of backups has done. The binary makes the backups and keeps this up to date.
#[derive(Debug)]
pub struct BackupMeasurements {
    interval: Duration,
    /// 0 if there is none.
    last_success_ms: AtomicI64,
    last_bytes: AtomicU64,
    failures: Counter,
    /// `None` if the write-ahead log is not archived.
    wal: Option<WalMeasurements>,
}

/// What the archive of the write-ahead log has done.
#[derive(Debug)]
struct WalMeasurements {
    interval: Duration,
    until_ms: AtomicI64,
    bytes: Counter,
    failures: Counter,
}

impl BackupMeasurements {
    pub fn new(interval: Duration, wal_interval: Option<Duration>) -> Self {
        Self {
            interval,
            last_success_ms: AtomicI64::new(0),
            last_bytes: AtomicU64::new(0),
            failures: Counter::default(),
            wal: wal_interval.map(|interval| WalMeasurements {
                interval,
                until_ms: AtomicI64::new(0),
                bytes: Counter::default(),
                failures: Counter::default(),
            }),
        }
    }

    /// Each commit up to this time can be restored; `None` if that is unchanged.
    pub fn archived(&self, until_ms: Option<EpochMillis>, bytes: u64) {
        if let Some(wal) = &self.wal {
            if let Some(until_ms) = until_ms {
                wal.until_ms.store(until_ms, Ordering::Relaxed);
            }
            wal.bytes.add(bytes);
        }
    }

    pub fn archive_failed(&self) {
        if let Some(wal) = &self.wal {
            wal.failures.increment();
        }
    }

    /// Up to when the store can be restored from the archived write-ahead log.
    pub(crate) fn archived_until_ms(&self) -> Option<EpochMillis> {
        let until_ms = self.wal.as_ref()?.until_ms.load(Ordering::Relaxed);
        (until_ms > 0).then_some(until_ms)
    }

    /// There is a backup that was begun at this time.
    pub fn succeeded(&self, begun_ms: EpochMillis) {
        self.last_success_ms.store(begun_ms, Ordering::Relaxed);
    }

    pub fn measured(&self, bytes: u64) {
        self.last_bytes.store(bytes, Ordering::Relaxed);
    }

    pub fn failed(&self) {
        self.failures.increment();
    }

    /// When the newest backup was begun.
    pub(crate) fn last_success_ms(&self) -> Option<EpochMillis> {
        let last_ms = self.last_success_ms.load(Ordering::Relaxed);
        (last_ms > 0).then_some(last_ms)
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failures.get()
    }
}

pub(super) fn render(text: &mut MetricsText, backups: &BackupMeasurements) {
    text.gauge(
        "docent_backup_interval_seconds",
        "How often a backup is scheduled.",
        backups.interval.as_secs(),
    );
    text.gauge(
        "docent_backup_last_success_timestamp_seconds",
        "When the newest scheduled backup was begun, in seconds since 1970; 0 if there is none.",
        backups.last_success_ms().unwrap_or(0) / 1000,
    );
    text.gauge(
        "docent_backup_bytes",
        "The size of the last backup that this server made.",
        backups.last_bytes.load(Ordering::Relaxed),
    );
    text.counter(
        "docent_backup_failures_total",
        "Scheduled backups that failed, each try.",
        backups.failures(),
    );
    if let Some(wal) = &backups.wal {
        render_wal(text, wal);
    }
}

fn render_wal(text: &mut MetricsText, wal: &WalMeasurements) {
    text.gauge(
        "docent_sqlite_wal_archive_interval_seconds",
        "How often the write-ahead log is archived.",
        wal.interval.as_secs(),
    );
    text.gauge(
        "docent_sqlite_wal_archived_until_timestamp_seconds",
        "Up to when every commit is archived and can be restored, in seconds since 1970; 0 if nothing is.",
        wal.until_ms.load(Ordering::Relaxed) / 1000,
    );
    text.counter(
        "docent_sqlite_wal_archive_bytes_total",
        "Bytes of the write-ahead log that were archived, compressed.",
        wal.bytes.get(),
    );
    text.counter(
        "docent_sqlite_wal_archive_failures_total",
        "Attempts to archive the write-ahead log that failed.",
        wal.failures.get(),
    );
}
