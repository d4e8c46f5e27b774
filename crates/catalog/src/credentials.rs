//! What users do with their own credentials: new passwords, reset links, signing out everywhere.
//!
//! A reset link has 256 random bits. Their hash is in the user's `corpUserCredentials`, so it goes
//! with the password that it replaces, and works once.

use std::net::IpAddr;

use docent_model::aspects::{AuditStamp, CorpUserCredentials, Other};
use docent_model::{AspectName, EpochMillis, Urn, hex};

use crate::access::scope;
use crate::people::throttle::Attempt;
use crate::people::{
    ADMINISTRATOR, Password, USER_MANAGERS, account_inactive, check_user, end_sessions,
    requires_active, unknown,
};
use crate::privilege as p;
use crate::proposal::{Change, Proposal};
use crate::secret::{hash_of, random};
use crate::sessions::{Proof, SignIn};
use crate::{Caller, Catalog, ConflictReason, Error, ErrorKind};

/// How long a reset link works, as in DataHub.
pub const RESET_TTL_MS: EpochMillis = 24 * 60 * 60 * 1000;

impl Catalog {
    /// Sets the caller's password if the current one is right. Ends all sessions, and begins one.
    pub async fn change_password(
        &self,
        caller: &Caller,
        current: &str,
        new: &Password,
        address: Option<IpAddr>,
    ) -> Result<SignIn, Error> {
        scope::check_unscoped(caller)?;
        let user = caller.actor();
        new.check_for(user)?;
        let throttle = &self.inner.throttle;
        let attempt = Attempt {
            user: Some(user),
            address,
            device: None,
        };
        if let Err(milliseconds) = throttle.admit(&attempt, self.now_ms()) {
            return Ok(SignIn::Wait { milliseconds });
        }
        let known = self.credentials_of(user).await?;
        if !self.inner.hashing.verify(known.as_ref(), current).await? {
            return Ok(SignIn::Rejected);
        }
        throttle.succeeded(&attempt);
        if new.as_str() == current {
            return Err(Error::invalid(
                "the new password is the current one: choose another",
            ));
        }
        let is_unchanged = move |stored: Option<CorpUserCredentials>| {
            if stored == known {
                return Ok(());
            }
            Err(Error::conflict(
                ConflictReason::PasswordChanged,
                "the password was changed just now: sign in again",
            ))
        };
        self.replace_password(user, new, is_unchanged).await
    }

    /// Creates the secret of a reset link for a user, which replaces an earlier one.
    pub async fn create_reset_token(&self, caller: &Caller, user: &Urn) -> Result<String, Error> {
        self.authorize(caller, &[p::MANAGE_USER_CREDENTIALS], None)
            .await?;
        check_user(user)?;
        if user.key() == ADMINISTRATOR && !Self::is_administrator(caller) {
            return Err(Error::forbidden(format!(
                "only {ADMINISTRATOR} itself can have a reset link for {ADMINISTRATOR}, because it may do everything"
            )));
        }
        self.check_user_exists(user).await?;
        self.expect_person(user).await?;
        let secret = hex(&random::<32>()?);
        let hash = hex(&hash_of(&secret));
        let until = self.now_ms().saturating_add(RESET_TTL_MS);
        let remember = Proposal::edit(
            user.clone(),
            AspectName::CORP_USER_CREDENTIALS,
            move |current: Option<CorpUserCredentials>, _: &AuditStamp| {
                // Without a password yet: empty texts are no hash, so nothing matches them.
                let current = current.unwrap_or_else(|| CorpUserCredentials {
                    salt: String::new(),
                    hashed_password: String::new(),
                    password_reset_token: None,
                    password_reset_token_expiration_time_millis: None,
                    other: Other::new(),
                });
                Ok(CorpUserCredentials {
                    password_reset_token: Some(hash.clone()),
                    password_reset_token_expiration_time_millis: Some(until),
                    ..current
                })
            },
        );
        let remember = requires_active(remember, user).requires_existing(user, unknown(user));
        self.apply_authorized(caller, vec![remember]).await?;
        Ok(secret)
    }

