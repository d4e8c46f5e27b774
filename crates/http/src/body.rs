//! Request bodies, bounded in size and time, each by itself and all together.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use docent_catalog::ErrorSubject;
use http_body_util::BodyExt as _;
use serde::Deserialize;
use serde_json::Value;
use serde_path_to_error::Segment;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::AppState;
use crate::error::ErrorResponse;

const MIB: usize = 1024 * 1024;

/// DataHub's clients send batches of up to 15 MiB.
pub(crate) const MAX_BODY_BYTES: usize = 16 * MIB;

/// What all requests together may have sent at one time. They keep it until they are answered, also while they wait for
/// the writer; so this bounds what a queue of large writes takes.
const MAX_HELD_BYTES: usize = 256 * MIB;

/// How long a request waits for room before it is told to come again.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// A sender that is slower than this for one body is not worth a connection.
const MAX_READ_TIME: Duration = Duration::from_secs(30);

/// Reads JSON. A body that is none is told where it breaks, any other what is wrong with it and where; `taker` is what the
/// route is called there.
pub(crate) fn parse<'a, T: Deserialize<'a>>(
    bytes: &'a [u8],
    taker: &str,
) -> Result<T, ErrorResponse> {
    serde_json::from_slice(bytes).map_err(|error| {
        ErrorResponse::bad_request(match serde_json::from_slice::<Value>(bytes) {
            Err(broken) => format!("The body is not JSON: {broken}."),
            Ok(body) => format!(
                "The body is not what this {taker} takes: {}{error}.",
                place::<T>(bytes, &body)
            ),
        })
    })
}

/// Where a body is not what it should be: the position of the item in its list, the URN that the item is about, and the
/// field. Looked for only when something is wrong, because it takes a second reading.
fn place<'a, T: Deserialize<'a>>(bytes: &'a [u8], body: &Value) -> String {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) else {
        return String::new();
    };
    let mut place = String::new();
    let mut fields: Vec<&str> = Vec::new();
    let mut here = Some(body);
    for segment in error.path() {
        match segment {
            Segment::Seq { index } => {
                here = here.and_then(|list| list.get(index));
                if place.is_empty() {
                    fields.clear();
                    let item = ErrorSubject {
                        urn: here.and_then(urn_of).map(str::to_owned),
                        ..ErrorSubject::item(*index)
                    };
                    place = format!("{item}: ");
                }
            }
            Segment::Map { key } => {
                here = here.and_then(|object| object.get(key));
                fields.push(key);
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    if !fields.is_empty() {
        place = format!("{place}{}: ", fields.join("."));
    }
    place
}

/// The entity that an item is about, by any of the names that it has on the wire.
fn urn_of(item: &Value) -> Option<&str> {
    let names = ["entityUrn", "urn", "resource"];
    names.iter().find_map(|name| item.get(name)?.as_str())
}

/// The same, with an example of what is taken.
pub(crate) fn parse_like<'a, T: Deserialize<'a>>(
    bytes: &'a [u8],
    taker: &str,
    example: &str,
) -> Result<T, ErrorResponse> {
    parse(bytes, taker).map_err(|error| error.followed_by(&format!("Send {example}.")))
}

/// The whole body of a request, of at most `MAX` bytes.
#[derive(Debug)]
pub(crate) struct WholeBody<const MAX: usize = MAX_BODY_BYTES>(pub(crate) Bytes);

impl<const MAX: usize> FromRequest<AppState> for WholeBody<MAX> {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request<Body>, state: &AppState) -> Result<Self, ErrorResponse> {
        expect_plain(request.headers())?;
        let mut read = pin!(state.room().read(request.into_body(), MAX));
        // Most bodies are there with their heads, and need no clock.
        let at_once = poll_fn(|context| Poll::Ready(read.as_mut().poll(context)));
        if let Poll::Ready(read) = at_once.await {
            return read.map(Self);
        }
        match tokio::time::timeout(MAX_READ_TIME, read).await {
            Ok(read) => read.map(Self),
            Err(_) => Err(ErrorResponse::new(
                StatusCode::REQUEST_TIMEOUT,
                format!(
                    "The body did not arrive within {} s.",
                    MAX_READ_TIME.as_secs()
                ),
            )),
        }
    }
}

/// Refuses a compressed body: it would be read as broken JSON otherwise.
fn expect_plain(headers: &HeaderMap) -> Result<(), ErrorResponse> {
    for value in headers.get_all(CONTENT_ENCODING) {
        let encodings = value.to_str().unwrap_or("?");
        let is_plain = |encoding: &str| encoding.trim().eq_ignore_ascii_case("identity");
        if !encodings.split(',').all(is_plain) {
            return Err(ErrorResponse::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!(
                    "Bodies with Content-Encoding: {encodings} are not read. Send the body as it is, without compression."
                ),
            ));
        }
    }
    Ok(())
}

