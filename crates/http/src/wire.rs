//! Helpers for request and response bodies, shared by the Rest.li and OpenAPI endpoints.
//!
//! Nothing here belongs to one of the two APIs: their own conventions stay in [`crate::restli`] and
//! [`crate::openapi`].

use std::fmt;
use std::marker::PhantomData;

use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use docent_catalog::{Catalog, Error, ErrorSubject, MAX_PROPOSALS};
use docent_model::{AspectName, Registry, SystemMetadata, Urn};
use percent_encoding::percent_decode_str;
use serde::de::{self, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use serde_path_to_error::Segment;

use crate::error::ErrorResponse;

/// Errors of larger bodies do not say which item they are about.
const MAX_LOCATED_BYTES: usize = 1024 * 1024;

/// Parses a JSON body. The error says where the JSON ends, or which member does not fit.
pub(crate) async fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ErrorResponse> {
    let is_long = bytes.len() > LONG_TEXT_BYTES;
    long_work::run(is_long, || parse_now(bytes)).await
}

fn parse_now<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ErrorResponse> {
    serde_json::from_slice(bytes).map_err(|error| {
        if let Err(syntax) = serde_json::from_slice::<IgnoredAny>(bytes) {
            return ErrorResponse::bad_request(format!("The body is not JSON: {syntax}."));
        }
        let location = location::<T>(bytes);
        ErrorResponse::bad_request(format!(
            "The body does not fit this endpoint: {location}{error}."
        ))
    })
}

/// [`parse`], with an example of a valid body in the error.
pub(crate) async fn parse_like<'a, T: Deserialize<'a>>(
    bytes: &'a [u8],
    example: &str,
) -> Result<T, ErrorResponse> {
    let parsed = parse(bytes).await;
    parsed.map_err(|error| error.followed_by(&format!("Send {example}.")))
}

/// [`parse`] for a body that may be empty.
pub(crate) async fn parse_optional<'a, T: Deserialize<'a> + Default>(
    bytes: &'a [u8],
) -> Result<T, ErrorResponse> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(T::default());
    }
    parse(bytes).await
}

/// A list in a request body. Rejects a longer one than the catalog applies before it takes memory.
#[derive(Debug)]
pub(crate) struct Items<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Items<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ItemsVisitor(PhantomData))
    }
}

struct ItemsVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ItemsVisitor<T> {
    type Value = Items<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Items<T>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = elements.next_element()? {
            if items.len() == MAX_PROPOSALS {
                return Err(de::Error::custom(format_args!(
                    "a list may have at most {MAX_PROPOSALS} items: send it in parts"
                )));
            }
            items.push(item);
        }
        Ok(Items(items))
    }
}

/// The item and the member that do not fit, as a prefix for an error. Parses a second time, so it
/// is for errors only. A parsed body takes many times its memory, so a large one is not parsed.
fn location<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> String {
    if bytes.len() > MAX_LOCATED_BYTES {
        return String::new();
    }
    let Ok(body) = serde_json::from_slice::<Value>(bytes) else {
        return String::new();
    };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut deserializer) else {
        return String::new();
    };
    let mut prefix = String::new();
    let mut members: Vec<&str> = Vec::new();
    let mut value = Some(&body);
    for segment in error.path() {
        match segment {
            Segment::Seq { index } => {
                value = value.and_then(|list| list.get(index));
                if prefix.is_empty() {
                    members.clear();
                    let item = ErrorSubject {
                        urn: value.and_then(item_urn).map(str::to_owned),
                        ..ErrorSubject::item(*index)
                    };
                    prefix = format!("{item}: ");
                }
            }
            Segment::Map { key } => {
                value = value.and_then(|object| object.get(key));
                members.push(key);
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    if !members.is_empty() {
        prefix = format!("{prefix}{}: ", members.join("."));
    }
    prefix
}

/// The URN of an item, by any of its names on the wire.
fn item_urn(item: &Value) -> Option<&str> {
    let names = ["entityUrn", "urn", "resource"];
    names.iter().find_map(|name| item.get(name)?.as_str())
}

/// The URN after a path prefix. Clients encode all of it or none, so an encoded slash belongs to
/// the URN.
pub(crate) fn urn_in_path(uri: &Uri, prefix: &str) -> Result<Urn, ErrorResponse> {
    let raw = uri.path().strip_prefix(prefix).unwrap_or_default();
    let text = percent_decode_str(raw)
        .decode_utf8()
        .map_err(|_| ErrorResponse::bad_request("the URN in the path is not UTF-8"))?;
    Ok(parse_urn(&text)?)
}

pub(crate) fn parse_urn(text: &str) -> Result<Urn, Error> {
    Registry::get()
        .parse_urn(text)
        .map_err(|error| Error::invalid(error.to_string()))
}

pub(crate) fn parse_aspect(name: &str) -> Result<AspectName, Error> {
    Registry::get().aspect(name).ok_or_else(|| {
        Error::invalid(format!(
            "there is no aspect called '{name}' in the registry"
        ))
    })
}

/// Fails unless entities of this type may have the aspect.
pub(crate) fn check_aspect(urn: &Urn, aspect: AspectName) -> Result<(), Error> {
    let spec = Registry::get().check_urn(urn);
    let spec = spec.map_err(|error| Error::invalid(error.to_string()))?;
    spec.check_aspect(aspect)
        .map_err(|error| Error::invalid(error.to_string()))
}

/// Fails for aspects with secrets, which no response contains.
pub(crate) fn check_not_secret(aspect: AspectName) -> Result<(), ErrorResponse> {
    if Catalog::is_secret(aspect) {
        return Err(ErrorResponse::new(
            StatusCode::FORBIDDEN,
            format!("{aspect} contains secrets, which cannot be read"),
        ));
    }
    Ok(())
}

/// System metadata as an object; one client sends it as JSON in a string.
pub(crate) fn system_metadata<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SystemMetadata>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => serde_json::from_str(&text),
        Some(value) => serde_json::from_value(value),
    }
    .map_err(serde::de::Error::custom)
}

/// Stored JSON text, embedded without parsing it.
pub(crate) fn raw(text: String) -> Result<Box<RawValue>, ErrorResponse> {
    RawValue::from_string(text).map_err(|error| damaged(&error))
}

/// [`raw`] without a copy.
pub(crate) fn raw_ref(text: &str) -> Result<&RawValue, ErrorResponse> {
    serde_json::from_str(text).map_err(|error| damaged(&error))
}

fn damaged(error: &serde_json::Error) -> ErrorResponse {
    tracing::error!(%error, "a stored aspect is not JSON: {error}");
    ErrorResponse::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "a stored aspect is damaged; 'docent check' names it",
    )
}

pub(crate) fn reply(value: &impl Serialize) -> Response {
    axum::Json(value).into_response()
}