    /// Sets a password by the secret of a reset link, and begins a session. Errors do not tell
    /// whether there is such a user.
    pub async fn reset_password(
        &self,
        username: &str,
        secret: &str,
        new: &Password,
    ) -> Result<SignIn, Error> {
        let user = Urn::new("corpuser", username).map_err(|_| invalid_link())?;
        check_user(&user).map_err(|_| invalid_link())?;
        let known = self.credentials_of(&user).await?;
        let (hash, now_ms) = (hex(&hash_of(secret)), self.now_ms());
        let fits = move |stored: Option<CorpUserCredentials>| {
            let stored = stored.filter(|stored| {
                stored.password_reset_token.as_deref() == Some(&hash)
                    && stored
                        .password_reset_token_expiration_time_millis
                        .is_some_and(|until| now_ms < until)
            });
            stored.map(|_| ()).ok_or_else(invalid_link)
        };
        // Before the hash, which is expensive.
        fits(known)?;
        new.check_for(&user)?;
        match self.replace_password(&user, new, fits).await {
            Err(error) if error.kind() == ErrorKind::Conflict(ConflictReason::AccountInactive) => {
                Err(invalid_link())
            }
            done => done,
        }
    }

    /// Stores a password if the credentials are still as expected, and begins a session.
    async fn replace_password(
        &self,
        user: &Urn,
        new: &Password,
        is_expected: impl Fn(Option<CorpUserCredentials>) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Result<SignIn, Error> {
        let credentials = self.inner.hashing.credentials(new).await?;
        let aspect = AspectName::CORP_USER_CREDENTIALS;
        // Deleted first, so that the old hash does not stay in the history.
        let forget = Proposal::new(user.clone(), Change::DeleteAspect { aspect });
        let forget = requires_active(forget, user)
            .requires_value(user, aspect, is_expected)
            .requires_existing(user, unknown(user));
        let stored = credentials.clone();
        let remember = Proposal::edit(user.clone(), aspect, move |_, _: &AuditStamp| {
            Ok::<CorpUserCredentials, _>(stored.clone())
        });
        let proposals = vec![forget, remember, end_sessions(user)];
        self.apply_authorized(&Caller::new(user.clone()), proposals)
            .await?;
        tracing::info!(user = user.as_str(), "{user} has a new password");
        let proof = Proof::Password(Some(credentials));
        let secret = self.begin_session(user, proof).await?;
        Ok(SignIn::Welcome {
            user: user.clone(),
            secret,
            device: None,
        })
    }

    /// Ends all sessions of a user, and revokes all tokens if requested. Other users' need a
    /// privilege.
    pub async fn sign_out_everywhere(
        &self,
        caller: &Caller,
        user: &Urn,
        tokens: bool,
    ) -> Result<(), Error> {
        check_user(user)?;
        if user == caller.actor() {
            scope::check_unscoped(caller)?;
        } else {
            self.authorize(caller, USER_MANAGERS, None).await?;
        }
        self.check_user_exists(user).await?;
        let change = if tokens {
            Change::RevokeAccess
        } else {
            Change::EndSessions { keep: 0 }
        };
        self.apply_authorized(caller, vec![Proposal::new(user.clone(), change)])
            .await?;
        Ok(())
    }

    /// Fails for a service account, which never signs in.
    pub(crate) async fn expect_person(&self, user: &Urn) -> Result<(), Error> {
        if self.is_service_account(user).await? {
            return Err(account_inactive(format!(
                "{} is a service account, which cannot sign in: create a token for it",
                user.key()
            )));
        }
        Ok(())
    }
}

fn invalid_link() -> Error {
    Error::forbidden(
        "the reset link is invalid, was used already, or has expired, or it is for another user: ask an administrator \
         for a new one",
    )
}
