//! The request log: one line for each request, in the format of the other lines of the log.
//!
//! A read takes some ten microseconds, and `tracing` would take two more to format a line and write
//! it. So lines are formatted here, collected, and written by a thread of their own. If the log
//! cannot be written as fast as requests come, lines are dropped, and counted.
//!
//! What clients send is bounded in length, and escaped: nobody can write lines of their own.

use std::cell::RefCell;
use std::io::Write;
use std::mem;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use docent_catalog::Catalog;
use docent_catalog::times::iso;
use docent_model::{EpochMillis, Urn};

use super::EndedRequest;

/// The longest operation and user in a line, in characters.
const MAX_NAME: usize = 64;
/// Lines that wait to be written.
const MAX_WAITING_BYTES: usize = 1024 * 1024;
/// How lines begin after the time, and how those in JSON end.
const TEXT: &[u8] = b" INFO docent_http::requests: ";
const QUIET_TEXT: &[u8] = b"DEBUG docent_http::requests: ";
const JSON: &[u8] = b"\"level\":\"INFO\",\"fields\":{\"message\":\"";
const QUIET_JSON: &[u8] = b"\"level\":\"DEBUG\",\"fields\":{\"message\":\"";
const JSON_END: &[u8] = b"},\"target\":\"docent_http::requests\"}\n";
/// The bytes that need neither quotes nor escapes.
const IS_PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        plain[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'@' | b':' | b'+');
        byte += 1;
    }
    plain
};
/// For how long lines are collected.
const INTERVAL: Duration = Duration::from_millis(20);

/// The two formats of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestLogFormat {
    Text,
    Json,
}

/// Which requests are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum RequestLogDetail {
    None,
    /// Without health checks and the files of the web page: level info.
    Api,
    /// Level debug.
    All,
}

/// Writes a line for each request. Shared by all connections.
#[derive(Debug)]
pub struct RequestLog {
    format: RequestLogFormat,
    /// A [`RequestLogDetail`].
    detail: AtomicU8,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Something waits to be written, or the log was closed.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: Vec<u8>,
    dropped: u64,
    is_closed: bool,
    second: Second,
}

/// The text of a second, which many lines share.
#[derive(Debug, Default)]
struct Second {
    number: Option<EpochMillis>,
    text: String,
}

impl Second {
    /// The time in ISO 8601 without its milliseconds.
    fn text(&mut self, time_ms: EpochMillis) -> &str {
        let number = time_ms.div_euclid(1000);
        if self.number != Some(number) {
            self.number = Some(number);
            self.text = iso(number * 1000);
            self.text.truncate(self.text.trim_end_matches('Z').len());
        }
        &self.text
    }
}

