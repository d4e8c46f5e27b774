//! Limits the bytes of replies: of stored aspects in one reply, and of all replies together until
//! they have been sent.
//!
//! Aspects have up to 16 MiB, so a limit on rows is not enough. Handlers read what they return
//! through a [`ReplyBudget`], which knows the size of the values before it reads them, and add each
//! to it. They read many entities in chunks of [`READ_CHUNK`]. Checking and copying long values
//! takes long, so they do it in [`ReplyBudget::build`].
//!
//! A client may read its reply slowly, so the replies in memory share [`ReplyMemory`]. The length
//! of a reply shows only when it is complete. It would take memory while it waits, so there is no
//! wait: a reply that does not fit is dropped, and the client gets 503.

use std::collections::{BTreeMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use docent_catalog::{
    AspectKey, AspectRow, Catalog, EntityAspects, LoadError, LoadedBytes, ReadReply, ReadRequest,
    RowVersion, StoredAspect,
};
use docent_model::{AspectName, Urn};
use hyper::body::{Frame, SizeHint};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::deadline;
use crate::error::ErrorResponse;
use crate::memory::{MIB, ReservedMemory, Share, Shares, Usage, reserved_bytes};
use crate::wire::raw;

/// How many entities are read at once.
pub(crate) const READ_CHUNK: usize = 8;

/// Four times the largest aspect.
pub(crate) const MAX_BYTES: usize = 64 * MIB;

/// Memory for the replies that are being sent, and for the aspects of those being written.
const SMALL_REPLIES: Share = Share {
    max: MIB,
    total: 64 * MIB,
};
const LARGE_REPLIES: usize = 192 * MIB;
/// Shorter replies do not count: there is one for each connection at most.
const UNCOUNTED_BYTES: usize = 16 * 1024;

/// How long a part of a response waits for memory.
const MAX_PART_WAIT: Duration = Duration::from_secs(15);

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
    pub(crate) fn usage(&self) -> Usage {
        self.0.usage()
    }

    /// Reserves memory for a part of a response that has no length until it has been sent.
    pub(crate) async fn hold_part(&self, part: Vec<u8>) -> Result<Bytes, ErrorResponse> {
        if part.len() <= UNCOUNTED_BYTES {
            return Ok(part.into());
        }
        let reserved = self.0.reserve(part.len(), MAX_PART_WAIT).await?;
        Ok(reserved_bytes(part, reserved))
    }

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
    /// The bytes of the values in the reply that is being written.
    used_bytes: usize,
    reserved: Option<ReservedMemory>,
    /// What was read for the reply.
    loaded: LoadedBytes,
}

impl<'m> ReplyBudget<'m> {
    pub(crate) fn new(memory: &'m ReplyMemory) -> Self {
        Self {
            memory,
            used_bytes: 0,
            reserved: None,
            loaded: LoadedBytes::default(),
        }
    }

    /// Reads values for the reply. Fails before it reads them if the reply would exceed the limit.
    pub(crate) async fn read(
        &mut self,
        catalog: &Catalog,
        request: ReadRequest<'_>,
    ) -> Result<ReadReply, ErrorResponse> {
        let read = catalog.load(request, self.remaining(), &mut self.loaded);
        read.await.map_err(load_error)
    }

    /// All aspects of an entity.
    pub(crate) async fn read_entity(
        &mut self,
        catalog: &Catalog,
        urn: &Urn,
    ) -> Result<EntityAspects, ErrorResponse> {
        let request = ReadRequest::entities(std::slice::from_ref(urn));
        let mut entities = self.read(catalog, request).await?.entities;
        Ok(entities.pop().unwrap_or_default())
    }

    /// Some aspects of an entity: the latest version, or the newest point of a time series.
    pub(crate) async fn read_aspects(
        &mut self,
        catalog: &Catalog,
        urn: &Urn,
        mut names: Vec<AspectName>,
    ) -> Result<EntityAspects, ErrorResponse> {
        let mut seen = HashSet::with_capacity(names.len());
        names.retain(|name| seen.insert(*name));
        let keys: Vec<AspectKey> = names
            .iter()
            .map(|name| AspectKey::new(urn, *name))
            .collect();
        let rows = self.read_current(catalog, &keys).await?;
        let found = names.into_iter().zip(rows);
        Ok(found
            .filter_map(|(name, row)| Some((name, Arc::unwrap_or_clone(row?))))
            .collect())
    }

