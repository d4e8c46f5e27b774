//! Sessions: what a person who has signed in shows instead of the password.
//!
//! A session is an access token for a browser: 256 random bits, of which the hash alone is stored, as an entity of
//! the same type. So sessions hold on every server of a store and end at once. They are told apart by their ids,
//! which begin with [`PREFIX`] and with a mark of their user: a user's sessions stand together, and are counted
//! and ended without looking at anybody else's. Programs cannot use one as a token, and nobody lists them.

use std::net::IpAddr;

use docent_model::aspects::{AccessTokenInfo, AuditStamp, CorpUserCredentials, Other};
use docent_model::{AspectName, EpochMillis, Registry, Urn, hex};
use sha2::{Digest, Sha256};

use crate::people::password::{self, MAX_BYTES};
use crate::people::{account_inactive, must_be_active};
use crate::proposal::{Change, Proposal};
use crate::tokens::{hash_of, random, token_urn};
use crate::{Caller, Catalog, ConflictReason, Error, ErrorKind};

/// No token has an id like this: those are hexadecimal.
pub(crate) const PREFIX: &str = "session-";
/// As long as in DataHub.
pub const SESSION_TTL_MS: EpochMillis = 24 * 60 * 60 * 1000;
/// The oldest go when a user has more.
const MAX_SESSIONS: usize = 20;
/// How many sessions of a user are looked at; more than [`MAX_SESSIONS`] come from signing in at the same moment.
const MAX_SEEN: usize = 200;
/// Hexadecimal digits of the mark of a user in front of a secret.
const MARK_DIGITS: usize = 32;
const SECRET_DIGITS: usize = 64;

/// What became of an attempt to sign in.
pub enum SignIn {
    /// The secret is shown this once.
    Welcome { user: Urn, secret: String },
    /// The user is unknown, suspended or removed, or the password is wrong: which of them is not told.
    Refused,
    /// Too many attempts.
    Wait { milliseconds: EpochMillis },
}

impl std::fmt::Debug for SignIn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Welcome { user, .. } => write!(formatter, "Welcome({user})"),
            Self::Refused => formatter.write_str("Refused"),
            Self::Wait { milliseconds } => write!(formatter, "Wait({milliseconds})"),
        }
    }
}

impl Catalog {
    /// Checks a password and begins a session. Every attempt that is let through takes the time of one hash.
    pub async fn sign_in(
        &self,
        username: &str,
        password: &str,
        address: Option<IpAddr>,
    ) -> Result<SignIn, Error> {
        if password.len() > MAX_BYTES {
            return Err(password::too_long());
        }
        let user = Urn::new("corpuser", username).ok();
        let user = user.filter(|user| Registry::get().check_urn(user).is_ok());
        let throttle = &self.inner.throttle;
        let attempt = match throttle.take(user.as_ref(), address, self.now_ms()) {
            Ok(attempt) => attempt,
            Err(milliseconds) => return Ok(SignIn::Wait { milliseconds }),
        };
        let (credentials, active) = match &user {
            Some(user) => (
                self.credentials_of(user).await?,
                self.is_active(user).await?,
            ),
            None => (None, false),
        };
        let right = self
            .inner
            .hashing
            .verify(credentials.as_ref(), password)
            .await?;
        let refused = |user: Option<&Urn>| {
            tracing::info!(
                user = user.map(Urn::as_str),
                address = address.map(tracing::field::display),
                "a sign-in was refused"
            );
            Ok(SignIn::Refused)
        };
        let user = match user {
            Some(user) if right && active => user,
            // A name that nobody has may be a password typed into the wrong field.
            user => return refused(user.filter(|_| credentials.is_some()).as_ref()),
        };
        let secret = match self.begin_session(&user, credentials).await {
            // Suspended or removed while the password was being checked.
            Err(error) if error.kind() == ErrorKind::Conflict(ConflictReason::AccountInactive) => {
                return refused(Some(&user));
            }
            begun => begun?,
        };
        throttle.give_back(&attempt);
        tracing::info!(
            user = user.as_str(),
            address = address.map(tracing::field::display),
            "{user} has signed in"
        );
        Ok(SignIn::Welcome { user, secret })
    }

    /// Who has this session; `None` if it is none, has ended, or if its user is gone or suspended.
    pub async fn authenticate_session(&self, secret: &str) -> Result<Option<Caller>, Error> {
        match session_id(secret) {
            Some(id) => {
                let known = &self.inner.known_sessions;
                let session = self.authenticate_by(known, hash_of(secret), || id).await?;
                Ok(session.map(|session| Caller::new(session.actor)))
            }
            None => Ok(None),
        }
    }