thread_local! {
    /// A line is formatted here, outside the lock of the others.
    static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl RequestLog {
    /// The target of the lines in the log filter.
    pub const TARGET: &str = "docent_http::requests";

    /// Starts the thread that writes.
    pub fn start(
        format: RequestLogFormat,
        detail: RequestLogDetail,
        out: impl Write + Send + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let thread = thread::Builder::new()
            .name("docent-log".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || write_all(&shared, out)
            })?;
        Ok(Self {
            format,
            detail: AtomicU8::new(detail as u8),
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Logs more requests, or fewer, from now on.
    pub fn set_detail(&self, detail: RequestLogDetail) {
        self.detail.store(detail as u8, Ordering::Relaxed);
    }

    /// Writes what waits, and ends the thread. Later requests are not logged.
    pub fn close(&self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_all();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the request log had panicked");
        }
    }

    pub(super) fn write(&self, request: &EndedRequest<'_>, catalog: &Catalog) {
        let needed = if request.is_quiet {
            RequestLogDetail::All
        } else {
            RequestLogDetail::Api
        };
        if self.detail.load(Ordering::Relaxed) < needed as u8 {
            return;
        }
        LINE.with_borrow_mut(|line| {
            line.clear();
            match self.format {
                RequestLogFormat::Text => text_line(line, request),
                RequestLogFormat::Json => json_line(line, request),
            }
            self.shared.push(self.format, line, catalog.now_ms());
        });
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line, with the time in front.
    fn push(&self, format: RequestLogFormat, line: &[u8], time_ms: EpochMillis) {
        let mut guard = self.lock();
        let waiting = &mut *guard;
        if waiting.is_closed {
            return;
        }
        if waiting.lines.len() >= MAX_WAITING_BYTES {
            waiting.dropped += 1;
            return;
        }
        let is_first = waiting.lines.is_empty();
        let (before, after) = match format {
            RequestLogFormat::Text => (&b""[..], &b"Z "[..]),
            RequestLogFormat::Json => (&b"{\"timestamp\":\""[..], &b"Z\","[..]),
        };
        let lines = &mut waiting.lines;
        lines.extend_from_slice(before);
        lines.extend_from_slice(waiting.second.text(time_ms).as_bytes());
        lines.push(b'.');
        push_digits(lines, time_ms.rem_euclid(1000).unsigned_abs(), 3);
        lines.extend_from_slice(after);
        lines.extend_from_slice(line);
        drop(guard);
        if is_first {
            self.changed.notify_one();
        }
    }
}

/// Writes what arrives until the log is closed.
fn write_all(shared: &Shared, mut out: impl Write) {
    let mut lines = Vec::new();
    loop {
        let is_idle = |waiting: &mut Waiting| waiting.lines.is_empty() && !waiting.is_closed;
        let mut waiting = shared
            .changed
            .wait_while(shared.lock(), is_idle)
            .unwrap_or_else(PoisonError::into_inner);
        if !waiting.is_closed {
            let collected = shared
                .changed
                .wait_timeout_while(waiting, INTERVAL, |waiting| !waiting.is_closed);
            waiting = collected.unwrap_or_else(PoisonError::into_inner).0;
        }
        mem::swap(&mut lines, &mut waiting.lines);
        let (dropped, is_closed) = (mem::take(&mut waiting.dropped), waiting.is_closed);
        drop(waiting);
        // As with other lines, there is nobody to tell.
        let _ = out.write_all(&lines).and_then(|()| out.flush());
        lines.clear();
        if dropped > 0 {
            tracing::warn!(dropped, "{dropped} lines of the request log were dropped");
        }
        if is_closed {
            return;
        }
    }
}

fn text_line(line: &mut Vec<u8>, request: &EndedRequest<'_>) {
    line.extend_from_slice(if request.is_quiet { QUIET_TEXT } else { TEXT });
    push_message(line, request);
    if let Some(operation) = request.operation {
        line.extend_from_slice(b" operation=");
        push_text(line, operation);
    }
    line.extend_from_slice(b" ms=");
    push_ms(line, request.took);
    if let Some(caller) = request.caller {
        line.extend_from_slice(b" user=");
        push_text(line, user(caller));
    }
    line.extend_from_slice(b" bytes=");
    push_number(line, request.reply_bytes);
    line.push(b'\n');
}

fn json_line(line: &mut Vec<u8>, request: &EndedRequest<'_>) {
    line.extend_from_slice(if request.is_quiet { QUIET_JSON } else { JSON });
    push_message(line, request);
    for (name, value) in [
        (&b"\",\"method\":\""[..], request.method),
        (b"\",\"route\":\"", request.route),
    ] {
        line.extend_from_slice(name);
        line.extend_from_slice(value.as_bytes());
    }
    line.push(b'"');
    if let Some(operation) = request.operation {
        line.extend_from_slice(b",\"operation\":");
        push_json(line, operation);
    }
    line.extend_from_slice(b",\"status\":");
    push_number(line, request.status.into());
    line.extend_from_slice(b",\"ms\":");
    push_ms(line, request.took);
    if let Some(caller) = request.caller {
        line.extend_from_slice(b",\"user\":");
        push_json(line, user(caller));
    }
    line.extend_from_slice(b",\"bytes\":");
    push_number(line, request.reply_bytes);
    line.extend_from_slice(JSON_END);
}

fn push_message(line: &mut Vec<u8>, request: &EndedRequest<'_>) {
    line.extend_from_slice(request.method.as_bytes());
    line.push(b' ');
    line.extend_from_slice(request.route.as_bytes());
    line.push(b' ');
    push_number(line, request.status.into());
}

/// Milliseconds, to the microsecond.
fn push_ms(line: &mut Vec<u8>, took: Duration) {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    push_number(line, micros / 1000);
    line.push(b'.');
    push_digits(line, micros % 1000, 3);
}

fn push_number(line: &mut Vec<u8>, number: u64) {
    push_digits(line, number, 1);
}

/// A number with leading zeros. The usual way to format numbers takes longer than the rest of a
/// line.
fn push_digits(line: &mut Vec<u8>, mut number: u64, min_digits: usize) {
    let mut text = [b'0'; 20];
    let mut digits = 0;
    for digit in text.iter_mut().rev() {
        if number == 0 && digits >= min_digits {
            break;
        }
        *digit += u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
        digits += 1;
    }
    line.extend_from_slice(&text[text.len() - digits..]);
}

/// The name of a user. Other callers have their URN.
pub(super) fn user(caller: &Urn) -> &str {
    if caller.entity_type() == "corpuser" {
        caller.key()
    } else {
        caller.as_str()
    }
}

fn is_plain(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(|byte| IS_PLAIN[usize::from(byte)])
}

/// A value: plain, or in quotes with everything escaped that is not printed.
fn push_text(line: &mut Vec<u8>, text: &str) {
    if is_plain(text) {
        line.extend_from_slice(text.as_bytes());
    } else {
        // Writing to memory does not fail.
        let _ = write!(line, "{:?}", shortened(text));
    }
}

fn push_json(line: &mut Vec<u8>, text: &str) {
    if is_plain(text) {
        line.push(b'"');
        line.extend_from_slice(text.as_bytes());
        line.push(b'"');
    } else {
        line.extend_from_slice(
            serde_json::Value::from(shortened(text))
                .to_string()
                .as_bytes(),
        );
    }
}

/// A name of bounded length.
pub(super) fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_NAME).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn ended<'r>(operation: &'r str, caller: &'r Urn) -> EndedRequest<'r> {
        EndedRequest {
            method: "POST",
            route: "/aspects",
            operation: Some(operation),
            status: 200,
            took: Duration::from_micros(1_002),
            caller: Some(caller),
            reply_bytes: 7,
            is_quiet: false,
        }
    }

    #[test]
    fn numbers_have_all_their_digits() {
        for number in [0, 7, 10, 200, 1_234_567_890, u64::MAX] {
            let mut text = Vec::new();
            push_number(&mut text, number);
            assert_eq!(text, number.to_string().as_bytes());
        }
        let mut text = Vec::new();
        push_ms(&mut text, Duration::from_micros(12_003_045));
        assert_eq!(text, b"12003.045");
    }

    #[test]
    fn names_are_escaped_and_bounded() {
        let mallory = Urn::parse("urn:li:corpuser:m\n2026 INFO \u{202e}user=root").unwrap();
        let long = "x".repeat(1000);
        let request = ended(&long, &mallory);
        let (mut text, mut json) = (Vec::new(), Vec::new());
        text_line(&mut text, &request);
        let short = &long[..MAX_NAME];
        let user = "m\\n2026 INFO \\u{202e}user=root";
        assert_eq!(
            String::from_utf8(text).unwrap(),
            format!(
                " INFO docent_http::requests: POST /aspects 200 operation=\"{short}…\" ms=1.002 user=\"{user}\" bytes=7\n"
            )
        );
        json_line(&mut json, &request);
        let json = String::from_utf8(json).unwrap();
        assert_eq!(json.matches('\n').count(), 1);
        let json: serde_json::Value = serde_json::from_str(&format!("{{{json}")).unwrap();
        assert_eq!(json["fields"]["operation"], format!("{short}…"));
        assert_eq!(json["fields"]["user"], mallory.key());
    }

    /// Blocks until it may write, and sends what it got.
    struct Blocked {
        may_write: mpsc::Receiver<()>,
        written: mpsc::Sender<usize>,
    }

    impl Write for Blocked {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.may_write.recv();
            let _ = self.written.send(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_log_that_is_not_written_drops_lines_and_never_waits() {
        let (allow, may_write) = mpsc::channel();
        let (written, sizes) = mpsc::channel();
        let out = Blocked { may_write, written };
        let log = RequestLog::start(RequestLogFormat::Text, RequestLogDetail::All, out).unwrap();
        let line = vec![b'x'; 1000];
        let push = || log.shared.push(log.format, &line, 0);
        // Two rounds at least: the thread may take the first lines while it is blocked.
        for _ in 0..4 * MAX_WAITING_BYTES / line.len() {
            push();
        }
        let waiting = log.shared.lock();
        assert!(waiting.dropped > 0);
        assert!(waiting.lines.len() <= MAX_WAITING_BYTES + 2 * line.len());
        drop(waiting);
        drop(allow);
        log.close();
        let total: usize = sizes.iter().sum();
        assert!(total <= 2 * (MAX_WAITING_BYTES + 2 * line.len()), "{total}");
        assert!(total > MAX_WAITING_BYTES, "{total}");
    }
}
