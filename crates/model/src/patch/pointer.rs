//! Paths of a patch: JSON pointers (RFC 6901).

use std::fmt;

/// A path with its segments unescaped. Empty segments count: they stand for keys that an element does not have.
#[derive(Debug, Clone)]
pub(super) struct Pointer {
    text: String,
    segments: Vec<String>,
}

impl Pointer {
    /// An error says what is wrong, as the end of a sentence about the operation.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let segments = match text.strip_prefix('/') {
            _ if text.is_empty() => Vec::new(),
            Some(rest) => rest
                .split('/')
                .map(unescape)
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| {
                    format!("has the path '{text}', where '~' must be followed by 0 or 1")
                })?,
            None => return Err(format!("has the path '{text}', which must begin with '/'")),
        };
        if segments.len() > super::MAX_DEPTH {
            return Err(format!("has a path of {} segments", segments.len()));
        }
        Ok(Self {
            text: text.to_owned(),
            segments,
        })
    }

    pub(super) fn segments(&self) -> &[String] {
        &self.segments
    }

    /// Whether this is a place inside of the other one.
    pub(super) fn is_below(&self, other: &Self) -> bool {
        self.segments.len() > other.segments.len() && self.segments.starts_with(&other.segments)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// `~1` is a slash and `~0` a tilde.
fn unescape(segment: &str) -> Option<String> {
    let mut plain = String::with_capacity(segment.len());
    let mut letters = segment.chars();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '~' => match letters.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            other => other,
        });
    }
    Some(plain)
}
