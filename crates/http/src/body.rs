//! Reads request bodies within limits: of size and time for each, and of memory for all together,
//! with what is parsed of them.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_ENCODING;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use http_body_util::BodyExt as _;

use crate::AppState;
use crate::deadline::{Deadline, MAX_READ_TIME};
use crate::error::ErrorResponse;
use crate::memory::{MIB, ReservedMemory, Share, Shares, Usage, reserved_bytes};
use crate::parsed_size::{check_parsed, deeply_parsed_bytes};

/// DataHub's clients send batches of up to 15 MiB.
pub(crate) const MAX_BODY_BYTES: usize = 16 * MIB;
/// Unauthenticated callers may send this much. Bodies up to this size have a share of the memory
/// that suffices for all connections, so that strangers cannot take that of others.
pub(crate) const MAX_SMALL_BODY_BYTES: usize = 16 * 1024;

/// Memory for the bodies of all requests without a response. Queued writes count, so this bounds
/// the write queue.
const RECEIVED: BodyShares = BodyShares {
    // Suffices for one on each of 4,096 connections, so that clients that stop sending in the
    // middle of a body cannot use it up.
    small: Share {
        max: MAX_SMALL_BODY_BYTES,
        total: 64 * MIB,
    },
    medium: Share {
        max: MIB,
        total: 96 * MIB,
    },
    large: 96 * MIB,
};
/// Memory for what is parsed of them. It has its own limits: requests that wait for it hold their
/// bodies, and must wait only for requests that are parsed already.
const SMALL_PARSED: Share = Share {
    max: MIB,
    total: 64 * MIB,
};
const LARGE_PARSED: usize = 192 * MIB;

/// What is parsed of shorter texts is not counted: it takes a few kilobytes, once for each
/// connection at most.
pub(crate) const UNCOUNTED_JSON_BYTES: usize = 128;
/// What is parsed of a body may take this much, or [`MAX_PARSED_SHARE`] times its size. Schemas
/// with short texts take eight times their size, and lists of nothing forty times.
const MIN_PARSED_BYTES: usize = 32 * MIB;
const MAX_PARSED_SHARE: usize = 12;

/// How long a request waits for memory before it gets 503.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// The whole body of a request, of at most `MAX` bytes.
#[derive(Debug)]
pub(crate) struct WholeBody<const MAX: usize = MAX_BODY_BYTES>(pub(crate) Bytes);

impl<const MAX: usize> FromRequest<AppState> for WholeBody<MAX> {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request<Body>, state: &AppState) -> Result<Self, ErrorResponse> {
        let (parts, body) = request.into_parts();
        read_whole(state, &parts, body, MAX).await.map(Self)
    }
}

/// Reads the whole body of a request, of at most `max` bytes.
pub(crate) async fn read_whole(
    state: &AppState,
    parts: &Parts,
    body: Body,
    max: usize,
) -> Result<Bytes, ErrorResponse> {
    check_encoding(&parts.headers)?;
    let deadline = parts.extensions.get::<Deadline>();
    let mut read = pin!(state.body_budget().read(body, max));
    // Most bodies arrive with their headers and need no timer.
    let immediate = poll_fn(|context| Poll::Ready(read.as_mut().poll(context)));
    if let Poll::Ready(read) = immediate.await {
        if let Some(deadline) = deadline {
            deadline.count_from_start();
        }
        return read;
    }
    match tokio::time::timeout(MAX_READ_TIME, read).await {
        Ok(read) => {
            if let Some(deadline) = deadline {
                deadline.restart();
            }
            read
        }
        Err(_) => Err(ErrorResponse::new(
            StatusCode::REQUEST_TIMEOUT,
            format!(
                "The body did not arrive within {} s.",
                MAX_READ_TIME.as_secs()
            ),
        )),
    }
}

/// The whole body of a request that is parsed as JSON, with memory for what is parsed of it.
#[derive(Debug)]
pub(crate) struct JsonBody(pub(crate) Bytes);

impl FromRequest<AppState> for JsonBody {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request<Body>, state: &AppState) -> Result<Self, ErrorResponse> {
        let (parts, body) = request.into_parts();
        Self::read(state, &parts, body).await
    }
}