    /// Ends a session; what is none has ended.
    pub async fn sign_out(&self, secret: &str) -> Result<(), Error> {
        let Some(caller) = self.authenticate_session(secret).await? else {
            return Ok(());
        };
        if let Some(id) = session_id(secret) {
            let end = Proposal::new(token_urn(&id)?, Change::DeleteEntity);
            self.apply(&caller, vec![end]).await?;
        }
        Ok(())
    }

    /// Begins a session with the credentials that were checked.
    async fn begin_session(
        &self,
        user: &Urn,
        checked: Option<CorpUserCredentials>,
    ) -> Result<String, Error> {
        let secret = format!("{}{}", mark(user), hex(&random::<32>()?));
        let id = session_id(&secret).unwrap_or_default();
        let urn = token_urn(&id)?;
        let now_ms = self.now_ms();
        let info = AccessTokenInfo {
            name: "session".to_owned(),
            actor_urn: user.clone(),
            owner_urn: user.clone(),
            created_at: now_ms,
            expires_at: Some(now_ms.saturating_add(SESSION_TTL_MS)),
            description: None,
            other: Other::new(),
        };
        let begin = Proposal::edit(urn.clone(), AspectName::ACCESS_TOKEN_INFO, move |_, _| {
            Ok::<AccessTokenInfo, _>(info.clone())
        });
        let begin = begin.requires_existing(user, format!("the user {user} does not exist"));
        // The password may have been changed since.
        let name = user.key().to_owned();
        let unchanged = move |current: Option<CorpUserCredentials>, _: &AuditStamp| {
            let current =
                current.ok_or_else(|| account_inactive(format!("{name} has no password")))?;
            if checked.as_ref() != Some(&current) {
                return Err(Error::conflict(
                    ConflictReason::PasswordChanged,
                    "the password was changed just now: sign in again",
                ));
            }
            Ok(current)
        };
        let check = Proposal::edit(user.clone(), AspectName::CORP_USER_CREDENTIALS, unchanged);
        let mut ended = self.surplus_sessions(user).await?;
        ended.extend(self.long_ended(&urn).await?);
        ended.sort_unstable();
        ended.dedup();
        let removals = ended.into_iter().map(removal);
        let mut proposals = must_be_active(user).to_vec();
        proposals.extend([check, begin]);
        proposals.extend(removals);
        self.apply(&Caller::new(user.clone()), proposals).await?;
        Ok(secret)
    }

    /// Sessions of a user that are over, and the oldest where there would be too many with one more.
    async fn surplus_sessions(&self, user: &Urn) -> Result<Vec<Urn>, Error> {
        let urns = self.session_urns(user).await?;
        let infos = self.token_infos(&urns).await?;
        let now_ms = self.now_ms();
        let mut sessions: Vec<(EpochMillis, Urn)> = urns
            .into_iter()
            .zip(infos)
            .map(|(urn, info)| {
                let ends_at = info.and_then(|info| info.expires_at).unwrap_or_default();
                (ends_at, urn)
            })
            .collect();
        sessions.sort_unstable();
        let over = sessions.partition_point(|(ends_at, _)| *ends_at <= now_ms);
        let surplus = over.max((sessions.len() + 1).saturating_sub(MAX_SESSIONS));
        sessions.truncate(surplus);
        Ok(sessions.into_iter().map(|(_, urn)| urn).collect())
    }

    /// Proposals that end all sessions of a user.
    pub(crate) async fn session_removals(&self, user: &Urn) -> Result<Vec<Proposal>, Error> {
        let urns = self.session_urns(user).await?;
        Ok(urns.into_iter().map(removal).collect())
    }

    async fn session_urns(&self, user: &Urn) -> Result<Vec<Urn>, Error> {
        let first = format!("{PREFIX}{}", mark(user));
        let urns = self.token_urns(Some(&token_urn(&first)?), MAX_SEEN).await?;
        let own = urns
            .into_iter()
            .take_while(|urn| urn.key().starts_with(&first));
        Ok(own.collect())
    }
}

fn removal(session: Urn) -> Proposal {
    Proposal::new(session, Change::DeleteEntity)
}

/// Whether a token with this id is a session.
pub(crate) fn is_session(id: &str) -> bool {
    id.starts_with(PREFIX)
}

/// What tells the sessions of one user from those of all others.
fn mark(user: &Urn) -> String {
    let mut mark = hex(&Sha256::digest(user.as_str().as_bytes()));
    mark.truncate(MARK_DIGITS);
    mark
}

/// Under which id a secret is stored; `None` for what cannot be one.
fn session_id(secret: &str) -> Option<String> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if secret.len() != MARK_DIGITS + SECRET_DIGITS || !digits(secret) {
        return None;
    }
    let hash = hex(&hash_of(secret));
    Some(format!("{PREFIX}{}-{hash}", &secret[..MARK_DIGITS]))
}
