//! Who is asking.

use docent_model::Urn;

/// The identity behind a request. Every use case takes one, so that no path can forget to ask who may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    actor: Urn,
}

/// The actor when authentication is switched off and nobody in particular is named.
pub const SYSTEM_ACTOR: &str = "urn:li:corpuser:__datahub_system";

impl Caller {
    pub fn new(actor: Urn) -> Self {
        Self { actor }
    }

    /// The user URN that stands in every audit stamp.
    pub fn actor(&self) -> &Urn {
        &self.actor
    }
}
