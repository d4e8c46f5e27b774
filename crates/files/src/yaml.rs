//! YAML in both directions: [`parse`] keeps the line of every value for error messages, and
//! [`Yaml`] is written in one way only, so that equal metadata is equal text.
//!
//! Neither knows what the values mean. Types follow from the keys, so a scalar is read as text.

mod node;
mod write;

pub(crate) use node::{Content, Entry, Node, parse};
pub(crate) use write::{Item, Pair, Yaml, to_text};

/// An error in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    pub line: usize,
    pub message: String,
}

impl Problem {
    pub(crate) fn new(line: usize, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
        }
    }
}
