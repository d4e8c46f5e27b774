//! The one error type of this crate's border.

use std::path::PathBuf;

use docent_store::StoreError;

/// Each case is something that a caller treats differently.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The request itself is wrong: a page too deep, a mark that is none of ours.
    #[error("{0}")]
    Invalid(String),
    /// What was typed stands for more than can be looked at.
    #[error(
        "the patterns and conditions of the search stand for more than {terms} words: write more letters of them, or fewer of them"
    )]
    TooBroad { terms: usize },
    /// Whether another time helps depends on what else the server has to do.
    #[error(
        "the search took longer than {seconds} seconds and was ended: narrow it, or try again when the server has less to do"
    )]
    TooLong { seconds: u64 },
    /// Too many search at the same time.
    #[error("too many searches are being answered; try again in a moment")]
    Busy,
    /// There is no index to answer from yet.
    #[error("the search index is being built, {done} entities so far; try again in a moment")]
    Building { done: u64 },
    /// So much was written that taking it in keeps a search waiting too long.
    #[error(
        "the search index is taking in what was written, {done} of {of} changes so far; try again in a moment"
    )]
    Behind { done: u64, of: u64 },
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
