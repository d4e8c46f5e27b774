//! Ends connections whose client does not read its responses.
//!
//! A client may take its time, but has to make progress: while the kernel takes no more data, it
//! must have read some in every window of time, and after a while at a minimum rate. Otherwise a
//! few clients that hardly read could hold connections, and the responses in memory, forever.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// How much a client has to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadingPace {
    pub(super) window: Duration,
    /// The bytes in a window.
    pub(super) bytes: u32,
    /// How long a response may take at this pace. After that, there is a minimum rate.
    pub(super) grace: Duration,
    pub(super) bytes_per_second: u32,
}

/// Far slower than any network that people use. The largest response, of 64 MiB, may take ten
/// minutes.
pub(super) const READING_PACE: ReadingPace = ReadingPace {
    window: Duration::from_secs(30),
    bytes: 16 * 1024,
    grace: Duration::from_mins(1),
    bytes_per_second: 128 * 1024,
};

/// A connection on which writing fails if the client does not read.
#[derive(Debug)]
pub(super) struct PacedStream<S> {
    stream: S,
    pace: ReadingPace,
    /// Set while data waits to be written.
    backlog: Option<Backlog>,
}

/// Data that waits for the client to read.
#[derive(Debug)]
struct Backlog {
    since: Instant,
    window: Pin<Box<Sleep>>,
    /// Bytes written since the start, and since that of the window.
    written: u64,
    window_written: u64,
}

impl Backlog {
    fn start(pace: ReadingPace) -> Self {
        Self {
            since: Instant::now(),
            window: Box::pin(tokio::time::sleep(pace.window)),
            written: 0,
            window_written: 0,
        }
    }

    fn add(&mut self, written: usize) {
        self.written += written as u64;
        self.window_written += written as u64;
    }

    /// Whether the client has read too little when a window ends.
    fn is_too_slow(&self, pace: ReadingPace) -> bool {
        let seconds = self.written / u64::from(pace.bytes_per_second.max(1));
        let allowed = pace.grace + Duration::from_secs(seconds);
        self.window_written < u64::from(pace.bytes) || self.since.elapsed() > allowed
    }

    fn next_window(&mut self, pace: ReadingPace) {
        self.window_written = 0;
        let end = Instant::now() + pace.window;
        self.window.as_mut().reset(end);
    }
}

impl<S> PacedStream<S> {
    pub(super) fn new(stream: S, pace: ReadingPace) -> Self {
        Self {
            stream,
            pace,
            backlog: None,
        }
    }

    /// Counts what was written of `offered` bytes, or waits for the client.
    fn pace(
        &mut self,
        context: &mut Context<'_>,
        offered: usize,
        polled: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let Poll::Ready(written) = polled else {
            return self.wait(context).map(Err);
        };
        let written = written?;
        if written == offered {
            // Nothing waits any more.
            self.backlog = None;
        } else if let Some(backlog) = &mut self.backlog {
            backlog.add(written);
        }
        Poll::Ready(Ok(written))
    }

    /// Paces what writes no bytes of its own, but those that TLS has still buffered.
    fn pace_end(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        if polled.is_pending() {
            return self.wait(context).map(Err);
        }
        self.backlog = None;
        polled
    }

    /// Returns an error when the client reads too slowly.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let pace = self.pace;
        let backlog = self.backlog.get_or_insert_with(|| Backlog::start(pace));
        loop {
            ready!(backlog.window.as_mut().poll(context));
            if backlog.is_too_slow(pace) {
                self.backlog = None;
                return Poll::Ready(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the client does not read its response",
                ));
            }
            backlog.next_window(pace);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PacedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PacedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.pace(context, bytes.len(), polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        let offered = buffers.iter().map(|buffer| buffer.len()).sum();
        self.pace(context, offered, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.pace_end(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.pace_end(context, polled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufWriter};

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn a_client_that_stops_reading_ends_the_connection() {
        for (reads, expected) in [(0, false), (8, false), (200, true)] {
            let (mut client, server) = tokio::io::duplex(8);
            let pace = ReadingPace {
                window: if expected { LONG } else { SHORT },
                bytes: 50,
                ..READING_PACE
            };
            let mut server = PacedStream::new(server, pace);
            let reading = tokio::spawn(async move {
                let mut received = vec![0; reads];
                client.read_exact(&mut received).await.unwrap();
                client
            });
            let written = tokio::time::timeout(LONG, server.write_all(&[b'x'; 200])).await;
            let written = written.expect("the connection is still open");
            assert_eq!(written.is_ok(), expected, "after {reads} bytes");
            if let Err(error) = written {
                assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            }
            drop(reading.await.unwrap());
        }
    }

    /// As TLS does, the stream takes data that the client has not read.
    #[tokio::test]
    async fn a_client_that_does_not_read_the_last_bytes_ends_the_connection() {
        let (_client, server) = tokio::io::duplex(8);
        let pace = ReadingPace {
            window: SHORT,
            ..READING_PACE
        };
        let mut server = PacedStream::new(BufWriter::new(server), pace);
        server.write_all(&[b'x'; 200]).await.unwrap();
        let flushed = tokio::time::timeout(LONG, server.flush()).await;
        let flushed = flushed.expect("the flush still waits");
        assert_eq!(flushed.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let ended = tokio::time::timeout(LONG, server.shutdown()).await;
        let ended = ended.expect("the shutdown still waits");
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_client_has_to_finish_in_a_time_relative_to_what_it_reads() {
        for (bytes_per_second, expected) in [(1_000_000, false), (1, true)] {
            let (mut client, server) = tokio::io::duplex(8);
            let pace = ReadingPace {
                window: SHORT,
                bytes: 1,
                grace: 2 * SHORT,
                bytes_per_second,
            };
            let mut server = PacedStream::new(server, pace);
            let reading = tokio::spawn(async move {
                let mut pause = tokio::time::interval(SHORT / 10);
                let mut chunk = [0; 8];
                while client.read(&mut chunk).await.is_ok_and(|length| length > 0) {
                    pause.tick().await;
                }
            });
            let sent = vec![b'x'; 8 * 200];
            let written = tokio::time::timeout(LONG, server.write_all(&sent)).await;
            let written = written.expect("the connection is still open");
            assert_eq!(written.is_ok(), expected, "{bytes_per_second}: {written:?}");
            drop(server);
            reading.await.unwrap();
        }
    }
}
