//! The one error type of this crate's border.

use std::path::PathBuf;

use docent_store::StoreError;

/// Each case is something that a caller treats differently.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The request itself is wrong: a page too deep, a mark that is none of ours.
    #[error("{0}")]
    Invalid(String),
    /// There is no index to answer from yet.
    #[error("the search index is being built, {done} entities so far; try again in a moment")]
    Building { done: u64 },
    /// No index can be kept where the operator wants it.
    #[error("the search index cannot be kept in {}: {source}", directory.display())]
    Directory {
        directory: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The index is damaged, or the disk; it will be built anew.
    #[error("the search index could not be read: {0}")]
    Index(#[from] tantivy::TantivyError),
}
