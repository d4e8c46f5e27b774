//! Who is asking.

use docent_model::Urn;

/// The identity behind a request. Every use case takes one, so that no path can forget to ask who may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    actor: Urn,
}

impl Caller {
    pub fn new(actor: Urn) -> Self {
        Self { actor }
    }

    /// The user URN that stands in every audit stamp.
    pub fn actor(&self) -> &Urn {
        &self.actor
    }
}
