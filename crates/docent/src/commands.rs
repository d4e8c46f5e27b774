//! The command line.

mod adopt;
mod audit;
mod backup;
mod config;
mod files;
mod generated;
mod maintenance;
mod serve;
mod status;
mod times;
mod token;
mod transfer;
mod user;
mod webhook;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use docent_catalog::{Caller, Catalog};
use docent_model::{SystemClock, Urn, UrnError};
use std::sync::Arc;

use crate::engine::{self, OpenMode};
use crate::import_marker;
use crate::settings::{ServeFlags, StoreFlags};

/// The flags of [`StoreFlags`].
const STORE_FLAGS: [&str; 2] = ["store", "config"];

/// Metadata catalog in one binary, compatible with DataHub's API
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
    /// Start the server: web page, GraphQL and REST
    Serve(Box<ServeFlags>),
    /// Create, list and revoke access tokens
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Manage the accounts that can sign in
    #[command(subcommand)]
    User(user::UserCommand),
    /// Show who did what, and what was denied
    Audit(audit::AuditFlags),
    /// Show how a running server is, or a store
    Status(status::StatusFlags),
    /// Check or show the settings of the server
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Write what people have written in the catalog to files, through a running server
    Export(files::ExportFlags),
    /// Show what applying files would change; the status is 2 if there are changes
    Plan(files::CompareFlags),
    /// Write the changes in files to the catalog, in one run
    Apply(files::CompareFlags),
    /// Roll back a run of docent apply, or of an ingestion
    Rollback(files::RollbackFlags),
    /// Send changes to other programs
    Webhook(webhook::WebhookFlags),
    /// Recompute the data that is derived from the stored aspects
    Rebuild,
    /// Check the store for damage, without changing it
    Check,
    /// Back up the store, or check a backup; a server may be running
    Backup(backup::BackupFlags),
    /// Copy a store into an empty one, with its history, and verify the copy
    Move(transfer::MoveFlags),
    /// Import a DataHub database into an empty store, with its history
    Adopt(adopt::AdoptFlags),
    /// Restore the store from a backup; no server may be running
    Restore(backup::RestoreFlags),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages of all commands
    Man {
        /// The directory to write to; it is created if it is missing
        directory: PathBuf,
    },
}

/// Hides the global flags in the help of commands that reject them.
fn hidden_store_flags() -> [Arg; 2] {
    STORE_FLAGS.map(|name| Arg::new(name).long(name).hide(true))
}

/// Rejects global flags that the command would ignore.
pub(crate) fn reject_unused(matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((command, flags)) = matches.subcommand() else {
        return Ok(());
    };
    let instead = match command {
        "move" => "takes its two stores from --from and --to",
        "export" | "plan" | "apply" | "rollback" => "uses the server in --server",
        _ => return Ok(()),
    };
    let is_given = |flag: &str| flags.value_source(flag) == Some(ValueSource::CommandLine);
    match STORE_FLAGS.into_iter().find(|flag| is_given(flag)) {
        Some(flag) => Err(Cli::command().error(
            ErrorKind::ArgumentConflict,
            format!("docent {command} {instead}, not --{flag}"),
        )),
        None => Ok(()),
    }
}

/// The `DOCENT_…` variables that no setting of `docent serve` reads: probably mistyped.
fn unknown_variables() -> Vec<String> {
    let mut command = Cli::command();
    // Adds the global flags to the subcommands.
    command.build();
    let known: Vec<&OsStr> = command
        .find_subcommand("serve")
        .into_iter()
        .flat_map(clap::Command::get_arguments)
        .filter_map(clap::Arg::get_env)
        .collect();
    std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.as_encoded_bytes().starts_with(b"DOCENT_"))
        .filter(|name| !known.contains(&name.as_os_str()))
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

