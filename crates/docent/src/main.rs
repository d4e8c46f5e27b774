//! The `docent` binary: commands, settings, logging, and the wiring of engine, catalog and HTTP.
//!
//! It is the only crate that names an engine ([`engine`]).

mod commands;
mod demo;
mod engine;
mod interrupt;
mod secret;
mod settings;
mod unfinished;

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
            commands::refuse_unused(&matches)?;
            Cli::from_arg_matches(&matches)
        });
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return complain(&error, &arguments),
    };
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The whole chain in one line: what was tried, and why it failed.
            eprintln!("docent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Says what is wrong with the command line; or shows the help, which is an error to the library, too.
fn complain(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let text = error.render();
    let text = if std::io::stderr().is_terminal() {
        text.ansi().to_string()
    } else {
        text.to_string()
    };
    eprint!("{}", secret::without(&text, arguments));
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}
