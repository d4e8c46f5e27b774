//! The identity behind a request, and where the request came from.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use docent_model::aspects::{SYSTEM_ACTOR, TokenScope};
use docent_model::{EpochMillis, Urn, hex};

/// How many bytes of the id of a token or session the audit log has: as many as `docent token list`
/// shows.
const CREDENTIAL_BYTES: usize = 6;
/// How many policies one event of the audit log names.
const MAX_POLICIES: usize = 10;

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
    /// Whether each change becomes a proposal.
    only_proposes: bool,
    /// The action requests that the request stored instead of changes. Clones share them.
    proposals: Arc<Mutex<Vec<Urn>>>,
    /// The id of the request, if it is traced.
    trace: Option<Arc<str>>,
    origin: Arc<Origin>,
}

/// The same identity; where the request came from and what it has stored is not part of it.
impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        self.actor == other.actor && self.until_ms == other.until_ms && self.scope == other.scope
    }
}

impl Eq for Caller {}

/// What the audit log says about a request besides its caller.
#[derive(Debug)]
pub(crate) struct Origin {
    /// The network address of the client.
    pub(crate) address: Option<IpAddr>,
    pub(crate) credential: Option<Credential>,
    /// A GraphQL field, a REST route or a command.
    pub(crate) operation: Cow<'static, str>,
    /// Whether the audit log has the changes.
    pub(crate) is_audited: bool,
    /// The policies that allowed it so far.
    policies: Mutex<Vec<Urn>>,
}

impl Default for Origin {
    fn default() -> Self {
        Self {
            address: None,
            credential: None,
            operation: Cow::Borrowed("server"),
            is_audited: true,
            policies: Mutex::default(),
        }
    }
}

/// A token or a session, by the start of its id. The id is a hash of the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Credential {
    kind: &'static str,
    id: [u8; CREDENTIAL_BYTES],
}

impl Credential {
    pub(crate) fn token(hash: &[u8; 32]) -> Self {
        Self::new("token", hash)
    }

    /// A token of a trusted issuer.
    pub(crate) fn bearer(hash: &[u8; 32]) -> Self {
        Self::new("bearer", hash)
    }

    pub(crate) fn session(hash: &[u8; 32]) -> Self {
        Self::new("session", hash)
    }

    fn new(kind: &'static str, hash: &[u8; 32]) -> Self {
        let mut id = [0; CREDENTIAL_BYTES];
        id.copy_from_slice(&hash[..CREDENTIAL_BYTES]);
        Self { kind, id }
    }
}

impl std::fmt::Display for Credential {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.kind, hex(&self.id))
    }
}

impl Caller {
    pub fn new(actor: Urn) -> Self {
        Self {
            actor,
            until_ms: None,
            scope: None,
            is_session: false,
            only_proposes: false,
            proposals: Arc::default(),
            trace: None,
            origin: Arc::default(),
        }
    }

    /// The same caller at a network address.
    #[must_use]
    pub fn at(self, address: Option<IpAddr>) -> Self {
        self.with_origin(|origin| origin.address = address)
    }

    /// The same caller in an operation: a GraphQL field, a REST route or a command.
    #[must_use]
    pub fn in_operation(self, operation: impl Into<Cow<'static, str>>) -> Self {
        self.with_origin(|origin| origin.operation = operation.into())
    }

    /// The same caller in a request with an id, which is stored with what it writes directly.
    #[must_use]
    pub fn in_trace(self, trace: Arc<str>) -> Self {
        Self {
            trace: Some(trace),
            ..self
        }
    }

    /// The same caller, whose changes all become proposals, also those that the caller may make.
    #[must_use]
    pub fn proposing(self) -> Self {
        Self {
            only_proposes: true,
            ..self
        }
    }

    pub(crate) fn only_proposes(&self) -> bool {
        self.only_proposes
    }

    pub(crate) fn trace(&self) -> Option<&str> {
        self.trace.as_deref()
    }

    /// The same caller, whose changes the audit log leaves out.
    #[must_use]
    pub fn unaudited(self) -> Self {
        self.with_origin(|origin| origin.is_audited = false)
    }

    pub(crate) fn with_credential(self, credential: Credential) -> Self {
        self.with_origin(|origin| origin.credential = Some(credential))
    }

    /// The system, in the operation of this caller: for changes that follow from it.
    pub(crate) fn as_system(&self) -> Self {
        Self {
            origin: Arc::clone(&self.origin),
            ..Self::system()
        }
    }

    /// Changes the origin of this caller alone, and forgets the policies.
    fn with_origin(mut self, change: impl FnOnce(&mut Origin)) -> Self {
        if let Some(origin) = Arc::get_mut(&mut self.origin) {
            change(origin);
            origin.policies = Mutex::default();
            return self;
        }
        let mut origin = Origin {
            operation: self.origin.operation.clone(),
            policies: Mutex::default(),
            ..*self.origin
        };
        change(&mut origin);
        self.origin = Arc::new(origin);
        self
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

    /// Whether the access token lets the caller only read.
    pub fn is_read_only(&self) -> bool {
        self.scope().is_some_and(|scope| scope.read_only)
    }

    pub(crate) fn scope(&self) -> Option<&Arc<TokenScope>> {
        self.scope.as_ref()
    }

    pub(crate) fn is_session(&self) -> bool {
        self.is_session
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    pub(crate) fn until_ms(&self) -> Option<EpochMillis> {
        self.until_ms
    }
}

impl Origin {
    pub(crate) fn new(address: Option<IpAddr>, operation: Cow<'static, str>) -> Self {
        Self {
            address,
            operation,
            ..Self::default()
        }
    }

    /// Records a policy that allowed the operation.
    pub(crate) fn allowed_by(&self, policy: &Urn) {
        let mut policies = self.policies.lock().unwrap_or_else(PoisonError::into_inner);
        add_policy(&mut policies, policy);
    }

    pub(crate) fn policies(&self) -> Vec<Urn> {
        let policies = self.policies.lock();
        policies.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Adds a policy to those of an event.
pub(crate) fn add_policy(policies: &mut Vec<Urn>, policy: &Urn) {
    if policies.len() < MAX_POLICIES && !policies.contains(policy) {
        policies.push(policy.clone());
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
