//! Who is asking.

use docent_model::{EpochMillis, Urn};

/// The identity behind a request. Every use case takes one, so that no path can forget to ask who may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    actor: Urn,
    /// When the token ends that the caller came with.
    until_ms: Option<EpochMillis>,
}

impl Caller {
    pub fn new(actor: Urn) -> Self {
        Self {
            actor,
            until_ms: None,
        }
    }

    /// Somebody who came with a token that ends then.
    pub(crate) fn until(actor: Urn, until_ms: Option<EpochMillis>) -> Self {
        Self { actor, until_ms }
    }

    /// The user URN that stands in every audit stamp.
    pub fn actor(&self) -> &Urn {
        &self.actor
    }

    pub(crate) fn until_ms(&self) -> Option<EpochMillis> {
        self.until_ms
    }
}
