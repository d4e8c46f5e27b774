//! A minimal HTTP/1.1 client: one connection, one request at a time.
//!
//! The load generator has one core, and its CPU time limits the rate. So requests are prepared
//! bytes, and only the status and the length of a response are parsed.

use std::net::SocketAddr;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HEAD_END: &[u8] = b"\r\n\r\n";
const LENGTH: &[u8] = b"\r\ncontent-length: ";

/// Far larger than any reply.
const MAX_REPLY: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// A reply in the connection's buffer.
#[derive(Debug)]
pub(crate) struct Reply<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)
            .await
            .with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: vec![0; 16 * 1024],
        })
    }

    /// Sends a request and returns the reply.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<Reply<'_>> {
        self.stream.write_all(request).await?;
        let mut filled = 0;
        let (status, body_start, end) = loop {
            let read = self.stream.read(&mut self.buffer[filled..]).await?;
            if read == 0 {
                bail!("the server closed a connection");
            }
            filled += read;
            if let Some((status, body_start, length)) = head(&self.buffer[..filled])? {
                break (status, body_start, body_start + length);
            }
            self.reserve(filled + 1)?;
        };
        self.reserve(end)?;
        if end > filled {
            self.stream
                .read_exact(&mut self.buffer[filled..end])
                .await?;
        }
        Ok(Reply {
            status,
            body: &self.buffer[body_start..end],
        })
    }

    fn reserve(&mut self, needed: usize) -> Result<()> {
        if needed > MAX_REPLY {
            bail!("a reply is longer than {MAX_REPLY} bytes");
        }
        if needed > self.buffer.len() {
            self.buffer.resize(needed.next_power_of_two(), 0);
        }
        Ok(())
    }
}

/// Returns the status, the start of the body and its length; `None` if the head is incomplete.
fn head(bytes: &[u8]) -> Result<Option<(u16, usize, usize)>> {
    let Some(end) = find(bytes, HEAD_END) else {
        return Ok(None);
    };
    let head = &bytes[..end + 2];
    let status = head
        .strip_prefix(b"HTTP/1.1 ")
        .and_then(|rest| number(rest.get(..3)?))
        .context("a reply does not start with a status line")?;
    let length = find(head, LENGTH)
        .and_then(|at| {
            let rest = &head[at + LENGTH.len()..];
            number(&rest[..find(rest, b"\r\n")?])
        })
        .context("a reply has no content-length")?;
    Ok(Some((status, end + HEAD_END.len(), length)))
}

fn number<T: FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// Returns the bytes of a GET request without a token.
pub(crate) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes()
}

/// Returns the bytes of a POST request.
pub(crate) fn post(path: &str, token: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_the_status_and_the_position_of_the_body() {
        let reply =
            b"HTTP/1.1 200 OK\r\ncontent-type: a\r\ncontent-length: 12\r\ndate: x\r\n\r\nhello";
        let (status, start, length) = head(reply).unwrap().unwrap();
        assert_eq!((status, &reply[start..], length), (200, &b"hello"[..], 12));
    }

    #[test]
    fn an_incomplete_head_needs_more_bytes_and_an_invalid_one_is_an_error() {
        assert!(
            head(b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n")
                .unwrap()
                .is_none()
        );
        assert!(head(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(head(b"SSH-2.0\r\n\r\n").is_err());
    }
}
