//! What users do with their own credentials: new passwords, reset links, signing out everywhere.
//!
//! A reset link has 256 random bits. Their hash is in the user's `corpUserCredentials`, so it goes
//! with the password that it replaces, and works once.

use std::net::IpAddr;
use std::slice::from_ref;

use docent_model::aspects::{AuditStamp, CorpUserCredentials, Other};
use docent_model::{AspectName, EpochMillis, Urn, hex};

use crate::access::scope;
use crate::caller::Origin;
use crate::people::password::Queue;
use crate::people::throttle::Attempt;
use crate::people::{
    Password, USER_MANAGERS, account_inactive, check_user, end_sessions, requires_active, unknown,
};
use crate::privilege as p;
use crate::proposal::{Change, Proposal};
use crate::secret::{hash_of, random};
use crate::sessions::SignIn;
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
    ) -> Result<SignIn, Error> {
        self.audited(caller, scope::check_unscoped(caller)).await?;
        let user = caller.actor();
        new.check_for(user)?;
        let throttle = &self.inner.throttle;
        let attempt = Attempt {
            user: Some(user),
            address: caller.origin().address,
            device: None,
        };
        let denied = async |reason| {
            self.record_denial(Some(user), caller.origin(), reason, Vec::new())
                .await;
        };
        if let Err(milliseconds) = throttle.admit(&attempt, self.now_ms()) {
            denied("too many wrong passwords").await;
            return Ok(SignIn::Wait { milliseconds });
        }
        let known = self.credentials_of(user).await?;
        let hashing = &self.inner.hashing;
        if !hashing
            .verify(known.as_ref(), current, Queue::Known)
            .await?
        {
            denied("the current password is wrong").await;
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
        self.replace_password(caller, new, is_unchanged).await
    }

    /// Creates the secret of a reset link for a user, which replaces an earlier one.
    pub async fn create_reset_token(&self, caller: &Caller, user: &Urn) -> Result<String, Error> {
        self.authorize_about(caller, &[p::MANAGE_USER_CREDENTIALS], from_ref(user))
            .await?;
        self.check_authentication(
            caller,
            "reset links, which would stay valid when it is on again: have an operator run 'docent user passwd' on the server",
        )
        .await?;
        check_user(user)?;
        self.check_may_act_as(caller, user, "a reset link").await?;
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
    /// whether there is such a user. `operation` is for the audit log.
    pub async fn reset_password(
        &self,
        username: &str,
        secret: &str,
        new: &Password,
        address: Option<IpAddr>,
        operation: &'static str,
    ) -> Result<SignIn, Error> {
        let origin = Origin::new(address, operation.into());
        let reset = self.reset_by_link(username, secret, new, &origin).await;
        self.audited_for(None, &origin, reset).await
    }

    async fn reset_by_link(
        &self,
        username: &str,
        secret: &str,
        new: &Password,
        origin: &Origin,
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
        let caller = Caller::new(user)
            .at(origin.address)
            .in_operation(origin.operation.clone());
        match self.replace_password(&caller, new, fits).await {
            Err(error) if error.kind() == ErrorKind::Conflict(ConflictReason::AccountInactive) => {
                Err(invalid_link())
            }
            done => done,
        }
    }

    /// Stores a password if the credentials are still as expected, and begins a session.
    async fn replace_password(
        &self,
        caller: &Caller,
        new: &Password,
        is_expected: impl Fn(Option<CorpUserCredentials>) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Result<SignIn, Error> {
        let user = caller.actor().clone();
        let credentials = self.inner.hashing.credentials(new).await?;
        let aspect = AspectName::CORP_USER_CREDENTIALS;
        // Deleted first, so that the old hash does not stay in the history.
        let forget = Proposal::new(user.clone(), Change::DeleteAspect { aspect });
        let forget = requires_active(forget, &user)
            .requires_value(&user, aspect, is_expected)
            .requires_existing(&user, unknown(&user));
        let remember = Proposal::edit(user.clone(), aspect, move |_, _: &AuditStamp| {
            Ok::<CorpUserCredentials, _>(credentials.clone())
        });
        // In the same transaction, so that a user who gets an error has the old password.
        let session = self.new_session(&user, None).await?;
        let mut proposals = vec![forget, remember, end_sessions(&user)];
        proposals.extend(session.proposals);
        self.apply_authorized(caller, proposals).await?;
        tracing::info!(user = user.as_str(), "{user} has a new password");
        Ok(SignIn::Welcome {
            user,
            secret: session.secret,
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
            self.audited(caller, scope::check_unscoped(caller)).await?;
        } else {
            self.authorize_about(caller, USER_MANAGERS, from_ref(user))
                .await?;
            if tokens {
                let managers = self.token_managers(user).await?;
                self.authorize_about(caller, managers, from_ref(user))
                    .await?;
            }
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
