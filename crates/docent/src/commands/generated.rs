//! `docent completions` and `docent man`: files for shells and for `man`, generated from the
//! definitions that `--help` prints.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;

/// Prints the completions. A closed pipe is not an error.
pub(super) fn completions(shell: Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "docent", &mut script);
    let _ = std::io::stdout().write_all(&script);
}

/// Writes one page per command, such as `docent-serve.1`.
pub(super) fn man(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), directory))
        .with_context(|| format!("cannot write the manual pages to {}", directory.display()))
}
