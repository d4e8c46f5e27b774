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
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::AppState;
use crate::deadline::{Deadline, MAX_READ_TIME};
use crate::error::ErrorResponse;

const MIB: usize = 1024 * 1024;

/// DataHub's clients send batches of up to 15 MiB.
pub(crate) const MAX_BODY_BYTES: usize = 16 * MIB;

/// Memory for the bodies of all requests without a response. Queued writes count, so this bounds
/// the write queue.
const MAX_TOTAL_BYTES: usize = 256 * MIB;

/// How long a request waits for memory before it gets 503.
const MAX_WAIT: Duration = Duration::from_secs(5);

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
    free_bytes: Arc<Semaphore>,
    max_wait: Duration,
}

impl Default for BodyBudget {
    fn default() -> Self {
        Self::new(MAX_TOTAL_BYTES, MAX_WAIT)
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
    fn new(bytes: usize, max_wait: Duration) -> Self {
        Self {
            free_bytes: Arc::new(Semaphore::new(bytes)),
            max_wait,
        }
    }

    /// Reserves memory chunk by chunk, so that a large Content-Length alone reserves nothing.
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
            let reserved = self.reserve(chunk.len()).await?;
            match &mut permit {
                Some(permit) => permit.merge(reserved),
                None => permit = Some(reserved),
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
    pub(crate) async fn reserve(
        &self,
        bytes: usize,
    ) -> Result<OwnedSemaphorePermit, ErrorResponse> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        if let Ok(permit) = Arc::clone(&self.free_bytes).try_acquire_many_owned(bytes) {
            return Ok(permit);
        }
        let reserved = Arc::clone(&self.free_bytes).acquire_many_owned(bytes);
        match tokio::time::timeout(self.max_wait, reserved).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(ErrorResponse::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many large requests are in progress. Try again in a moment.",
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
    use std::convert::Infallible;

    fn budget(bytes: usize) -> BodyBudget {
        BodyBudget::new(bytes, Duration::from_millis(20))
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
        assert_eq!(budget.free_bytes.available_permits(), 100);
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
        assert_eq!(budget.free_bytes.available_permits(), 2);
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
}
