//! Reads request bodies within limits: of size and time for each, and of memory for all together,
//! with what is parsed of them.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::AppState;
use crate::deadline::{Deadline, MAX_READ_TIME};
use crate::error::ErrorResponse;
use crate::parsed_size::{check_parsed, deeply_parsed_bytes};

const MIB: usize = 1024 * 1024;

/// DataHub's clients send batches of up to 15 MiB.
pub(crate) const MAX_BODY_BYTES: usize = 16 * MIB;

/// Memory for the bodies of all requests without a response. Queued writes count, so this bounds
/// the write queue. The share of small bodies suffices for one on each of 4,096 connections, so
/// that clients that stop sending in the middle of a body cannot use it up.
const RECEIVED: ShareSizes = ShareSizes {
    max_small: 16 * 1024,
    small: 64 * MIB,
    large: 128 * MIB,
};
/// Memory for what is parsed of them. It has its own limits: requests that wait for it hold their
/// bodies, and must wait only for requests that are parsed already.
const PARSED: ShareSizes = ShareSizes {
    max_small: MIB,
    small: 64 * MIB,
    large: 192 * MIB,
};

/// What is parsed of smaller bodies is not counted.
const UNCOUNTED_BODY_BYTES: usize = 64 * 1024;
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
        check_encoding(request.headers())?;
        let deadline = request.extensions().get::<Deadline>().cloned();
        let mut read = pin!(state.body_budget().read(request.into_body(), MAX));
        // Most bodies arrive with their headers and need no timer.
        let immediate = poll_fn(|context| Poll::Ready(read.as_mut().poll(context)));
        if let Poll::Ready(read) = immediate.await {
            restart(deadline.as_ref());
            return read.map(Self);
        }
        match tokio::time::timeout(MAX_READ_TIME, read).await {
            Ok(read) => {
                restart(deadline.as_ref());
                read.map(Self)
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
}

/// The whole body of a request that is parsed as JSON, with memory for what is parsed of it.
#[derive(Debug)]
pub(crate) struct JsonBody(pub(crate) Bytes);

impl FromRequest<AppState> for JsonBody {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request<Body>, state: &AppState) -> Result<Self, ErrorResponse> {
        let WholeBody::<MAX_BODY_BYTES>(bytes) = WholeBody::from_request(request, state).await?;
        if bytes.len() <= UNCOUNTED_BODY_BYTES {
            return Ok(Self(bytes));
        }
        let estimate = || deeply_parsed_bytes(&bytes);
        let parsed = long_work::run(bytes.len() > LONG_TEXT_BYTES, estimate).await;
        let allowed = MIN_PARSED_BYTES.max(MAX_PARSED_SHARE * bytes.len());
        check_parsed("The body has", parsed, allowed)?;
        let permit = state.body_budget().reserve_parsed(parsed).await?;
        Ok(Self(Bytes::from_owner(BudgetedBytes {
            bytes,
            _permit: permit,
        })))
    }
}