impl JsonBody {
    /// For handlers that need the head of the request, too.
    pub(crate) async fn read(
        state: &AppState,
        parts: &Parts,
        body: Body,
    ) -> Result<Self, ErrorResponse> {
        let bytes = read_whole(state, parts, body, MAX_BODY_BYTES).await?;
        if bytes.len() <= UNCOUNTED_JSON_BYTES {
            return Ok(Self(bytes));
        }
        let estimate = || deeply_parsed_bytes(&bytes);
        let parsed = long_work::run(bytes.len() > LONG_TEXT_BYTES, estimate).await;
        let allowed = MIN_PARSED_BYTES.max(MAX_PARSED_SHARE * bytes.len());
        check_parsed("The body has", parsed, allowed)?;
        let reserved = state.body_budget().reserve_parsed(parsed).await?;
        Ok(Self(reserved_bytes(bytes, reserved)))
    }
}

/// Rejects compressed bodies, which would fail as invalid JSON otherwise.
fn check_encoding(headers: &HeaderMap) -> Result<(), ErrorResponse> {
    for value in headers.get_all(CONTENT_ENCODING) {
        let encodings = value.to_str().unwrap_or("?");
        let is_identity = |encoding: &str| encoding.trim().eq_ignore_ascii_case("identity");
        if !encodings.split(',').all(is_identity) {
            return Err(ErrorResponse::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!(
                    "Content-Encoding {encodings} is not supported. Send the body without compression."
                ),
            ));
        }
    }
    Ok(())
}

/// How much memory bodies share.
#[derive(Debug, Clone, Copy)]
struct BodyShares {
    small: Share,
    medium: Share,
    large: usize,
}

impl BodyShares {
    /// How large a buffer to take for a body of which more than `received` bytes have arrived, that
    /// needs `needed` now and at most `limit` in the end.
    ///
    /// A medium body grows in steps: many clients that stop sending early must not take the memory
    /// of others. A large one takes all at once: if it grew in steps, it would hold memory that
    /// others wait for, and wait for the memory of others.
    fn capacity(self, received: usize, needed: usize, limit: usize) -> usize {
        let capacity = if needed <= self.small.max {
            self.small.max
        } else if needed <= self.medium.max {
            self.medium.max.min(2 * received)
        } else {
            limit
        };
        capacity.min(limit).max(needed)
    }
}

/// The memory that all bodies share.
#[derive(Debug)]
pub(crate) struct BodyBudget {
    sizes: BodyShares,
    received: Shares,
    parsed: Shares,
    max_wait: Duration,
}

impl Default for BodyBudget {
    fn default() -> Self {
        let parsed = Shares::new(&[SMALL_PARSED], LARGE_PARSED);
        Self::new(RECEIVED, parsed, MAX_WAIT)
    }
}

/// A body that has arrived in part, in a buffer of a fixed capacity.
struct PartialBody {
    bytes: Vec<u8>,
    reserved: ReservedMemory,
}

impl PartialBody {
    fn has_room(&self, more: usize) -> bool {
        self.bytes.capacity() - self.bytes.len() >= more
    }

    /// The body, with the memory of its bytes alone.
    fn finish(mut self) -> Bytes {
        self.bytes.shrink_to_fit();
        let unused = self.reserved.num_permits().saturating_sub(self.bytes.len());
        drop(self.reserved.split(unused));
        reserved_bytes(self.bytes, self.reserved)
    }
}

impl BodyBudget {
    fn new(sizes: BodyShares, parsed: Shares, max_wait: Duration) -> Self {
        Self {
            sizes,
            received: Shares::new(&[sizes.small, sizes.medium], sizes.large),
            parsed,
            max_wait,
        }
    }

