//! User accounts: passwords and account status.
//!
//! A user is a `corpuser` entity like any other. The hash of the password is in DataHub's own
//! aspect for it, `corpUserCredentials`: so it is in backups, is deleted with the user, is a secret
//! ([`Catalog::is_secret`]), and clients cannot write it. A new password removes every trace of the
//! old one, even from the history of the aspect.
//!
//! Signing in begins a session ([`crate::sessions`]). This module must not know how a password is
//! entered.

mod common;
mod details;
pub(crate) mod device;
mod memberships;
pub(crate) mod password;
mod roles;
pub(crate) mod throttle;

use std::slice::from_ref;

use docent_model::aspects::{
    AuditStamp, CorpUserCredentials, CorpUserInfo, CorpUserStatus, Other, Status,
};
use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, AspectRow, ReadRequest};
use serde_json::Value;

use crate::external_record::{link, removal, reset, restoration};
use crate::lifecycle::is_removed;
use crate::privilege::{self as p, Privilege};
use crate::proposal::{Change, Proposal};
use crate::stored::aspect_value;
use crate::{Caller, Catalog, ConflictReason, Error, ErrorKind, SYSTEM_ACTOR};
pub(crate) use details::check_display_name;
pub(crate) use memberships::{MEMBERSHIPS, has_member};
use password::is_ours;
pub(crate) use roles::with_role;

pub use password::Password;

/// The user that the first start creates.
pub const ADMINISTRATOR: &str = "datahub";
/// Names of service accounts begin with it, and those of people must not.
pub(crate) const SERVICE_PREFIX: &str = "service_";

/// The privileges to add users.
pub(crate) const USER_CREATORS: &[Privilege] = &[
    p::MANAGE_USERS_AND_GROUPS,
    p::CREATE_USERS_AND_GROUPS,
    p::CREATE_USERS,
];
/// The privileges to suspend, resume and remove users.
pub(crate) const USER_MANAGERS: &[Privilege] = &[
    p::MANAGE_USERS_AND_GROUPS,
    p::UPDATE_USERS_AND_GROUPS,
    p::UPDATE_USERS,
];

const ACTIVE: &str = "ACTIVE";
const SUSPENDED: &str = "SUSPENDED";

/// A user who gets a password.
#[derive(Debug, Clone)]
pub struct NewUser {
    pub user: Urn,
    /// `None` keeps the current value.
    pub display_name: Option<String>,
    pub email: Option<String>,
    pub password: Password,
}

/// A user as listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub urn: Urn,
    pub display_name: Option<String>,
    pub email: Option<String>,
    /// Whether the user has a password to sign in with.
    pub has_password: bool,
    pub suspended: bool,
    /// Soft-deleted.
    pub removed: bool,
}

/// The status of a user's account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccountStatus {
    Unknown,
    /// Soft-deleted.
    Removed,
    Suspended,
    Active,
}

/// The state of the user [`ADMINISTRATOR`] after a start.
#[derive(Debug)]
pub enum Administrator {
    Exists,
    /// Suspended or removed; a start does not change that.
    Blocked,
    /// Just created, with this password.
    Created(Password),
}

impl Catalog {
    /// Whether the caller is an administrator: the operator at the command line, or the user that
    /// the first start creates.
    pub fn is_administrator(caller: &Caller) -> bool {
        is_protected(caller.actor())
    }

    /// Fails for a user who may always do everything, unless the caller is one: whoever can act as
    /// such a user can do everything, too.
    pub(crate) async fn check_may_act_as(
        &self,
        caller: &Caller,
        user: &Urn,
        what: &str,
    ) -> Result<(), Error> {
        if !is_protected(user) || Self::is_administrator(caller) {
            return Ok(());
        }
        let error = Error::forbidden(format!(
            "only {ADMINISTRATOR} or an operator on the server can have {what} for {user}, because it may do everything"
        ));
        self.audited(caller, Err(error.naming(user))).await
    }

