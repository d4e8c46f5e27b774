//! Noticing commits, by this process or another, at the price of one small read.
//!
//! SQLite keeps the state of its write-ahead log in the file `<database>-shm`: the first 48 bytes say how far the
//! log goes, with a checksum over them, and change with every commit (the layout is part of SQLite's documented
//! file formats, "The WAL-Index File Format"). The checksum is the stamp. `PRAGMA data_version` tells the same, but
//! begins and ends a read transaction for it: four system calls instead of one, a microsecond on each request.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use docent_store::CommitStamp;
use rusqlite::Connection;

use crate::connection::{SMALL_CACHE_KIB, open_reader};
use crate::error::{EngineError, file_error};
use crate::lock::lock_log_index;
use crate::path::beside;

const HEADER_BYTES: usize = 48;
const LOG_PAGES: usize = 16;
const CHECKSUM: usize = 40;

/// The open file. It must stay open as long as SQLite has the database open: closing any descriptor of a file gives
/// up the locks that this process holds on it. So only a server, which has a database to itself, opens it.
#[derive(Debug, Clone)]
pub(crate) struct LogIndex(Arc<File>);

#[derive(Debug)]
pub(crate) enum StampSource {
    /// The file beside the database, for a server; see [`LogIndex`].
    Log(LogIndex),
    /// A connection that never writes, so that every commit is another connection's to it.
    Asked(Mutex<Connection>),
}

impl LogIndex {
    /// For a database whose log is open already. Commands see by its lock that a server is there ([`crate::lock`]).
    pub(crate) fn open(database: &Path) -> Result<Self, EngineError> {
        let path = beside(database, "-shm");
        let file = File::open(&path).map_err(|error| file_error(&path, &error))?;
        lock_log_index(&file, database)?;
        Ok(Self(Arc::new(file)))
    }

    fn header(&self) -> Result<[u8; HEADER_BYTES], EngineError> {
        let mut header = [0; HEADER_BYTES];
        self.0
            .read_exact_at(&mut header, 0)
            .map_err(|error| file_error(Path::new("the index of the log"), &error))?;
        Ok(header)
    }
}

impl StampSource {
    /// For commands, which may open the same database more than once.
    pub(crate) fn asked(database: &Path) -> Result<Self, EngineError> {
        Ok(Self::Asked(Mutex::new(open_reader(
            database,
            SMALL_CACHE_KIB,
        )?)))
    }

    pub(crate) fn read(&self) -> Result<CommitStamp, EngineError> {
        match self {
            Self::Log(index) => {
                let header = index.header()?;
                let word = |at| u64::from(word_at(&header, at));
                Ok(CommitStamp::new(word(CHECKSUM) << 32 | word(CHECKSUM + 4)))
            }
            Self::Asked(connection) => {
                let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                let mut statement = connection.prepare_cached("PRAGMA data_version")?;
                let stamp: i64 = statement.query_row([], |row| row.get(0))?;
                Ok(CommitStamp::new(stamp.cast_unsigned()))
            }
        }
    }

    /// The stamp, if asking for it is cheaper than beginning a new snapshot.
    pub(crate) fn if_cheap(&self) -> Result<Option<CommitStamp>, EngineError> {
        match self {
            Self::Log(_) => self.read().map(Some),
            Self::Asked(_) => Ok(None),
        }
    }

    pub(crate) fn is_of_server(&self) -> bool {
        matches!(self, Self::Log(_))
    }

    /// How many pages stand in the log, where that is known.
    pub(crate) fn log_pages(&self) -> Result<Option<u32>, EngineError> {
        match self {
            Self::Log(index) => Ok(Some(word_at(&index.header()?, LOG_PAGES))),
            Self::Asked(_) => Ok(None),
        }
    }
}

fn word_at(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&header[at..at + 4]);
    u32::from_ne_bytes(word)
}
