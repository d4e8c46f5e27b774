//! Limits the bytes of replies: of stored aspects in one reply, and of all replies together until
//! they have been sent.
//!
//! Aspects have any size, so a limit on rows is not enough. Handlers that return several aspects
//! read them in chunks of [`READ_CHUNK`] and add each through a [`ReplyBudget`].
//!
//! A client may read its reply slowly, so the replies in memory share [`ReplyMemory`]. The length
//! of a reply shows only when it is complete. It would take memory while it waits, so there is no
//! wait: a reply that does not fit is dropped, and the client gets 503.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use docent_catalog::StoredAspect;
use hyper::body::{Frame, SizeHint};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::deadline;
use crate::error::ErrorResponse;
use crate::memory::{MIB, ReservedMemory, Share, Shares, reserved_bytes};
use crate::wire::raw;

/// How many entities are read at once, which bounds the memory used besides the reply itself.
pub(crate) const READ_CHUNK: usize = 8;

/// Four times the largest aspect.
const MAX_BYTES: usize = 64 * MIB;

/// Memory for the replies that are being sent, and for the aspects of those being written.
const SMALL_REPLIES: Share = Share {
    max: MIB,
    total: 64 * MIB,
};
const LARGE_REPLIES: usize = 192 * MIB;
/// Shorter replies do not count: there is one for each connection at most.
const UNCOUNTED_BYTES: usize = 16 * 1024;

/// The memory that all replies share.
#[derive(Debug)]
pub(crate) struct ReplyMemory(Shares);

impl Default for ReplyMemory {
    fn default() -> Self {
        Self(Shares::new(&[SMALL_REPLIES], LARGE_REPLIES))
    }
}

/// Marks a response whose body is in memory once for all clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedReply;

impl ReplyMemory {
    /// Reserves memory for a response until it has been sent.
    pub(crate) fn hold(&self, response: Response, may_write: bool) -> Response {
        let length = response.body().size_hint().lower();
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length <= UNCOUNTED_BYTES || response.extensions().get::<SharedReply>().is_some() {
            return response;
        }
        match self.0.try_reserve(length) {
            Ok(reserved) => response.map(|body| {
                let reserved = Arc::new(reserved);
                Body::new(HeldBody { body, reserved })
            }),
            Err(error) if may_write => error.followed_by(deadline::MAY_BE_STORED).into_response(),
            Err(error) => error.into_response(),
        }
    }
}

/// A body whose bytes hold their memory: they are in the buffer of the connection for longer than
/// the body exists.
struct HeldBody {
    body: Body,
    reserved: Arc<ReservedMemory>,
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        polled.map_ok(|frame| {
            frame.map_data(|bytes| reserved_bytes(bytes, Arc::clone(&self.reserved)))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The stored aspects of one reply.
#[derive(Debug)]
pub(crate) struct ReplyBudget<'m> {
    memory: &'m ReplyMemory,
    used_bytes: usize,
    reserved: Option<ReservedMemory>,
}

impl<'m> ReplyBudget<'m> {
    pub(crate) fn new(memory: &'m ReplyMemory) -> Self {
        Self {
            memory,
            used_bytes: 0,
            reserved: None,
        }
    }

    /// Embeds stored JSON text, or fails if the reply would exceed the limit.
    pub(crate) fn raw(&mut self, text: &str) -> Result<Box<RawValue>, ErrorResponse> {
        self.used_bytes += text.len();
        if self.used_bytes > MAX_BYTES {
            return Err(ErrorResponse::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "the reply would exceed {} MiB: request fewer entities or aspects",
                    MAX_BYTES / MIB
                ),
            ));
        }
        if self.used_bytes > UNCOUNTED_BYTES {
            let ReplyMemory(shares) = self.memory;
            shares.extend(&mut self.reserved, self.used_bytes)?;
        }
        raw(text)
    }

    /// An aspect in the form of the OpenAPI endpoints.
    pub(crate) fn aspect(
        &mut self,
        row: &StoredAspect,
        with_system_metadata: bool,
    ) -> Result<AspectReply, ErrorResponse> {
        let system_metadata = row.system_metadata.as_deref();
        let system_metadata = system_metadata.filter(|_| with_system_metadata);
        Ok(AspectReply {
            value: self.raw(&row.metadata)?,
            system_metadata: system_metadata.map(|text| self.raw(text)).transpose()?,
        })
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AspectReply {
    value: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_metadata: Option<Box<RawValue>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt as _, StreamExt as _};
    use http_body_util::BodyExt as _;

    fn memory() -> ReplyMemory {
        let small = Share {
            max: 32 * 1024,
            total: 40 * 1024,
        };
        ReplyMemory(Shares::new(&[small], 100 * 1024))
    }

    fn response(kib: usize) -> Response {
        vec![b'x'; kib * 1024].into_response()
    }

    #[tokio::test]
    async fn replies_that_exceed_the_shared_budget_get_503_until_others_are_sent() {
        let memory = memory();
        let hold = |kib| memory.hold(response(kib), false);
        let large = hold(90);
        assert_eq!(large.body().size_hint().exact(), Some(90 * 1024));
        let rejected = hold(50);
        assert_eq!(rejected.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(rejected.headers().contains_key("retry-after"));
        // Smaller ones are sent meanwhile.
        let small = hold(30);
        assert_eq!(small.status(), StatusCode::OK);
        assert_eq!(hold(30).status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(hold(16).status(), StatusCode::OK);
        let mut shared = response(90);
        shared.extensions_mut().insert(SharedReply);
        assert_eq!(memory.hold(shared, false).status(), StatusCode::OK);

        // The connection has the bytes after the body has ended.
        let mut stream = large.into_body().into_data_stream();
        let bytes = stream.next().await.unwrap().unwrap();
        assert!(stream.next().await.is_none());
        drop(stream);
        assert_eq!(hold(50).status(), StatusCode::SERVICE_UNAVAILABLE);
        drop(bytes);
        assert_eq!(hold(50).status(), StatusCode::OK);
    }

    #[test]
    fn aspects_of_replies_that_are_written_count() {
        let memory = memory();
        let text = format!("\"{}\"", "x".repeat(30 * 1024));
        let mut first = ReplyBudget::new(&memory);
        first.raw(&text).unwrap();
        assert_eq!(memory.0.free(), [40 * 1024 - text.len(), 100 * 1024]);
        for _ in 0..2 {
            first.raw(&text).unwrap();
        }
        assert_eq!(memory.0.free(), [40 * 1024, 100 * 1024 - 3 * text.len()]);
        let mut second = ReplyBudget::new(&memory);
        second.raw(&text).unwrap();
        let error = second.raw(&text).unwrap_err().into_response();
        assert_eq!(error.status(), StatusCode::SERVICE_UNAVAILABLE);
        drop((first, second));
        assert_eq!(memory.0.free(), [40 * 1024, 100 * 1024]);
    }

    #[test]
    fn a_write_whose_reply_does_not_fit_says_that_it_may_be_stored() {
        let memory = memory();
        let _large = memory.hold(response(90), true);
        let rejected = memory.hold(response(90), true);
        let text = rejected
            .into_body()
            .collect()
            .now_or_never()
            .unwrap()
            .unwrap();
        let text = String::from_utf8(text.to_bytes().to_vec()).unwrap();
        assert!(text.contains("may have been stored"), "{text}");
    }
}
