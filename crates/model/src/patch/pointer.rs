//! Patch paths: JSON pointers (RFC 6901).

use std::fmt;

/// A path with unescaped segments. An empty segment addresses an element without that key.
#[derive(Debug, Clone)]
pub(super) struct Pointer {
    text: String,
    segments: Vec<String>,
}

impl Pointer {
    /// The error completes a sentence that starts with the operation.
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
            None => return Err(format!("has the path '{text}', which must start with '/'")),
        };
        if segments.len() > super::MAX_DEPTH {
            return Err(format!(
                "has a path of {} segments, at most {} are allowed",
                segments.len(),
                super::MAX_DEPTH
            ));
        }
        Ok(Self {
            text: text.to_owned(),
            segments,
        })
    }

    pub(super) fn segments(&self) -> &[String] {
        &self.segments
    }

    /// Whether this path is inside the other one.
    pub(super) fn is_inside(&self, other: &Self) -> bool {
        self.segments.len() > other.segments.len() && self.segments.starts_with(&other.segments)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The path with these segments.
pub fn pointer_to<S: AsRef<str>>(segments: impl IntoIterator<Item = S>) -> String {
    let mut path = String::new();
    for segment in segments {
        path.push('/');
        path.push_str(&segment.as_ref().replace('~', "~0").replace('/', "~1"));
    }
    path
}

/// `~1` is a slash and `~0` a tilde.
fn unescape(segment: &str) -> Option<String> {
    let mut plain = String::with_capacity(segment.len());
    let mut characters = segment.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '~' => match characters.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            other => other,
        });
    }
    Some(plain)
}
