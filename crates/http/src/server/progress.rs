//! How far requests are: which of them have arrived, which are answered, and which were answered before they had arrived.

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

/// Requests that have arrived in full and are not answered yet.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    count: AtomicUsize,
    none: Notify,
}

impl InFlight {
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub(super) async fn all_answered(&self) {
        loop {
            // Listening begins before looking: nobody ends unnoticed in between.
            let none = self.none.notified();
            if self.count() == 0 {
                return;
            }
            none.await;
        }
    }
}

const ARRIVING: u8 = 0;
const CARRIED_OUT: u8 = 1;
const ANSWERED: u8 = 2;

/// How far a connection is with its request. HTTP/1.1 has one at a time.
#[derive(Debug)]
pub(super) struct Progress {
    state: AtomicU8,
    /// Whether the end of its body was seen.
    is_read: AtomicBool,
    in_flight: Arc<InFlight>,
}

impl Progress {
    pub(super) fn new(in_flight: Arc<InFlight>) -> Self {
        Self {
            state: AtomicU8::new(ANSWERED),
            is_read: AtomicBool::new(true),
            in_flight,
        }
    }

    /// The body of the request that has begun, as its handler gets it.
    pub(super) fn watch(self: &Arc<Self>, body: Incoming) -> Body {
        if body.is_end_stream() {
            self.arrived();
            return Body::empty();
        }
        self.is_read.store(false, Ordering::Release);
        let progress = Arc::clone(self);
        Body::new(Arriving { body, progress })
    }

    /// The body is there, or nobody wants it.
    fn arrived(&self) {
        let arriving =
            self.state
                .compare_exchange(ARRIVING, CARRIED_OUT, Ordering::AcqRel, Ordering::Acquire);
        if arriving.is_ok() {
            self.in_flight.count.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn answered(&self) {
        if self.state.swap(ANSWERED, Ordering::AcqRel) == CARRIED_OUT
            && self.in_flight.count.fetch_sub(1, Ordering::AcqRel) == 1
        {
            self.in_flight.none.notify_waiters();
        }
    }

    pub(super) fn is_carried_out(&self) -> bool {
        self.state.load(Ordering::Acquire) == CARRIED_OUT
    }
}

/// A request that has begun. Whether it is answered or given up, it is over with this.
pub(super) struct Unanswered(Arc<Progress>);

impl Unanswered {
    pub(super) fn begin(progress: &Arc<Progress>) -> Self {
        progress.state.store(ARRIVING, Ordering::Release);
        progress.is_read.store(true, Ordering::Release);
        Self(Arc::clone(progress))
    }

    /// The reply to it. What is left of a body that was refused before its end, because it is too large, say, stands in
    /// the way of the next request, so the connection ends; the reply says so, or the client would send its next request
    /// into it.
    pub(super) fn answer(self, mut reply: Response) -> Response {
        if !self.0.is_read.load(Ordering::Acquire) {
            let close = HeaderValue::from_static("close");
            reply.headers_mut().insert(CONNECTION, close);
        }
        reply
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        self.0.answered();
    }
}

/// A body on its way. Whoever reads it lets go of it at its end, and who does not want it, at once.
struct Arriving {
    body: Incoming,
    progress: Arc<Progress>,
}

impl hyper::body::Body for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.progress.is_read.store(true, Ordering::Release);
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

impl Drop for Arriving {
    fn drop(&mut self) {
        self.progress.arrived();
    }
}