    /// Gives a user without a password one, and creates a missing user, with a role if there is
    /// one. A removed user starts over: the old password and tokens are deleted.
    pub async fn add_user(
        &self,
        caller: &Caller,
        new: NewUser,
        role: Option<&Urn>,
    ) -> Result<(), Error> {
        self.authorize_about(caller, USER_CREATORS, from_ref(&new.user))
            .await?;
        check_new_user(&new)?;
        let user = &new.user;
        self.check_may_act_as(caller, user, "a password").await?;
        self.expect_person(user).await?;
        let role = match role {
            Some(role) => Some(self.first_role(caller, user, role).await?),
            None => None,
        };
        let (display_name, email) = (new.display_name, new.email);
        let info = move |current: Option<CorpUserInfo>| {
            let mut info = current.unwrap_or_else(active_user);
            info.display_name = display_name.clone().or(info.display_name);
            info.email = email.clone().or(info.email);
            info
        };
        self.store_user(caller, user, &new.password, info, role)
            .await
    }

    /// Makes sure that the user [`ADMINISTRATOR`] has a password: the given one or a random one. A
    /// suspended or removed one stays so.
    pub async fn ensure_administrator(
        &self,
        caller: &Caller,
        given: Option<Password>,
    ) -> Result<Administrator, Error> {
        let user = Urn::new("corpuser", ADMINISTRATOR)?;
        match self.account_status(&user).await? {
            AccountStatus::Suspended | AccountStatus::Removed => return Ok(Administrator::Blocked),
            AccountStatus::Unknown | AccountStatus::Active => {}
        }
        if self.has_password(&user).await? {
            return Ok(Administrator::Exists);
        }
        let password = given.map_or_else(Password::generate, Ok)?;
        let info = |current: Option<CorpUserInfo>| {
            current.unwrap_or_else(|| CorpUserInfo {
                display_name: Some("DataHub".to_owned()),
                title: Some("DataHub".to_owned()),
                system: Some(true),
                ..active_user()
            })
        };
        match self.store_user(caller, &user, &password, info, None).await {
            Ok(()) => Ok(Administrator::Created(password)),
            // Another server on the same store was faster.
            Err(error) if error.kind() == ErrorKind::Conflict(ConflictReason::PasswordExists) => {
                Ok(Administrator::Exists)
            }
            Err(error) => Err(error),
        }
    }

    async fn store_user(
        &self,
        caller: &Caller,
        user: &Urn,
        password: &Password,
        info: impl Fn(Option<CorpUserInfo>) -> CorpUserInfo + Send + Sync + 'static,
        role: Option<Proposal>,
    ) -> Result<(), Error> {
        let credentials = self.inner.hashing.credentials(password).await?;
        let name = user.key().to_owned();
        let credentials = move |current: Option<CorpUserCredentials>, _: &AuditStamp| {
            if current.as_ref().is_some_and(is_ours) {
                return Err(Error::conflict(
                    ConflictReason::PasswordExists,
                    format!("the user {name} has a password already: set another instead"),
                ));
            }
            Ok(credentials.clone())
        };
        let status = |current: Option<Status>, _: &AuditStamp| {
            let other = current.map(|status| status.other).unwrap_or_default();
            Ok(Status {
                removed: false,
                other,
            })
        };
        let mut proposals = Vec::new();
        let status_before = self.account_status(user).await?;
        proposals.push(match status_before {
            AccountStatus::Unknown => reset(user)?,
            _ => restoration(user)?,
        });
        if status_before == AccountStatus::Removed {
            let aspect = AspectName::CORP_USER_CREDENTIALS;
            proposals.push(Proposal::new(user.clone(), Change::DeleteAspect { aspect }));
            proposals.push(Proposal::new(user.clone(), Change::RevokeAccess));
        } else {
            proposals.push(end_sessions(user));
        }
        proposals.extend([
            Proposal::edit(user.clone(), AspectName::CORP_USER_CREDENTIALS, credentials),
            Proposal::edit(
                user.clone(),
                AspectName::CORP_USER_INFO,
                move |current, _| Ok(info(current)),
            ),
            Proposal::edit(user.clone(), AspectName::STATUS, status),
            with_status(user, ACTIVE),
        ]);
        proposals.extend(role);
        self.apply_authorized(caller, proposals).await?;
        Ok(())
    }

