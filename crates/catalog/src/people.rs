//! People who sign in: their passwords, and whether they may act.
//!
//! A person is a `corpuser` entity like any other. What their password is checked with is DataHub's own aspect for it,
//! `corpUserCredentials`: so it is in the backup, goes with the user, and is known as a secret that no door shows
//! ([`Catalog::is_secret`]) and that nobody writes directly. A new password leaves nothing of the old one behind, not
//! even in the history of the aspect.
//!
//! There are no roles yet: whoever can sign in may do everything, but for two things that would let one person act as
//! another, or keep one out and bring one back. Tokens for others, and who may act, are matters of the administrator
//! ([`Catalog::is_administrator`]).
//!
//! [`crate::sessions`] is what signing in gives. This module must not know how a person is asked.

mod details;
pub(crate) mod password;
pub(crate) mod throttle;

use docent_model::aspects::{
    AuditStamp, CorpUserCredentials, CorpUserInfo, CorpUserStatus, Other, Status,
};
use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, AspectRow, ReadRequest};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::lifecycle::is_removed;
use crate::proposal::{Change, Proposal};
use crate::target::Target;
use crate::{Caller, Catalog, ConflictReason, Error, ErrorKind, SYSTEM_ACTOR};
use password::is_ours;

pub use password::Password;

/// The user that a store has from its first start on.
pub const ADMINISTRATOR: &str = "datahub";

const ACTIVE: &str = "ACTIVE";
const SUSPENDED: &str = "SUSPENDED";

/// A person to be let in.
#[derive(Debug, Clone)]
pub struct NewUser {
    pub user: Urn,
    /// `None` keeps what is known.
    pub display_name: Option<String>,
    pub email: Option<String>,
    pub password: Password,
}

/// What a list of users shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub urn: Urn,
    pub display_name: Option<String>,
    pub email: Option<String>,
    /// Whether there is a password to sign in with.
    pub has_password: bool,
    pub suspended: bool,
    /// Soft-deleted.
    pub removed: bool,
}

/// Whether a user may act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Unknown,
    /// Soft-deleted.
    Removed,
    Suspended,
    Active,
}

/// Whether the user [`ADMINISTRATOR`] can sign in, and since when.
#[derive(Debug)]
pub enum Administrator {
    Exists,
    /// Suspended or removed, and so it stays.
    KeptOut,
    /// Made just now, with this password.
    Created(Password),
}

impl Catalog {
    /// Whether the caller may do what is not everybody's: the operator at the command line, and the user whom the first
    /// start makes.
    pub fn is_administrator(caller: &Caller) -> bool {
        let actor = caller.actor();
        actor.as_str() == SYSTEM_ACTOR
            || (actor.entity_type() == "corpuser" && actor.key() == ADMINISTRATOR)
    }

    /// Lets a person in who could not sign in before. The user is created if it is new. To one who was removed, nothing
    /// from before comes back: neither password nor tokens.
    pub async fn add_user(&self, caller: &Caller, new: NewUser) -> Result<(), Error> {
        let user = check_user(&new.user)?;
        details::check_sign_in_name(user.key())?;
        if let Some(name) = &new.display_name {
            details::check_display_name(name)?;
        }
        if let Some(address) = &new.email {
            details::check_email(address)?;
        }
        let (display_name, email) = (new.display_name, new.email);
        let info = move |current: Option<CorpUserInfo>| {
            let mut info = current.unwrap_or_else(active_user);
            info.display_name = display_name.clone().or(info.display_name);
            info.email = email.clone().or(info.email);
            info
        };
        self.store_user(caller, user, &new.password, info).await
    }

