//! Archives the write-ahead log at intervals.

use std::sync::Arc;
use std::time::Duration;

use docent_http::BackupMeasurements;

use crate::backups::WalArchive;

/// At the end, for what was committed since the last time.
const FINAL_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(super) struct WalArchiver {
    pub(super) archive: Arc<WalArchive>,
    pub(super) interval: Duration,
    pub(super) measured: Arc<BackupMeasurements>,
}

impl WalArchiver {
    pub(super) async fn run(self) {
        let mut has_failed = false;
        loop {
            match self.archive.archive().await {
                Ok(archived) => {
                    self.measured.archived(archived.until_ms, archived.bytes);
                    if has_failed {
                        tracing::info!("the write-ahead log is archived again");
                    }
                    // The place of the backups can be reached again.
                    if has_failed && archived.until_ms.is_none() {
                        self.archive.request_backup();
                    }
                    has_failed = false;
                }
                Err(error) => {
                    self.measured.archive_failed();
                    // Not a line every few seconds.
                    if !has_failed {
                        tracing::error!(
                            "the write-ahead log could not be archived: {error:#}; it is kept until it can"
                        );
                    }
                    has_failed = true;
                }
            }
            tokio::time::sleep(self.interval).await;
        }
    }

    /// Archives the rest, after the last write.
    pub(super) async fn finish(self) {
        match tokio::time::timeout(FINAL_TIMEOUT, self.archive.archive()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(
                "the end of the write-ahead log was not archived: {error:#}; the next start does it"
            ),
            Err(_) => tracing::warn!(
                "the end of the write-ahead log was not archived in time; the next start does it"
            ),
        }
    }
}
