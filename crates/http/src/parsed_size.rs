//! Estimates how much memory parsed JSON takes: many times that of its text, for `[[],[],…` about
//! forty times.

use axum::http::StatusCode;
use serde_json::Value;

use crate::error::ErrorResponse;

/// A map has a table besides its entries, and vectors grow by doubling.
const CONTAINER_BYTES: usize = 64;
const ELEMENT_BYTES: usize = 2 * size_of::<Value>();
const MEMBER_BYTES: usize = 2 * (size_of::<String>() + size_of::<usize>()) + 32;

/// The highest estimate for each byte of a JSON text: that of `0,0,…`.
pub(crate) const MAX_PARSED_BYTES_PER_BYTE: usize = 1 + ELEMENT_BYTES / 2;

/// Estimates the memory of a parsed JSON text: of each element, and of each member with its name.
pub(crate) fn parsed_bytes(text: &str) -> usize {
    let mut bytes = text.len() + ELEMENT_BYTES;
    let mut is_string = false;
    let mut is_escaped = false;
    for byte in text.bytes() {
        if is_string {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_string = false,
                _ => {}
            }
            continue;
        }
        is_string = byte == b'"';
        bytes += structure_bytes(byte);
    }
    bytes
}

/// Like [`parsed_bytes`] for a text whose strings may be JSON, too, and are parsed later: values of
/// aspects. Punctuation in other strings counts as well, but there is little of it.
pub(crate) fn deeply_parsed_bytes(text: &[u8]) -> usize {
    let structure: usize = text.iter().copied().map(structure_bytes).sum();
    text.len() + ELEMENT_BYTES + structure
}

/// The memory of what a byte outside of strings begins.
fn structure_bytes(byte: u8) -> usize {
    match byte {
        b'{' | b'[' => CONTAINER_BYTES,
        b',' => ELEMENT_BYTES,
        b':' => MEMBER_BYTES,
        _ => 0,
    }
}

/// Fails if what has been estimated is more than what is allowed.
pub(crate) fn check_parsed(
    subject: &str,
    parsed_bytes: usize,
    allowed: usize,
) -> Result<(), ErrorResponse> {
    if parsed_bytes <= allowed {
        return Ok(());
    }
    Err(ErrorResponse::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!(
            "{subject} too many values: they take about {parsed_bytes} bytes of memory, at most {allowed} are allowed. \
             Send them in several requests."
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_in_strings_counts_if_it_is_parsed_later() {
        let list = "[[],[],{\"a\":1}]";
        let quoted = serde_json::to_string(list).unwrap();
        let (inside, outside) = (deeply_parsed_bytes(quoted.as_bytes()), parsed_bytes(list));
        assert!(inside >= outside, "{inside} {outside}");
        assert!(parsed_bytes(&quoted) < outside / 2);
        assert_eq!(deeply_parsed_bytes(list.as_bytes()), outside);
    }

    #[test]
    fn no_text_takes_more_than_the_maximum() {
        let nested = format!("{}{},", "[".repeat(126), "]".repeat(126));
        for unit in ["[],", "{},", "0,", "{\"\":0},", "\"\",", nested.as_str()] {
            let list = format!("[{}0]", unit.repeat(1024 / unit.len()));
            let estimate = parsed_bytes(&list);
            let allowed = MAX_PARSED_BYTES_PER_BYTE * list.len() + ELEMENT_BYTES;
            assert!(estimate <= allowed, "{unit}: {estimate} > {allowed}");
        }
    }
}