    /// Sees to it that the user [`ADMINISTRATOR`] can sign in, whoever else can: one without a password gets the given one
    /// or a random one. Who was suspended or removed stays so.
    pub async fn ensure_administrator(
        &self,
        caller: &Caller,
        given: Option<Password>,
    ) -> Result<Administrator, Error> {
        let user = Urn::new("corpuser", ADMINISTRATOR)?;
        match self.standing(&user).await? {
            Standing::Suspended | Standing::Removed => return Ok(Administrator::KeptOut),
            Standing::Unknown | Standing::Active => {}
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
        match self.store_user(caller, &user, &password, info).await {
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
    ) -> Result<(), Error> {
        let credentials = self.inner.hashing.credentials(password).await?;
        let name = user.key().to_owned();
        let credentials = move |current: Option<CorpUserCredentials>, _: &AuditStamp| {
            if current.as_ref().is_some_and(is_ours) {
                return Err(Error::conflict(
                    ConflictReason::PasswordExists,
                    format!(
                        "the user {name} has a password already: 'docent user passwd {name}' sets another"
                    ),
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
        if self.standing(user).await? == Standing::Removed {
            let aspect = AspectName::CORP_USER_CREDENTIALS;
            proposals.push(Proposal::new(user.clone(), Change::DeleteAspect { aspect }));
            proposals.extend(self.token_removals(std::slice::from_ref(user)).await?);
        } else {
            proposals.extend(self.session_removals(user).await?);
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
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Gives a user another password, and ends the sessions that began with the old one.
    pub async fn set_password(
        &self,
        caller: &Caller,
        user: &Urn,
        password: &Password,
    ) -> Result<(), Error> {
        check_user(user)?;
        self.check_user_exists(user).await?;
        let credentials = self.inner.hashing.credentials(password).await?;
        let aspect = AspectName::CORP_USER_CREDENTIALS;
        // Deleted first: the old hash must not stay in the history.
        let forget = Proposal::new(user.clone(), Change::DeleteAspect { aspect })
            .requires_existing(user, unknown(user));
        let remember = Proposal::edit(user.clone(), aspect, move |_, _: &AuditStamp| {
            Ok::<CorpUserCredentials, _>(credentials.clone())
        });
        let mut proposals = vec![forget, remember];
        proposals.extend(self.session_removals(user).await?);
        self.apply(caller, proposals).await?;
        // Whoever signed in between the look and the change did so with the old password.
        let left = self.session_removals(user).await?;
        self.apply(caller, left).await?;
        Ok(())
    }

    /// Stops a user's tokens and sessions at once. The tokens work again after [`Catalog::resume_user`].
    pub async fn suspend_user(&self, caller: &Caller, user: &Urn) -> Result<(), Error> {
        check_user(user)?;
        self.check_user_exists(user).await?;
        self.apply(caller, vec![with_status(user, SUSPENDED)])
            .await?;
        // From now on no session begins, so these are all of them.
        let sessions = self.session_removals(user).await?;
        self.apply(caller, sessions).await?;
        Ok(())
    }

    pub async fn resume_user(&self, caller: &Caller, user: &Urn) -> Result<(), Error> {
        check_user(user)?;
        self.check_user_exists(user).await?;
        self.apply(caller, vec![with_status(user, ACTIVE)]).await?;
        Ok(())
    }

    /// Notes that users and groups who exist have this role and no other, or none at all; of all of them or of none.
    pub async fn assign_role(
        &self,
        caller: &Caller,
        actors: &[Urn],
        role: Option<&Urn>,
    ) -> Result<(), Error> {
        if !Self::is_administrator(caller) {
            return Err(Error::forbidden(format!(
                "only {ADMINISTRATOR} gives people roles"
            )));
        }
        if let Some(role) = role {
            role.expect_type("dataHubRole")?;
        }
        let value = json!({"roles": role.as_slice()}).to_string();
        let proposals = actors
            .iter()
            .map(|actor| {
                let target = Target::entity(actor.clone());
                target.expect_aspect(AspectName::ROLE_MEMBERSHIP, "a role")?;
                let aspect = AspectName::ROLE_MEMBERSHIP;
                let proposal = Proposal::upsert(actor.clone(), aspect, value.clone());
                let missing = format!("Failed to assign a role to {actor}. It does not exist.");
                Ok(target.required_by(proposal, missing))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Users in the order of their names, those behind `after`: all of them, or those with a password.
    pub async fn list_users(
        &self,
        _caller: &Caller,
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
                let info = value::<CorpUserInfo>(info);
                Some(User {
                    urn,
                    display_name: info.as_ref().and_then(|info| info.display_name.clone()),
                    email: info.and_then(|info| info.email),
                    has_password: value(credentials).as_ref().is_some_and(is_ours),
                    suspended: is_suspended(user_status),
                    removed: is_removed(status),
                })
            })
            .collect())
    }

    async fn has_password(&self, user: &Urn) -> Result<bool, Error> {
        let credentials = self.credentials_of(user).await?;
        Ok(credentials.as_ref().is_some_and(is_ours))
    }

    /// Whether a user exists and is neither soft-deleted nor suspended.
    pub(crate) async fn is_active(&self, user: &Urn) -> Result<bool, Error> {
        Ok(self.standing(user).await? == Standing::Active)
    }

    pub(crate) async fn standing(&self, user: &Urn) -> Result<Standing, Error> {
        let spec = Registry::get().check_urn(user)?;
        let keys = [
            spec.key_aspect,
            AspectName::STATUS,
            AspectName::CORP_USER_STATUS,
        ]
        .map(|aspect| AspectKey::new(user, aspect));
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let [Some(_), status, user_status] = rows.as_slice() else {
            return Ok(Standing::Unknown);
        };
        Ok(if is_removed(status) {
            Standing::Removed
        } else if is_suspended(user_status) {
            Standing::Suspended
        } else {
            Standing::Active
        })
    }

    /// What the password of a user is checked with.
    pub(crate) async fn credentials_of(
        &self,
        user: &Urn,
    ) -> Result<Option<CorpUserCredentials>, Error> {
        let key = AspectKey::new(user, AspectName::CORP_USER_CREDENTIALS);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        Ok(value(&row))
    }

    /// Fails for a user that nobody knows.
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

fn unknown(user: &Urn) -> String {
    format!("there is no user {}", user.key())
}

fn check_user(user: &Urn) -> Result<&Urn, Error> {
    user.expect_type("corpuser")?;
    Registry::get().check_urn(user)?;
    Ok(user)
}

fn active_user() -> CorpUserInfo {
    CorpUserInfo {
        active: true,
        display_name: None,
        email: None,
        title: None,
        system: None,
        other: Other::new(),
    }
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

/// Proposals that write nothing, and fail inside their transaction if the user has been removed or suspended.
pub(crate) fn must_be_active(user: &Urn) -> [Proposal; 2] {
    let unless = |aspect, member: &'static str, keeps_out: Value| {
        let name = user.key().to_owned();
        Proposal::edit_present(user.clone(), aspect, move |current: Value, _| {
            if current[member] == keeps_out {
                return Err(account_inactive(format!("{name} may not act any more")));
            }
            Ok(current)
        })
    };
    [
        unless(AspectName::STATUS, "removed", Value::Bool(true)),
        unless(AspectName::CORP_USER_STATUS, "status", SUSPENDED.into()),
    ]
}

fn value<T: DeserializeOwned>(row: &AspectRow) -> Option<T> {
    serde_json::from_str(&row.as_ref()?.metadata).ok()
}

/// Whether this `corpUserStatus` suspends its user.
pub(crate) fn is_suspended(status: &AspectRow) -> bool {
    value::<Value>(status).is_some_and(|status| status["status"] == SUSPENDED)
}
