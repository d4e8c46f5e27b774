//! Stored aspects on their way into a reply, bounded in bytes.
//!
//! Aspects are large or small as their writers please, so a number of entities or rows bounds nothing. Whoever shows several
//! reads them in pieces of [`PIECE`] and takes each text through [`Shown::raw`].

use axum::http::StatusCode;
use docent_catalog::StoredAspect;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::ErrorResponse;
use crate::restli::raw;

/// How many are read at once: no more than these are in memory beside what is shown.
pub(crate) const PIECE: usize = 8;

const MIB: usize = 1024 * 1024;
/// Four times the largest aspect.
const MAX_BYTES: usize = 64 * MIB;

/// How much a reply shows so far.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    bytes: usize,
}

impl Shown {
    /// A stored JSON text as it is, unless the reply gets too long with it.
    pub(crate) fn raw(&mut self, text: &str) -> Result<Box<RawValue>, ErrorResponse> {
        self.bytes += text.len();
        if self.bytes > MAX_BYTES {
            return Err(ErrorResponse::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "the reply would have more than {} MiB: ask for fewer entities or aspects at once",
                    MAX_BYTES / MIB
                ),
            ));
        }
        raw(text)
    }

    /// An aspect in the form of the OpenAPI.
    pub(crate) fn aspect(
        &mut self,
        row: &StoredAspect,
        noted: bool,
    ) -> Result<AspectReply, ErrorResponse> {
        let system_metadata = row.system_metadata.as_deref().filter(|_| noted);
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