/// The memory that bodies share.
#[derive(Debug)]
pub(crate) struct Room {
    free: Arc<Semaphore>,
    max_wait: Duration,
}

impl Default for Room {
    fn default() -> Self {
        Self::new(MAX_HELD_BYTES, MAX_WAIT)
    }
}

/// Bytes that give their room back when the last of their copies goes.
struct Held {
    bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Room {
    fn new(bytes: usize, max_wait: Duration) -> Self {
        Self {
            free: Arc::new(Semaphore::new(bytes)),
            max_wait,
        }
    }

    /// Takes room for each piece as it arrives: who announces much and sends little keeps nobody out.
    async fn read(&self, mut body: Body, max: usize) -> Result<Bytes, ErrorResponse> {
        let mut pieces: Vec<Bytes> = Vec::new();
        let mut length = 0;
        let mut room: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                ErrorResponse::bad_request(format!("The body could not be read: {error}"))
            })?;
            // Trailers say nothing that we want to know.
            let Ok(piece) = frame.into_data() else {
                continue;
            };
            length += piece.len();
            if length > max {
                return Err(too_large(max));
            }
            let more = self.take(piece.len()).await?;
            match &mut room {
                Some(room) => room.merge(more),
                None => room = Some(more),
            }
            pieces.push(piece);
        }
        let Some(room) = room else {
            return Ok(Bytes::new());
        };
        let bytes = match pieces.as_mut_slice() {
            // Nearly every request is one piece, which needs no copy.
            [piece] => std::mem::take(piece),
            pieces => Bytes::from(pieces.concat()),
        };
        Ok(Bytes::from_owner(Held { bytes, _room: room }))
    }

    async fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, ErrorResponse> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        if let Ok(room) = Arc::clone(&self.free).try_acquire_many_owned(bytes) {
            return Ok(room);
        }
        let taken = Arc::clone(&self.free).acquire_many_owned(bytes);
        match tokio::time::timeout(self.max_wait, taken).await {
            Ok(Ok(room)) => Ok(room),
            _ => Err(ErrorResponse::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many large requests are being carried out. Try again a little later.",
            )),
        }
    }
}

fn too_large(max: usize) -> ErrorResponse {
    let (most, unit) = if max < MIB {
        (max / 1024, "KiB")
    } else {
        (max / MIB, "MiB")
    };
    ErrorResponse::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("The body is larger than {most} {unit}. Send it in several requests."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse as _;
    use std::convert::Infallible;

    fn room(bytes: usize) -> Room {
        Room::new(bytes, Duration::from_millis(20))
    }

    /// A body that arrives piece by piece.
    fn in_pieces(pieces: &'static [&'static str]) -> Body {
        let pieces = pieces.iter().map(|piece| Ok::<_, Infallible>(*piece));
        Body::from_stream(futures_util::stream::iter(pieces))
    }

    fn status(result: Result<Bytes, ErrorResponse>) -> StatusCode {
        result.unwrap_err().into_response().status()
    }

    #[tokio::test]
    async fn a_body_is_whole_however_it_arrives() {
        let room = room(100);
        for (body, expected) in [
            (Body::empty(), ""),
            (Body::from("all at once"), "all at once"),
            (
                in_pieces(&["in", "", " three", " pieces"]),
                "in three pieces",
            ),
        ] {
            assert_eq!(room.read(body, 50).await.unwrap(), expected);
        }
        let long = room.read(in_pieces(&["123", "456"]), 5).await;
        assert_eq!(status(long), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(room.free.available_permits(), 100);
    }

    #[tokio::test]
    async fn bodies_that_do_not_fit_beside_the_others_are_told_to_come_again() {
        let room = room(10);
        let first = room.read(Body::from("12345678"), 10).await.unwrap();
        let copy = first.slice(2..);
        let error = room.read(in_pieces(&["12", "34"]), 10).await.unwrap_err();
        let response = error.into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key("retry-after"));
        // What the refused one had taken is free again; what somebody still reads is not.
        assert_eq!(room.free.available_permits(), 2);
        drop(first);
        assert_eq!(
            status(room.read(Body::from("123"), 10).await),
            StatusCode::SERVICE_UNAVAILABLE
        );
        drop(copy);
        assert_eq!(
            room.read(Body::from("1234567890"), 10).await.unwrap(),
            "1234567890"
        );
    }
}
