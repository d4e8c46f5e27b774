//! Server-sent events: a response that continues until the client closes it, may no longer read, or
//! the server stops.
//!
//! The `id` of each event is the position of its change, so a client that connects again continues
//! behind it, with the header `Last-Event-ID`. Of several events of one change only the last has
//! it. A response without changes has a comment now and then, which shows that the client is still
//! there, and the position up to which nothing was left out.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use docent_catalog::events::PageLimits;
use docent_catalog::events::feed::FeedPage;
use docent_model::Urn;
use docent_model::measure::Counter;
use futures_util::stream;
use serde_json::json;
use tokio::sync::watch;

use super::Follower;
use crate::error::ErrorResponse;

pub(super) const MEDIA_TYPE: &str = "text/event-stream";
/// How many streams there are at most, and of one user.
const MAX_STREAMS: usize = 256;
const MAX_USER_STREAMS: usize = 16;
/// A stream reads less at once than a page: there are many streams.
const MAX_BYTES: usize = 1024 * 1024;
const HEARTBEAT: Duration = Duration::from_secs(15);
/// When a client connects again after the end of a stream, in milliseconds.
const RECONNECT_MS: u64 = 2_000;
/// Proxies that buffer responses would hold events back.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The streams of the server.
#[derive(Debug)]
pub(crate) struct FeedStreams {
    open: Arc<Mutex<HashMap<Urn, usize>>>,
    ended: watch::Sender<bool>,
    /// Events that were sent.
    sent: Arc<Counter>,
}

impl Default for FeedStreams {
    fn default() -> Self {
        Self {
            open: Arc::default(),
            ended: watch::Sender::new(false),
            sent: Arc::default(),
        }
    }
}

impl FeedStreams {
    /// Ends all streams, and those that begin later.
    pub(crate) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .sum()
    }

    pub(crate) const fn limit() -> usize {
        MAX_STREAMS
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent.get()
    }

    fn admit(&self, user: &Urn) -> Result<StreamSlot, ErrorResponse> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = open.values().sum();
        let own = open.get(user).copied().unwrap_or_default();
        if all >= MAX_STREAMS {
            return Err(ErrorResponse::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!(
                    "The server has {MAX_STREAMS} streams of events, and no more are allowed. Use /events with 'wait'."
                ),
            ));
        }
        if own >= MAX_USER_STREAMS {
            return Err(ErrorResponse::too_many_requests(1_000, |_| {
                format!(
                    "You have {MAX_USER_STREAMS} streams of events, and no more are allowed. Close one, or use /events \
                     with 'wait'."
                )
            }));
        }
        open.insert(user.clone(), own + 1);
        Ok(StreamSlot {
            open: Arc::clone(&self.open),
            user: user.clone(),
        })
    }
}

/// Counts a stream until it is dropped.
struct StreamSlot {
    open: Arc<Mutex<HashMap<Urn, usize>>>,
    user: Urn,
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.user);
            }
        }
    }
}

/// A stream that is being sent.
struct OpenStream {
    follower: Follower,
    limits: PageLimits,
    ended: watch::Receiver<bool>,
    sent: Arc<Counter>,
    is_new: bool,
    _slot: StreamSlot,
}

/// Begins a stream.
pub(super) fn open(
    follower: Follower,
    user: &Urn,
    limit: usize,
) -> Result<Response, ErrorResponse> {
    let streams = follower.state.streams();
    let stream = OpenStream {
        limits: PageLimits {
            events: limit,
            bytes: MAX_BYTES,
        },
        ended: streams.ended.subscribe(),
        sent: Arc::clone(&streams.sent),
        is_new: true,
        _slot: streams.admit(user)?,
        follower,
    };
    let parts = stream::unfold(Some(stream), |stream| async move {
        let mut stream = stream?;
        let (part, is_end) = stream.part().await;
        let rest = (!is_end).then_some(stream);
        Some((Ok::<_, Infallible>(part), rest))
    });
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE)),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (UNBUFFERED, HeaderValue::from_static("no")),
    ];
    Ok((headers, Body::from_stream(parts)).into_response())
}

impl OpenStream {
    /// The next bytes, and whether they are the last.
    async fn part(&mut self) -> (Bytes, bool) {
        let mut ended = self.ended.clone();
        // Fails only if the server is gone.
        let end = async { drop(ended.wait_for(|ended| *ended).await) };
        let next = tokio::select! {
            biased;
            () = end => return (Bytes::new(), true),
            next = self.next() => next,
        };
        match next {
            Ok(part) => (part, false),
            Err(error) => {
                let message = json!({"message": error.message()});
                (format!("event: end\ndata: {message}\n\n").into(), true)
            }
        }
    }

    async fn next(&mut self) -> Result<Bytes, ErrorResponse> {
        if std::mem::take(&mut self.is_new) {
            let position = self.follower.position;
            return Ok(format!("retry: {RECONNECT_MS}\nid: {position}\n\n").into());
        }
        let heartbeat = Instant::now() + HEARTBEAT;
        loop {
            let page = self.follower.next(self.limits).await?;
            if !page.events.is_empty() {
                let memory = self.follower.state.reply_memory();
                let part = memory.hold_part(render(&page)).await?;
                self.sent.add(page.events.len() as u64);
                return Ok(part);
            }
            if heartbeat <= Instant::now() {
                return Ok(format!(": no events\nid: {}\n\n", page.next).into());
            }
            self.follower.wait(heartbeat).await?;
        }
    }
}

fn render(page: &FeedPage) -> Vec<u8> {
    let length: usize = page.events.iter().map(|event| event.text.len() + 32).sum();
    let mut part = Vec::with_capacity(length);
    for event in &page.events {
        if event.is_last {
            part.extend_from_slice(format!("id: {}\n", event.position).as_bytes());
        }
        part.extend_from_slice(b"data: ");
        // Values are stored as they were sent, and a line break between their members would end
        // the line. There is none inside of JSON strings.
        let is_break = |byte: u8| matches!(byte, b'\n' | b'\r');
        let bytes = event.text.bytes();
        part.extend(bytes.map(|byte| if is_break(byte) { b' ' } else { byte }));
        part.extend_from_slice(b"\n\n");
    }
    part
}
