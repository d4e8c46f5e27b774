//! Limits the bytes of stored aspects in one reply.
//!
//! Aspects have any size, so a limit on rows is not enough. Handlers that return several aspects
//! read them in chunks of [`READ_CHUNK`] and add each through a [`ReplyBudget`].

use axum::http::StatusCode;
use docent_catalog::StoredAspect;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::ErrorResponse;
use crate::wire::raw;

/// How many entities are read at once, which bounds the memory used besides the reply itself.
pub(crate) const READ_CHUNK: usize = 8;

const MIB: usize = 1024 * 1024;
/// Four times the largest aspect.
const MAX_BYTES: usize = 64 * MIB;

#[derive(Debug, Default)]
pub(crate) struct ReplyBudget {
    used_bytes: usize,
}

impl ReplyBudget {
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
