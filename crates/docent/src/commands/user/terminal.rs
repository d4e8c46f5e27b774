//! Asking for a password on a terminal, which does not show what is typed.

use std::io::{BufRead as _, Write as _};

use anyhow::{Context, Result};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// A line typed by a person, without its line break.
pub(super) fn ask(prompt: &str) -> Result<String> {
    // Silent before the prompt is there: whoever sees it may type.
    let silence = Silence::begin().context("the terminal cannot be kept from showing it")?;
    let mut terminal = std::io::stderr();
    write!(terminal, "{prompt}")?;
    terminal.flush()?;
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    drop(silence);
    writeln!(terminal)?;
    read.context("no password was typed")?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// The terminal on standard input shows nothing until this goes away.
struct Silence(Termios);

impl Silence {
    fn begin() -> rustix::io::Result<Self> {
        let stdin = std::io::stdin();
        let before = tcgetattr(&stdin)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        // What was typed before is thrown away: it was meant for something else.
        tcsetattr(&stdin, OptionalActions::Flush, &silent)?;
        Ok(Self(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // A terminal that has gone away needs no mending.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