    /// Sets the password of a user, and ends the user's sessions.
    pub async fn set_password(
        &self,
        caller: &Caller,
        user: &Urn,
        password: &Password,
    ) -> Result<(), Error> {
        self.authorize_about(caller, &[p::MANAGE_USER_CREDENTIALS], from_ref(user))
            .await?;
        check_user(user)?;
        self.check_may_act_as(caller, user, "a password").await?;
        password.check_for(user)?;
        self.check_user_exists(user).await?;
        self.expect_person(user).await?;
        let credentials = self.inner.hashing.credentials(password).await?;
        let aspect = AspectName::CORP_USER_CREDENTIALS;
        // Deleted first, so that the old hash does not stay in the history.
        let forget = Proposal::new(user.clone(), Change::DeleteAspect { aspect })
            .requires_existing(user, unknown(user));
        let remember = Proposal::edit(user.clone(), aspect, move |_, _: &AuditStamp| {
            Ok::<CorpUserCredentials, _>(credentials.clone())
        });
        let proposals = vec![forget, remember, end_sessions(user)];
        self.apply_authorized(caller, proposals).await?;
        Ok(())
    }

    /// Ends a user's sessions and stops the tokens at once. The tokens work again after
    /// [`Catalog::resume_user`].
    pub async fn suspend_user(&self, caller: &Caller, user: &Urn) -> Result<(), Error> {
        self.authorize_about(caller, USER_MANAGERS, from_ref(user))
            .await?;
        check_user(user)?;
        if !caller.is_system() {
            self.check_dispensable(caller, user, "suspended").await?;
        }
        self.check_user_exists(user).await?;
        self.apply_authorized(caller, vec![with_status(user, SUSPENDED)])
            .await?;
        Ok(())
    }

    /// Lifts a suspension, and lets a user back in whom [`Catalog::remove_user`] keeps out. One who
    /// is still deleted exists again after the next sign-in at an identity provider.
    pub async fn resume_user(&self, caller: &Caller, user: &Urn) -> Result<(), Error> {
        self.authorize_about(caller, USER_MANAGERS, from_ref(user))
            .await?;
        check_user(user)?;
        let mut proposals = vec![restoration(user)?];
        match self.account_status(user).await? {
            AccountStatus::Unknown if self.external_record(user).await?.is_removed => {}
            AccountStatus::Unknown => return Err(Error::not_found(unknown(user))),
            AccountStatus::Removed => {
                return Err(account_inactive(format!(
                    "{} was removed, not suspended: add the user again instead",
                    user.key()
                )));
            }
            AccountStatus::Suspended | AccountStatus::Active => {
                proposals.push(with_status(user, ACTIVE));
            }
        }
        self.apply_authorized(caller, proposals).await?;
        Ok(())
    }

    /// Lets identity providers sign in a user who has a password.
    pub async fn link_user(&self, caller: &Caller, user: &Urn) -> Result<(), Error> {
        self.authorize_about(caller, USER_MANAGERS, from_ref(user))
            .await?;
        check_user(user)?;
        if is_reserved(user) {
            return Err(Error::forbidden(format!(
                "the username {} is reserved: an identity provider cannot sign it in",
                user.key()
            )));
        }
        self.expect_person(user).await?;
        let link = link(user)?.requires_existing(user, unknown(user));
        self.apply_authorized(caller, vec![link]).await?;
        Ok(())
    }

    /// Deletes a user with sessions and tokens. Identity providers do not bring the user back until
    /// somebody adds or resumes the user.
    pub async fn remove_user(&self, caller: &Caller, user: &Urn) -> Result<(), Error> {
        self.authorize_about(caller, USER_MANAGERS, from_ref(user))
            .await?;
        check_user(user)?;
        self.check_dispensable(caller, user, "deleted").await?;
        let mark = removal(user)?.requires_existing(user, unknown(user));
        let delete = Proposal::new(user.clone(), Change::DeleteEntity);
        self.apply_authorized(caller, vec![mark, delete]).await?;
        Ok(())
    }

