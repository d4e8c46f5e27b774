//! The commit stamp: detects commits, by this process or another.
//!
//! SQLite keeps the state of its write-ahead log in the file `<database>-shm` (SQLite's documented
//! "WAL-Index File Format"). The stamp is its change counter, which every commit increments, and
//! the length of the log. `PRAGMA data_version` would do too, but it runs a read transaction (four
//! system calls instead of one) on a connection that all requests would share.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use docent_store::{CommitStamp, StoreError};
use rusqlite::Connection;

use crate::connection::{SMALL_CACHE_KIB, open_reader};
use crate::error::{EngineError, file_error};
use crate::lock::lock_log_index;
use crate::path::sibling;
use crate::wal_segment::WalPosition;

const HEADER_BYTES: usize = 20;
const CHANGE_COUNTER: usize = 8;
const PAGE_SIZE: usize = 14;
const LOG_PAGES: usize = 16;
const SALTS: usize = 32;
/// SQLite writes the header twice, to detect that it is being written.
const WHOLE_HEADER_BYTES: usize = 48;
const STATE_TRIES: usize = 1000;

/// The open `-shm` file. It must stay open as long as SQLite uses the database: closing any
/// descriptor of a file releases the process's `fcntl` locks on it. So only a server, which opens
/// the database exclusively, uses it.
#[derive(Debug, Clone)]
pub(crate) struct LogIndex(Arc<File>);

#[derive(Debug)]
pub(crate) enum StampSource {
    /// For a server, see [`LogIndex`].
    LogIndex(LogIndex),
    /// A connection that never writes, so that `data_version` covers all commits.
    DataVersion(Mutex<Connection>),
}

impl LogIndex {
    /// Requires that SQLite has opened the log. Locks the file, which tells commands about the
    /// server ([`crate::lock`]).
    pub(crate) fn open(database: &Path) -> Result<Self, EngineError> {
        let path = sibling(database, "-shm");
        let file = File::open(&path).map_err(|error| file_error(&path, &error))?;
        lock_log_index(&file, database)?;
        Ok(Self(Arc::new(file)))
    }

    fn header(&self) -> Result<[u8; HEADER_BYTES], EngineError> {
        let mut header = [0; HEADER_BYTES];
        self.0
            .read_exact_at(&mut header, 0)
            .map_err(|error| file_error(Path::new("the write-ahead log index"), &error))?;
        Ok(header)
    }

    pub(crate) fn state(&self) -> Result<LogState, EngineError> {
        for _ in 0..STATE_TRIES {
            let mut bytes = [0; 2 * WHOLE_HEADER_BYTES];
            self.0
                .read_exact_at(&mut bytes, 0)
                .map_err(|error| file_error(Path::new("the write-ahead log index"), &error))?;
            let (header, copy) = bytes.split_at(WHOLE_HEADER_BYTES);
            if header == copy {
                return Ok(LogState::parse(header));
            }
            std::thread::yield_now();
        }
        Err(StoreError::Busy.into())
    }
}

/// The state of the log after the last commit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogState {
    /// They change when SQLite starts the log from its beginning.
    pub(crate) salts: [u8; 8],
    /// Pages in the log.
    pub(crate) frames: u32,
    /// Incremented by each commit.
    pub(crate) commits: u32,
    pub(crate) page_bytes: u32,
}

impl LogState {
    pub(crate) fn end(&self) -> WalPosition {
        WalPosition {
            salts: self.salts,
            frames: self.frames,
        }
    }

    fn parse(header: &[u8]) -> Self {
        let mut salts = [0; 8];
        salts.copy_from_slice(&header[SALTS..SALTS + 8]);
        let page_size = u16::from_ne_bytes([header[PAGE_SIZE], header[PAGE_SIZE + 1]]);
        Self {
            salts,
            frames: u32_at(header, LOG_PAGES),
            commits: u32_at(header, CHANGE_COUNTER),
            // 64 KiB do not fit.
            page_bytes: if page_size == 1 {
                65536
            } else {
                page_size.into()
            },
        }
    }
}

impl StampSource {
    /// For commands, which may open the same database more than once.
    pub(crate) fn data_version(database: &Path) -> Result<Self, EngineError> {
        Ok(Self::DataVersion(Mutex::new(open_reader(
            database,
            SMALL_CACHE_KIB,
        )?)))
    }

    pub(crate) fn read(&self) -> Result<CommitStamp, EngineError> {
        match self {
            Self::LogIndex(index) => {
                let header = index.header()?;
                let half = |at| u64::from(u32_at(&header, at));
                Ok(CommitStamp::new(
                    half(CHANGE_COUNTER) << 32 | half(LOG_PAGES),
                ))
            }
            Self::DataVersion(connection) => {
                let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                let mut statement = connection.prepare_cached("PRAGMA data_version")?;
                let stamp: i64 = statement.query_row([], |row| row.get(0))?;
                Ok(CommitStamp::new(stamp.cast_unsigned()))
            }
        }
    }

    /// The stamp, if reading it is cheaper than a new snapshot.
    pub(crate) fn if_cheap(&self) -> Result<Option<CommitStamp>, EngineError> {
        match self {
            Self::LogIndex(_) => self.read().map(Some),
            Self::DataVersion(_) => Ok(None),
        }
    }

    pub(crate) fn is_of_server(&self) -> bool {
        matches!(self, Self::LogIndex(_))
    }

    /// The number of pages in the log, where known.
    pub(crate) fn log_pages(&self) -> Result<Option<u32>, EngineError> {
        match self {
            Self::LogIndex(index) => Ok(Some(u32_at(&index.header()?, LOG_PAGES))),
            Self::DataVersion(_) => Ok(None),
        }
    }
}

fn u32_at(header: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&header[at..at + 4]);
    u32::from_ne_bytes(bytes)
}
