//! Sessions: a signed-in browser sends the session's secret instead of a password.
//!
//! A secret is 256 random bits. The store keeps its hash alone, as the id of an internal entity of
//! type [`ENTITY`], so every server of a store knows the session and it ends everywhere at once.
//! The entity's one aspect points at its user: that edge finds the sessions of a user, and ends
//! them inside the transaction that changes the password or the account status. Internal entities
//! are invisible to every API; a session is not accepted as an access token.

use std::net::IpAddr;

use docent_model::aspects::{CorpUserCredentials, SessionInfo};
use docent_model::{AspectName, EpochMillis, Registry, Urn, hex};
use docent_store::{AspectKey, ReadRequest};

use crate::caller::{Credential, Origin};
use crate::people::device::DeviceMark;
use crate::people::password::{self, MAX_BYTES, Queue};
use crate::people::throttle::Attempt;
use crate::people::{account_inactive, device, requires_active};
use crate::proposal::{Change, Proposal};
use crate::secret::{hash_of, random};
use crate::stored::aspect_value;
use crate::tokens::{KnownSecret, StoredSecret};
use crate::{Caller, Catalog, ConflictReason, Error, ErrorKind};

pub(crate) const ENTITY: &str = "docentSession";
/// The relationship of a session to its user.
pub(crate) const SESSION_OF: &str = "SessionOf";
/// The same as in DataHub.
const DEFAULT_TTL_MS: EpochMillis = 24 * 60 * 60 * 1000;
/// How long a browser stays a known device after a sign-in.
pub const DEVICE_TTL_MS: EpochMillis = device::TTL_MS;
/// The oldest sessions of a user end beyond this.
const MAX_SESSIONS: usize = 20;
const SECRET_DIGITS: usize = 64;
/// A session that has expired is stored for a while: a clock that is ahead for some hours must not
/// delete those that are valid when it is right again.
const KEPT_AFTER_EXPIRY_MS: EpochMillis = 24 * 60 * 60 * 1000;
/// How many sessions of all users each sign-in checks for expiry.
const EXPIRY_CHECK: usize = 100;

/// Where an attempt to sign in comes from.
#[derive(Debug, Clone, Copy, Default)]
pub struct SignInClient<'a> {
    pub address: Option<IpAddr>,
    /// The text that an earlier [`SignIn::Welcome`] gave to the browser.
    pub device: Option<&'a str>,
    /// The name of the request in the audit log.
    pub operation: &'static str,
}

/// How long sessions last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// After the sign-in.
    pub absolute_ms: EpochMillis,
    /// After the last request, to the minute; `None` for any time.
    pub idle_ms: Option<EpochMillis>,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            absolute_ms: DEFAULT_TTL_MS,
            idle_ms: None,
        }
    }
}

/// Why a session may begin.
#[derive(Debug)]
pub(crate) enum Proof {
    /// A password that matched these credentials.
    Password(Option<CorpUserCredentials>),
    /// The identity provider with this id.
    Provider(String),
}

/// A session that is not stored yet.
pub(crate) struct NewSession {
    pub(crate) secret: String,
    /// They store it, and delete some that have expired.
    pub(crate) proposals: Vec<Proposal>,
}

impl NewSession {
    pub(crate) fn credential(&self) -> Credential {
        Credential::session(&hash_of(&self.secret))
    }
}

/// The outcome of an attempt to sign in.
pub enum SignIn {
    /// The only time the secret is shown.
    Welcome {
        user: Urn,
        secret: String,
        /// Identifies the browser as a known device in later attempts; `None` changes nothing.
        device: Option<String>,
    },
    /// The user is unknown, suspended or removed, or the password is wrong; the caller does not
    /// learn which.
    Rejected,
    /// Too many attempts.
    Wait { milliseconds: EpochMillis },
}

impl std::fmt::Debug for SignIn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Welcome { user, .. } => write!(formatter, "Welcome({user})"),
            Self::Rejected => formatter.write_str("Rejected"),
            Self::Wait { milliseconds } => write!(formatter, "Wait({milliseconds})"),
        }
    }
}

