//! Follows the write-ahead log, so that it can be archived.
//!
//! SQLite starts the log from its beginning again after a checkpoint has copied all of it into the
//! database. So the writer collects what was appended before each checkpoint ([`crate::writer`]).
//! In between, whoever archives the log collects it at intervals.
//!
//! A commit that is missing leaves a gap: a command may have committed between the last collection
//! and the checkpoint, or the archive may have been unreachable until the log became too long.
//! SQLite counts commits in the index of the log, which shows gaps. After one, the next segment
//! does not follow the one before ([`WalSegment::follows`]).

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use docent_model::{Clock as _, EpochMillis, SystemClock};
use docent_store::StoreError;

use crate::error::{EngineError, file_error};
use crate::path::sibling;
use crate::stamp::{LogIndex, LogState};
use crate::wal_segment::{WalPosition, WalSegment};

const LOG_HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// A segment ends with the commit after which it has this size.
const SEGMENT_BYTES: usize = 16 * 1024 * 1024;

/// Nothing is collected while segments of this size wait for the archive.
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;

/// A transaction that changes more is a gap.
const MAX_TRANSACTION_BYTES: usize = 256 * 1024 * 1024;

/// A log of this many pages, 1 GiB, is not kept for the archive any longer.
const MAX_LOG_PAGES: u32 = 262_144;

/// The end of a database's log, as far as it was collected.
#[derive(Debug)]
pub struct WalTail {
    log: File,
    index: LogIndex,
    /// The end of the log when it was opened.
    opened: WalPosition,
    waiting: Mutex<Waiting>,
}

/// What was collected and waits for the archive.
#[derive(Debug)]
struct Waiting {
    /// Up to here, the log was collected.
    until: WalPosition,
    /// SQLite's count of commits at this position; unknown at the beginning.
    commits: Option<u32>,
    segments: VecDeque<Arc<WalSegment>>,
    bytes: usize,
}

impl WalTail {
    /// Collects the log that is there.
    pub(crate) fn open(database: &Path, index: LogIndex) -> Result<Self, EngineError> {
        let path = sibling(database, "-wal");
        let log = File::open(&path).map_err(|error| file_error(&path, &error))?;
        let state = index.state()?;
        let waiting = Waiting {
            until: WalPosition {
                salts: state.salts,
                frames: 0,
            },
            commits: None,
            segments: VecDeque::new(),
            bytes: 0,
        };
        let tail = Self {
            log,
            index,
            opened: state.end(),
            waiting: Mutex::new(waiting),
        };
        tail.collect()?;
        Ok(tail)
    }

    /// Continues behind what an earlier process archived. Returns false if a part is missing in
    /// between.
    pub fn resume(&self, archived: WalPosition) -> bool {
        if archived.salts != self.opened.salts || archived.frames > self.opened.frames {
            return false;
        }
        let mut waiting = self.waiting();
        while let Some(segment) = waiting.segments.front()
            && segment.until.salts == archived.salts
            && segment.until.frames <= archived.frames
        {
            waiting.remove_oldest();
        }
        // The earlier process may have archived more than may wait here.
        if waiting.until.frames < archived.frames {
            waiting.until = archived;
            waiting.commits = None;
        }
        true
    }

    /// Collects what commits have appended to the log. Returns whether this is all of it: only so
    /// much may wait for the archive.
    pub fn collect(&self) -> Result<bool, StoreError> {
        let mut waiting = self.waiting();
        let state = self.index.state()?;
        waiting.collect(&self.log, &self.index, &state)?;
        Ok(waiting.has_all_of(&state))
    }

    /// The oldest segment that is not archived.
    pub fn oldest(&self) -> Option<Arc<WalSegment>> {
        self.waiting().segments.front().cloned()
    }

    /// Forgets a segment that was archived.
    pub fn archived(&self, segment: &WalSegment) {
        let mut waiting = self.waiting();
        let oldest = waiting.segments.front();
        if oldest.is_some_and(|it| it.until == segment.until) {
            waiting.remove_oldest();
        }
    }

