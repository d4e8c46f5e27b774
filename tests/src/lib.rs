//! Helpers of the end-to-end tests: everything here drives the real binary from outside, as a person or a client would.
//!
//! - [`Server`] starts `docent serve` in a directory of its own and speaks HTTP to it.
//! - [`Finished`] runs a command of the binary to its end.
//! - [`load`] writes from several threads and knows what must be stored afterwards.
//! - [`markdown`], [`Shell`] and [`expectation`] run the commands that the documents show and compare the replies.
//!
//! This crate depends on no other crate of the workspace but the one that starts PostgreSQL: what a test can see is what
//! a user can see. A test that is about SQLite names its store; all others run on either engine.
//! To add a test, write a file in `tests/tests/`; a test returns `anyhow::Result<()>` and uses `?`. A test that kills
//! servers or keeps all cores busy begins its name with `crash_` or `load_`, so that no other such test runs beside it.

mod command;
pub mod expectation;
mod files;
pub mod load;
pub mod markdown;
mod programs;
mod server;
mod shell;
mod temporary;

pub use command::{Finished, docent_command};
pub use files::files_below;
pub use programs::{docent_binary, python, repository_root};
pub use rustix::process::Signal;
pub use server::{Options, Reply, Server, on_postgres, store_in};
pub use shell::{Outcome, Shell};
pub use temporary::temporary_directory;
