//! The archive of the write-ahead log, beside the backups.
//!
//! A backup and the segments behind it give the store at any archived time ([`super::recovery`]).
//! Segments are numbered within a chain. Where a part of the log is missing, a new chain begins. A
//! backup is due as long as none at the place belongs to the current chain: that is looked up, not
//! remembered ([`WalArchive::has_backup`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use docent_model::{Clock as _, EpochMillis, SystemClock};
use tokio::sync::{Mutex, Notify};
use tokio::task::spawn_blocking;

use super::name::{Chain, LogOfBackup, SegmentName};
use super::{BackupName, Destination};
use crate::engine::{WalPosition, WalSegment, WalTail};

/// Where segments are, beside the backups.
pub(super) const FOLDER: &str = "wal";

/// The log is collected in pieces, if the archive was unreachable for long. More than the longest
/// log has.
const MAX_PIECES: usize = 64;

/// The chains with the newest segments, one of which the log may continue.
const MAX_CHAINS: usize = 4;

/// Archives the write-ahead log of a store in use.
#[derive(Debug)]
pub(crate) struct WalArchive {
    tail: Arc<WalTail>,
    destination: Destination,
    /// `None` before the archive was read.
    end: Mutex<Option<End>>,
    /// Wakes the schedule, which would find out later by itself.
    backup_is_due: Notify,
}

/// The end of the archive.
#[derive(Debug, Clone, Copy)]
struct End {
    chain: Chain,
    next_number: u64,
    /// `None` at the beginning of a chain.
    last: Option<(SegmentName, WalPosition)>,
    /// Whether there was a backup of the chain when the backups were listed last.
    has_backup: bool,
}

/// What was archived.
#[derive(Debug)]
pub(crate) struct Archived {
    /// Each commit up to this time can be restored. `None` while there is no backup with which the
    /// log begins.
    pub(crate) until_ms: Option<EpochMillis>,
    pub(crate) bytes: u64,
}

/// Where the log of a backup begins that is being made.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogStart {
    chain: Chain,
    first: u64,
}

impl WalArchive {
    pub(crate) fn new(tail: Arc<WalTail>, destination: Destination) -> Self {
        Self {
            tail,
            destination,
            end: Mutex::new(None),
            backup_is_due: Notify::new(),
        }
    }

    /// Returns when a backup may have become due.
    pub(crate) async fn backup_is_due(&self) {
        self.backup_is_due.notified().await;
    }

    pub(crate) fn request_backup(&self) {
        self.backup_is_due.notify_one();
    }

    /// Archives what was committed before.
    pub(crate) async fn archive(&self) -> Result<Archived> {
        let until_ms = SystemClock.now_ms();
        let (bytes, end) = self.archive_to_end().await?;
        Ok(Archived {
            until_ms: end.has_backup.then_some(until_ms),
            bytes,
        })
    }

    /// Whether the log begins with one of these backups.
    pub(crate) async fn has_backup(&self, backups: &[BackupName]) -> Result<bool> {
        let mut end = self.end.lock().await;
        let end = self.known_end(&mut end).await?;
        self.expect_last(end).await?;
        end.has_backup = end.chain.has_backup(backups);
        Ok(end.has_backup)
    }

    pub(super) async fn begin_backup(&self) -> Result<LogStart> {
        let (_, end) = self.archive_to_end().await?;
        Ok(LogStart {
            chain: end.chain,
            first: end.next_number,
        })
    }

    /// The log of a backup that was copied.
    pub(super) async fn log_since(&self, start: LogStart) -> Result<LogOfBackup> {
        let (_, end) = self.archive_to_end().await?;
        let LogStart { chain, first } = start;
        if end.chain != chain {
            bail!("the write-ahead log could not be archived while the backup was made");
        }
        Ok(LogOfBackup {
            chain,
            first,
            during_backup: end.next_number - first,
        })
    }

    /// Returns how many bytes it added.
    async fn archive_to_end(&self) -> Result<(u64, End)> {
        let mut end = self.end.lock().await;
        let end = self.known_end(&mut end).await?;
        let mut bytes = 0;
        for _ in 0..MAX_PIECES {
            let tail = Arc::clone(&self.tail);
            let is_all = spawn_blocking(move || tail.collect()).await??;
            while let Some(segment) = self.tail.oldest() {
                bytes += self.add(&segment, end).await?;
                self.tail.archived(&segment);
            }
            if is_all {
                return Ok((bytes, *end));
            }
        }
        bail!("the write-ahead log grows faster than it can be archived");
    }

