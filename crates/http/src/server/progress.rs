//! Tracks the progress of requests: receiving, processing, done. Shutdown waits for those in
//! progress.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use tokio::sync::Notify;

/// Counts the requests in progress: received completely, without a response.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    count: AtomicUsize,
    none: Notify,
}

impl InFlight {
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub(super) async fn all_done(&self) {
        loop {
            // Subscribes before checking, so that no notification is missed.
            let none = self.none.notified();
            if self.count() == 0 {
                return;
            }
            none.await;
        }
    }
}

const RECEIVING: u8 = 0;
const PROCESSING: u8 = 1;
const DONE: u8 = 2;

/// The progress of a connection. HTTP/1.1 has one request at a time.
#[derive(Debug)]
pub(super) struct Progress {
    state: AtomicU8,
    /// Whether the whole body was read.
    is_body_read: AtomicBool,
    in_flight: Arc<InFlight>,
}

impl Progress {
    pub(super) fn new(in_flight: Arc<InFlight>) -> Self {
        Self {
            state: AtomicU8::new(DONE),
            is_body_read: AtomicBool::new(true),
            in_flight,
        }
    }

    /// Wraps the body of the current request for its handler.
    pub(super) fn track(self: &Arc<Self>, body: Incoming) -> Body {
        if body.is_end_stream() {
            self.received();
            return Body::empty();
        }
        self.is_body_read.store(false, Ordering::Release);
        let progress = Arc::clone(self);
        Body::new(TrackedBody { body, progress })
    }

    /// The body was read, or the handler dropped it.
    fn received(&self) {
        let was_receiving =
            self.state
                .compare_exchange(RECEIVING, PROCESSING, Ordering::AcqRel, Ordering::Acquire);
        if was_receiving.is_ok() {
            self.in_flight.count.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn done(&self) {
        if self.state.swap(DONE, Ordering::AcqRel) == PROCESSING
            && self.in_flight.count.fetch_sub(1, Ordering::AcqRel) == 1
        {
            self.in_flight.none.notify_waiters();
        }
    }

    pub(super) fn is_processing(&self) -> bool {
        self.state.load(Ordering::Acquire) == PROCESSING
    }
}

/// The current request of a connection. It is done when this is dropped.
pub(super) struct PendingRequest(Arc<Progress>);

impl PendingRequest {
    pub(super) fn begin(progress: &Arc<Progress>) -> Self {
        progress.state.store(RECEIVING, Ordering::Release);
        progress.is_body_read.store(true, Ordering::Release);
        Self(Arc::clone(progress))
    }

    /// Completes the request. If its body was not read to the end, for example because it is too
    /// large, the connection cannot be reused: the response says so, so that the client does not
    /// send another request on it.
    pub(super) fn finish(self, mut response: Response) -> Response {
        if !self.0.is_body_read.load(Ordering::Acquire) {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        response
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        self.0.done();
    }
}

/// Reports the end of a body, and that its handler dropped it.
struct TrackedBody {
    body: Incoming,
    progress: Arc<Progress>,
}

impl hyper::body::Body for TrackedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.progress.is_body_read.store(true, Ordering::Release);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        self.progress.received();
    }
}