    /// Reserves memory when a part has arrived, so that a large Content-Length alone reserves
    /// nothing.
    async fn read(&self, mut body: Body, max: usize) -> Result<Bytes, ErrorResponse> {
        let announced = body.size_hint().exact();
        let announced = announced.and_then(|length| usize::try_from(length).ok());
        let limit = announced.map_or(max, |length| length.min(max));
        let mut partial: Option<PartialBody> = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                ErrorResponse::bad_request(format!("The body could not be read: {error}"))
            })?;
            // Trailers are ignored.
            let Ok(chunk) = frame.into_data() else {
                continue;
            };
            let received = partial.as_ref().map_or(0, |partial| partial.bytes.len());
            if received + chunk.len() > max {
                return Err(too_large(max));
            }
            // Nearly every body is one chunk, which needs no copy.
            if partial.is_none() && body.is_end_stream() {
                let reserved = self.received.reserve(chunk.len(), self.max_wait).await?;
                return Ok(reserved_bytes(chunk, reserved));
            }
            // Chunks of a few bytes must not take more memory than their bytes, and the last part
            // of the connection's buffer would keep all of it.
            let mut buffer = match partial.take() {
                Some(buffer) if buffer.has_room(chunk.len()) => buffer,
                full => self.grow(full, chunk.len(), limit).await?,
            };
            buffer.bytes.extend_from_slice(&chunk);
            partial = Some(buffer);
        }
        Ok(partial.map(PartialBody::finish).unwrap_or_default())
    }

    /// Moves a body to a buffer with room for more bytes. Both buffers count meanwhile.
    async fn grow(
        &self,
        full: Option<PartialBody>,
        more: usize,
        limit: usize,
    ) -> Result<PartialBody, ErrorResponse> {
        let received = full.as_ref().map_or(&[][..], |full| &full.bytes);
        let needed = received.len() + more;
        let capacity = self.sizes.capacity(received.len(), needed, limit);
        let reserved = self.received.reserve(capacity, self.max_wait).await?;
        let mut bytes = Vec::with_capacity(capacity);
        bytes.extend_from_slice(received);
        Ok(PartialBody { bytes, reserved })
    }

    /// Reserves memory for what is parsed of a body, besides the body itself.
    pub(crate) async fn reserve_parsed(
        &self,
        bytes: usize,
    ) -> Result<ReservedMemory, ErrorResponse> {
        self.parsed.reserve(bytes, self.max_wait).await
    }

    pub(crate) fn received_usage(&self) -> Usage {
        self.received.usage()
    }

    pub(crate) fn parsed_usage(&self) -> Usage {
        self.parsed.usage()
    }

    /// The free memory for what is parsed.
    #[cfg(test)]
    pub(crate) fn free_parsed(&self) -> usize {
        self.parsed.free().iter().sum()
    }
}

