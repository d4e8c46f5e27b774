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
}

impl BackupMeasurements {
    pub fn new(interval: Duration) -> Self {
        Self {
            interval,
            last_success_ms: AtomicI64::new(0),
            last_bytes: AtomicU64::new(0),
            failures: Counter::default(),
        }
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
}
