//! Captures the output of a child process continuously, so that the child never blocks on a full
//! pipe.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::Context as _;

/// The output so far, for the message of a failing test.
#[derive(Debug, Default)]
pub(super) struct Output {
    standard_output: Arc<Mutex<String>>,
    standard_error: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Output {
    /// Starts reading both streams. The receiver gets the lines of standard output and closes with
    /// the stream.
    pub(super) fn collect(child: &mut Child) -> anyhow::Result<(Self, Receiver<String>)> {
        let standard_output = child
            .stdout
            .take()
            .context("standard output is not piped")?;
        let standard_error = child.stderr.take().context("standard error is not piped")?;
        let mut output = Self::default();
        let (lines, receiver) = channel();
        output.readers = vec![
            read_lines(
                standard_output,
                Arc::clone(&output.standard_output),
                Some(lines),
            ),
            read_lines(standard_error, Arc::clone(&output.standard_error), None),
        ];
        Ok((output, receiver))
    }

    /// Reads the rest after the child has ended: an exit status can be seen before its last lines.
    pub(super) fn finish(&mut self) {
        for reader in self.readers.drain(..) {
            // A reader does not panic, and what it has read so far is kept.
            reader.join().ok();
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = self
            .standard_output
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        text.push_str(
            &self
                .standard_error
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        text
    }
}

fn read_lines(
    stream: impl Read + Send + 'static,
    text: Arc<Mutex<String>>,
    lines: Option<Sender<String>>,
) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while stream
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read > 0)
        {
            let decoded = String::from_utf8_lossy(&line);
            text.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push_str(&decoded);
            if let Some(lines) = &lines {
                // Only the first line has a listener.
                lines.send(decoded.trim_end_matches('\n').to_owned()).ok();
            }
            line.clear();
        }
    })
}
