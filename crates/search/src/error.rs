//! The error type of this crate.

use std::io::ErrorKind;
use std::path::PathBuf;

use docent_store::StoreError;
use tantivy::TantivyError;
use tantivy::directory::error::OpenWriteError;

/// Each variant is a case that callers handle differently.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The request is invalid: for example a page beyond the result window, or an unknown scroll
    /// cursor.
    #[error("{0}")]
    Invalid(String),
    /// The patterns and conditions match too many terms.
    #[error(
        "the patterns and conditions match more than {terms} terms: use longer prefixes, or fewer of them"
    )]
    TooBroad { terms: usize },
    /// A retry helps only if the server was busy with other requests.
    #[error(
        "the search timed out after {seconds} seconds: narrow it, or retry when the server is less busy"
    )]
    TimedOut { seconds: u64 },
    /// Too many concurrent searches.
    #[error("too many concurrent searches: retry in a moment")]
    Busy,
    /// There is no index yet.
    #[error("the search index is being built, {done} entities so far: retry in a moment")]
    Building { done: u64 },
    /// Indexing the recent changes takes longer than a search waits.
    #[error(
        "the search index is catching up with recent changes, {done} of {of} so far: retry in a moment"
    )]
    CatchingUp { done: u64, of: u64 },
    /// The index directory cannot be used.
    #[error("cannot use {} as the search index directory: {source}", directory.display())]
    Directory {
        directory: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The index or the disk is damaged. A damaged index is rebuilt.
    #[error("the search index could not be read: {0}")]
    Index(#[from] TantivyError),
}

impl SearchError {
    /// Whether the index could not be written, because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        let Self::Index(error) = self else {
            return false;
        };
        let kind = match error {
            TantivyError::IoError(error) => Some(error.kind()),
            TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. }) => {
                Some(io_error.kind())
            }
            _ => None,
        };
        kind == Some(ErrorKind::StorageFull)
    }
}
