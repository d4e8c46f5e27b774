//! Helpers for the end-to-end tests, which drive the real binary from outside, like a user or a
//! client.
//!
//! - [`Server`] starts `docent serve` in its own directory and sends HTTP requests to it.
//! - [`CommandOutput`] runs a command of the binary to completion.
//! - [`linearizability`] checks histories of concurrent operations.
//! - [`load`] writes from several threads and verifies what must be stored afterwards.
//! - [`markdown`], [`Shell`] and [`expectation`] run the commands in the documents and compare
//!   their output.
//! - [`FaultyClock`] makes the clock of a server wrong, [`preload_library`] other things.
//! - [`module_graph`] reads which modules of a crate use which others.
//!
//! Of the workspace, this crate depends only on the one that starts PostgreSQL: a test sees what a
//! user sees. A test of SQLite names its store; all others run on either engine.
//!
//! To add a test, write a file in `tests/tests/`. A test returns `anyhow::Result<()>` and uses `?`.
//! A test that kills servers or uses all cores has a name starting with `crash_` or `load_`: such
//! tests run one at a time.

mod command;
pub mod expectation;
pub mod figures;
mod files;
pub mod linearizability;
pub mod load;
pub mod markdown;
pub mod module_graph;
mod preload;
mod programs;
mod server;
mod shell;
mod temporary;

pub use command::{CommandOutput, docent_command};
pub use files::files_below;
pub use preload::{FaultyClock, preload_library};
pub use programs::{docent_binary, promtool, python, repository_root};
pub use rustix::process::Signal;
pub use server::{Options, Reply, Server, on_postgres, store_in};
pub use shell::{Outcome, Shell};
pub use temporary::temporary_directory;
