//! How bytes are written where a person may have to read them: hashes, secrets.

use std::fmt::Write as _;

/// Two small hexadecimal digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
