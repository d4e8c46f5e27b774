//! Libraries that make one process see a faulty machine, loaded with `LD_PRELOAD`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::command::CommandOutput;
use crate::server::Options;

/// Compiles a library from C.
pub fn preload_library(directory: &Path, name: &str, source: &str) -> anyhow::Result<PathBuf> {
    let file = directory.join(format!("{name}.c"));
    let library = directory.join(format!("{name}.so"));
    fs::write(&file, source)?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]);
    compiler.arg(&library).arg(&file).arg("-ldl");
    CommandOutput::run(&mut compiler)?.succeeded()?;
    Ok(library)
}

/// A clock of a server that tests can set.
#[derive(Debug)]
pub struct FaultyClock {
    library: PathBuf,
    control: PathBuf,
}

impl FaultyClock {
    /// The files are in this directory.
    pub fn new(directory: &Path) -> anyhow::Result<Self> {
        let source = include_str!("faulty_clock.c");
        Ok(Self {
            library: preload_library(directory, "faulty_clock", source)?,
            control: directory.join("clock"),
        })
    }

    /// A server with these options has this clock.
    #[must_use]
    pub fn of(&self, options: Options) -> Options {
        options
            .variable("LD_PRELOAD", &self.library)
            .variable("FAULTY_CLOCK_CONTROL", &self.control)
    }

    /// Sets the clock to so many seconds after the right time.
    pub fn set_ahead(&self, seconds: i64) -> anyhow::Result<()> {
        // Replaced as a whole, because the server may read it at any time.
        let new = self.control.with_extension("new");
        fs::write(&new, seconds.to_string())?;
        fs::rename(&new, &self.control).context("cannot set the clock")
    }
}
