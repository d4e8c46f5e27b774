//! Temporary directories for tests.

use anyhow::Context as _;
use tempfile::TempDir;

/// Creates an empty directory that is deleted when the returned value is dropped.
pub fn temporary_directory() -> anyhow::Result<TempDir> {
    tempfile::Builder::new()
        .prefix("docent-")
        .tempdir()
        .context("could not create a temporary directory")
}
