//! One shell session: commands run in order and share variables and files.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::command::remove_settings;
use crate::temporary::temporary_directory;

/// Far longer than any command in a document takes.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The line that marks the end of a command's output.
const END: &str = "=== end of the command's output ===";

/// A command's output, standard output and standard error combined like on a terminal, and its exit
/// status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub output: String,
    pub status: i32,
}

/// A running `bash`.
#[derive(Debug)]
pub struct Shell {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    /// Each command is sourced from a file here, so that quotes and here-documents need no
    /// escaping.
    scratch: TempDir,
    count: usize,
}

impl Shell {
    /// Starts a shell in a directory, with these variables set.
    pub fn start<'a>(
        directory: &Path,
        variables: impl IntoIterator<Item = (&'a str, &'a OsStr)>,
    ) -> anyhow::Result<Self> {
        let scratch = temporary_directory()?;
        // curl shows a progress meter if its output is not a terminal.
        std::fs::write(scratch.path().join(".curlrc"), "silent\nshow-error\n")?;
        let mut shell = Command::new("bash");
        remove_settings(&mut shell);
        let mut child = shell
            .args(["--noprofile", "--norc"])
            .current_dir(directory)
            .env("CURL_HOME", scratch.path())
            .env("LC_ALL", "C.UTF-8")
            .env("NO_COLOR", "1")
            .env("TERM", "dumb")
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Its own process group, so that background processes end with the shell.
            .process_group(0)
            .spawn()
            .context("could not start bash")?;
        let input = child.stdin.take().context("standard input is not piped")?;
        let output = child
            .stdout
            .take()
            .context("standard output is not piped")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = Vec::new();
            while output
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                if sender
                    .send(String::from_utf8_lossy(&line).into_owned())
                    .is_err()
                {
                    break;
                }
                line.clear();
            }
        });
        Ok(Self {
            child,
            input,
            lines,
            scratch,
            count: 0,
        })
    }

    /// Runs one command and waits for it.
    pub fn run(&mut self, command: &str) -> anyhow::Result<Outcome> {
        self.count += 1;
        let script: PathBuf = self.scratch.path().join(format!("command-{}", self.count));
        std::fs::write(&script, format!("{command}\n"))?;
        // The line break before the end marker is added here: the output need not end with one.
        writeln!(
            self.input,
            ". '{}' </dev/null 2>&1; printf '\\n%s%d\\n' \"{END}\" $?",
            script.display()
        )?;
        let deadline = Instant::now() + TIMEOUT;
        let mut output = String::new();
        loop {
            let remaining = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(remaining) {
                Ok(line) => {
                    if let Some(status) = line.strip_prefix(END) {
                        output.pop();
                        let status = status
                            .trim()
                            .parse()
                            .context("the shell returned no exit status")?;
                        return Ok(Outcome { output, status });
                    }
                    output.push_str(&line);
                }
                Err(RecvTimeoutError::Timeout) => {
                    bail!(
                        "the command timed out after {} s; it printed:\n{output}",
                        TIMEOUT.as_secs()
                    )
                }
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("the command ended the shell and printed:\n{output}")
                }
            }
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Fails only if the group has ended already.
        kill_process_group(Pid::from_child(&self.child), Signal::KILL).ok();
        self.child.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Shell};
    use crate::temporary::temporary_directory;

    #[test]
    fn commands_of_one_session_share_variables() {
        let directory = temporary_directory().unwrap();
        let mut shell = Shell::start(directory.path(), [("GIVEN", "given".as_ref())]).unwrap();
        shell
            .run("KEPT=$(cat <<'END'\ntwo 'words'\nEND\n)")
            .unwrap();
        let outcome = shell.run("printf '%s, %s' \"$KEPT\" \"$GIVEN\"").unwrap();
        assert_eq!(
            outcome,
            Outcome {
                output: "two 'words', given".to_owned(),
                status: 0
            }
        );
    }

    #[test]
    fn a_failing_command_returns_its_status_and_its_output() {
        let directory = temporary_directory().unwrap();
        let mut shell = Shell::start(directory.path(), []).unwrap();
        let outcome = shell.run("echo message >&2; false").unwrap();
        assert_eq!(
            outcome,
            Outcome {
                output: "message\n".to_owned(),
                status: 1
            }
        );
    }
}
