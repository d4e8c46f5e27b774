//! Prompts for a password without echo.
//!
//! Ctrl-C would end the process and leave echo off. So it is an ordinary character during the
//! prompt, which ends the line; the signal is sent after the terminal is restored. Prompt libraries
//! turn echo off only after the prompt, or raise the signal before they restore the terminal.

use std::io::{BufRead, Write as _};

use anyhow::{Context, Result, bail};
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// Reads a line without its line break.
pub(super) fn prompt_password(prompt: &str) -> Result<String> {
    // Before the prompt, because the user may type as soon as it appears.
    let echo_off = EchoOff::begin().context("cannot turn off the echo of the terminal")?;
    let mut terminal = std::io::stderr();
    write!(terminal, "{prompt}")?;
    terminal.flush()?;
    let typed = read_line(std::io::stdin().lock(), echo_off.interrupt());
    drop(echo_off);
    writeln!(terminal)?;
    match typed.context("cannot read the password")? {
        Input::Line(line) => Ok(line),
        Input::Interrupt => {
            kill_current_process_group(Signal::INT)?;
            bail!("interrupted; nothing was changed")
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Input {
    Line(String),
    Interrupt,
}

/// Reads up to a line break, the end of the input, or the interrupt character.
fn read_line(mut source: impl BufRead, interrupt: Option<u8>) -> Result<Input> {
    let mut line = Vec::new();
    loop {
        let typed = source.fill_buf()?;
        let end = typed
            .iter()
            .position(|byte| *byte == b'\n' || Some(*byte) == interrupt);
        let count = end.map_or(typed.len(), |at| at + 1);
        let is_over = typed.is_empty() || end.is_some();
        let is_interrupted = end.is_some_and(|at| typed[at] != b'\n');
        line.extend_from_slice(&typed[..count]);
        source.consume(count);
        if is_interrupted {
            return Ok(Input::Interrupt);
        }
        if is_over {
            let line = String::from_utf8(line)?;
            return Ok(Input::Line(line.trim_end_matches(['\r', '\n']).to_owned()));
        }
    }
}

/// Echo of the terminal on standard input is off until this is dropped.
struct EchoOff(Termios);

impl EchoOff {
    fn begin() -> rustix::io::Result<Self> {
        let stdin = std::io::stdin();
        let original = Self(tcgetattr(&stdin)?);
        let mut modes = original.0.clone();
        modes
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ISIG);
        if let Some(interrupt) = original.interrupt() {
            modes.special_codes[SpecialCodeIndex::VEOL] = interrupt;
        }
        // Discards earlier input, which was not meant as a password.
        tcsetattr(&stdin, OptionalActions::Flush, &modes)?;
        Ok(original)
    }

    /// The interrupt character, if the terminal has one.
    fn interrupt(&self) -> Option<u8> {
        let interrupt = self.0.special_codes[SpecialCodeIndex::VINTR];
        let sends_signals = self.0.local_modes.contains(LocalModes::ISIG);
        (sends_signals && interrupt != 0).then_some(interrupt)
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        // Fails only if the terminal is closed.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_at_a_line_break_the_end_of_input_or_an_interrupt() {
        let read = |text: &str| read_line(text.as_bytes(), Some(3)).unwrap();
        for (typed, line) in [
            ("a b\n", "a b"),
            ("x\r\nmore", "x"),
            ("end", "end"),
            ("", ""),
        ] {
            assert_eq!(read(typed), Input::Line(line.to_owned()), "{typed:?}");
        }
        assert_eq!(read("secr\u{3}"), Input::Interrupt);
        assert_eq!(read("\u{3}\n"), Input::Interrupt);
        let without = read_line("a\u{3}b\n".as_bytes(), None).unwrap();
        assert_eq!(without, Input::Line("a\u{3}b".to_owned()));
    }
}
