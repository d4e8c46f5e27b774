//! `docent export`, `plan`, `apply` and `rollback`: the catalog as files in a directory, usually in
//! Git. They use a running server, with the rights of a token.
//!
//! `docent_files` has the format and the comparison. Here are the directory ([`directory`]), the
//! requests ([`remote`]), checks that need more of the catalog ([`checks`]), and what is printed
//! ([`show`]).

mod apply;
mod checks;
mod csv;
mod directory;
mod export;
mod plan;
mod remote;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::{hidden_store_flags, runtime};
use remote::Remote;

/// The status of a plan with changes.
const CHANGES: u8 = 2;

/// A running server, and the token of a user there.
#[derive(Debug, Args)]
pub(crate) struct ServerFlags {
    #[arg(
        long,
        value_name = "URL",
        default_value = "http://localhost:8080",
        help = "Address of the server"
    )]
    server: String,
    /// File with the token of a user, whose rights apply
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(args = hidden_store_flags())]
pub(crate) struct ExportFlags {
    /// The directory to write to; it is created
    directory: PathBuf,
    #[command(flatten)]
    server: ServerFlags,
    /// Only this domain, by name or URN, with its subdomains and what is in them
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
    /// Also write datasets.csv and columns.csv, for reading
    #[arg(long)]
    csv: bool,
    /// Replace files whose changes are not in the catalog
    #[arg(long)]
    discard_changes: bool,
}

/// What a plan and an apply compare.
#[derive(Debug, Args)]
#[command(args = hidden_store_flags())]
pub(crate) struct CompareFlags {
    /// The directory of an export
    directory: PathBuf,
    #[command(flatten)]
    server: ServerFlags,
    /// The file wins for this entity, whatever has changed in the catalog; 'all' for all entities
    #[arg(long, value_name = "URN")]
    overwrite: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(args = hidden_store_flags())]
pub(crate) struct RollbackFlags {
    /// The id of the run, as printed by docent apply
    run: String,
    #[command(flatten)]
    server: ServerFlags,
    /// Only say what would be rolled back
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn export(flags: &ExportFlags) -> Result<()> {
    let remote = Remote::connect(&flags.server)?;
    runtime()?.block_on(export::export(&remote, flags))
}

/// The status is 0 if there is nothing to do, and 2 if there are changes.
pub(super) fn plan(flags: &CompareFlags) -> Result<ExitCode> {
    let remote = Remote::connect(&flags.server)?;
    let plan = runtime()?.block_on(plan::plan(&remote, flags))?;
    show::print(&plan, flags.json);
    plan.check()?;
    if plan.writes.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::from(CHANGES))
}

pub(super) fn apply(flags: &CompareFlags) -> Result<()> {
    let remote = Remote::connect(&flags.server)?;
    runtime()?.block_on(apply::apply(&remote, flags))
}

pub(super) fn rollback(flags: &RollbackFlags) -> Result<()> {
    let remote = Remote::connect(&flags.server)?;
    runtime()?.block_on(apply::roll_back(&remote, &flags.run, flags.dry_run))
}