    /// Collects the rest of the log; returns whether SQLite may start it from its beginning. A log
    /// that is too long may be lost.
    pub(crate) fn allows_restart(&self) -> Result<bool, EngineError> {
        let mut waiting = self.waiting();
        let state = self.index.state()?;
        waiting.collect(&self.log, &self.index, &state)?;
        if !waiting.has_all_of(&state) && state.frames > MAX_LOG_PAGES {
            tracing::error!(
                "the write-ahead log grew to {} pages before it could be archived; continuing without, \
                 and with a new backup as soon as possible",
                state.frames
            );
            waiting.skip_to(&state);
        }
        Ok(waiting.has_all_of(&state))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Whether each commit was collected. SQLite starts the log from its beginning before the first
    /// commit there, which may take long or be rolled back: until then, none is missing.
    fn has_all_of(&self, state: &LogState) -> bool {
        let is_restarted_and_empty = state.frames == 0 && self.commits == Some(state.commits);
        self.until == state.end() || is_restarted_and_empty
    }

    fn collect(
        &mut self,
        log: &File,
        index: &LogIndex,
        state: &LogState,
    ) -> Result<(), EngineError> {
        let is_restarted = state.salts != self.until.salts;
        // The first commit of a restarted log shows whether one before was missed.
        if self.bytes >= MAX_WAITING_BYTES || (is_restarted && state.frames == 0) {
            return Ok(());
        }
        let until_ms = SystemClock.now_ms();
        let from = if is_restarted { 0 } else { self.until.frames };
        let frames = Frames { log, state };
        let commits = frames.count_commits(from)?;
        let expected = self
            .commits
            .map(|before| state.commits.wrapping_sub(before));
        let is_complete = commits.is_some() && expected.is_none_or(|it| commits == Some(it));
        let (true, Some(commits)) = (is_complete, commits) else {
            tracing::warn!("a commit is missing in the archive of the write-ahead log");
            self.skip_to(state);
            return Ok(());
        };
        let counted = state.commits.wrapping_sub(commits);
        let segments = self.read_segments(&frames, from, counted, until_ms)?;
        // Another program may have started the log from its beginning meanwhile.
        match segments {
            Some((segments, commits)) if index.state()?.salts == state.salts => {
                self.commits = Some(commits);
                for segment in segments {
                    self.add(segment);
                }
            }
            _ => {
                tracing::warn!("a transaction could not be archived");
                self.skip_to(&index.state()?);
            }
        }
        Ok(())
    }

    /// Reads the frames behind `from`, where SQLite had counted these commits; returns the new
    /// count with them. `None` if a transaction is too large, or the frames are not of this log.
    fn read_segments(
        &self,
        frames: &Frames<'_>,
        mut from: u32,
        mut commits: u32,
        until_ms: EpochMillis,
    ) -> Result<Option<(Vec<WalSegment>, u32)>, EngineError> {
        let state = frames.state;
        let mut segments: Vec<WalSegment> = Vec::new();
        let mut bytes = self.bytes;
        while from < state.frames && bytes < MAX_WAITING_BYTES {
            let Some(changes) = frames.read(from)? else {
                return Ok(None);
            };
            from = changes.until;
            commits = commits.wrapping_add(changes.commits);
            let segment = WalSegment {
                since: segments.last().map_or(self.until, |it| it.until),
                until: WalPosition {
                    salts: state.salts,
                    frames: from,
                },
                until_ms,
                page_bytes: state.page_bytes,
                database_pages: changes.database_pages,
                pages: changes.pages,
            };
            bytes += segment.bytes();
            segments.push(segment);
        }
        Ok(Some((segments, commits)))
    }

    /// Leaves a gap: the next segment, without a page, does not follow the one before.
    fn skip_to(&mut self, state: &LogState) {
        let end = state.end();
        self.commits = Some(state.commits);
        self.add(WalSegment {
            since: end,
            until: end,
            until_ms: SystemClock.now_ms(),
            page_bytes: state.page_bytes,
            database_pages: 0,
            pages: BTreeMap::new(),
        });
    }

    fn remove_oldest(&mut self) {
        if let Some(segment) = self.segments.pop_front() {
            self.bytes -= segment.bytes();
        }
    }

    fn add(&mut self, segment: WalSegment) {
        self.until = segment.until;
        self.bytes += segment.bytes();
        self.segments.push_back(Arc::new(segment));
    }
}

/// The frames of the log: pages as commits have left them.
struct Frames<'l> {
    log: &'l File,
    state: &'l LogState,
}