pub(crate) fn run(cli: Cli) -> Result<ExitCode> {
    let done = match cli.command {
        Command::Serve(flags) => serve::serve(&cli.store, *flags),
        Command::Token(command) => token::run(&cli.store, command),
        Command::User(command) => user::run(&cli.store, command),
        Command::Audit(flags) => audit::run(&cli.store, flags),
        Command::Status(flags) => status::run(&cli.store, &flags),
        Command::Config(command) => config::run(&cli.store, command),
        Command::Webhook(flags) => webhook::run(&flags),
        Command::Rebuild => maintenance::rebuild(&cli.store),
        Command::Check => maintenance::check(&cli.store),
        Command::Backup(flags) => backup::back_up(&cli.store, &flags),
        Command::Move(flags) => transfer::run(&flags),
        Command::Adopt(flags) => adopt::run(&cli.store, &flags),
        Command::Restore(flags) => backup::restore(&cli.store, &flags),
        Command::Completions { shell } => {
            generated::completions(shell);
            Ok(())
        }
        Command::Man { directory } => generated::man(&directory),
        Command::Export(flags) => files::export(&flags),
        Command::Plan(flags) => return files::plan(&flags),
        Command::Apply(flags) => files::apply(&flags),
        Command::Rollback(flags) => files::rollback(&flags),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Opens the catalog for a command. A new store is reported, because its address may be mistyped.
async fn catalog(flags: &StoreFlags, mode: OpenMode) -> Result<Catalog> {
    let url = flags.url()?;
    let is_new = !engine::exists(&url).await;
    let store = engine::open(&url, mode).await?;
    import_marker::check_complete(&*store, &url).await?;
    if is_new {
        note(format!("created a new store at {url}"));
    }
    Ok(Catalog::new(store, Arc::new(SystemClock)))
}

/// The operator at the command line, for the audit log.
fn operator(command: &'static str) -> Caller {
    Caller::system().in_operation(command)
}

/// A single-threaded runtime for commands.
fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Prints a line to standard output. A closed pipe is not an error.
fn say(line: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{}", printable_lines(&line.to_string()));
}

/// Prints a note to standard error, because scripts read standard output.
fn note(line: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(
        std::io::stderr(),
        "note: {}",
        printable_lines(&line.to_string())
    );
}

/// A text of users for the terminal: control characters, which could change what the terminal shows
/// or does, are escaped, and so are those that reverse the direction of text.
fn printable(text: &str) -> String {
    let is_harmful = |character: char| {
        character.is_control()
            || matches!(
                character,
                '\u{61c}'
                    | '\u{200b}'..='\u{200f}'
                    | '\u{2028}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}'
                    | '\u{feff}'
            )
    };
    let mut printed = String::with_capacity(text.len());
    for character in text.chars() {
        if is_harmful(character) {
            printed.extend(character.escape_default());
        } else {
            printed.push(character);
        }
    }
    printed
}

/// [`printable`], for a text with line breaks and tabs of its own.
pub(crate) fn printable_lines(text: &str) -> String {
    let mut printed = String::with_capacity(text.len());
    for part in text.split_inclusive(['\n', '\t']) {
        let end = part.trim_end_matches(['\n', '\t']).len();
        printed.push_str(&printable(&part[..end]));
        printed.push_str(&part[end..]);
    }
    printed
}

/// Parses a username or URN.
fn user_urn(user: &str) -> Result<Urn> {
    if user.trim().is_empty() {
        bail!("the username is empty: give one, for example ada");
    }
    let urn = urn_of("corpuser", user)?;
    urn.expect_type("corpuser")?;
    Ok(urn)
}

/// The entity with an id, or with a URN.
fn urn_of(entity_type: &str, text: &str) -> Result<Urn, UrnError> {
    if text.starts_with("urn:") {
        Urn::parse(text)
    } else {
        Urn::new(entity_type, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("Zoë's 東京 🚀"), "Zoë's 東京 🚀");
        let title = "\u{1b}]0;owned\u{7}";
        assert_eq!(printable(title), "\\u{1b}]0;owned\\u{7}");
        assert_eq!(printable("a\nb\tc\r"), "a\\nb\\tc\\r");
        assert_eq!(printable_lines("a\tb\n\u{1b}[2J\n"), "a\tb\n\\u{1b}[2J\n");
        assert_eq!(printable("\u{9b}1m\u{202e}cod"), "\\u{9b}1m\\u{202e}cod");
    }

    #[test]
    fn users_are_given_by_name_or_urn() {
        assert_eq!(
            user_urn("ada").unwrap(),
            user_urn("urn:li:corpuser:ada").unwrap()
        );
        assert!(user_urn("urn:li:domain:x").is_err());
        assert!(user_urn("").is_err());
    }
}
