//! Asking for a password on a terminal, which does not show what is typed.
//!
//! The key that interrupts (Ctrl-C) would end the process and leave the terminal silent. While a password is typed it is
//! therefore an ordinary character that ends the line; when the terminal is as it was before, the signal is sent.

use std::io::{BufRead, Write as _};

use anyhow::{Context, Result, bail};
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// A line typed by a person, without its line break.
pub(super) fn ask(prompt: &str) -> Result<String> {
    // Silent before the prompt is there: whoever sees it may type.
    let silence = Silence::begin().context("the terminal cannot be kept from showing it")?;
    let mut terminal = std::io::stderr();
    write!(terminal, "{prompt}")?;
    terminal.flush()?;
    let typed = read_line(std::io::stdin().lock(), silence.interrupt());
    drop(silence);
    writeln!(terminal)?;
    match typed.context("no password was typed")? {
        Typed::Line(line) => Ok(line),
        Typed::Interrupt => {
            kill_current_process_group(Signal::INT)?;
            bail!("interrupted: nothing was changed")
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Typed {
    Line(String),
    Interrupt,
}

/// Reads up to a line break, the end of the input, or the character that interrupts.
fn read_line(mut source: impl BufRead, interrupt: Option<u8>) -> Result<Typed> {
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
            return Ok(Typed::Interrupt);
        }
        if is_over {
            let line = String::from_utf8(line)?;
            return Ok(Typed::Line(line.trim_end_matches(['\r', '\n']).to_owned()));
        }
    }
}

/// The terminal on standard input shows nothing until this goes away.
struct Silence(Termios);

impl Silence {
    fn begin() -> rustix::io::Result<Self> {
        let stdin = std::io::stdin();
        let silence = Self(tcgetattr(&stdin)?);
        let mut silent = silence.0.clone();
        silent
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ISIG);
        if let Some(interrupt) = silence.interrupt() {
            silent.special_codes[SpecialCodeIndex::VEOL] = interrupt;
        }
        // What was typed before is thrown away: it was meant for something else.
        tcsetattr(&stdin, OptionalActions::Flush, &silent)?;
        Ok(silence)
    }

    /// The character of the key that interrupts; a terminal may have none.
    fn interrupt(&self) -> Option<u8> {
        let interrupt = self.0.special_codes[SpecialCodeIndex::VINTR];
        let sends_signals = self.0.local_modes.contains(LocalModes::ISIG);
        (sends_signals && interrupt != 0).then_some(interrupt)
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // A terminal that has gone away needs no mending.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_with_a_break_with_the_input_or_with_an_interruption() {
        let read = |text: &str| read_line(text.as_bytes(), Some(3)).unwrap();
        for (typed, line) in [
            ("a b\n", "a b"),
            ("x\r\nmore", "x"),
            ("end", "end"),
            ("", ""),
        ] {
            assert_eq!(read(typed), Typed::Line(line.to_owned()), "{typed:?}");
        }
        assert_eq!(read("secr\u{3}"), Typed::Interrupt);
        assert_eq!(read("\u{3}\n"), Typed::Interrupt);
        let without = read_line("a\u{3}b\n".as_bytes(), None).unwrap();
        assert_eq!(without, Typed::Line("a\u{3}b".to_owned()));
    }
}