/// What some commits in a row changed.
struct Changes {
    /// The last frame of the last commit.
    until: u32,
    commits: u32,
    database_pages: u32,
    pages: BTreeMap<u32, Vec<u8>>,
}

struct FrameHeader {
    page: u32,
    /// The size of the database after the commit, if this is its last frame.
    committed_pages: Option<u32>,
    salts: [u8; 8],
}

impl Frames<'_> {
    /// The commits behind a frame. `None` if the frames are not of this log.
    fn count_commits(&self, from: u32) -> Result<Option<u32>, EngineError> {
        if from > self.state.frames {
            return Ok(None);
        }
        let mut commits = 0;
        for frame in from..self.state.frames {
            let mut header = [0; FRAME_HEADER_BYTES];
            self.read_at(frame, 0, &mut header)?;
            let header = FrameHeader::parse(&header);
            if header.salts != self.state.salts {
                return Ok(None);
            }
            commits += u32::from(header.committed_pages.is_some());
        }
        Ok(Some(commits))
    }

    /// Reads the commits behind a frame, as many as make a segment. `None` if the first one is too
    /// large, or is not of this log.
    fn read(&self, from: u32) -> Result<Option<Changes>, EngineError> {
        let page_bytes = self.state.page_bytes as usize;
        let mut changes = Changes {
            until: from,
            commits: 0,
            database_pages: 0,
            pages: BTreeMap::new(),
        };
        for frame in from..self.state.frames {
            let mut header = [0; FRAME_HEADER_BYTES];
            self.read_at(frame, 0, &mut header)?;
            let header = FrameHeader::parse(&header);
            if header.salts != self.state.salts {
                return Ok(None);
            }
            let mut page = vec![0; page_bytes];
            self.read_at(frame, FRAME_HEADER_BYTES as u64, &mut page)?;
            changes.pages.insert(header.page, page);
            let bytes = changes.pages.len() * page_bytes;
            if let Some(database_pages) = header.committed_pages {
                changes.until = frame + 1;
                changes.commits += 1;
                changes.database_pages = database_pages;
                if bytes >= SEGMENT_BYTES {
                    break;
                }
            } else if bytes > MAX_TRANSACTION_BYTES {
                return Ok(None);
            }
        }
        Ok(Some(changes).filter(|changes| changes.commits > 0))
    }

    /// Reads from a frame, counted from 0.
    fn read_at(&self, frame: u32, offset: u64, bytes: &mut [u8]) -> Result<(), EngineError> {
        let frame_bytes = FRAME_HEADER_BYTES as u64 + u64::from(self.state.page_bytes);
        let start = LOG_HEADER_BYTES + u64::from(frame) * frame_bytes;
        let read = self.log.read_exact_at(bytes, start + offset);
        Ok(read.map_err(|error| file_error(Path::new("the write-ahead log"), &error))?)
    }
}

impl FrameHeader {
    fn parse(bytes: &[u8; FRAME_HEADER_BYTES]) -> Self {
        let number = |at: usize| {
            let mut number = [0; 4];
            number.copy_from_slice(&bytes[at..at + 4]);
            u32::from_be_bytes(number)
        };
        let mut salts = [0; 8];
        salts.copy_from_slice(&bytes[8..16]);
        Self {
            page: number(0),
            committed_pages: Some(number(4)).filter(|pages| *pages > 0),
            salts,
        }
    }
}
