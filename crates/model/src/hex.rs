//! Hexadecimal encoding of hashes and secrets.

use std::fmt::Write as _;

/// Encodes bytes as lowercase hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