fn too_large(max: usize) -> ErrorResponse {
    let (limit, unit) = if max < MIB {
        (max / 1024, "KiB")
    } else {
        (max / MIB, "MiB")
    };
    ErrorResponse::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("The body is larger than {limit} {unit}. Send it in several requests."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse as _;
    use futures_util::StreamExt as _;
    use std::convert::Infallible;
    use std::sync::Arc;

    /// Small bodies have up to two bytes, medium ones four.
    fn budget(large: usize) -> BodyBudget {
        let small = Share { max: 2, total: 4 };
        let sizes = BodyShares {
            small,
            medium: Share { max: 4, total: 8 },
            large,
        };
        let parsed = Shares::new(&[small], large);
        BodyBudget::new(sizes, parsed, Duration::from_millis(20))
    }

    fn chunked(chunks: &'static [&'static str]) -> Body {
        let chunks = chunks.iter().map(|chunk| Ok::<_, Infallible>(*chunk));
        Body::from_stream(futures_util::stream::iter(chunks))
    }

    fn status(result: Result<Bytes, ErrorResponse>) -> StatusCode {
        result.unwrap_err().into_response().status()
    }

    #[tokio::test]
    async fn chunked_bodies_are_joined_and_oversized_ones_are_rejected() {
        let budget = budget(100);
        for (body, expected) in [
            (Body::empty(), ""),
            (Body::from("all at once"), "all at once"),
            (chunked(&["in", "", " three", " chunks"]), "in three chunks"),
        ] {
            assert_eq!(budget.read(body, 50).await.unwrap(), expected);
        }
        let long = budget.read(chunked(&["123", "456"]), 5).await;
        assert_eq!(status(long), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(budget.received.free(), [4, 8, 100]);
    }

    #[tokio::test]
    async fn bodies_that_exceed_the_shared_budget_get_503() {
        let budget = budget(10);
        let first = budget.read(Body::from("12345678"), 10).await.unwrap();
        let copy = first.slice(2..);
        let error = budget.read(chunked(&["12", "345"]), 10).await.unwrap_err();
        let response = error.into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key("retry-after"));
        // The rejected body returned its memory; the copy still holds that of the first.
        assert_eq!(budget.received.free(), [4, 8, 2]);
        drop(first);
        assert_eq!(
            status(budget.read(Body::from("12345"), 10).await),
            StatusCode::SERVICE_UNAVAILABLE
        );
        drop(copy);
        assert_eq!(
            budget.read(Body::from("1234567890"), 10).await.unwrap(),
            "1234567890"
        );
    }

    /// Clients that stop in the middle of a large body hold all memory for large ones, and more
    /// large ones wait for it.
    #[tokio::test]
    async fn small_bodies_do_not_wait_for_large_ones() {
        let budget = BodyBudget {
            max_wait: Duration::from_mins(1),
            ..budget(20)
        };
        let stalled = async || {
            let sent = futures_util::stream::iter(["12", "34", "5678"].map(Ok::<_, Infallible>));
            let body = Body::from_stream(sent.chain(futures_util::stream::pending()));
            budget.read(body, 20).await
        };
        let (mut first, mut second) = (pin!(stalled()), pin!(stalled()));
        let mut parsed = pin!(budget.reserve_parsed(18));
        assert!(poll_once(first.as_mut()).await.is_none());
        assert!(poll_once(second.as_mut()).await.is_none());
        let _parsed = poll_once(parsed.as_mut()).await.unwrap().unwrap();
        let mut waiting = pin!(budget.reserve_parsed(9));
        assert!(poll_once(waiting.as_mut()).await.is_none());

        let mut small = pin!(budget.read(chunked(&["1", "2"]), 20));
        assert_eq!(poll_once(small.as_mut()).await.unwrap().unwrap(), "12");
        let mut small = pin!(budget.reserve_parsed(2));
        assert!(poll_once(small.as_mut()).await.unwrap().is_ok());
    }

    /// A chunk that counts itself as long as it is in memory.
    struct CountedChunk(Arc<()>);

    impl AsRef<[u8]> for CountedChunk {
        fn as_ref(&self) -> &[u8] {
            let Self(_count) = self;
            b"x"
        }
    }

    /// Two bodies arrive at the same time, and only one of them fits.
    #[tokio::test]
    async fn large_bodies_that_arrive_together_do_not_wait_for_each_other() {
        let budget = budget(10);
        let arrive = async || {
            let chunks = futures_util::stream::iter(["123", "456", "78"]);
            let chunks = chunks.then(async |chunk| {
                tokio::task::yield_now().await;
                Ok::<_, Infallible>(chunk)
            });
            let whole = budget.read(Body::from_stream(chunks.boxed()), 8).await;
            whole.map(|whole| whole.len())
        };
        let (first, second) = tokio::join!(arrive(), arrive());
        assert_eq!((first.unwrap(), second.unwrap()), (8, 8));
    }

    /// Each chunk is a part of a buffer of the connection, which it would keep.
    #[tokio::test]
    async fn bodies_in_chunks_of_one_byte_take_the_memory_of_their_bytes() {
        const SENT: usize = 40_000;
        let budget = BodyBudget::default();
        let free = budget.received.free();
        let count = Arc::new(());
        let chunks = (0..SENT).map(|_| {
            let chunk = CountedChunk(Arc::clone(&count));
            Ok::<_, Infallible>(Bytes::from_owner(chunk))
        });
        let chunks = futures_util::stream::iter(chunks.collect::<Vec<_>>());
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let last = futures_util::stream::once(async {
            let _ = ended.await;
            Ok(Bytes::new())
        });
        let body = Body::from_stream(chunks.chain(last));
        let mut read = Box::pin(budget.read(body, MAX_BODY_BYTES));
        while Arc::strong_count(&count) > 1 {
            assert!(poll_once(read.as_mut()).await.is_none());
            let left = Arc::strong_count(&count);
            assert!(left < SENT, "{left} chunks are in memory");
        }
        let medium = |reserved| vec![free[0], free[1] - reserved, free[2]];
        let reserved = free[1] - budget.received.free()[1];
        assert!((SENT..2 * SENT).contains(&reserved), "{reserved}");
        assert_eq!(budget.received.free(), medium(reserved));
        end.send(()).unwrap();
        let whole = read.await.unwrap();
        assert_eq!(budget.received.free(), medium(SENT));
        drop(whole);
        assert_eq!(budget.received.free(), free);
    }

    async fn poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context)));
        match polled.await {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    /// Clients that announce large bodies and stop early.
    #[tokio::test]
    async fn bodies_that_stop_early_take_little_memory() {
        let budget = BodyBudget::default();
        let free = budget.received.free();
        let sent = futures_util::stream::iter([Ok::<_, Infallible>(vec![b'x'; 64 * 1024])]);
        let body = Body::from_stream(sent.chain(futures_util::stream::pending()));
        let mut stalled = Box::pin(budget.read(body, MAX_BODY_BYTES));
        assert!(poll_once(stalled.as_mut()).await.is_none());
        assert_eq!(
            budget.received.free(),
            [free[0], free[1] - 64 * 1024, free[2]]
        );
    }

    #[test]
    fn the_shares_suffice_for_every_connection_and_for_the_largest_request() {
        let connections = crate::server::ConnectionLimits::default().total;
        assert!(RECEIVED.small.total >= connections * RECEIVED.small.max);
        const { assert!(RECEIVED.large >= MAX_BODY_BYTES) };
        const { assert!(LARGE_PARSED >= MAX_PARSED_SHARE * MAX_BODY_BYTES) };
    }
}
