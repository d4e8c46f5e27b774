//! The identity behind a request.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use docent_model::aspects::{SYSTEM_ACTOR, TokenScope};
use docent_model::{EpochMillis, Urn};

/// The identity behind a request. Every use case that writes takes one: it is the actor of the
/// audit stamp, and decides what is allowed.
#[derive(Debug, Clone)]
pub struct Caller {
    actor: Urn,
    /// When the token expires that authenticated the caller.
    until_ms: Option<EpochMillis>,
    /// What that token may do at most.
    scope: Option<Arc<TokenScope>>,
    is_session: bool,
    /// The action requests that the request stored instead of changes. Clones share them.
    proposals: Arc<Mutex<Vec<Urn>>>,
}

/// The same identity; what the request has stored so far is not part of it.
impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        self.actor == other.actor && self.until_ms == other.until_ms && self.scope == other.scope
    }
}

impl Caller {
    pub fn new(actor: Urn) -> Self {
        Self {
            actor,
            until_ms: None,
            scope: None,
            is_session: false,
            proposals: Arc::default(),
        }
    }

    /// The server itself, and the operator at the command line.
    #[expect(
        clippy::expect_used,
        reason = "the text is a constant, and a test parses it"
    )]
    pub fn system() -> Self {
        static SYSTEM: LazyLock<Urn> = LazyLock::new(|| {
            Urn::parse(SYSTEM_ACTOR).expect("invariant: the system actor is a URN")
        });
        Self::new(SYSTEM.clone())
    }

    /// A caller authenticated by a token that expires at this time.
    pub(crate) fn of_token(
        actor: Urn,
        until_ms: Option<EpochMillis>,
        scope: Option<Arc<TokenScope>>,
    ) -> Self {
        Self {
            until_ms,
            scope,
            ..Self::new(actor)
        }
    }

    /// A caller authenticated by a session.
    pub(crate) fn of_session(actor: Urn) -> Self {
        Self {
            is_session: true,
            ..Self::new(actor)
        }
    }

    /// The action requests that this request has stored instead of changes, for the reply.
    pub fn proposals(&self) -> Vec<Urn> {
        let proposals = self.proposals.lock();
        proposals.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn add_proposal(&self, request: Urn) {
        let proposals = self.proposals.lock();
        let mut proposals = proposals.unwrap_or_else(PoisonError::into_inner);
        proposals.push(request);
    }

    /// The user URN of every audit stamp.
    pub fn actor(&self) -> &Urn {
        &self.actor
    }

    /// Whether this is the server itself or an operator, who may do everything.
    pub(crate) fn is_system(&self) -> bool {
        self.actor.as_str() == SYSTEM_ACTOR
    }

    pub(crate) fn scope(&self) -> Option<&Arc<TokenScope>> {
        self.scope.as_ref()
    }

    pub(crate) fn is_session(&self) -> bool {
        self.is_session
    }

    pub(crate) fn until_ms(&self) -> Option<EpochMillis> {
        self.until_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_is_a_user_and_the_administrator() {
        let system = Caller::system();
        assert_eq!(system.actor().as_str(), SYSTEM_ACTOR);
        assert!(crate::Catalog::is_administrator(&system));
    }
}
