//! The `docent` binary: commands, settings, logging, and the wiring of store engine, catalog and
//! HTTP server.
//!
//! It is the only crate that knows the store engines ([`engine`]).

mod backups;
mod commands;
mod demo;
mod descriptors;
mod engine;
mod import_marker;
mod interrupt;
mod secret;
mod settings;
mod webhook_sender;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use commands::Cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let parsed = Cli::command()
        .try_get_matches_from(&arguments)
        .and_then(|matches| {
            commands::reject_unused(&matches)?;
            Cli::from_arg_matches(&matches)
        });
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return print_usage_error(&error, &arguments),
    };
    match commands::run(cli) {
        Ok(status) => status,
        Err(error) => {
            // The whole chain of causes in one line.
            let error = commands::printable_lines(&format!("{error:#}"));
            eprintln!("docent: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a usage error without secrets, or the help, which clap reports as an error.
fn print_usage_error(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let text = error.render();
    let text = if std::io::stderr().is_terminal() {
        text.ansi().to_string()
    } else {
        text.to_string()
    };
    eprint!("{}", secret::redact(&text, arguments));
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}
