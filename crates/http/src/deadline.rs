//! The deadline of a request: how long the server works for it.
//!
//! The time starts when the body has arrived; receiving it has its own limit ([`crate::body`]).
//! After the deadline the request is answered with 503 and its work is dropped. A write that has
//! reached the store is completed, so the response says that it may be stored.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use axum::body::HttpBody as _;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use tokio::time::Instant;

use crate::error::ErrorResponse;

/// How long a body may take to arrive. Slower senders get 408.
pub(crate) const MAX_READ_TIME: Duration = Duration::from_secs(30);

/// For errors that do not say whether a request was executed.
pub(crate) const MAY_BE_STORED: &str =
    "If it is a write, it may have been stored: read before a retry.";

/// How long a request may take.
#[derive(Debug, Clone, Copy)]
pub struct RequestTimeout(pub Duration);

impl Default for RequestTimeout {
    fn default() -> Self {
        Self(Duration::from_secs(30))
    }
}

/// The deadline of one request. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Deadline {
    timeout: Duration,
    started: Instant,
    /// Microseconds after the start.
    at: Arc<AtomicU64>,
}

impl Deadline {
    /// The deadline of a request whose body may take `receiving` to arrive.
    fn start(timeout: Duration, receiving: Duration) -> Self {
        Self {
            timeout,
            started: Instant::now(),
            at: Arc::new(AtomicU64::new(micros(receiving + timeout))),
        }
    }

    /// The body arrived with the headers: no time was needed to receive it.
    pub(crate) fn count_from_start(&self) {
        self.at.store(micros(self.timeout), Ordering::Relaxed);
    }

    /// Starts the time again: the body has arrived.
    pub(crate) fn restart(&self) {
        let at = micros(self.started.elapsed() + self.timeout);
        self.at.store(at, Ordering::Relaxed);
    }

    async fn passed(&self) {
        loop {
            let at = self.started + Duration::from_micros(self.at.load(Ordering::Relaxed));
            let now = Instant::now();
            if now >= at {
                return;
            }
            // A restart may move the deadline forward, but to no less than a timeout from now.
            tokio::time::sleep_until(at.min(now + self.timeout)).await;
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Answers a request within its deadline.
pub(crate) async fn within<F>(
    limit: RequestTimeout,
    mut request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response
where
    F: Future<Output = Response>,
{
    let RequestTimeout(timeout) = limit;
    let receiving = if request.body().is_end_stream() {
        Duration::ZERO
    } else {
        MAX_READ_TIME
    };
    let deadline = Deadline::start(timeout, receiving);
    request.extensions_mut().insert(deadline.clone());
    let may_write = may_write(&request);
    let mut response = pin!(answer(request));
    // Most requests never wait and need no timer.
    let immediate = poll_fn(|context| Poll::Ready(response.as_mut().poll(context)));
    if let Poll::Ready(response) = immediate.await {
        return response;
    }
    tokio::select! {
        biased;
        () = deadline.passed() => timed_out(timeout, may_write).into_response(),
        response = response => response,
    }
}

/// Whether the method of a request allows it to write.
pub(crate) fn may_write(request: &Request) -> bool {
    ![Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method())
}

fn timed_out(timeout: Duration, may_write: bool) -> ErrorResponse {
    let seconds = timeout.as_secs();
    let error = ErrorResponse::new(
        StatusCode::SERVICE_UNAVAILABLE,
        format!(
            "The request took longer than {seconds} s and was stopped. Send a smaller one, or raise --request-timeout."
        ),
    );
    if may_write {
        return error.followed_by(MAY_BE_STORED);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::body::Body;
    use axum::extract::Extension;
    use axum::middleware::{Next, from_fn};
    use axum::routing::post;
    use tower::ServiceExt as _;

    const LIMIT: RequestTimeout = RequestTimeout(Duration::from_millis(20));

    /// The status of a request and the time that it took.
    async fn send(router: Router, body: Body) -> (StatusCode, Duration) {
        let router = router.layer(from_fn(|request, next: Next| {
            within(LIMIT, request, |request| next.run(request))
        }));
        let request = Request::post("/").body(body).unwrap();
        let started = Instant::now();
        let response = router.oneshot(request).await.unwrap();
        (response.status(), started.elapsed())
    }

    #[tokio::test]
    async fn a_request_that_takes_too_long_is_answered_with_503() {
        let router = Router::new().route("/", post(std::future::pending::<()>));
        let (status, took) = send(router, Body::empty()).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(took >= LIMIT.0, "{took:?}");
    }

    #[tokio::test]
    async fn the_time_starts_when_the_body_has_arrived() {
        let never_ends = async |Extension(deadline): Extension<Deadline>| {
            // The time for the body is running.
            tokio::time::sleep(2 * LIMIT.0).await;
            deadline.restart();
            std::future::pending::<()>().await;
        };
        let router = Router::new().route("/", post(never_ends));
        let (status, took) = send(router, Body::from("body")).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!((3 * LIMIT.0..MAX_READ_TIME).contains(&took), "{took:?}");
    }
}