/// The work for a request starts when its body has arrived.
fn restart(deadline: Option<&Deadline>) {
    if let Some(deadline) = deadline {
        deadline.restart();
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

/// The memory that all bodies share.
#[derive(Debug)]
pub(crate) struct BodyBudget {
    received: Shares,
    parsed: Shares,
    max_wait: Duration,
}

impl Default for BodyBudget {
    fn default() -> Self {
        Self::new(RECEIVED, PARSED, MAX_WAIT)
    }
}

/// How many bytes a small request takes at most, and how many all small and all large ones may
/// take.
#[derive(Debug, Clone, Copy)]
struct ShareSizes {
    max_small: usize,
    small: usize,
    large: usize,
}

/// Free memory, of which small requests have a share of their own: they never wait for large ones.
#[derive(Debug)]
struct Shares {
    max_small: usize,
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl Shares {
    fn new(sizes: ShareSizes) -> Self {
        Self {
            max_small: sizes.max_small,
            small: Arc::new(Semaphore::new(sizes.small)),
            large: Arc::new(Semaphore::new(sizes.large)),
        }
    }

    /// The share of a request that takes this much.
    fn of(&self, bytes: usize) -> &Arc<Semaphore> {
        if bytes <= self.max_small {
            &self.small
        } else {
            &self.large
        }
    }
}

/// Bytes that return their memory to the budget when the last copy is dropped.
struct BudgetedBytes {
    bytes: Bytes,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for BudgetedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl BodyBudget {
    fn new(received: ShareSizes, parsed: ShareSizes, max_wait: Duration) -> Self {
        Self {
            received: Shares::new(received),
            parsed: Shares::new(parsed),
            max_wait,
        }
    }

    /// Reserves memory chunk by chunk, so that a large Content-Length alone reserves nothing. A
    /// body is small until more has arrived.
    async fn read(&self, mut body: Body, max: usize) -> Result<Bytes, ErrorResponse> {
        let mut chunks: Vec<Bytes> = Vec::new();
        let mut length = 0;
        let mut permit: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                ErrorResponse::bad_request(format!("The body could not be read: {error}"))
            })?;
            // Trailers are ignored.
            let Ok(chunk) = frame.into_data() else {
                continue;
            };
            length += chunk.len();
            if length > max {
                return Err(too_large(max));
            }
            let share = self.received.of(length);
            match &mut permit {
                Some(permit) if Arc::ptr_eq(permit.semaphore(), share) => {
                    permit.merge(self.reserve(share, chunk.len()).await?);
                }
                // The first chunk, or the one that makes the body large.
                _ => permit = Some(self.reserve(share, length).await?),
            }
            chunks.push(chunk);
        }
        let Some(permit) = permit else {
            return Ok(Bytes::new());
        };
        let bytes = match chunks.as_mut_slice() {
            // Nearly every body is one chunk, which needs no copy.
            [chunk] => std::mem::take(chunk),
            chunks => Bytes::from(chunks.concat()),
        };
        Ok(Bytes::from_owner(BudgetedBytes {
            bytes,
            _permit: permit,
        }))
    }

    /// Reserves memory for what is parsed of a body, besides the body itself.
    pub(crate) async fn reserve_parsed(
        &self,
        bytes: usize,
    ) -> Result<OwnedSemaphorePermit, ErrorResponse> {
        self.reserve(self.parsed.of(bytes), bytes).await
    }

    async fn reserve(
        &self,
        free_bytes: &Arc<Semaphore>,
        bytes: usize,
    ) -> Result<OwnedSemaphorePermit, ErrorResponse> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        if let Ok(permit) = Arc::clone(free_bytes).try_acquire_many_owned(bytes) {
            return Ok(permit);
        }
        let reserved = Arc::clone(free_bytes).acquire_many_owned(bytes);
        match tokio::time::timeout(self.max_wait, reserved).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(ErrorResponse::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many requests of this size are in progress. Try again in a moment.",
            )),
        }
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

    fn budget(bytes: usize) -> BodyBudget {
        let sizes = ShareSizes {
            max_small: 2,
            small: 4,
            large: bytes,
        };
        BodyBudget::new(sizes, sizes, Duration::from_millis(20))
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
        assert_eq!(budget.received.small.available_permits(), 4);
        assert_eq!(budget.received.large.available_permits(), 100);
    }

    #[tokio::test]
    async fn bodies_that_exceed_the_shared_budget_get_503() {
        let budget = budget(10);
        let first = budget.read(Body::from("12345678"), 10).await.unwrap();
        let copy = first.slice(2..);
        let error = budget.read(chunked(&["12", "34"]), 10).await.unwrap_err();
        let response = error.into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key("retry-after"));
        // The rejected body returned its memory; the copy still holds that of the first.
        assert_eq!(budget.received.small.available_permits(), 4);
        assert_eq!(budget.received.large.available_permits(), 2);
        drop(first);
        assert_eq!(
            status(budget.read(Body::from("123"), 10).await),
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
            ..budget(10)
        };
        let stalled = async || {
            let sent = futures_util::stream::iter(["12", "345", "678"].map(Ok::<_, Infallible>));
            let body = Body::from_stream(sent.chain(futures_util::stream::pending()));
            budget.read(body, 100).await
        };
        let (mut first, mut second) = (pin!(stalled()), pin!(stalled()));
        let mut parsed = pin!(budget.reserve_parsed(8));
        assert!(poll_once(first.as_mut()).await.is_none());
        assert!(poll_once(second.as_mut()).await.is_none());
        let _parsed = poll_once(parsed.as_mut()).await.unwrap().unwrap();
        let mut waiting = pin!(budget.reserve_parsed(9));
        assert!(poll_once(waiting.as_mut()).await.is_none());

        let mut small = pin!(budget.read(chunked(&["1", "2"]), 100));
        assert_eq!(poll_once(small.as_mut()).await.unwrap().unwrap(), "12");
        let mut small = pin!(budget.reserve_parsed(2));
        assert!(poll_once(small.as_mut()).await.unwrap().is_ok());
    }

    async fn poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context)));
        match polled.await {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    #[test]
    fn the_shares_suffice_for_every_connection_and_for_the_largest_request() {
        let connections = crate::server::ConnectionLimits::default().total;
        assert!(RECEIVED.small >= connections * RECEIVED.max_small);
        const { assert!(RECEIVED.large >= MAX_BODY_BYTES) };
        const { assert!(PARSED.large >= MAX_PARSED_SHARE * MAX_BODY_BYTES) };
    }
}
