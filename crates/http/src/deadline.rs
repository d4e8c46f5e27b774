//! The deadline of a request: how long the server works for it.
//!
//! The time starts when the body has arrived; receiving it has its own limit ([`crate::body`]).
//! After the deadline the request is answered with 503 and its work is dropped. A write that has
//! reached the store is completed, so the response says that it may be stored.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use axum::body::HttpBody as _;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::time::Instant;

use crate::AppState;
use crate::error::ErrorResponse;

/// How long a body may take to arrive. Slower senders get 408.
pub(crate) const MAX_READ_TIME: Duration = Duration::from_secs(30);

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
    at: Arc<Mutex<Instant>>,
}

impl Deadline {
    /// The deadline of a request whose body may take `receiving` to arrive.
    fn start(timeout: Duration, receiving: Duration) -> Self {
        Self {
            timeout,
            at: Arc::new(Mutex::new(Instant::now() + receiving + timeout)),
        }
    }

    /// Starts the time again: the body has arrived.
    pub(crate) fn restart(&self) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + self.timeout;
    }

    async fn passed(&self) {
        loop {
            let at = *self.at.lock().unwrap_or_else(PoisonError::into_inner);
            if Instant::now() >= at {
                return;
            }
            tokio::time::sleep_until(at).await;
        }
    }
}

/// Answers a request within its deadline.
pub(crate) async fn limit(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let RequestTimeout(timeout) = state.settings().request_timeout;
    let receiving = if request.body().is_end_stream() {
        Duration::ZERO
    } else {
        MAX_READ_TIME
    };
    let deadline = Deadline::start(timeout, receiving);
    request.extensions_mut().insert(deadline.clone());
    let may_write = ![Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
    let mut response = pin!(next.run(request));
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

fn timed_out(timeout: Duration, may_write: bool) -> ErrorResponse {
    let seconds = timeout.as_secs();
    let error = ErrorResponse::new(
        StatusCode::SERVICE_UNAVAILABLE,
        format!(
            "The request took longer than {seconds} s and was stopped. Send a smaller one, or raise --request-timeout."
        ),
    );
    if may_write {
        return error
            .followed_by("If it is a write, it may have been stored: read before a retry.");
    }
    error
}