/// An attempt to sign in with a password.
struct PasswordAttempt<'c> {
    /// `None` for a name that no user can have.
    user: Option<Urn>,
    credentials: Option<CorpUserCredentials>,
    is_active: bool,
    /// The browser, if the user has signed in with it before.
    device: Option<DeviceMark<'c>>,
    client: SignInClient<'c>,
}

impl PasswordAttempt<'_> {
    fn throttled(&self) -> Attempt<'_> {
        Attempt {
            user: self.user.as_ref(),
            address: self.client.address,
            device: self.device.map(|device| device.id),
        }
    }

    /// The user for the logs. They leave out an unknown name: it may be a password typed into the
    /// wrong field.
    fn logged_user(&self) -> Option<&Urn> {
        self.user.as_ref().filter(|_| self.credentials.is_some())
    }
}

impl Catalog {
    /// The same catalog with other limits of sessions.
    #[must_use]
    pub fn with_session_limits(self, limits: SessionLimits) -> Self {
        self.with_options(|options| options.session_limits = limits)
    }

    pub fn session_limits(&self) -> SessionLimits {
        self.options.session_limits
    }

    /// Checks a password and begins a session. Every admitted attempt takes the time of one hash.
    pub async fn sign_in(
        &self,
        username: &str,
        password: &str,
        client: SignInClient<'_>,
    ) -> Result<SignIn, Error> {
        if password.len() > MAX_BYTES {
            return Err(password::too_long());
        }
        let attempt = self.password_attempt(username, client).await?;
        let (throttle, counters) = (&self.inner.throttle, &self.inner.counters);
        if let Err(milliseconds) = throttle.admit(&attempt.throttled(), self.now_ms()) {
            let reason = "too many attempts to sign in";
            self.record_denied_sign_in(&attempt, reason).await;
            return Ok(counters.count_sign_in(SignIn::Wait { milliseconds }));
        }
        let queue = match attempt.device {
            Some(_) => Queue::Known,
            None => Queue::Strangers,
        };
        let hashing = &self.inner.hashing;
        let is_right = hashing
            .verify(attempt.credentials.as_ref(), password, queue)
            .await?;
        let welcome = match &attempt.user {
            Some(user) if is_right && attempt.is_active => self.welcome(user, &attempt).await?,
            _ => None,
        };
        let Some(welcome) = welcome else {
            tracing::info!(
                user = attempt.logged_user().map(Urn::as_str),
                address = client.address.map(tracing::field::display),
                "sign-in rejected"
            );
            let reason = "the password is wrong, or the account is unknown or not active";
            self.record_denied_sign_in(&attempt, reason).await;
            return Ok(counters.count_sign_in(SignIn::Rejected));
        };
        throttle.succeeded(&attempt.throttled());
        Ok(counters.count_sign_in(welcome))
    }