    /// Fails for the user who may always do everything.
    async fn check_dispensable(
        &self,
        caller: &Caller,
        user: &Urn,
        what: &str,
    ) -> Result<(), Error> {
        if !is_protected(user) {
            return Ok(());
        }
        let error = Error::forbidden(format!(
            "{user} cannot be {what} over the network: it can always sign in and repair things"
        ));
        self.audited(caller, Err(error.naming(user))).await
    }

    /// Users by name, behind `after`: all of them, or those with a password.
    pub async fn list_users(
        &self,
        all: bool,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<User>, Error> {
        const ASPECTS: [AspectName; 4] = [
            AspectName::CORP_USER_CREDENTIALS,
            AspectName::CORP_USER_INFO,
            AspectName::CORP_USER_STATUS,
            AspectName::STATUS,
        ];
        let listed = if all {
            Registry::get()
                .entity("corpuser")
                .map(|entity| entity.key_aspect)
        } else {
            Some(AspectName::CORP_USER_CREDENTIALS)
        };
        let Some(listed) = listed else {
            return Ok(Vec::new());
        };
        let urns = self
            .store()
            .urns_list("corpuser", listed, after, limit)
            .await?;
        let keys: Vec<AspectKey> = urns
            .iter()
            .flat_map(|urn| ASPECTS.map(|aspect| AspectKey::new(urn, aspect)))
            .collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let users = urns.into_iter().zip(rows.chunks(ASPECTS.len()));
        Ok(users
            .filter_map(|(urn, rows)| {
                let [credentials, info, user_status, status] = rows else {
                    return None;
                };
                let info = aspect_value::<CorpUserInfo>(info);
                Some(User {
                    urn,
                    display_name: info.as_ref().and_then(|info| info.display_name.clone()),
                    email: info.and_then(|info| info.email),
                    has_password: aspect_value(credentials).as_ref().is_some_and(is_ours),
                    suspended: is_suspended(user_status),
                    removed: is_removed(status),
                })
            })
            .collect())
    }

    /// Whether each user has credentials stored here.
    pub async fn have_credentials(&self, users: &[Urn]) -> Result<Vec<bool>, Error> {
        let key = |user| AspectKey::new(user, AspectName::CORP_USER_CREDENTIALS);
        let keys: Vec<AspectKey> = users.iter().map(key).collect();
        self.are_stored(&keys).await
    }

    pub(crate) async fn has_password(&self, user: &Urn) -> Result<bool, Error> {
        let credentials = self.credentials_of(user).await?;
        Ok(credentials.as_ref().is_some_and(is_ours))
    }

    /// Whether a user exists and is neither soft-deleted nor suspended.
    pub(crate) async fn is_active(&self, user: &Urn) -> Result<bool, Error> {
        Ok(self.account_status(user).await? == AccountStatus::Active)
    }

    pub(crate) async fn account_status(&self, user: &Urn) -> Result<AccountStatus, Error> {
        let spec = Registry::get().check_urn(user)?;
        let keys = [
            spec.key_aspect,
            AspectName::STATUS,
            AspectName::CORP_USER_STATUS,
        ]
        .map(|aspect| AspectKey::new(user, aspect));
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let [Some(_), status, user_status] = rows.as_slice() else {
            return Ok(AccountStatus::Unknown);
        };
        Ok(if is_removed(status) {
            AccountStatus::Removed
        } else if is_suspended(user_status) {
            AccountStatus::Suspended
        } else {
            AccountStatus::Active
        })
    }

    /// The stored hash of a user's password.
    pub(crate) async fn credentials_of(
        &self,
        user: &Urn,
    ) -> Result<Option<CorpUserCredentials>, Error> {
        let key = AspectKey::new(user, AspectName::CORP_USER_CREDENTIALS);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        Ok(aspect_value(&row))
    }

    /// Fails for a user who does not exist.
    pub async fn check_user_exists(&self, user: &Urn) -> Result<(), Error> {
        let spec = Registry::get().check_urn(user)?;
        let key = AspectKey::new(user, spec.key_aspect);
        let reply = self.store().read(ReadRequest::exists(&[key])).await?;
        if reply.exists != [true] {
            return Err(Error::not_found(unknown(user)));
        }
        Ok(())
    }
}

pub(crate) fn account_inactive(message: String) -> Error {
    Error::conflict(ConflictReason::AccountInactive, message)
}

pub(crate) fn unknown(user: &Urn) -> String {
    format!("there is no user {}", user.key())
}

/// Whether a user may always do everything, so that others neither block nor act as it.
pub(crate) fn is_protected(user: &Urn) -> bool {
    user.as_str() == SYSTEM_ACTOR
        || (user.entity_type() == "corpuser" && user.key() == ADMINISTRATOR)
}

/// Whether nobody may get an account with the name: by an invite link, or from a provider. Capital
/// letters make no other name, because people would take one for the other.
pub(crate) fn is_reserved(user: &Urn) -> bool {
    // DataHub's actor of metadata without one.
    const UNKNOWN: &str = "unknown";
    let name = user.key().to_lowercase();
    user.as_str().eq_ignore_ascii_case(SYSTEM_ACTOR)
        || [ADMINISTRATOR, UNKNOWN].contains(&name.as_str())
        || name.starts_with(SERVICE_PREFIX)
}

pub(crate) fn check_user(user: &Urn) -> Result<&Urn, Error> {
    user.expect_type("corpuser")?;
    Registry::get().check_urn(user)?;
    Ok(user)
}

/// Checks names, address and password of a user who gets a password.
pub(crate) fn check_new_user(new: &NewUser) -> Result<(), Error> {
    let user = check_user(&new.user)?;
    details::check_sign_in_name(user.key())?;
    if let Some(name) = &new.display_name {
        details::check_display_name(name)?;
    }
    if let Some(address) = &new.email {
        details::check_email(address)?;
    }
    new.password.check_for(user)
}

pub(crate) fn active_user() -> CorpUserInfo {
    CorpUserInfo {
        active: true,
        display_name: None,
        email: None,
        title: None,
        system: None,
        other: Other::new(),
    }
}

pub(crate) fn with_active_status(user: &Urn) -> Proposal {
    with_status(user, ACTIVE)
}

fn with_status(user: &Urn, status: &'static str) -> Proposal {
    let edit = move |current: Option<CorpUserStatus>, stamp: &AuditStamp| {
        let unchanged = current.filter(|current| current.status == status);
        Ok(unchanged.unwrap_or_else(|| CorpUserStatus {
            status: status.to_owned(),
            last_modified: stamp.clone(),
            other: Other::new(),
        }))
    };
    Proposal::edit(user.clone(), AspectName::CORP_USER_STATUS, edit)
        .requires_existing(user, unknown(user))
}

pub(crate) fn end_sessions(user: &Urn) -> Proposal {
    Proposal::new(user.clone(), Change::EndSessions { keep: 0 })
}

/// Requires inside the transaction that the user is neither removed nor suspended.
pub(crate) fn requires_active(proposal: Proposal, user: &Urn) -> Proposal {
    let unless = |member: &'static str, blocked: Value| {
        let name = user.key().to_owned();
        move |current: Option<Value>| match current {
            Some(current) if current[member] == blocked => {
                Err(account_inactive(format!("{name} is not active")))
            }
            _ => Ok(()),
        }
    };
    let removed = unless("removed", Value::Bool(true));
    let suspended = unless("status", SUSPENDED.into());
    proposal
        .requires_value(user, AspectName::STATUS, removed)
        .requires_value(user, AspectName::CORP_USER_STATUS, suspended)
}

/// Whether this `corpUserStatus` suspends its user.
pub(crate) fn is_suspended(status: &AspectRow) -> bool {
    aspect_value::<Value>(status).is_some_and(|status| status["status"] == SUSPENDED)
}
