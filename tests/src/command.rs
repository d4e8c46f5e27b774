//! Runs of the binary that end by themselves: what they printed and how they ended.

use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::programs::docent_binary;

/// How long a command may take: far more than any needs, so that a busy machine fails no test.
const PATIENCE: Duration = Duration::from_mins(1);

/// Prepares the binary in a directory, without settings of the person who runs the tests.
pub fn docent_command(directory: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(docent_binary()?);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("DOCENT_") {
            command.env_remove(name);
        }
    }
    command.current_dir(directory);
    Ok(command)
}

/// A command that has ended, whatever its exit code.
#[derive(Debug, Clone)]
pub struct Finished {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub output: String,
    pub complaint: String,
}

impl Finished {
    /// Runs a command to its end; one that does not end is killed and is an error.
    pub fn run(command: &mut Command) -> anyhow::Result<Self> {
        Self::run_with_input(command, "")
    }

    /// The same, with something to read on standard input.
    pub fn run_with_input(command: &mut Command, text: &str) -> anyhow::Result<Self> {
        let mut input = tempfile::tempfile()?;
        input.write_all(text.as_bytes())?;
        input.rewind()?;
        // Files, not pipes: a command that prints much never waits for us.
        let mut output = tempfile::tempfile()?;
        let mut complaint = tempfile::tempfile()?;
        let mut child = command
            .stdin(input)
            .stdout(output.try_clone()?)
            .stderr(complaint.try_clone()?)
            .spawn()
            .with_context(|| format!("could not start {command:?}"))?;
        let deadline = Instant::now() + PATIENCE;
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
        let mut finished = Self {
            code: status.and_then(|status| status.code()),
            output: String::new(),
            complaint: String::new(),
        };
        for (file, text) in [
            (&mut output, &mut finished.output),
            (&mut complaint, &mut finished.complaint),
        ] {
            file.rewind()?;
            file.read_to_string(text)?;
        }
        if status.is_none() {
            bail!("{command:?} did not end by itself: {finished:?}");
        }
        Ok(finished)
    }

    /// Returns what the command printed; fails unless it succeeded.
    pub fn succeeded(self) -> anyhow::Result<String> {
        ensure!(self.code == Some(0), "the command failed: {self:?}");
        Ok(self.output)
    }

    /// Returns the sentence with which the command refused; fails if it did not, or if what it said is no sentence.
    pub fn refused(self) -> anyhow::Result<String> {
        ensure!(
            self.code.is_some_and(|code| code != 0),
            "the command must end with an exit code that says no: {self:?}"
        );
        let last = self.complaint.trim_end().lines().next_back();
        let sentence = last.and_then(|line| line.strip_prefix("docent: "));
        let Some(sentence) = sentence.filter(|_| !self.complaint.contains("panicked")) else {
            bail!("the command must say in a sentence why it refuses: {self:?}");
        };
        Ok(sentence.to_owned())
    }
}
