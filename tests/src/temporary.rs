//! Temporary directories of tests.

use anyhow::Context as _;
use tempfile::TempDir;

/// Creates an empty directory that disappears with the returned value.
pub fn temporary_directory() -> anyhow::Result<TempDir> {
    tempfile::Builder::new()
        .prefix("docent-")
        .tempdir()
        .context("could not create a temporary directory")
}
