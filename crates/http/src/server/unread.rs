//! Bodies that are refused before they were read to their end, because they are too large, say. What is left of them
//! stands in the way of the next request, so the connection ends; here the reply says so, or the client would send its
//! next request into it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request};
use axum::response::Response;
use hyper::body::{Body, Frame, Incoming, SizeHint};

/// A body that remembers whether its end was seen.
pub(super) struct Watched {
    body: Incoming,
    ended: Arc<AtomicBool>,
}

/// What is known about a [`Watched`] after it is gone.
pub(super) struct Watch(Arc<AtomicBool>);

pub(super) fn watched(request: Request<Incoming>) -> (Request<Watched>, Watch) {
    let ended = Arc::new(AtomicBool::new(request.body().is_end_stream()));
    let watch = Watch(Arc::clone(&ended));
    (request.map(|body| Watched { body, ended }), watch)
}

impl Watch {
    /// The reply, with the header that ends the connection if it has to end.
    pub(super) fn told(&self, mut reply: Response) -> Response {
        if !self.0.load(Ordering::Acquire) {
            let close = HeaderValue::from_static("close");
            reply.headers_mut().insert(CONNECTION, close);
        }
        reply
    }
}

impl Body for Watched {
    type Data = <Incoming as Body>::Data;
    type Error = <Incoming as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.ended.store(true, Ordering::Release);
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