    /// What is stored about the account that an attempt names.
    async fn password_attempt<'c>(
        &self,
        username: &str,
        client: SignInClient<'c>,
    ) -> Result<PasswordAttempt<'c>, Error> {
        let user = Urn::new("corpuser", username).ok();
        let user = user.filter(|user| Registry::get().check_urn(user).is_ok());
        let (credentials, is_active) = match &user {
            Some(user) => (
                self.credentials_of(user).await?,
                self.is_active(user).await?,
            ),
            None => (None, false),
        };
        let device = match (client.device, &user, &credentials) {
            (Some(cookie), Some(user), Some(credentials)) => {
                device::find(cookie, user, credentials, self.now_ms())
            }
            _ => None,
        };
        Ok(PasswordAttempt {
            user,
            credentials,
            is_active,
            device,
            client,
        })
    }

    /// Begins the session of a user whose password is right; `None` if the account was suspended or
    /// removed while it was checked.
    async fn welcome(
        &self,
        user: &Urn,
        attempt: &PasswordAttempt<'_>,
    ) -> Result<Option<SignIn>, Error> {
        let SignInClient {
            address, operation, ..
        } = attempt.client;
        let device = match &attempt.credentials {
            Some(credentials) => {
                let (cookie, known) = (attempt.client.device, attempt.device);
                let now_ms = self.now_ms();
                Some(device::renew(cookie, known, user, credentials, now_ms)?)
            }
            None => None,
        };
        let caller = Caller::new(user.clone())
            .at(address)
            .in_operation(operation);
        let proof = Proof::Password(attempt.credentials.clone());
        let secret = match self.begin_session(caller, proof).await {
            Err(error) if error.kind() == ErrorKind::Conflict(ConflictReason::AccountInactive) => {
                return Ok(None);
            }
            begun => begun?,
        };
        tracing::info!(
            user = user.as_str(),
            address = address.map(tracing::field::display),
            "{user} signed in"
        );
        Ok(Some(SignIn::Welcome {
            user: user.clone(),
            secret,
            device,
        }))
    }

    async fn record_denied_sign_in(&self, attempt: &PasswordAttempt<'_>, reason: &str) {
        let SignInClient {
            address, operation, ..
        } = attempt.client;
        let origin = Origin::new(address, operation.into());
        self.record_denial(attempt.logged_user(), &origin, reason, Vec::new())
            .await;
    }

    /// The user of a session; `None` if there is no such session, it has ended, or its user may not
    /// act.
    pub async fn authenticate_session(&self, secret: &str) -> Result<Option<Caller>, Error> {
        let Some(urn) = session_urn(secret) else {
            return Ok(None);
        };
        let mut session = self.known_session(&urn, secret).await?;
        if session.as_ref().is_some_and(|it| self.is_idle(it)) {
            // Another server may have seen a request meanwhile.
            self.inner.known_sessions.forget(&hash_of(secret));
            session = self.known_session(&urn, secret).await?;
        }
        let Some(session) = session.filter(|session| !self.is_idle(session)) else {
            return Ok(None);
        };
        if self.options.session_limits.idle_ms.is_some() {
            self.record_use(&session, || Ok(urn));
        }
        let credential = Credential::session(&hash_of(secret));
        let caller = Caller::of_session(session.actor);
        Ok(Some(caller.with_credential(credential)))
    }

    async fn known_session(&self, urn: &Urn, secret: &str) -> Result<Option<KnownSecret>, Error> {
        let known = &self.inner.known_sessions;
        self.authenticate_by(known, hash_of(secret), ENTITY, async || {
            let key = AspectKey::new(urn, AspectName::SESSION_INFO);
            let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
            let info: Option<SessionInfo> = aspect_value(&row);
            let (Some(info), Some(row)) = (info, row) else {
                return Ok(None);
            };
            Ok(Some(StoredSecret {
                actor: info.user,
                expires_at: Some(info.expires_at),
                last_used_at: self.last_used(urn, &row).max(Some(info.created_at)),
                scope: None,
            }))
        })
        .await
    }

    /// Whether the last request of a session is too long ago.
    fn is_idle(&self, session: &KnownSecret) -> bool {
        let Some(idle_ms) = self.options.session_limits.idle_ms else {
            return false;
        };
        self.now_ms() >= session.last_use.time_ms().saturating_add(idle_ms)
    }

    /// Ends a session. One that does not exist has ended already. Returns the identity provider
    /// that signed the user in. `operation` is for the audit log.
    pub async fn sign_out(
        &self,
        secret: &str,
        address: Option<IpAddr>,
        operation: &'static str,
    ) -> Result<Option<String>, Error> {
        let Some(caller) = self.authenticate_session(secret).await? else {
            return Ok(None);
        };
        let caller = caller.at(address).in_operation(operation);
        let Some(urn) = session_urn(secret) else {
            return Ok(None);
        };
        let key = AspectKey::new(&urn, AspectName::SESSION_INFO);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        let info: Option<SessionInfo> = aspect_value(&row);
        let end = Proposal::new(urn, Change::DeleteEntity);
        self.apply_authorized(&caller, vec![end]).await?;
        Ok(info.and_then(|info| info.provider))
    }

    /// Begins a session if the user is active, and the credentials are still those that were
    /// checked.
    pub(crate) async fn begin_session(
        &self,
        caller: Caller,
        proof: Proof,
    ) -> Result<String, Error> {
        let user = &caller.actor().clone();
        let (provider, checked) = match proof {
            Proof::Password(checked) => (None, Some(checked)),
            Proof::Provider(id) => (Some(id), None),
        };
        let session = self.new_session(user, provider).await?;
        let caller = caller.with_credential(session.credential());
        // Comes first, because it locks the user: no change of the account can slip in between.
        let room = Change::EndSessions {
            keep: MAX_SESSIONS - 1,
        };
        let mut room = requires_active(Proposal::new(user.clone(), room), user);
        if let Some(checked) = checked {
            let is_unchanged = are_still(checked, user.key().to_owned());
            room = room.requires_value(user, AspectName::CORP_USER_CREDENTIALS, is_unchanged);
        }
        let room = room.requires_existing(user, format!("the user {user} does not exist"));
        let proposals = [room].into_iter().chain(session.proposals);
        self.apply_authorized(&caller, proposals.collect()).await?;
        Ok(session.secret)
    }

    /// A session for a user, to be stored with the change that allows it.
    pub(crate) async fn new_session(
        &self,
        user: &Urn,
        provider: Option<String>,
    ) -> Result<NewSession, Error> {
        let secret = hex(&random::<{ SECRET_DIGITS / 2 }>()?);
        let urn = urn_of(&secret)?;
        let now_ms = self.now_ms();
        let info = SessionInfo {
            user: user.clone(),
            created_at: now_ms,
            expires_at: now_ms.saturating_add(self.options.session_limits.absolute_ms),
            provider,
        };
        let begin = Proposal::edit(urn.clone(), AspectName::SESSION_INFO, move |_, _| {
            Ok::<SessionInfo, _>(info.clone())
        });
        let expired = self.expired_sessions(&urn).await?.into_iter();
        let ended = expired.map(|urn| Proposal::new(urn, Change::DeleteEntity));
        Ok(NewSession {
            secret,
            proposals: [begin].into_iter().chain(ended).collect(),
        })
    }

    /// Sessions that expired a while ago, among those behind `from`. Ids are random, so every
    /// session gets its turn.
    async fn expired_sessions(&self, from: &Urn) -> Result<Vec<Urn>, Error> {
        let store = self.store();
        let urns = store
            .urns_list(ENTITY, AspectName::SESSION_INFO, Some(from), EXPIRY_CHECK)
            .await?;
        let keys: Vec<AspectKey> = urns
            .iter()
            .map(|urn| AspectKey::new(urn, AspectName::SESSION_INFO))
            .collect();
        let rows = store.read(ReadRequest::rows(&keys)).await?.rows;
        let before_ms = self.now_ms().saturating_sub(KEPT_AFTER_EXPIRY_MS);
        let expired = urns.into_iter().zip(rows).filter(|(_, row)| {
            let info: Option<SessionInfo> = aspect_value(row);
            info.is_some_and(|info| info.expires_at <= before_ms)
        });
        Ok(expired.map(|(urn, _)| urn).collect())
    }
}

/// Accepts the credentials that were checked, and no others.
fn are_still(
    checked: Option<CorpUserCredentials>,
    name: String,
) -> impl Fn(Option<CorpUserCredentials>) -> Result<(), Error> {
    move |current| match current {
        None => Err(account_inactive(format!("{name} has no password"))),
        Some(current) if checked.as_ref() == Some(&current) => Ok(()),
        Some(_) => Err(Error::conflict(
            ConflictReason::PasswordChanged,
            "the password was changed just now: sign in again",
        )),
    }
}

/// The entity of the session with this secret; `None` if the text cannot be a secret.
fn session_urn(secret: &str) -> Option<Urn> {
    let is_digit = |byte: u8| byte.is_ascii_hexdigit();
    if secret.len() != SECRET_DIGITS || !secret.bytes().all(is_digit) {
        return None;
    }
    urn_of(secret).ok()
}

fn urn_of(secret: &str) -> Result<Urn, Error> {
    Ok(Urn::new(ENTITY, &hex(&hash_of(secret)))?)
}
