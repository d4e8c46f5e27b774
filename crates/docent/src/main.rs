//! The `docent` binary: commands, settings, logging, and the wiring of engine, catalog and HTTP.
//!
//! It is the only crate that names an engine ([`engine`]).

mod commands;
mod demo;
mod engine;
mod settings;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use commands::Cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
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
