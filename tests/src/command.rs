//! Runs commands of the binary to completion and captures their output.

use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::programs::docent_binary;

/// Far longer than any command takes, so that a busy machine fails no test.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Prepares a command in a directory, without the developer's own `DOCENT_…` variables.
pub fn docent_command(directory: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(docent_binary()?);
    remove_settings(&mut command);
    command.current_dir(directory);
    Ok(command)
}

/// Takes the developer's own `DOCENT_…` variables from a command.
pub(crate) fn remove_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("DOCENT_") {
            command.env_remove(name);
        }
    }
}

/// The result of a command that has ended, whatever its exit code.
#[derive(Debug, Clone)]
pub struct CommandOutput {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl CommandOutput {
    /// Runs a command to completion. One that times out is killed, which is an error.
    pub fn run(command: &mut Command) -> anyhow::Result<Self> {
        Self::run_with_input(command, "")
    }

    /// Like [`CommandOutput::run`], with text on standard input.
    pub fn run_with_input(command: &mut Command, text: &str) -> anyhow::Result<Self> {
        let mut input = tempfile::tempfile()?;
        input.write_all(text.as_bytes())?;
        input.rewind()?;
        // Files, not pipes: a command never blocks on a full pipe.
        let mut stdout = tempfile::tempfile()?;
        let mut stderr = tempfile::tempfile()?;
        let mut child = command
            .stdin(input)
            .stdout(stdout.try_clone()?)
            .stderr(stderr.try_clone()?)
            .spawn()
            .with_context(|| format!("could not start {command:?}"))?;
        let deadline = Instant::now() + TIMEOUT;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if Instant::now() > deadline {
                child.kill()?;
                child.wait()?;
                break None;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let mut result = Self {
            code: status.and_then(|status| status.code()),
            stdout: String::new(),
            stderr: String::new(),
        };
        for (file, text) in [
            (&mut stdout, &mut result.stdout),
            (&mut stderr, &mut result.stderr),
        ] {
            file.rewind()?;
            file.read_to_string(text)?;
        }
        if status.is_none() {
            bail!("{command:?} timed out: {result:?}");
        }
        Ok(result)
    }

    /// Returns standard output; an error unless the command succeeded.
    pub fn succeeded(self) -> anyhow::Result<String> {
        ensure!(self.code == Some(0), "the command failed: {self:?}");
        Ok(self.stdout)
    }

    /// Returns the error message; an error if the command succeeded, panicked or printed no
    /// message.
    pub fn failed(self) -> anyhow::Result<String> {
        ensure!(
            self.code.is_some_and(|code| code != 0),
            "the command must fail: {self:?}"
        );
        let last = self.stderr.trim_end().lines().next_back();
        let message = last.and_then(|line| line.strip_prefix("docent: "));
        let Some(message) = message.filter(|_| !self.stderr.contains("panicked")) else {
            bail!("the command must print an error message: {self:?}");
        };
        Ok(message.to_owned())
    }
}