    /// Adds a segment; returns its size.
    async fn add(&self, segment: &Arc<WalSegment>, end: &mut End) -> Result<u64> {
        self.expect_last(end).await?;
        if end.last.is_some_and(|(_, until)| !segment.follows(until)) {
            self.begin_chain(end)?;
        }
        let name = SegmentName::new(end.chain, end.next_number, segment.until_ms());
        let segment_to_encode = Arc::clone(segment);
        let encoded = spawn_blocking(move || segment_to_encode.encode()).await?;
        let encoded = encoded.context("cannot encode a segment")?;
        let bytes = encoded.len() as u64;
        let path = format!("{FOLDER}/{name}");
        self.destination.write(encoded, &path).await?;
        end.next_number += 1;
        end.last = Some((name, segment.until()));
        Ok(bytes)
    }

    /// Begins a new chain if the last segment is gone: somebody has deleted it, or the place is
    /// another one, such as the empty directory of a disk that is not mounted.
    async fn expect_last(&self, end: &mut End) -> Result<()> {
        let Some((name, _)) = end.last else {
            return Ok(());
        };
        if !self.destination.has(&format!("{FOLDER}/{name}")).await? {
            tracing::error!(
                "{}/{FOLDER}/{name} is gone: states since the last backup there cannot be restored; making a new backup",
                self.destination
            );
            self.begin_chain(end)?;
        }
        Ok(())
    }

    /// The new chain needs a backup.
    fn begin_chain(&self, end: &mut End) -> Result<()> {
        *end = End::of_new_chain()?;
        self.request_backup();
        Ok(())
    }

    async fn known_end<'e>(&self, end: &'e mut Option<End>) -> Result<&'e mut End> {
        match end {
            Some(end) => Ok(end),
            None => Ok(end.insert(self.find_end().await?)),
        }
    }

    /// Finds the chain that the log continues, or begins a new one.
    async fn find_end(&self) -> Result<End> {
        let backups = self.destination.list().await?;
        let segments = self.destination.segments().await?;
        // Of each chain, the newest one.
        let newest: BTreeMap<Chain, SegmentName> = segments
            .into_iter()
            .map(|name| (name.chain, name))
            .collect();
        let mut newest: Vec<SegmentName> = newest.into_values().collect();
        newest.sort_unstable_by_key(|name| std::cmp::Reverse(name.until()));
        for name in newest.into_iter().take(MAX_CHAINS) {
            let until = match self.destination.read_segment(name).await? {
                Ok(segment) => segment.until(),
                Err(error) => {
                    tracing::warn!("{error:#}; the archive does not continue there");
                    continue;
                }
            };
            if self.tail.resume(until) {
                return Ok(End {
                    chain: name.chain,
                    next_number: name.number + 1,
                    last: Some((name, until)),
                    has_backup: name.chain.has_backup(&backups),
                });
            }
        }
        End::of_new_chain()
    }

    /// Deletes the segments that no backup needs any more.
    pub(super) async fn delete_unneeded(&self, backups: &[BackupName]) -> Result<()> {
        let Some(oldest) = backups.iter().map(|name| name.time()).min() else {
            return Ok(());
        };
        let mut first_needed = BTreeMap::new();
        for log in backups.iter().filter_map(|name| name.log()) {
            let first = first_needed.entry(log.chain).or_insert(log.first);
            *first = log.first.min(*first);
        }
        let segments = self.destination.segments().await?;
        // With it, the next server finds the end.
        let newest = self.end.lock().await.and_then(|end| end.last);
        let is_needed = |name: &SegmentName| {
            let first = first_needed.get(&name.chain);
            name.until() >= oldest
                || first.is_some_and(|first| name.number >= *first)
                || newest.is_some_and(|(newest, _)| newest == *name)
        };
        for name in segments.iter().filter(|name| !is_needed(name)) {
            self.destination.delete(&format!("{FOLDER}/{name}")).await?;
        }
        Ok(())
    }
}

impl End {
    fn of_new_chain() -> Result<Self> {
        Ok(Self {
            chain: Chain::new()?,
            next_number: 1,
            last: None,
            has_backup: false,
        })
    }
}

impl Destination {
    pub(super) async fn segments(&self) -> Result<BTreeSet<SegmentName>> {
        let names = self.names(FOLDER).await?;
        let names = names.iter().filter_map(|name| SegmentName::parse(name));
        Ok(names.collect())
    }

    /// The inner error is that of a damaged segment.
    pub(super) async fn read_segment(&self, name: SegmentName) -> Result<Result<WalSegment>> {
        let path = format!("{FOLDER}/{name}");
        let bytes = self.read(&path).await?;
        let decoded = spawn_blocking(move || WalSegment::decode(&bytes)).await?;
        Ok(decoded.with_context(|| format!("{self}/{path} is damaged")))
    }
}
