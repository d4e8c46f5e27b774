//! Request bodies, bounded in size and time.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::error::Refusal;

/// DataHub's clients send batches of up to 15 MiB.
pub(crate) const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// A sender that is slower than this for one body is not worth a connection.
const MAX_READ_TIME: Duration = Duration::from_secs(30);

/// Reads JSON. A body that is none is told where it breaks, any other what is wrong with it; `taker` is what the route is
/// called there.
pub(crate) fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8], taker: &str) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| {
        Refusal::bad_request(match serde_json::from_slice::<IgnoredAny>(bytes) {
            Err(broken) => format!("The body is not JSON: {broken}."),
            Ok(_) => format!("The body is not what this {taker} takes: {error}."),
        })
    })
}

/// The same, with an example of what is taken.
pub(crate) fn parse_like<'a, T: Deserialize<'a>>(
    bytes: &'a [u8],
    taker: &str,
    example: &str,
) -> Result<T, Refusal> {
    parse(bytes, taker).map_err(|refusal| refusal.followed_by(&format!("Send {example}.")))
}

/// The whole body of a request.
#[derive(Debug)]
pub(crate) struct WholeBody(pub(crate) Bytes);

impl<S: Sync> FromRequest<S> for WholeBody {
    type Rejection = Refusal;

    async fn from_request(request: Request<Body>, _state: &S) -> Result<Self, Refusal> {
        let collect = Limited::new(request.into_body(), MAX_BODY_BYTES).collect();
        match tokio::time::timeout(MAX_READ_TIME, collect).await {
            Ok(Ok(body)) => Ok(Self(body.to_bytes())),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "The body is larger than {} MiB. Send it in several requests.",
                    MAX_BODY_BYTES / (1024 * 1024)
                ),
            )),
            Ok(Err(error)) => Err(Refusal::bad_request(format!(
                "The body could not be read: {error}"
            ))),
            Err(_) => Err(Refusal::new(
                StatusCode::REQUEST_TIMEOUT,
                format!(
                    "The body did not arrive within {} s.",
                    MAX_READ_TIME.as_secs()
                ),
            )),
        }
    }
}
