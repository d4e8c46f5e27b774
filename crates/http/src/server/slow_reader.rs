//! Ends connections whose client does not read its responses.
//!
//! A client may take its time, but has to make progress: while the kernel takes no more data, it
//! must have read some in every window of time. Otherwise a few clients that never read could hold
//! connections, and the responses in memory, forever.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How much a client has to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadingPace {
    pub(super) window: Duration,
    /// The bytes in a window.
    pub(super) bytes: usize,
}

/// Far slower than any network that people use.
pub(super) const READING_PACE: ReadingPace = ReadingPace {
    window: Duration::from_secs(30),
    bytes: 16 * 1024,
};

/// A connection on which writing fails if the client does not read.
#[derive(Debug)]
pub(super) struct PacedStream<S> {
    stream: S,
    pace: ReadingPace,
    /// Set while data waits to be written.
    window: Option<Pin<Box<Sleep>>>,
    /// Bytes written in the window.
    written: usize,
}

impl<S> PacedStream<S> {
    pub(super) fn new(stream: S, pace: ReadingPace) -> Self {
        Self {
            stream,
            pace,
            window: None,
            written: 0,
        }
    }

    pub(super) fn get_ref(&self) -> &S {
        &self.stream
    }

    /// Counts what was written of `offered` bytes, or waits for the client.
    fn pace(
        &mut self,
        context: &mut Context<'_>,
        offered: usize,
        polled: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = polled {
            let written = written?;
            if written == offered {
                // Nothing waits any more.
                self.window = None;
            } else {
                self.written += written;
            }
            return Poll::Ready(Ok(written));
        }
        loop {
            if self.window.is_none() {
                self.written = 0;
            }
            let window = self
                .window
                .get_or_insert_with(|| Box::pin(tokio::time::sleep(self.pace.window)));
            ready!(window.as_mut().poll(context));
            self.window = None;
            if self.written < self.pace.bytes {
                return Poll::Ready(Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the client does not read its response",
                )));
            }
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
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn a_client_that_stops_reading_ends_the_connection() {
        for (reads, expected) in [(0, false), (8, false), (200, true)] {
            let (mut client, server) = tokio::io::duplex(8);
            let pace = ReadingPace {
                window: if expected { LONG } else { SHORT },
                bytes: 50,
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
}