    /// [`ReplyBudget::read`] of the latest versions and points.
    pub(crate) async fn read_current(
        &mut self,
        catalog: &Catalog,
        keys: &[AspectKey],
    ) -> Result<Vec<AspectRow>, ErrorResponse> {
        let read = catalog.load_current(keys, self.remaining(), &mut self.loaded);
        read.await.map_err(load_error)
    }

    /// One version of an aspect.
    pub(crate) async fn read_version(
        &mut self,
        catalog: &Catalog,
        key: &AspectKey,
        version: RowVersion,
    ) -> Result<Option<StoredAspect>, ErrorResponse> {
        let row = catalog.read_version(key, version).await?;
        let bytes = row.as_ref().map_or(0, StoredAspect::value_bytes);
        if bytes > self.remaining() {
            return Err(too_large());
        }
        catalog.add_loaded(&mut self.loaded, bytes).await?;
        Ok(row)
    }

    /// How much may be read. All of it will be in the reply.
    fn remaining(&self) -> u64 {
        (MAX_BYTES as u64).saturating_sub(self.loaded.bytes())
    }

    /// Builds the reply, or a part of it, from what was read: beside the runtime if that is long.
    pub(crate) async fn build<T>(&mut self, build: impl FnOnce(&mut Self) -> T) -> T {
        let is_long = self.loaded.bytes() > LONG_TEXT_BYTES as u64;
        long_work::run(is_long, || build(self)).await
    }

    /// Embeds stored JSON text, or fails if the reply would exceed the limit.
    pub(crate) fn raw(&mut self, text: String) -> Result<Box<RawValue>, ErrorResponse> {
        self.add(text.len())?;
        raw(text)
    }

    /// Counts bytes of the reply.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), ErrorResponse> {
        self.used_bytes += bytes;
        if self.used_bytes > MAX_BYTES {
            return Err(too_large());
        }
        if self.used_bytes > UNCOUNTED_BYTES {
            let ReplyMemory(shares) = self.memory;
            shares.extend(&mut self.reserved, self.used_bytes)?;
        }
        Ok(())
    }

    /// An aspect in the form of the OpenAPI endpoints.
    pub(crate) fn aspect(
        &mut self,
        row: StoredAspect,
        with_system_metadata: bool,
    ) -> Result<AspectReply, ErrorResponse> {
        let system_metadata = row.system_metadata.filter(|_| with_system_metadata);
        Ok(AspectReply {
            value: self.raw(row.metadata)?,
            system_metadata: system_metadata.map(|text| self.raw(text)).transpose()?,
        })
    }

    /// The aspects of an entity, by name.
    pub(crate) fn aspects(
        &mut self,
        rows: impl IntoIterator<Item = (AspectName, StoredAspect)>,
        with_system_metadata: bool,
    ) -> Result<BTreeMap<&'static str, AspectReply>, ErrorResponse> {
        rows.into_iter()
            .map(|(name, row)| Ok((name.as_str(), self.aspect(row, with_system_metadata)?)))
            .collect()
    }

    /// Writes the reply. A buffer that grows would take more memory than is reserved.
    pub(crate) fn reply(&self, value: &impl Serialize) -> Result<Response, ErrorResponse> {
        let mut body = Vec::with_capacity(self.used_bytes + self.used_bytes / 8);
        serde_json::to_writer(&mut body, value).map_err(|error| {
            tracing::error!(%error, "a reply cannot be written: {error}");
            ErrorResponse::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the reply cannot be written",
            )
        })?;
        let json = HeaderValue::from_static("application/json");
        Ok(([(header::CONTENT_TYPE, json)], body).into_response())
    }
}

fn load_error(error: LoadError) -> ErrorResponse {
    match error {
        LoadError::Failed(error) => error.into(),
        LoadError::TooLong(_) => too_large(),
    }
}

fn too_large() -> ErrorResponse {
    ErrorResponse::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!(
            "the reply would exceed {} MiB: request fewer entities or aspects",
            MAX_BYTES / MIB
        ),
    )
}

/// How many bytes a text takes as a JSON string that has JSON in it.
pub(crate) fn escaped_length(text: &str) -> usize {
    let escaped = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1F);
    text.len() + text.bytes().filter(|byte| escaped(byte)).count()
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
        first.raw(text.clone()).unwrap();
        assert_eq!(memory.0.free(), [40 * 1024 - text.len(), 100 * 1024]);
        for _ in 0..2 {
            first.raw(text.clone()).unwrap();
        }
        assert_eq!(memory.0.free(), [40 * 1024, 100 * 1024 - 3 * text.len()]);
        let mut second = ReplyBudget::new(&memory);
        second.raw(text.clone()).unwrap();
        let error = second.raw(text.clone()).unwrap_err().into_response();
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
