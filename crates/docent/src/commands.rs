//! The command line.

mod adopt;
mod maintenance;
mod serve;
mod token;
mod transfer;
mod user;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory as _, Parser, Subcommand};
use docent_catalog::{Caller, Catalog, SYSTEM_ACTOR};
use docent_model::{SystemClock, Urn};
use std::sync::Arc;

use crate::engine::{self, Use};
use crate::settings::{ServeFlags, StoreFlags};
use crate::unfinished;

/// A catalog of datasets in one binary. It speaks DataHub's API.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    store: StoreFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the catalog over HTTP
    Serve(ServeFlags),
    /// Make, list and revoke access tokens
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Manage the people who sign in
    #[command(subcommand)]
    User(user::UserCommand),
    /// Recompute everything that is derived from the stored aspects
    Rebuild,
    /// Look for damage in the store
    Check,
    /// Copy the store to a new file, while it is in use
    Backup {
        /// The file to write; it must not exist
        file: PathBuf,
    },
    /// Copy everything from one store into another, with its history, and compare
    Move(transfer::MoveFlags),
    /// Copy all aspects of a DataHub database into a new store, with their history
    Adopt(adopt::AdoptFlags),
    /// Make the store from a backup
    Restore {
        /// The backup to read
        file: PathBuf,
        /// Replace the store if there is one
        #[arg(long)]
        replace: bool,
    },
}

/// Refuses flags that a command takes because all of them do, and would ignore.
pub(crate) fn refuse_unused(matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some(("move", flags)) = matches.subcommand() else {
        return Ok(());
    };
    let is_given = |flag: &str| flags.value_source(flag) == Some(ValueSource::CommandLine);
    match ["store", "config"].into_iter().find(|flag| is_given(flag)) {
        Some(flag) => Err(Cli::command().error(
            ErrorKind::ArgumentConflict,
            format!("docent move takes its two stores from --from and --to, not from --{flag}"),
        )),
        None => Ok(()),
    }
}

pub(crate) fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Serve(flags) => serve::serve(&cli.store, flags),
        Command::Token(command) => token::run(&cli.store, command),
        Command::User(command) => user::run(&cli.store, command),
        Command::Rebuild => maintenance::rebuild(&cli.store),
        Command::Check => maintenance::check(&cli.store),
        Command::Backup { file } => maintenance::backup(&cli.store, &file),
        Command::Move(flags) => transfer::run(&flags),
        Command::Adopt(flags) => adopt::run(&cli.store, &flags),
        Command::Restore { file, replace } => maintenance::restore(&cli.store, &file, replace),
    }
}

/// The catalog over a store, for commands that use it without a server. A store that was not there is a surprise to
/// whoever mistyped its address.
async fn catalog(flags: &StoreFlags, purpose: Use) -> Result<Catalog> {
    let url = flags.url()?;
    let is_new = !engine::exists(&url).await;
    let store = engine::open(&url, purpose).await?;
    unfinished::expect_finished(&*store, &url).await?;
    if is_new {
        note(format!("made a new store at {url}"));
    }
    Ok(Catalog::new(store, Arc::new(SystemClock)))
}

/// Whoever may run commands on the store is the system itself.
pub(crate) fn operator() -> Result<Caller> {
    Ok(Caller::new(Urn::parse(SYSTEM_ACTOR)?))
}

/// A runtime for commands, which do one thing after another.
fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime could not be started")
}

/// Writes a line to standard output. A reader that has gone away is no failure of ours.
fn say(line: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Writes a line that a person should see to standard error: standard output belongs to programs.
fn note(line: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "note: {line}");
}

/// A user by id or by URN.
fn user_urn(user: &str) -> Result<Urn> {
    if user.trim().is_empty() {
        bail!("the name of the user is empty: give one, for example ada");
    }
    let urn = if user.starts_with("urn:") {
        Urn::parse(user)?
    } else {
        Urn::new("corpuser", user)?
    };
    urn.expect_type("corpuser")?;
    Ok(urn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_by_id_or_urn() {
        assert_eq!(
            user_urn("ada").unwrap(),
            user_urn("urn:li:corpuser:ada").unwrap()
        );
        assert!(user_urn("urn:li:domain:x").is_err());
        assert!(user_urn("").is_err());
    }
}
